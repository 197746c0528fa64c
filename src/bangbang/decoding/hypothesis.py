"""What decoding gives back, and the rules of what may be generated at all.

Shapes: R rows being decoded, V vocabulary.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.decoding.settings import DecodingSettings
from bangbang.symbols import BOS, PAD, UNK


class Hypothesis(NamedTuple):
    tokens: list[int]
    """Without `</s>`."""
    log_prob: float
    """log p(tokens and, where it was reached, `</s>`) under the model alone."""
    score: float
    """What hypotheses of one input are ranked by."""


def forbidden(previous: Tensor, config: DecodingSettings) -> Tensor:
    """The tokens [R, F] that may not come after `previous` [R]: W·DUP with W = ∞, and what is never generated."""
    never = [PAD, BOS] if config.unknown else [PAD, BOS, UNK]
    tokens = torch.tensor(never, device=previous.device).expand(len(previous), -1)
    return torch.cat((tokens, previous.unsqueeze(1)), 1) if config.dup else tokens
