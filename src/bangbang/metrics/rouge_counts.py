"""What ROUGE counts between one candidate and one reference: units on either side, and hits.

Hits are clipped: a unit of the candidate counts at most as often as the reference has it.

Text is what ROUGE-1.5.5.pl sees: bytes, ASCII letters and digits in lower case, a line feed between sentences.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from bangbang.metrics import lcs, weighted_lcs
from bangbang.metrics.stemmer import stem

_KEPT = b"abcdefghijklmnopqrstuvwxyz0123456789"
# every byte that is not an ASCII letter or digit becomes a space; so each byte of "é" separates words
_TO_TOKENS = bytes(byte if bytes([byte]) in _KEPT else 32 for byte in bytes(range(256)).lower())


class Text(NamedTuple):
    """One tokenised text. `words` are what n-grams are made of, `sentences` what the LCS is taken over.

    With a byte limit the two differ: the script stops `words` after so many bytes in all, but `sentences` only at the
    first sentence that alone reaches the limit.
    """

    words: list[str]
    sentences: list[list[str]]


def read(text: str, stemmed: bool = False, max_bytes: int | None = None) -> Text:
    """Tokenise like the script does on a file with one sentence a line.

    A lone surrogate, which no file can hold, counts as the three bytes of its code point.
    """
    data = text.encode("utf-8", "surrogatepass")
    if b"\n" not in data and max_bytes is None:
        words = _tokens(data, stemmed)
        return Text(words, [words])
    lines = [line for line in data.split(b"\n") if line]
    if max_bytes is None:
        sentences = [_tokens(line, stemmed) for line in lines]
        return Text([word for sentence in sentences for word in sentence], sentences)
    words = _tokens(b" ".join(_first_bytes(lines, max_bytes)), stemmed)
    return Text(words, [_tokens(line, stemmed) for line in _until_long_line(lines, max_bytes)])


def _tokens(data: bytes, stemmed: bool) -> list[str]:
    words = data.translate(_TO_TOKENS).decode("ascii").split()
    return list(map(stem, words)) if stemmed else words


def _first_bytes(lines: list[bytes], limit: int) -> list[bytes]:
    kept = []
    for line in lines:
        kept.append(line[:limit])
        limit -= len(line)
        if limit <= 0:
            break
    return kept


def _until_long_line(lines: list[bytes], limit: int) -> list[bytes]:
    kept = []
    for line in lines:
        kept.append(line[:limit])
        if len(line) >= limit:
            break
    return kept


_FEW_UNITS = 64  # up to here counting in lists beats building counters
_FEW_WORDS = 400  # up to here all pairs of words are listed

MatchedRows = Callable[[Sequence[str], Sequence[str]], list[int]]


class Counts(NamedTuple):
    """Units in the reference, in the candidate, and in both: whole numbers, except for the weights of ROUGE-W."""

    reference: float
    candidate: float
    hits: float


def n_grams(order: int, candidate: Text, reference: Text) -> Counts:
    """ROUGE-N: n-grams of the whole text; sentence breaks do not matter."""
    ours, theirs = _grams(candidate.words, order), _grams(reference.words, order)
    return Counts(len(theirs), len(ours), clipped_hits(ours, theirs))


def _grams(words: list[str], order: int) -> Sequence[Hashable]:
    return words if order == 1 else list(zip(*[words[start:] for start in range(order)], strict=False))


def clipped_hits(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> int:
    """The size of the intersection of two multisets."""
    our_kinds, their_kinds = set(ours), set(theirs)
    shared = our_kinds & their_kinds
    if not shared or len(our_kinds) == len(ours) or len(their_kinds) == len(theirs):
        return len(shared)  # one side repeats nothing, so each shared unit hits once
    if len(ours) <= _FEW_UNITS and len(theirs) <= _FEW_UNITS:
        return sum([min(ours.count(unit), theirs.count(unit)) for unit in shared])
    return (Counter(ours) & Counter(theirs)).total()


def skip_bigrams(with_words: bool, candidate: Text, reference: Text) -> Counts:
    """ROUGE-S and ROUGE-SU: pairs of words in order, any distance apart; SU adds the single words.

    The script's loop over first words ends before the last word of a text, so SU never counts that word.
    """
    ours, theirs = candidate.words, reference.words
    sizes = [comb(len(words), 2) for words in (theirs, ours)]
    hits = _pair_hits(ours, theirs)
    if with_words:
        sizes = [size + max(0, len(words) - 1) for size, words in zip(sizes, (theirs, ours), strict=True)]
        hits += clipped_hits(ours[:-1], theirs[:-1])
    return Counts(sizes[0], sizes[1], hits)


def _pair_hits(ours: list[str], theirs: list[str]) -> int:
    shared = set(ours) & set(theirs)
    ours, theirs = ([word for word in words if word in shared] for words in (ours, theirs))
    if max(len(ours), len(theirs)) <= _FEW_WORDS:
        return clipped_hits(list(combinations(ours, 2)), list(combinations(theirs, 2)))
    number = {word: index for index, word in enumerate(shared)}
    our_rows, their_rows = (_pair_rows([number[word] for word in words], len(number)) for words in (ours, theirs))
    return sum(int(np.minimum(our, their).sum()) for our, their in zip(our_rows, their_rows, strict=True))


def _pair_rows(words: list[int], kinds: int) -> Iterator[np.ndarray]:
    """For each first word, how often each second word follows it at any distance: time kinds x words, memory linear."""
    numbers = np.array(words)
    first_at = np.full(kinds, len(words))
    np.minimum.at(first_at, numbers, np.arange(len(words)))
    repeated = np.bincount(numbers, minlength=kinds) > 1
    for kind in range(kinds):
        after = numbers[first_at[kind] + 1 :]
        if repeated[kind]:
            times_seen = np.cumsum(numbers[first_at[kind] : -1] == kind)
            yield np.bincount(after, weights=times_seen, minlength=kinds)
        else:
            yield np.bincount(after, minlength=kinds)


def union_lcs(candidate: Text, reference: Text) -> Counts:
    """ROUGE-L: for each reference sentence the union of its LCS with every candidate sentence.

    A word counts as a hit at most as often as either text has it.
    """
    size = sum(map(len, reference.sentences))
    if len(candidate.sentences) == len(reference.sentences) == 1:
        return Counts(size, len(candidate.words), lcs.length(candidate.sentences[0], reference.sentences[0]))
    left = _Clip(candidate, reference)
    hits = 0
    for sentence, mask in _union_masks(candidate, reference, lcs.matched_rows):
        hits += sum(left.take(word) for word, matched in zip(sentence, mask, strict=True) if matched)
    return Counts(size, len(candidate.words), hits)


def weighted_union_lcs(weight: float, candidate: Text, reference: Text) -> Counts:
    """ROUGE-W: as ROUGE-L, but a run of k hits weighs k^w and n words weigh n^w.

    Faithful to two oddities of the script: a reference of several sentences weighs (Σ n_i^w)^w, and a run is only
    counted where its last word is a hit within the clipping.
    """

    def matched_rows(x: Sequence[str], y: Sequence[str]) -> list[int]:
        return weighted_lcs.matched_rows(x, y, weight)

    left = _Clip(candidate, reference)
    hits = 0.0
    for sentence, mask in _union_masks(candidate, reference, matched_rows):
        run = 0
        for index, word in enumerate(sentence):
            if mask[index] and left.take(word):
                run += 1
                if index + 1 == len(sentence) or not mask[index + 1]:
                    hits += run**weight
                    run = 0
    size = sum(len(sentence) ** weight for sentence in reference.sentences)
    return Counts(size**weight, len(candidate.words) ** weight, hits)


class _Clip:
    """How often each word may still be counted as a hit."""

    def __init__(self, candidate: Text, reference: Text) -> None:
        self.left = Counter(candidate.words) & Counter(reference.words)

    def take(self, word: str) -> bool:
        if not self.left[word]:
            return False
        self.left[word] -= 1
        return True


def _union_masks(candidate: Text, reference: Text, matched_rows: MatchedRows) -> Iterator[tuple[list[str], list[bool]]]:
    """Each reference sentence, and which of its words are in an LCS with some candidate sentence.

    Equal sentences are looked at once, and a candidate sentence only while it holds a word that is not yet marked: no
    other can add a mark.
    """
    sentences = list(dict.fromkeys(map(tuple, candidate.sentences)))
    holding: dict[str, list[int]] = {}
    for number, words in enumerate(sentences):
        for word in set(words):
            holding.setdefault(word, []).append(number)
    masks: dict[tuple[str, ...], list[bool]] = {}
    for sentence in reference.sentences:
        key = tuple(sentence)
        if key not in masks:
            masks[key] = _union_mask(sentence, sentences, holding, matched_rows)
        yield sentence, masks[key]


def _union_mask(
    sentence: list[str], candidates: list[tuple[str, ...]], holding: dict[str, list[int]], matched_rows: MatchedRows
) -> list[bool]:
    mask = [False] * len(sentence)
    seen: set[int] = set()
    for index, word in enumerate(sentence):
        for number in holding.get(word, ()):
            if mask[index]:
                break
            if number not in seen:
                seen.add(number)
                for row in matched_rows(sentence, candidates[number]):
                    mask[row] = True
    return mask
