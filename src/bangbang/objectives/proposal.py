"""The two halves of every objective: a proposed target, and the loss that raises its log-likelihood.

Shapes: B batch, T time, D features.
"""

from typing import NamedTuple

from torch import Tensor

from bangbang.heads import VocabularyHead


class Proposal(NamedTuple):
    """Target sequences z and how much each of their positions counts in the loss."""

    tokens: Tensor  # [B, T] z
    features: Tensor  # [B, T, D] the model's features before each z_t
    coefficients: Tensor  # [B, T] the loss weight of z_t; 0 where it is not in the loss


def token_losses(head: VocabularyHead, proposal: Proposal) -> Tensor:
    """-c_t · log p(z_t | x, z_{1:t-1}) for the N positions with c_t ≠ 0, in row order, [N].

    The vocabulary layer never runs on the others.
    """
    counted = proposal.coefficients.flatten().nonzero().squeeze(1)
    features = proposal.features.flatten(0, 1).index_select(0, counted)
    tokens = proposal.tokens.flatten().index_select(0, counted)
    coefficients = proposal.coefficients.flatten().index_select(0, counted)
    return -head.log_prob(features, tokens, coefficients)
