"""Samples by passes over whole sequences, instead of step by step.

With its coins and uniform numbers fixed, a token of a sample is a function of the tokens before it. So begin with
z = y, let the model read z at once, choose all tokens anew, and repeat. After k passes the first k tokens are those of
the sample that steps would have drawn, and when nothing changes, all are. Where it is stopped before, the reward's
choices are still exact for the prefix that stands there; the model's were drawn for an earlier one.

Shapes: B rows to sample, R of them that still change, T time, D features, K targets of a position.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad

from bangbang.contracts import ReadingDecoder
from bangbang.objectives.sampler import Sample
from bangbang.symbols import BOS, PAD


class Recalled:
    """A walk over features [R, T, D] that are known already, whatever tokens it is given."""

    def __init__(self, features: Tensor) -> None:
        self.found, self.time = features, -1

    def step(self, tokens: Tensor) -> Tensor:
        self.time += 1
        return self.found[:, self.time]

    def keep(self, rows: Tensor) -> None:
        self.found = self.found[rows]


class ReadOnce:
    """Tokens [B, T] that were sampled, to be trained on by one pass."""

    def __init__(self, decoder: ReadingDecoder, tokens: Tensor, calls: int) -> None:
        self.decoder, self.tokens, self.calls = decoder, tokens, calls

    def features(self) -> Tensor:
        used = int((self.tokens != PAD).any(0).sum())
        return self.decoder.unroll(shifted(self.tokens[:, :used])).transpose(0, 1).flatten(0, 1)  # [T·B, D]


def shifted(tokens: Tensor) -> Tensor:
    """What a decoder reads to write tokens [B, T]."""
    return torch.cat((torch.full_like(tokens[:, :1], BOS), tokens[:, :-1]), 1)


Redraw = Callable[[Recalled, Tensor], Sample]
"""The tokens of some rows [R] chosen anew, given the features of each of their positions."""


@torch.no_grad()
def draw_by_passes(decoder: ReadingDecoder, first: Tensor, redraw: Redraw, most: int = 0) -> tuple[ReadOnce, Sample]:
    """Samples by at most so many passes, or, with 0, until nothing changes; `first` [B, T] are the tokens to begin
    with. Rows that do not change any more are not read again."""
    rows, z, whole, calls = torch.arange(len(first), device=first.device), first, None, 0
    while len(rows) and not (most and calls == most):
        calls += 1
        part = decoder if len(rows) == len(first) else decoder.select(rows)
        sample = redraw(Recalled(part.read(shifted(z[rows]))), rows)
        whole = sample if whole is None else put(whole, sample, rows)
        changed = (sample.tokens != z[rows]).any(1)
        z = z.index_copy(0, rows, sample.tokens)
        rows = rows[changed]
    assert whole is not None
    time, row = torch.arange(z.shape[1], device=z.device), torch.arange(len(z), device=z.device)
    return ReadOnce(decoder, z, calls), whole._replace(places=time * len(z) + row.unsqueeze(1))


def put(whole: Sample, part: Sample, rows: Tensor) -> Sample:
    """A sample with some rows replaced."""
    plain = ("tokens", "driven", "tied", "rewards", "shares")
    changed = {name: getattr(whole, name).index_copy(0, rows, getattr(part, name)) for name in plain}
    if whole.targets is None or part.targets is None:
        return whole._replace(**changed)
    widest = max(whole.targets.shape[2], part.targets.shape[2])
    old, new = (pad(each, (0, widest - each.shape[2]), value=PAD) for each in (whole.targets, part.targets))
    return whole._replace(**changed, targets=old.index_copy(0, rows, new))


def begun_with(references: Tensor, samples: int, length: int) -> Tensor:
    """The first reference of each example, [B, T] or [B, M, T], for each of its samples: [B·J, `length`], padded."""
    tokens = references if references.ndim == 2 else references[:, 0]
    cut = pad(tokens[:, :length], (0, max(0, length - tokens.shape[1])), value=PAD)
    return cut.repeat_interleave(samples, 0)
