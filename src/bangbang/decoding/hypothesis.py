"""What decoding gives back, and the rules of what may be generated at all.

Shapes: R rows being decoded, V vocabulary.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.config import DecodingConfig
from bangbang.symbols import BOS, PAD, UNK


class Hypothesis(NamedTuple):
    tokens: list[int]
    """Without `</s>`."""
    log_prob: float
    """log p(tokens and, where it was reached, `</s>`) under the model alone."""
    score: float
    """What hypotheses of one input are ranked by."""


def forbid(log_probs: Tensor, previous: Tensor, config: DecodingConfig) -> Tensor:
    """log p [R, V] + W·DUP with W = ∞, and -inf for what must never be generated; changes `log_probs` in place."""
    log_probs[:, [PAD, BOS]] = -torch.inf
    if not config.unknown:
        log_probs[:, UNK] = -torch.inf
    if config.dup:
        log_probs.scatter_(1, previous.unsqueeze(1), -torch.inf)
    return log_probs
