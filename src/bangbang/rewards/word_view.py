"""Sequences of tokens as words: where words start, what a metric reads of them, and how a reference spells them.

A *written* word is what a tokenizer writes from one blank to the next. A metric may read none, one or several words of
its own in it: ROUGE reads nothing in "-" and two words in "light-weight".
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from bangbang.contracts import RewardInputs
from bangbang.errors import InputError
from bangbang.symbols import EOS, SYMBOLS, UNK


class Reading(NamedTuple):
    """A sequence as words."""

    starts: list[int]
    """Where each written word starts; `</s>` counts as one."""
    before: list[list[str]]
    """The metric's words before each of these places."""
    whole: list[str]
    """Those of the whole text."""


class Unit(NamedTuple):
    """A part of a reference: the next words of the metric, and the tokens that write them.

    Written words in which the metric reads nothing belong to the unit of the next one, or of the end.
    """

    words: tuple[str, ...]
    """`</s>` alone for the end."""
    tokens: tuple[int, ...]


class WordView:
    """What a tokenizer's sequences are as words of a metric."""

    def __init__(
        self,
        texts: Sequence[str],
        separator: str,
        decode: Callable[[list[list[int]]], list[str]],
        encode: Callable[[str], list[int]],
        words: Callable[[str], list[str]],
    ) -> None:
        """`texts`: what each token writes, by id; `separator`: what is between two tokens; `words`: of a text."""
        self.texts, self.separator = texts, separator
        self.decode, self.encode, self.words = decode, encode, words
        self.begins = [bool(separator) or text[:1].isspace() for text in texts]
        self.ends = [text[-1:].isspace() and not text.isspace() for text in texts]  # blanks alone begin the next word
        for token in (EOS, UNK):  # which stands for whole words in some tokenizers, and writes nothing in others
            self.begins[token] = True
        self.units = lru_cache(maxsize=10_000)(self._units)

    @classmethod
    def of(cls, inputs: RewardInputs, metric: str) -> "WordView":
        if inputs.writing is None:
            raise InputError('reward.units = "words" needs a tokenizer; set it to "tokens"')
        decode, encode, reader = inputs.writing
        return cls(inputs.texts, inputs.separator, decode, encode, reader(metric))

    @property
    def continuations(self) -> list[int]:
        """The tokens that go on with a word, whatever is before them but a blank."""
        return [token for token in range(len(SYMBOLS), len(self.begins)) if not self.begins[token]]

    def starts_word(self, last: int | None, token: int) -> bool:
        """Whether a token that comes after another starts a written word; None is no token."""
        return last is None or self.begins[token] or self.ends[last]

    def starts(self, tokens: Sequence[int]) -> list[int]:
        """Where written words start, `</s>` counted as one."""
        pairs = zip((None, *tokens), tokens, strict=False)
        return [place for place, pair in enumerate(pairs) if self.starts_word(*pair)]

    def read_texts(self, sequences: Sequence[Sequence[int]]) -> list[list[str]]:
        """The metric's words of sequences that may end in `</s>`; an `<unk>` is not read, so that it earns nothing."""
        keys = [tuple(token for token in tokens if token not in (EOS, UNK)) for tokens in sequences]
        distinct = list(dict.fromkeys(keys))
        found = dict(zip(distinct, map(self.words, self.decode([list(key) for key in distinct])), strict=True))
        return [found[key] for key in keys]

    def read(self, sequences: Sequence[Sequence[int]]) -> list[Reading]:
        starts = [self.starts(tokens) for tokens in sequences]
        pairs = zip(sequences, starts, strict=True)
        prefixes = [tokens[:place] for tokens, places in pairs for place in (*places, len(tokens))]
        words = iter(self.read_texts(prefixes))
        return [Reading(places, [next(words) for _ in places], next(words)) for places in starts]

    def _units(self, reference: tuple[int, ...]) -> list[Unit]:
        """The units of a reference that ends in `</s>`; their tokens put together are the reference.

        A metric whose words depend on what follows them has fewer units: one ends where its words are sure.
        """
        starts, before, whole = self.read([reference])[0]
        units: list[Unit] = []
        begin = told = 0
        for place, words in zip(starts, before, strict=True):
            if len(words) > told and words == whole[: len(words)]:
                units.append(Unit(tuple(whole[told : len(words)]), reference[begin:place]))
                begin, told = place, len(words)
        return [*units, Unit((SYMBOLS[EOS],), reference[begin:])]

    def spelling(self, tokens: tuple[int, ...], last: int | None) -> tuple[int, ...]:
        """How the tokens of a unit are written after another token; empty if they cannot start a word there.

        A first word has no blank before it in some tokenizers, and the others have one.
        """
        if last is not None and not self.starts_word(last, tokens[0]):
            text, end = self.decode([list(tokens)])[0].strip(), tokens[-1:] if tokens[-1] == EOS else ()
            tokens = (*self.encode(f" {text}"), *end)
            return tokens if text and self.starts_word(last, tokens[0]) else ()
        return tokens

    def training_words(self, references: Callable[[], Iterable[list[list[str]]]]) -> Iterator[list[list[str]]]:
        """The metric's words of each training example's references, which are given as the texts of their tokens."""
        for example in references():
            yield [self.words(joined(self.separator.join(tokens))) for tokens in example]


def joined(text: str) -> str:
    """A text whose bytes beyond ASCII were written one by one, as by Python's "surrogateescape"."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
