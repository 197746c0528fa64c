"""How alike two texts are, for many pairs at once: a reward of ours with one text as z and the other as y.

Shapes: C candidates and R references of a line, P pairs, T time.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bangbang.contracts import Reward
from bangbang.errors import InputError
from bangbang.precision import widest_float
from bangbang.rewards import Sum
from bangbang.symbols import EOS, PAD, UNK

POSITIONS = 2**18  # of references, in the pairs that advance together: what the processor's caches hold
TABLE = 2**24  # of pairs, or of pairs of positions, that are prepared together


class Contest(NamedTuple):
    """A line's candidates and what each of them is compared with, as token ids without `</s>`."""

    candidates: Sequence[Sequence[int]]
    references: Sequence[Sequence[int]]
    """All of them say something."""


class Utility(Protocol):
    """U(z, y): what is gained by saying z where y is right."""

    def matrices(self, contests: Sequence[Contest], device: torch.device) -> Iterator[Tensor]:
        """U of every candidate and every reference of each line, in double precision. [C, R]"""
        ...


def says_something(tokens: Sequence[int]) -> bool:
    """Whether a text can be compared with: rewards are undefined for references without a known word."""
    return any(token != UNK for token in tokens)


class RewardUtility:
    """U(z, y) = R(z | y) of a reward, with `</s>` at the end of both, also where they were cut.

    The pairs of many lines are the rows of one reward state, which goes over the candidates' tokens.
    """

    def __init__(self, reward: Reward, name: str = "utility") -> None:
        if not callable(getattr(reward, "start", None)):
            raise InputError(f"decoding.utility = {name!r}: a reward without increments, it has no `start`")
        self.reward, self.name = Sum(reward), name

    def matrices(self, contests: Sequence[Contest], device: torch.device) -> Iterator[Tensor]:
        remaining, together = iter(contests), lines_together(contests)
        while group := list(islice(remaining, together)):
            yield from self.group(group, device)

    def group(self, contests: Sequence[Contest], device: torch.device) -> list[Tensor]:
        shapes = [(len(contest.candidates), len(contest.references)) for contest in contests]
        references = [tokens for contest in contests for tokens in contest.references]
        if not references:
            return [torch.zeros(shape, dtype=torch.float64) for shape in shapes]
        candidates = padded([tokens for contest in contests for tokens in contest.candidates], device)
        values = self.values(candidates, padded(references, device), *pairs(shapes, device))
        blocks = torch.split(values, [rows * columns for rows, columns in shapes])
        return [block.view(shape) for block, shape in zip(blocks, shapes, strict=True)]

    def values(self, candidates: Tensor, references: Tensor, ours: Tensor, theirs: Tensor) -> Tensor:
        """R of the pairs (candidates[ours], references[theirs]). [P]"""
        begun = self.reward.start(references, dtype=widest_float(references.device))  # once for each reference
        lengths = (candidates != PAD).sum(1)
        order = lengths[ours].argsort(stable=True)  # those that end together go together
        found = torch.empty(len(order), dtype=widest_float(order.device), device=order.device)
        for chunk in torch.split(order, max(1, POSITIONS // references.shape[1])):
            state, rows = begun.select(theirs[chunk]), ours[chunk]
            for tokens in candidates[rows, : int(lengths[rows[-1]])].unbind(1):
                state.advance(tokens)
            found[chunk] = state.main_value().to(found.dtype)
        return found.cpu().double()


def lines_together(contests: Sequence[Contest]) -> int:
    """How many lines are prepared at once, by the largest: some rewards compare all positions of a reference."""
    longest = max((len(tokens) + 1 for contest in contests for tokens in contest.references), default=1)
    entries = (len(contest.references) * max(longest**2, len(contest.candidates)) for contest in contests)
    return max(1, TABLE // max(1, *entries))


def padded(texts: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Token ids with `</s>` at the end of each text. [N, T]"""
    rows = [torch.tensor([*tokens, EOS]) for tokens in texts]
    return pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)


def pairs(shapes: Sequence[tuple[int, int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """The candidate and the reference of each pair, line by line, as rows of all candidates and all references. [P]"""
    ours, theirs, above, left = [], [], 0, 0
    for candidates, references in shapes:
        ours.append(torch.arange(above, above + candidates).repeat_interleave(references))
        theirs.append(torch.arange(left, left + references).repeat(candidates))
        above, left = above + candidates, left + references
    return torch.cat(ours).to(device), torch.cat(theirs).to(device)
