"""The two halves of every objective: a proposed target, and the loss that raises its log-likelihood.

Shapes: B batch, T time, D features, N positions that count, time by time and row by row within each.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.heads import VocabularyHead
from bangbang.objectives.decoder import Decoder
from bangbang.symbols import BOS, PAD


class Diagnostics(NamedTuple):
    """Sums over a batch, each with what it is a sum over: means of many batches and processes come out exact."""

    samples: int
    sample_tokens: int
    reference_tokens: int
    reward: float = 0.0  # Σ R(z | y) over samples
    rewarded: int = 0  # samples whose R was computed
    driven_tokens: int = 0  # chosen by the reward
    tied_tokens: int = 0  # of these, with several tokens as good
    model_tokens: int = 0  # chosen by the model alone
    entropy: float = 0.0  # Σ of the model's entropies, in nats
    measured: int = 0  # positions in the loss whose entropy was taken


class Proposal(NamedTuple):
    """Target sequences z, as the positions of theirs that are in the loss."""

    tokens: Tensor  # [N] z_t
    features: Tensor  # [N, D] the model's features before z_t
    coefficients: Tensor  # [N] the loss weight of z_t
    diagnostics: Diagnostics


def token_losses(head: VocabularyHead, proposal: Proposal) -> Tensor:
    """-c_t · log p(z_t | x, z_{1:t-1}) of each position in the loss, [N]. The vocabulary layer runs on no other."""
    return scored_losses(head, proposal)[0]


def scored_losses(head: VocabularyHead, proposal: Proposal) -> tuple[Tensor, Diagnostics]:
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
