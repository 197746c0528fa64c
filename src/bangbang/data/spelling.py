"""How the words of a vocabulary are written: capitals, and blanks around marks, as training targets have them.

Models write the words of a vocabulary with a blank between all of them, mostly in lower case; so they are scored. A
`Spelling` puts back what people mostly write. The same tokens are cut from the text before and after.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from bangbang.contracts import Vocabulary
from bangbang.data.blanks import Blanks, between
from bangbang.data.trained import TrainedVocabulary
from bangbang.errors import InputError
from bangbang.files import read_json, write_whole
from bangbang.symbols import SYMBOLS, UNK

SPELLING = "spelling.json"
ENTRIES: dict[str, type] = {"capital": bool, "inside": dict, "first": dict, "blanks": dict}
ENDS = (".", "!", "?")
LEAST = 2  # times that a form was seen
Forms = dict[str, str]


class Spelling(NamedTuple):
    """What is mostly written for a token; tokens that are written as they are need no entry."""

    vocabulary: Vocabulary
    capital: bool
    """Whether sentences begin with a capital."""
    inside: Forms
    """By token, inside a sentence: `api` is `API`."""
    first: Forms
    """By token, where a sentence begins with it in another way than `capital` and `inside` say."""
    blanks: Blanks

    def written(self, text: str) -> str:
        """Tokens with a blank between all of them, as people write them; `encode` finds the same tokens in both."""
        tokens = text.split(" ")
        blanks = [False, *map(self.blanks.blank, between(tokens))]
        forms = [self.form(token, first) for token, first in zip(tokens, starts(tokens, blanks), strict=True)]
        written = "".join(" " * blank + form for blank, form in zip(blanks, forms, strict=True))
        same = self.vocabulary.encode(written) == self.vocabulary.encode(text)
        return written if same else text

    def form(self, token: str, first: bool) -> str:
        """How a token is written, where a sentence begins or inside one."""
        inside = self.inside.get(token, token)
        return self.first.get(token, self.raised(inside)) if first else inside

    def raised(self, form: str) -> str:
        """A form as the first of a sentence, unless it has capitals of its own."""
        return form[:1].upper() + form[1:] if self.capital and form == form.lower() else form

    def save(self, path: Path) -> None:
        table = {**self._asdict(), "blanks": self.blanks.plain()}
        del table["vocabulary"]
        write_whole(path, json.dumps(table, ensure_ascii=False, indent=0))


def starts(tokens: Sequence[str], blanks: Sequence[bool]) -> list[bool]:
    """Whether a sentence begins with each token, by whether a blank is before it: the first one, and those after a full
    stop and a blank, unless a single letter is before the stop ("e.g. this")."""
    ended = [one in ENDS and len(before) > 1 for before, one in zip(["", *tokens], tokens, strict=False)]
    return [True, *(end and blank for end, blank in zip(ended, blanks[1:], strict=False))][: len(tokens)]


def read_spelling(path: Path, vocabulary: Vocabulary) -> Spelling | None:
    """What `save` has written; None where there is no such file, as in runs that were made before there was one."""
    if not path.exists():
        return None
    table = read_json(path)
    if set(table) != set(ENTRIES) or not all(isinstance(table[name], kind) for name, kind in ENTRIES.items()):
        raise InputError(f"{path}: damaged; remove it, and outputs are shown word by word")
    for token, form in (*table["inside"].items(), *table["first"].items()):
        if not isinstance(form, str) or not form.isprintable() or len(form) > len(token):  # İ is two letters, i and ̇
            raise InputError(f"{path}: damaged (form of {token!r:.40}); remove it, and outputs are shown word by word")
    blanks = Blanks.of(table.pop("blanks"), path)
    return Spelling(vocabulary, table["capital"], table["inside"], table["first"], blanks)


def learn_spelling(vocabulary: Vocabulary, texts: Iterable[str]) -> Spelling | None:
    """What is mostly written in texts; None for a vocabulary whose tokens are no words of ours: pieces spell texts."""
    if not isinstance(vocabulary, TrainedVocabulary) or vocabulary.joint != " ":
        return None
    seen = Seen()
    blanks: Counter[Any] = Counter()
    for text, spans in vocabulary.spans(texts):
        tokens = [span.token for span in spans]
        parted = [after.start > before.end for before, after in pairwise(spans)]
        for span, first in zip(spans, starts(tokens, [False, *parted]), strict=True):
            if span.token != SYMBOLS[UNK]:
                seen.count(span.token, text[span.start : span.end], first)
        blanks.update(pair for pair in zip(between(tokens), parted, strict=True) if pair[0] is not None)
    return seen.spelling(vocabulary, Blanks.learn(blanks))


class Seen:
    """How often each form of a token was seen, as the first of a sentence and inside one."""

    def __init__(self) -> None:
        self.inside: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.first: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.capitals = 0

    def count(self, token: str, form: str, first: bool) -> None:
        (self.first if first else self.inside)[token][form] += 1
        if first and form != form.lower():
            self.capitals += 1
        elif first and form != form.upper():
            self.capitals -= 1

    def spelling(self, vocabulary: Vocabulary, blanks: Blanks) -> Spelling:
        found = Spelling(vocabulary, self.capitals > 0, {}, {}, blanks)
        inside = dict(commonest(self.inside))
        for token, form in commonest(self.first):
            # of a word that only ever is the first, the first letter tells nothing, the others do
            if token not in inside and form[1:] != token[1:]:
                inside[token] = form
        found.inside.update((token, form) for token, form in inside.items() if form != token)
        found.first.update((token, form) for token, form in commonest(self.first) if form != found.form(token, True))
        return found


def commonest(seen: dict[str, Counter[str]]) -> Iterator[tuple[str, str]]:
    """The commonest form of each token; of equally common ones, the one that was seen first.

    A capital that was seen once may be that of a title: only capitals after the first letter are believed then.
    """
    for token, forms in seen.items():
        form, count = forms.most_common(1)[0]
        if count >= LEAST or form[1:] != token[1:]:
            yield token, form
