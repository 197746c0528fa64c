"""The two halves of every objective: a proposed target, and the loss that raises its log-likelihood.

And what objectives share: which rows of a batch can teach, and what the sum of the losses is divided by.

Shapes: B batch, T time, D features, N positions that count, time by time and row by row within each, K targets of a
position.
"""

from typing import Any

import torch
from torch import Tensor

from bangbang.contracts import Batch, Decoder, Diagnostics, Head, Model, Proposal, Rollout
from bangbang.heads import at_temperature
from bangbang.objectives.settings import ObjectiveSettings
from bangbang.symbols import BOS, EOS, PAD, UNK


def token_losses(head: Head, proposal: Proposal) -> Tensor:
    """-c_t · log p(z_t | x, z_{1:t-1}) of each position in the loss, [N], or of a set, -c_t · log Σ_{v in z_t} p(v).

    Smoothed targets have -c_t · [(1-ε) · log p(z_t) + ε/M Σ_v log p(v)], v being the M tokens that can be generated.
    The vocabulary layer runs on no other position.
    """
    return scored_losses(head, proposal)[0]


def scored_losses(head: Head, proposal: Proposal) -> tuple[Tensor, Diagnostics]:
    """The same, and the proposal's diagnostics with the model's entropy at some of these positions."""
    head = at_temperature(head, proposal.temperature)
    score = head.score_sets if proposal.sets else head.score
    asked = (proposal.smoothing,) if proposal.smoothing else ()  # which the heads of guests may not know
    losses, entropies = score(proposal.features, proposal.tokens, -proposal.coefficients, *asked)
    return losses, proposal.diagnostics._replace(entropy=float(entropies.sum()), measured=len(entropies))


def propose_known(decoder: Decoder, targets: Tensor, diagnostics: Diagnostics) -> Proposal:
    """Known targets z [B, T], padded: every position before the padding counts, with weight 1."""
    starts = torch.full_like(targets[:, :1], BOS)
    features = decoder.unroll(torch.cat((starts, targets[:, :-1]), 1)).transpose(0, 1).flatten(0, 1)  # [T·B, D]
    return propose_read(features, targets, diagnostics)


def propose_read(features: Tensor, targets: Tensor, diagnostics: Diagnostics) -> Proposal:
    """The same of features [T·B, D] that were made before, time by time, whatever was read on the way."""
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


def means(sums: Diagnostics) -> dict[str, float]:
    """What targets were like on average; what no target has is left out."""
    written = sums.driven_tokens + sums.model_tokens
    quotients = {
        "reward": (sums.reward, sums.rewarded),
        "driven_share": (sums.driven_tokens, written),
        "tied_share": (sums.tied_tokens, sums.driven_tokens),
        "sample_length": (sums.sample_tokens, sums.samples),
        "reference_length": (sums.reference_tokens, sums.samples),
        "entropy": (sums.entropy, sums.measured),
        "equal_share": (sums.equal, sums.compared),
    }
    return {name: total / count for name, (total, count) in quotients.items() if count}


class TemperedDecoder:
    """A decoder whose head is softmax(logits / T)."""

    def __init__(self, decoder: Decoder, temperature: float) -> None:
        self.decoder, self.temperature = decoder, temperature
        self.head = at_temperature(decoder.head, temperature)

    def unroll(self, tokens: Tensor) -> Tensor:
        return self.decoder.unroll(tokens)

    def rollout(self, max_length: int) -> Rollout:
        return self.decoder.rollout(max_length)

    def repeat(self, times: int) -> "TemperedDecoder":
        return TemperedDecoder(self.decoder.repeat(times), self.temperature)


class BaseObjective:
    """An objective that defines `targets`."""

    def __init__(self, settings: ObjectiveSettings, max_length: int) -> None:
        self.settings, self.max_length = settings, max_length

    def propose(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        decoder = model.begin(batch.source, batch.source_length)
        return self.normalized(self.targets(decoder, batch.target, step, generator))

    def targets(self, decoder: Decoder, references: Tensor, step: int, generator: torch.Generator) -> Proposal:
        """Targets for references [B, T], or [B, M, T] where the reward is to know several.

        Each reference ends in `</s>` and is padded.
        """
        raise NotImplementedError(f"{type(self).__name__} must define targets()")

    def normalized(self, proposal: Proposal) -> Proposal:
        """The proposal with what its losses are divided by."""
        sequences = proposal.diagnostics.samples
        counts = {"sequences": sequences, "constant": sequences * self.max_length}
        positions = len(proposal.tokens) if proposal.divisor is None else proposal.divisor
        return proposal._replace(divisor=counts.get(self.settings.normalizer, positions))


class RewardedObjective(BaseObjective):
    """An objective by reward: rows on which no output could earn any are left out."""

    def propose(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        rows = rewardable(batch.references)
        if len(rows) == 0:
            return nothing(model, batch)
        if len(rows) < len(batch.target):
            batch = Batch(*(field[rows] for field in batch))
        return self.normalized(self.rewarded(model, batch, step, generator))

    def rewarded(self, model: Model[Any], batch: Batch, step: int, generator: torch.Generator) -> Proposal:
        """The proposal for rows that can earn a reward."""
        decoder = model.begin(batch.source, batch.source_length)
        return self.targets(decoder, rewarded_references(batch), step, generator)


def rewarded_references(batch: Batch) -> Tensor:
    """What the reward compares with: [B, M, T] if there are several for a row, else [B, T]."""
    return batch.references if batch.references.shape[1] > 1 else batch.target


def rewardable(references: Tensor) -> Tensor:
    """The rows of [B, M, T] with a known word in a reference: for the others no output could earn a reward."""
    known = (references != PAD) & (references != UNK) & (references != EOS)
    return known.flatten(1).any(1).nonzero().squeeze(1)


def nothing(model: Model[Any], batch: Batch) -> Proposal:
    """No position at all. The graph still reaches every weight, as data-parallel training asks for."""
    decoder = model.begin(batch.source[:1], batch.source_length[:1])
    features = decoder.unroll(torch.full_like(batch.target[:1, :1], BOS)).flatten(0, 1)[:0]
    tokens = batch.target.new_empty(0)
    return Proposal(tokens, features, features.new_empty(0), Diagnostics(0, 0, 0), 0)
