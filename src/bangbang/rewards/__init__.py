"""Rewards that pay per token: for every prefix and every possible next token, what that token would add to a metric.

reward = Sum(RougeN(3), Dup(), Eos())
state = reward.start(references)              # [B, T] token ids, each row ending with </s>, padded
increments = state.increments()               # Δr of the candidates, and of any other token
arg_max_set(increments)                       # the best of them, forbidden ones apart
state.advance(chosen)                         # [B]
state.value()                                 # R(z_{1:t} | y)  [B]
"""

from bangbang.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
