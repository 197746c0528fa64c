"""How many documents have each n-gram: the table that CIDEr-D weighs n-grams with.

The file is JSON, one object: `documents`, how many there were, `max_n`, the longest n-grams counted, and `counts`,
from n-gram (tokens joined by spaces) to the number of documents it is in. It holds texts, not ids, so it stays right
when the vocabulary changes.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

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
