"""How many documents have each n-gram: the table that CIDEr-D weighs n-grams with.

The file is JSON, one object: `documents`, how many there were, `max_n`, the longest n-grams counted, and `counts`,
from n-gram (tokens joined by spaces) to the number of documents it is in. It holds texts, not ids, so it stays right
when the vocabulary changes.

Inverse frequencies are looked up by the thousand. The n-grams form a tree: the children of a node are the n-grams that
are one token longer. A child's key is parent · 2³¹ + token; keys are sorted, and a node's number is its place among
them plus one (the root is 0), so walking down the tree is a binary search. Tokens without a text are in no n-gram.
"""

import copy
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.files import write_output
from bangbang.symbols import EOS, SYMBOLS

Ngram = tuple[str, ...]


@dataclass(frozen=True)
class DocumentFrequency:
    documents: int
    counts: dict[Ngram, int]
    max_n: int

    def __post_init__(self) -> None:
        if self.documents < 2:
            raise InputError(
                f"a document frequency of {self.documents} documents weighs no n-gram; it needs at least 2"
            )

    @classmethod
    def count(cls, documents: Iterable[Sequence[Sequence[str]]], max_n: int = 4) -> "DocumentFrequency":
        """Count n-grams over documents, each the references of one example: tokens, to which `</s>` is added."""
        counts: Counter[Ngram] = Counter()
        total = 0
        for references in documents:
            total += 1
            counts.update({ngram for tokens in references for ngram in ngrams([*tokens, SYMBOLS[EOS]], max_n)})
        return cls(total, dict(counts), max_n)

    def save(self, path: Path | str) -> None:
        """Write the table, whole or not at all."""
        for ngram in self.counts:
            if any(len(token.split()) != 1 for token in ngram):
                raise InputError(f"{path}: a token with white space cannot be written: {ngram!r}")
        counts = {" ".join(ngram): count for ngram, count in self.counts.items()}
        table = {"documents": self.documents, "max_n": self.max_n, "counts": counts}
        write_output(Path(path), json.dumps(table, ensure_ascii=False))

    @classmethod
    def load(cls, path: Path | str) -> "DocumentFrequency":
        try:
            table = json.loads(Path(path).read_text("utf-8"))
            counts = {tuple(key.split(" ")): int(count) for key, count in table["counts"].items()}
            return cls(int(table["documents"]), counts, int(table["max_n"]))
        except FileNotFoundError:
            way_out = "make it with DocumentFrequency.count(training references).save(path)"
            raise InputError(f"{path}: no document frequencies for CIDEr-D; {way_out}") from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}: not a table of document frequencies: {error!r}") from None


def ngrams(tokens: Sequence[str], max_n: int) -> Iterable[Ngram]:
    return (tuple(tokens[i : i + n]) for n in range(1, max_n + 1) for i in range(len(tokens) - n + 1))


ROOT, ABSENT = 0, -1
STRIDE = 2**31  # more than any token id


class NgramWeights:
    """idf(g) = log N - log max(1, df(g)) for n-grams g of token ids."""

    def __init__(self, frequency: DocumentFrequency, texts: Sequence[str], max_n: int) -> None:
        if max_n > frequency.max_n:
            raise InputError(f"the document frequencies are of n-grams up to {frequency.max_n}, not {max_n}")
        self.unseen = math.log(frequency.documents)
        token_ids = {text: token for token, text in enumerate(texts)}
        by_order: list[list[tuple[tuple[int, ...], int]]] = [[] for _ in range(max_n)]
        for ngram, count in frequency.counts.items():
            # n-grams with a word outside the vocabulary cannot be generated and are left out
            if len(ngram) <= max_n and all(token in token_ids for token in ngram):
                by_order[len(ngram) - 1].append((tuple(token_ids[token] for token in ngram), count))
        if not by_order[0]:
            raise InputError("the document frequencies have no word of this vocabulary")
        self.keys, self.idf = self.tree(by_order)

    def tree(self, by_order: list[list[tuple[tuple[int, ...], int]]]) -> tuple[Tensor, Tensor]:
        """Sorted keys and the idf of their nodes. Deeper levels have larger parents, hence larger keys."""
        nodes: dict[tuple[int, ...], int] = {(): ROOT}
        keys: list[int] = []
        idf: list[float] = []
        for level in by_order:
            for ngram, _ in level:
                if ngram[:-1] not in nodes:
                    raise InputError(f"the document frequencies have an n-gram but not its beginning: ids {ngram}")
            keyed = ((nodes[ngram[:-1]] * STRIDE + ngram[-1], ngram, count) for ngram, count in level)
            for key, ngram, count in sorted(keyed):
                keys.append(key)
                idf.append(self.unseen - math.log(max(1, count)))
                nodes[ngram] = len(keys)
        return torch.tensor(keys), torch.tensor(idf, dtype=torch.float64)

    def to(self, device: torch.device, dtype: torch.dtype) -> "NgramWeights":
        """The same on a device, with idf of a dtype."""
        moved = copy.copy(self)
        moved.keys, moved.idf = self.keys.to(device), self.idf.to(dtype).to(device)
        return moved

    def look_up(self, parents: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The nodes of n-grams one token longer, ABSENT if not in the table, and their idf."""
        keys = parents * STRIDE + tokens
        place = torch.searchsorted(self.keys, keys).clamp(max=len(self.keys) - 1)
        found = (self.keys[place] == keys) & (parents != ABSENT)
        return (place + 1).where(found, ABSENT), self.idf[place].where(found, self.unseen)
