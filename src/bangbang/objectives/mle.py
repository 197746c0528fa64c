"""Maximum likelihood: the target is the reference.

Shapes: B batch, T time, D features.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from bangbang.objectives.proposal import Proposal
from bangbang.symbols import BOS, PAD


def mle(unroll: Callable[[Tensor], Tensor], references: Tensor) -> Proposal:
    """Eq. 1: L(θ) = -Σ_t log p(y_t | x, y_{1:t-1}), for references y [B, T] that end in `</s>` and are padded.

    `unroll` gives the features [B, T, D] of reading known tokens [B, T].
    """
    starts = torch.full_like(references[:, :1], BOS)
    features = unroll(torch.cat((starts, references[:, :-1]), 1))
    return Proposal(references, features, (references != PAD).to(features.dtype))
