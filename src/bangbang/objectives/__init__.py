"""Objectives: propose a target sequence, then raise its log-likelihood. Methods differ in the proposal alone."""

from bangbang.objectives.mle import mle
from bangbang.objectives.proposal import Proposal, token_losses

__all__ = ["Proposal", "mle", "token_losses"]
