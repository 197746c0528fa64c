"""Batches that rows can be taken from, as finished rows drop out and examples are sampled several times."""

import copy
from typing import Any, Self

import torch
from torch import Tensor


class PerRow:
    """Something whose attributes hold one entry per row of the batch.

    Tensors, lists and other `PerRow`s follow `select`, also inside tuples; everything else is shared. Attributes are
    replaced, never changed in place, so that copies can share them.
    """

    def select(self, rows: Tensor) -> Self:
        """A new, independent copy of the given rows: indices, which may repeat, or a mask."""
        chosen: Self = select_rows(self, rows.nonzero().squeeze(1) if rows.dtype == torch.bool else rows, {})
        return chosen


def select_rows(thing: Any, rows: Tensor, done: dict[int, tuple[Any, Any]]) -> Any:
    """A copy of `thing` with the given rows of all that is per row in it.

    What was one object before is one object after, as with `copy.deepcopy`: `Sum` relies on it to see at a glance that
    its parts have the same candidates. `done` holds the originals too, so that their ids stay theirs.
    """
    if id(thing) in done:
        return done[id(thing)][1]
    if isinstance(thing, Tensor):
        result: Any = thing[rows]
    elif isinstance(thing, list):
        result = [thing[row] for row in rows.tolist()]
    elif isinstance(thing, tuple):
        result = tuple(select_rows(part, rows, done) for part in thing)
    elif isinstance(thing, PerRow):
        result = copy.copy(thing)
        for name, part in vars(thing).items():
            object.__setattr__(result, name, select_rows(part, rows, done))
    elif hasattr(thing, "select"):  # the state of a reward written elsewhere
        result = thing.select(rows)
    else:
        result = thing
    done[id(thing)] = (thing, result)
    return result
