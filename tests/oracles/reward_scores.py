"""Rewards of whole sequences, written down literally: lists, counters, tables; one reference unless said otherwise.

A sequence is a list of token ids; `</s>` stands in it if it was generated. Slow on purpose, and never incremental.
"""

import codecs
import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from bangbang.symbols import BOS, EOS, UNK

Tokens = Sequence[int]


def ngrams(tokens: Tokens, n: int, start_symbol: bool) -> list[tuple[int, ...]]:
    padded = [BOS, *tokens] if start_symbol and n > 1 else list(tokens)
    return [tuple(padded[i : i + n]) for i in range(len(padded) - n + 1)]


def clipped_matches(z: Tokens, references: Sequence[Tokens], n: int, start_symbol: bool) -> int:
    """Each n-gram of z counts as often as the reference that has it most."""
    counts = Counter(gram for gram in ngrams(z, n, start_symbol) if UNK not in gram)
    best: Counter[tuple[int, ...]] = Counter()
    for y in references:
        best |= Counter(ngrams(y, n, start_symbol))
    return sum(min(count, best[gram]) for gram, count in counts.items())


def rouge_n(
    z: Tokens, y: Tokens, orders: Sequence[int] = (1, 2, 3), measure: str = "f1", start_symbol: bool = True
) -> float:
    scores = []
    for n in orders:
        of_z, of_y = len(ngrams(z, n, start_symbol)), len(ngrams(y, n, start_symbol))
        matches = clipped_matches(z, [y], n, start_symbol)
        precision = matches / of_z if of_z else 0.0
        recall = matches / of_y if of_y else 0.0
        f1 = 2 * precision * recall / (precision + recall) if matches else 0.0
        scores.append({"f1": f1, "recall": recall, "precision": precision}[measure])
    return sum(scores) / len(scores)


def longest_common_subsequence(z: Tokens, y: Tokens) -> int:
    table = [[0] * (len(y) + 1) for _ in range(len(z) + 1)]
    for i, a in enumerate(z):
        for j, b in enumerate(y):
            same = a == b and a != UNK
            table[i + 1][j + 1] = table[i][j] + 1 if same else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def rouge_l(z: Tokens, y: Tokens, beta: float = 1.0) -> float:
    if not z:
        return 0.0
    common = longest_common_subsequence(z, y)
    precision, recall = common / len(z), common / len(y)
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision) if common else 0.0


def bleu(z: Tokens, references: Sequence[Tokens], max_n: int = 4, start_symbol: bool = True) -> float:
    matches = [clipped_matches(z, references, n, start_symbol) for n in range(1, max_n + 1)]
    totals = [len(ngrams(z, n, start_symbol)) for n in range(1, max_n + 1)]
    if not any(matches):
        return 0.0
    logarithms = []
    halvings = 0
    for match, total in zip(matches, totals, strict=True):
        if total:
            halvings += match == 0
            logarithms.append(math.log((match or 0.5**halvings) / total))
    r = min((abs(len(y) - len(z)), len(y)) for y in references)[1]
    return math.exp(min(0.0, 1 - r / len(z)) + sum(logarithms) / len(logarithms))


def gleu(z: Tokens, y: Tokens, max_n: int = 4, start_symbol: bool = True) -> float:
    orders = range(1, max_n + 1)
    of_z = sum(len(ngrams(z, n, start_symbol)) for n in orders)
    of_y = sum(len(ngrams(y, n, start_symbol)) for n in orders)
    return sum(clipped_matches(z, [y], n, start_symbol) for n in orders) / max(of_z, of_y)


def edit_distance(z: Sequence[object], y: Sequence[object], unmatched: object = UNK) -> int:
    row = list(range(len(y) + 1))
    for i, a in enumerate(z, start=1):
        above, row = row, [i]
        for j, b in enumerate(y, start=1):
            cost = 0 if a == b and a != unmatched else 1
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + cost))
    return row[-1]


def word_accuracy(z: Tokens, y: Tokens) -> float:
    return 1 - edit_distance(z, y) / len(y)


def exact_match(z: Tokens, y: Tokens) -> float:
    """1 if all is right, the end included; an unknown word is never right."""
    return float(list(z) == list(y) and UNK not in z)


def character_accuracy(z: Tokens, y: Tokens, texts: Sequence[str], separator: str = " ") -> float:
    def marks(tokens: Tokens) -> list[str]:
        words = [["<unk>"] if token == UNK else list(texts[token]) for token in tokens if token != EOS]
        joined: list[str] = []
        for i, word in enumerate(words):
            joined += ([separator] if i and separator else []) + word
        return joined + (["</s>"] if EOS in tokens else [])

    return 1 - edit_distance(marks(z), marks(y), unmatched="<unk>") / len(marks(y))


def piece_accuracy(z: Tokens, y: Tokens, pieces: Sequence[bytes]) -> float:
    """Of texts made of pieces of bytes: one minus the smallest character error rate that z's last bytes can come to."""

    def marks(tokens: Tokens) -> tuple[list[str], bytes]:
        found: list[str] = []
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        for token in tokens:
            end = {EOS: ["</s>"], UNK: ["<unk>"]}.get(token)
            found += decoder.decode(b"" if end else pieces[token], final=bool(end))
            found += end or []
        return found, bytes(decoder.getstate()[0])

    (ours, left), (theirs, _) = marks(z), marks(y)
    whole = {mark for mark in theirs if len(mark) == 1 and not 0xD800 <= ord(mark) < 0xE000}
    endings = [[mark] for mark in whole if mark.encode().startswith(left)] + [["<unk>"]] if left else [[]]
    distance = min(edit_distance(ours + ending, theirs, unmatched="<unk>") for ending in endings)
    return 1 - distance / len(theirs)


def cider_d(z: Tokens, y: Tokens, idf: Callable[[tuple[int, ...]], float], max_n: int = 4, sigma: float = 6.0) -> float:
    total = 0.0
    for n in range(1, max_n + 1):
        of_z, of_y = Counter(ngrams(z, n, False)), Counter(ngrams(y, n, False))
        common = sum(
            min(count * idf(gram), of_y[gram] * idf(gram)) * of_y[gram] * idf(gram)
            for gram, count in of_z.items()
            if UNK not in gram
        )
        norm_z = math.sqrt(sum((count * idf(gram)) ** 2 for gram, count in of_z.items()))
        norm_y = math.sqrt(sum((count * idf(gram)) ** 2 for gram, count in of_y.items()))
        total += common / (norm_z * norm_y) if norm_z and norm_y else 0.0
    return 10 * total / max_n * math.exp(-((len(z) - len(y)) ** 2) / (2 * sigma**2))


def dup(z: Tokens, references: Sequence[Tokens] = ()) -> float:
    """Minus the repeats in z, less those that the reference with most of the same repeats has."""
    repeats = Counter(b for a, b in pairwise(z) if a == b)
    free: Counter[int] = Counter()
    for y in references:
        free |= Counter(b for a, b in pairwise(y) if a == b and b != UNK)
    return -float(sum((repeats - free).values()))


def eos(z: Tokens, y: Tokens) -> float:
    return -1.0 if EOS in z and len(z) < len(y) else 0.0


def length(z: Tokens, y: Tokens) -> float:
    return -float(sum(token != EOS for t, token in enumerate(z, start=1) if t >= len(y)))
