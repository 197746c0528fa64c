"""Rewards that pay per token: for every prefix and every possible next token, what that token would add to a metric.

reward = Sum(RougeN(3), Dup(), Eos())
state = reward.start(references)              # [B, T] token ids, each row ending with </s>, padded
tokens, values, rest = state.increments()     # Δr of the candidates, and of any other token
state.advance(chosen)                         # [B]
state.value()                                 # R(z_{1:t} | y)  [B]
"""

from bangbang.rewards.bleu import Bleu, Gleu
from bangbang.rewards.cider_d import CiderD
from bangbang.rewards.document_frequency import DocumentFrequency
from bangbang.rewards.edit_distance import EditDistance
from bangbang.rewards.increments import Increments, dense, look_up
from bangbang.rewards.metric import Metric
from bangbang.rewards.protocol import Reward, RewardState, repeat
from bangbang.rewards.recipe import build_reward
from bangbang.rewards.references import References
from bangbang.rewards.rouge_l import RougeL
from bangbang.rewards.rouge_n import RougeN
from bangbang.rewards.shaping import Dup, Eos, Length
from bangbang.rewards.sums import Sum

__all__ = [
    "Bleu",
    "CiderD",
    "DocumentFrequency",
    "Dup",
    "EditDistance",
    "Eos",
    "Gleu",
    "Increments",
    "Length",
    "Metric",
    "References",
    "Reward",
    "RewardState",
    "RougeL",
    "RougeN",
    "Sum",
    "build_reward",
    "dense",
    "look_up",
    "repeat",
]
