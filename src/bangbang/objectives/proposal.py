"""The two halves of every objective: a proposed target, and the loss that raises its log-likelihood.

Shapes: B batch, T time, D features, N positions that count, time by time and row by row within each, K targets of a
position.
"""

import torch
from torch import Tensor

from bangbang.contracts import Decoder, Diagnostics, Head, Proposal
from bangbang.symbols import BOS, PAD


def token_losses(head: Head, proposal: Proposal) -> Tensor:
    """-c_t · log p(z_t | x, z_{1:t-1}) of each position in the loss, [N]. The vocabulary layer runs on no other."""
    return scored_losses(head, proposal)[0]


def scored_losses(head: Head, proposal: Proposal) -> tuple[Tensor, Diagnostics]:
    """The same, and the proposal's diagnostics with the model's entropy at some of these positions."""
    losses, entropies = head.score(proposal.features, proposal.tokens, -proposal.coefficients)
    return losses, proposal.diagnostics._replace(entropy=float(entropies.sum()), measured=len(entropies))


def propose_known(decoder: Decoder, targets: Tensor, diagnostics: Diagnostics) -> Proposal:
    """Known targets z [B, T], padded: every position before the padding counts, with weight 1."""
    starts = torch.full_like(targets[:, :1], BOS)
    features = decoder.unroll(torch.cat((starts, targets[:, :-1]), 1)).transpose(0, 1).flatten(0, 1)  # [T·B, D]
    tokens = targets.t().flatten()
    counted = (tokens != PAD).nonzero().squeeze(1)
    features = features.index_select(0, counted)
    return Proposal(tokens[counted], features, torch.ones_like(features[:, 0]), diagnostics)


def token_count(targets: Tensor) -> int:
    return int((targets != PAD).sum())


def reference_token_count(references: Tensor, samples: int) -> int:
    """Tokens of the references of so many samples, [B, T] or [B, M, T]; of several for a sample, their mean length."""
    several = 1 if references.ndim == 2 else (references != PAD).any(2).sum(1).float().mean().item()
    return round(token_count(references) / several * samples / len(references))
