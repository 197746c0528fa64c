"""Objectives: propose a target sequence, then raise its log-likelihood. Methods differ in the proposal alone."""

from bangbang.objectives.choice import Rules
from bangbang.objectives.decoder import Decoder, Rollout
from bangbang.objectives.mle import mle
from bangbang.objectives.objective import Objective
from bangbang.objectives.proposal import Diagnostics, Proposal, scored_losses, token_losses
from bangbang.objectives.raml import raml
from bangbang.objectives.sampler import Sample, draw
from bangbang.objectives.spg import Settings, spg

__all__ = [
    "Decoder",
    "Diagnostics",
    "Objective",
    "Proposal",
    "Rollout",
    "Rules",
    "Sample",
    "Settings",
    "draw",
    "mle",
    "raml",
    "scored_losses",
    "spg",
    "token_losses",
]
