"""Beam search; greedy decoding is a beam of one.

Shapes: B inputs still open, K beam, R = B·K rows, V vocabulary.
"""

from collections.abc import Sequence
from typing import Generic

import torch
from torch import Tensor

from bangbang.contracts import Model, State
from bangbang.decoding.sampling import Hypothesis, forbidden
from bangbang.decoding.settings import DecodingSettings
from bangbang.symbols import BOS, EOS


class BeamSearch(Generic[State]):
    """The K best open prefixes of every input, extended by one token at a time.

    A hypothesis that ends in `</s>` leaves the beam; an input is done when K have ended, or at the longest length.
    """

    def __init__(self, model: Model[State], state: State, beam: int, max_length: int, config: DecodingSettings) -> None:
        inputs, device = state.rows, state.device
        self.model, self.beam, self.max_length, self.config = model, beam, max_length, config
        self.finished: list[list[Hypothesis]] = [[] for _ in range(inputs)]
        self.inputs = list(range(inputs))  # which input each open block of K rows belongs to
        self.state = state.select(torch.arange(inputs, device=device).repeat_interleave(beam))
        self.last = torch.full((inputs * beam,), BOS, device=device)
        self.prefixes = self.last.new_zeros(inputs * beam, 0)  # [R, t]
        # all K prefixes are equal at first: only one of them may grow, or the beam would hold K copies
        self.scores = torch.full((inputs, beam), -torch.inf, device=device)  # [B, K] log p so far
        self.scores[:, 0] = 0.0

    def run(self) -> list[list[Hypothesis]]:
        """The K best hypotheses of each input, best first."""
        penalty = self.config.length_penalty
        return [ranked(ended, penalty, self.max_length)[: self.beam] for ended in self.search()]

    def search(self) -> list[list[Hypothesis]]:
        """All hypotheses that end, in the order of their ends and scored by log p; no length penalty is needed."""
        for _ in range(self.max_length):
            self.extend()
            if not self.inputs:
                break
        self.close()
        return self.finished

    def extend(self) -> None:
        """One more token for every prefix: the 2K best extensions hold at least K that do not end."""
        self.state, features = self.model.step(self.state, self.last)
        # the 2K best of all prefixes of an input are among the 2K best of each
        log_probs, tokens = self.model.head.top_k(features, 2 * self.beam, forbidden(self.last, self.config))
        each = log_probs.shape[1]
        totals = (self.scores.view(-1, 1) + log_probs).view(len(self.inputs), -1)  # [B, K·2K]
        best, index = totals.topk(min(2 * self.beam, totals.shape[1]))
        origin = torch.div(index, each, rounding_mode="floor")  # [B, 2K] which prefix
        token = tokens.view(len(self.inputs), -1).gather(1, index)
        ends = token == EOS
        self.collect(best, origin, ends)
        keep = torch.argsort(ends.int(), dim=1, stable=True)[:, : self.beam]  # the best K that go on
        self.scores = best.gather(1, keep)
        self.advance(origin.gather(1, keep), token.gather(1, keep))

    def collect(self, best: Tensor, origin: Tensor, ends: Tensor) -> None:
        """Ended hypotheses among the first K extensions leave the beam."""
        ending = ends[:, : self.beam] & best[:, : self.beam].isfinite()
        for block, rank in ending.nonzero().tolist():
            row = block * self.beam + int(origin[block, rank])
            self.finish(block, row, float(best[block, rank]))

    def finish(self, block: int, row: int, log_prob: float) -> None:
        self.finished[self.inputs[block]].append(Hypothesis(self.prefixes[row].tolist(), log_prob, log_prob))

    def advance(self, origin: Tensor, token: Tensor) -> None:
        """The chosen prefixes become the rows, and inputs that are done leave."""
        open_blocks = [b for b, number in enumerate(self.inputs) if len(self.finished[number]) < self.beam]
        blocks = torch.tensor(open_blocks, dtype=torch.long, device=token.device)
        rows = (blocks.unsqueeze(1) * self.beam + origin[blocks]).flatten()
        self.last = token[blocks].flatten()
        self.prefixes = torch.cat((self.prefixes[rows], self.last.unsqueeze(1)), 1)
        self.scores = self.scores[blocks]
        self.state = self.state.select(rows)
        self.inputs = [self.inputs[block] for block in open_blocks]

    def close(self) -> None:
        """At the longest length what is open ends without `</s>`."""
        for block in range(len(self.inputs)):
            for rank in range(self.beam):
                log_prob = float(self.scores[block, rank])
                if log_prob > -torch.inf:
                    self.finish(block, block * self.beam + rank, log_prob)


def ranked(ended: Sequence[Hypothesis], penalty: float, max_length: int) -> list[Hypothesis]:
    """What a search found, best first by log p / length^penalty; the length counts `</s>`, where it was reached."""
    lengths = (min(len(each.tokens) + 1, max_length) for each in ended)
    found = [each._replace(score=each.log_prob / n**penalty) for each, n in zip(ended, lengths, strict=True)]
    return sorted(found, key=lambda each: -each.score)
