"""Rewards that pay per token: for every prefix and every possible next token, what that token would add to a metric.

reward = Sum(RougeN(3), Dup(), Eos())
state = reward.start(references)              # [B, T] token ids, each row ending with </s>, padded
increments = state.increments()               # Δr of the candidates, and of any other token
arg_max_set(increments)                       # the best of them, forbidden ones apart
state.advance(chosen)                         # [B]
state.value()                                 # R(z_{1:t} | y)  [B]
"""

from bangbang.rewards.bleu import Bleu, Gleu
from bangbang.rewards.cider_d import CiderD
from bangbang.rewards.document_frequency import DocumentFrequency
from bangbang.rewards.edit_distance import EditDistance
from bangbang.rewards.metric import Metric
from bangbang.rewards.protocol import (
    Best,
    Bounds,
    Increments,
    PlainState,
    Reward,
    RewardState,
    adapted,
    arg_max_set,
    dense,
    look_up,
    repeat,
)
from bangbang.rewards.recipe import build_reward
from bangbang.rewards.references import References
from bangbang.rewards.rouge_l import RougeL
from bangbang.rewards.rouge_n import RougeN
from bangbang.rewards.shaping import Dup, Eos, Length
from bangbang.rewards.sums import Sum

__all__ = [
    "Best",
    "Bleu",
    "Bounds",
    "CiderD",
    "DocumentFrequency",
    "Dup",
    "EditDistance",
    "Eos",
    "Gleu",
    "Increments",
    "Length",
    "Metric",
    "PlainState",
    "References",
    "Reward",
    "RewardState",
    "RougeL",
    "RougeN",
    "Sum",
    "adapted",
    "arg_max_set",
    "build_reward",
    "dense",
    "look_up",
    "repeat",
]
