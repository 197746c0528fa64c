"""Maximum likelihood: the target is the reference."""

from torch import Tensor

from bangbang.objectives.decoder import Decoder
from bangbang.objectives.proposal import Diagnostics, Proposal, propose_known, token_count


def mle(decoder: Decoder, references: Tensor) -> Proposal:
    """Eq. 1: L(θ) = -Σ_t log p(y_t | x, y_{1:t-1}), for references y [B, T] that end in `</s>` and are padded."""
    tokens = token_count(references)
    return propose_known(decoder, references, Diagnostics(len(references), tokens, tokens))
