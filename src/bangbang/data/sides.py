"""Which side of the split a pair is on: a function of its family alone, so that no family is ever on two sides."""

from array import array

import numpy as np

from bangbang.corpora.pairs import stable_hash
from bangbang.corpora.settings import CorpusSettings
from bangbang.errors import InputError


class Sides:
    """Carves the splits that a corpus lacks out of its `train` part."""

    def __init__(self, data: CorpusSettings, given: list[str]) -> None:
        if data.valid_share + data.test_share >= 1:
            raise InputError("data.valid_share and data.test_share together leave nothing for training")
        self._bounds: list[tuple[float, str]] = []
        bound = 0.0
        for name, share in (("test", data.test_share), ("valid", data.valid_share)):
            if name not in given and share > 0:
                bound += share
                self._bounds.append((bound, name))
        self.carved = [name for _, name in reversed(self._bounds)]
        self._families = array("Q")

    def of(self, family: str) -> str:
        """The split of a `train` pair of this family."""
        if not self._bounds:
            return "train"
        hashed = stable_hash(family)
        self._families.append(hashed)
        place = hashed / 2**64
        return next((name for bound, name in self._bounds if place < bound), "train")

    def families(self) -> dict[str, int]:
        """How many families there were, and the pairs of the largest."""
        if not self._families:
            return {}
        _, counts = np.unique(np.frombuffer(self._families, dtype=np.uint64), return_counts=True)
        return {"count": len(counts), "largest": int(counts.max())}
