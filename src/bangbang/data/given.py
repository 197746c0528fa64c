"""The vocabulary of a tokenizer that was made elsewhere, in our ids (`bangbang.translation`)."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tokenizers import Tokenizer

from bangbang.data.hush import hushed
from bangbang.data.pieces import Writer
from bangbang.data.tokenizer_json import check_numbering, read_table, tokenizer_from, told
from bangbang.data.tokenizer_model import checked_model, unknown_token
from bangbang.data.tokenizer_rules import check_rules
from bangbang.errors import InputError
from bangbang.files import write_whole
from bangbang.symbols import EOS, SYMBOLS, UNK
from bangbang.translation import NONE, Translation

T = TypeVar("T")
# what is kept of a file. Post-processors add special tokens, truncation and padding cut and fill texts: none is ours
KEPT = ("version", "added_tokens", "normalizer", "pre_tokenizer", "decoder", "model")
DROPPED = ("truncation", "padding", "post_processor")
ENDS = (
    "</s>",
    "<|endoftext|>",
    "<eos>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|im_end|>",
    "<end_of_turn>",
    "[EOS]",
    "[SEP]",
)
COPY = {"tokenizer", "ends", "unknown"}  # the keys of a copy


class GivenVocabulary:
    """Text to ids and back by a foreign tokenizer. `encode` gives `<unk>` for its special tokens and ends, if written
    out in a text; `decode` leaves special tokens out."""

    def __init__(self, tokenizer: Tokenizer, ends: Sequence[str], unknown: str | None, path: Path) -> None:
        """`path` is named where the tokenizer gives up on a text."""
        self._tokenizer, self._path = tokenizer, path
        ids, named = tokenizer.get_vocab(), {"ends": list(ends), "unknown": unknown}
        self.translation = Translation(len(ids), [ids[end] for end in ends], None if unknown is None else ids[unknown])
        self.specials = sorted(index for index, token in tokenizer.get_added_tokens_decoder().items() if token.special)
        """Their ids of tokens that are no text: the ends and the unknown token need not be among them."""
        self._ours, self._theirs = [*self.translation.ours], [*self.translation.theirs]
        for token in (*self.specials, *self.translation.ends):
            self._ours[token] = UNK
        for token in self.specials:
            self._theirs[token + len(SYMBOLS)] = NONE
        table = json.loads(tokenizer.to_str())
        self._writes = Writer(table, path)
        self._content = json.dumps({**named, "tokenizer": table}, ensure_ascii=False)

    @classmethod
    def of_file(cls, path: Path, ends: Sequence[str] = ()) -> "GivenVocabulary":
        """A `tokenizer.json` of the `tokenizers` library; without `ends`, its one well-known end is taken."""
        tokenizer, unknown = open_tokenizer(read_table(path), path)
        return cls(tokenizer, ends_of(tokenizer, ends, path), unknown, path)

    @classmethod
    def of_copy(cls, table: dict[str, Any], path: Path) -> "GivenVocabulary":
        """What `save` has written, which states the ends and the unknown token."""
        ends = table.get("ends")
        if set(table) != COPY or not isinstance(ends, list) or not all(isinstance(end, str) for end in ends):
            raise InputError(f"{path}: damaged vocabulary: it must have {', '.join(sorted(COPY))}")
        tokenizer, unknown = open_tokenizer(table["tokenizer"], path)
        if not ends or table["unknown"] != unknown:
            raise InputError(f"{path}: damaged vocabulary: its {'unknown token' if ends else 'ends'} is not stated")
        return cls(tokenizer, ends_of(tokenizer, ends, path), unknown, path)

    def save(self, path: Path) -> None:
        write_whole(Path(path), self._content)

    @property
    def fingerprint(self) -> str:
        """A hash of the tokens, their ids, the rules that cut text to them, the ends and the unknown token."""
        return hashlib.blake2b(self._content.encode(), digest_size=16).hexdigest()

    @property
    def joint(self) -> str:
        """A blank for a tokenizer without a decoder; with one, tokens write their own blanks."""
        return " " if self._tokenizer.decoder is None else ""

    def __len__(self) -> int:
        return self.translation.size

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text, no special ids added. A special token written out in the text is `<unk>`."""
        encodings = self._asked(lambda: self._tokenizer.encode_batch_fast(texts, add_special_tokens=False))
        return [[self._ours[index] for index in encoding.ids] for encoding in encodings]

    def decode(self, ids: Iterable[int]) -> str:
        """The tokenizer's own text of ids up to the first `</s>`, special tokens left out."""
        kept: list[int] = []
        for index in ids:
            if index == EOS:
                break
            if (token := self._theirs[index]) != NONE:
                kept.append(token)
        return self._asked(lambda: self._tokenizer.decode(kept, skip_special_tokens=True))

    def token(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(f"no token {index} in a vocabulary of {len(self)}")
        return SYMBOLS[index] if index < len(SYMBOLS) else str(self._tokenizer.id_to_token(index - len(SYMBOLS)))

    def texts(self) -> list[str]:
        """What each token writes, by id; special tokens write nothing.

        A blank that a piece begins with is its own, though `decode` takes it off the first one. Bytes of a piece that
        are no whole character stay lone surrogates: Python's "surrogateescape".
        """
        tokens = range(len(SYMBOLS), len(self))
        return [*SYMBOLS, *(self._writes(self.token(index)) if self._theirs[index] != NONE else "" for index in tokens)]

    def _asked(self, question: Callable[[], T]) -> T:
        """An answer of the tokenizer, which may give up on texts that its file does not provide for."""
        try:
            with hushed():
                return question()
        except (KeyboardInterrupt, SystemExit, TypeError, UnicodeError):
            raise
        except BaseException as error:  # the Rust side raises bare Exception, and, where it gives up, a BaseException
            raise InputError(f"{self._path}: the tokenizer gives up on a text: {told(error)}") from None


def open_tokenizer(table: Any, path: Path) -> tuple[Tokenizer, str | None]:
    """The tokenizer of a table and its unknown token, once all of it is known to be safe."""
    if not isinstance(table, dict) or not isinstance(table.get("model"), dict):
        raise InputError(
            f"{path}: not a tokenizer: it has no model; expected a tokenizer.json of the tokenizers library"
        )
    check_rules(table, path)
    model = checked_model(table["model"], path)
    kept = {**{key: table.get(key) for key in KEPT}, **dict.fromkeys(DROPPED), "model": model}
    stated = added_tokens(kept["added_tokens"], path)
    tokenizer = tokenizer_from(kept, path)
    for token, index in stated.items():
        if tokenizer.token_to_id(token) != index:
            raise InputError(f"{path}: damaged vocabulary: token {token!r} cannot have id {index}")
    check_numbering(tokenizer, path)
    return tokenizer, unknown_token(model, path)


def added_tokens(listed: Any, path: Path) -> dict[str, int]:
    """The id of each added token, which must be there once."""
    if not isinstance(listed, list) or not all(isinstance(token, dict) for token in listed):
        raise InputError(f"{path}: not a tokenizer: its added_tokens are no list of tables")
    stated: dict[str, int] = {}
    for token in listed:
        content, index = token.get("content"), token.get("id")
        if not isinstance(content, str) or type(index) is not int:
            raise InputError(f"{path}: damaged vocabulary: an added token without content or id")
        if content in stated:
            raise InputError(f"{path}: damaged vocabulary: {content!r} is in it twice")
        stated[content] = index
    return stated


def ends_of(tokenizer: Tokenizer, named: Sequence[str], path: Path) -> list[str]:
    """The end tokens that are named, or the one well-known end that there is."""
    special = [token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special]
    if missing := [end for end in named if tokenizer.token_to_id(end) is None]:
        raise InputError(f"{path}: vocabulary.ends: it has no token {missing[0]!r}; {listed(special)}")
    if named:
        return list(dict.fromkeys(named))
    found = [end for end in ENDS if tokenizer.token_to_id(end) is not None]
    if len(found) == 1:
        return found
    trouble = f"ends texts by one of {', '.join(found)}" if found else f"has no well-known end; {listed(special)}"
    raise InputError(f"{path}: {trouble}; name those that end a text by vocabulary.ends = [...]")


def listed(special: list[str]) -> str:
    return f"its special tokens are {', '.join(special[:12]) or 'none'}{', ...' if len(special) > 12 else ''}"
