"""A vocabulary of our own making: a `tokenizers` tokenizer whose first four types are the special ones."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from bangbang.data.pieces import spelled
from bangbang.data.settings import BytePairs, TrainedSettings, Words
from bangbang.data.tokenizer_json import check_numbering, tokenizer_from
from bangbang.errors import InputError
from bangbang.files import write_whole
from bangbang.symbols import BOS, EOS, PAD, SYMBOLS, UNK

# written out in a text, a special token is no word: it would take the place of the real one
LITERAL_SYMBOL = re.compile("|".join(map(re.escape, SYMBOLS)), re.IGNORECASE)
# what a word is, by vocabulary.split; what is between words is left out
WORDS = {"words": r"\w+|[^\w\s]", "bare-words": r"\w+(?:['’-]\w+)*", "characters": r"\t[^\t]+|[^\t]"}
TEXTS_AT_ONCE = 1_000


class Span(NamedTuple):
    """A token and where in its text it stands."""

    token: str
    start: int
    end: int


class TrainedVocabulary:
    """Text to ids and back. Ids 0..3 are `<pad> <s> </s> <unk>`; `encode` itself only ever gives `<unk>` of these."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], config: TrainedSettings) -> "TrainedVocabulary":
        """The `config.size` most frequent types of `texts`, by falling count and then by name."""
        tokenizer = tokenizer_of(config)
        trainer = trainer_of(config)
        tokenizer.train_from_iterator(without_literal_symbols(texts), trainer)
        return cls(tokenizer)

    @classmethod
    def of(cls, table: Any, path: Path) -> "TrainedVocabulary":
        """The vocabulary that a file of ours holds, checked: its types must be numbered 0, 1, 2, ... once each."""
        if rules(table) not in known_rules():
            raise InputError(f"{path}: not a vocabulary made here: it cuts texts by other rules")
        tokenizer = tokenizer_from(table, path)
        check_symbols(check_numbering(tokenizer, path), path)
        return cls(tokenizer)

    def save(self, path: Path) -> None:
        write_whole(Path(path), self._tokenizer.to_str())

    @property
    def fingerprint(self) -> str:
        """A hash of the tokens, their ids and the rules that cut text to them."""
        return hashlib.blake2b(self._tokenizer.to_str().encode(), digest_size=16).hexdigest()

    @property
    def joint(self) -> str:
        """Nothing stands between pieces and between characters, a blank between words."""
        return " " if self._tokenizer.decoder is None else ""

    def __len__(self) -> int:
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        """The ids of each text, no special ids added. A special token written out in the text is `<unk>`."""
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [[index if index > EOS else UNK for index in encoding.ids] for encoding in encodings]

    def spans(self, texts: Iterable[str]) -> Iterator[tuple[str, list[Span]]]:
        """Each text with its tokens and their places."""
        waiting = iter(texts)
        while some := list(islice(waiting, TEXTS_AT_ONCE)):
            for text, encoding in zip(some, self._tokenizer.encode_batch(some, add_special_tokens=False), strict=True):
                yield (
                    text,
                    [Span(token, *place) for token, place in zip(encoding.tokens, encoding.offsets, strict=True)],
                )

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids up to the first `</s>`, without `<pad>` and `<s>`."""
        kept: list[int] = []
        for index in ids:
            if index == EOS:
                break
            if index not in (PAD, BOS):
                kept.append(int(index))
        return self._tokenizer.decode(kept, skip_special_tokens=False)

    def token(self, index: int) -> str:
        token = self._tokenizer.id_to_token(index)
        if token is None:
            raise IndexError(f"no token {index} in a vocabulary of {len(self)}")
        return token

    def texts(self) -> list[str]:
        """What each token writes, by id. Bytes of a piece that are no whole character stay lone surrogates: Python's
        "surrogateescape"."""
        tokens = [self.token(index) for index in range(len(self))]
        if not isinstance(self._tokenizer.decoder, decoders.ByteLevel):
            return tokens
        return [*SYMBOLS, *map(spelled, tokens[len(SYMBOLS) :])]


def tokenizer_of(config: TrainedSettings) -> Tokenizer:
    """An untrained tokenizer that cuts texts as the settings say."""
    if isinstance(config, BytePairs):
        return byte_pairs(config)
    assert isinstance(config, Words)
    return words(config)


def words(config: Words) -> Tokenizer:
    """One type per word, as in the paper."""
    tokenizer = Tokenizer(models.WordLevel(unk_token=SYMBOLS[UNK]))
    tokenizer.pre_tokenizer = (
        pre_tokenizers.WhitespaceSplit()
        if config.split == "whitespace"
        else pre_tokenizers.Split(Regex(WORDS[config.split]), behavior="removed", invert=True)
    )
    if config.split == "characters":
        tokenizer.decoder = decoders.Fuse()
    return normalised(tokenizer, config)


def byte_pairs(config: BytePairs) -> Tokenizer:
    """Byte-level pieces: any text is spelled out and comes back exactly."""
    tokenizer = Tokenizer(models.BPE())
    whole_words = pre_tokenizers.Split(Regex(r"\s"), behavior="merged_with_next")
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Sequence([whole_words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        if config.split == "whitespace"
        else pre_tokenizers.ByteLevel(add_prefix_space=False)
    )
    tokenizer.decoder = decoders.ByteLevel()
    return normalised(tokenizer, config)


def trainer_of(config: TrainedSettings) -> trainers.BpeTrainer | trainers.WordLevelTrainer:
    symbols = list(SYMBOLS)
    if isinstance(config, BytePairs):
        return trainers.BpeTrainer(
            vocab_size=config.size,
            min_frequency=config.min_count,
            special_tokens=symbols,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    return trainers.WordLevelTrainer(
        vocab_size=config.size, min_frequency=config.min_count, special_tokens=symbols, show_progress=False
    )


def normalised(tokenizer: Tokenizer, config: TrainedSettings) -> Tokenizer:
    if config.lowercase:
        tokenizer.normalizer = normalizers.Lowercase()
    return tokenizer


def without_literal_symbols(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield LITERAL_SYMBOL.sub(" ", text) if "<" in text else text


def rules(table: Any) -> Any:
    """All that a tokenizer's JSON says, but its tokens and merges."""
    if not isinstance(table, dict) or not isinstance(table.get("model"), dict):
        return None
    model = {key: value for key, value in table["model"].items() if key not in ("vocab", "merges")}
    return {**table, "model": model}


@cache
def known_rules() -> list[Any]:
    """The rules that our own vocabularies can have. A file with others could hold a pattern that never ends."""
    found = []
    splits = {kind: get_args(get_type_hints(kind)["split"]) for kind in (Words, BytePairs)}
    for kind, lowercase in product(splits, (True, False)):
        for split in splits[kind]:
            tokenizer = tokenizer_of(kind(lowercase=lowercase, split=split))
            tokenizer.add_special_tokens(list(SYMBOLS))
            found.append(rules(json.loads(tokenizer.to_str())))
    return found


def check_symbols(tokens: list[str], path: Path) -> None:
    """The first four tokens are the special ones: a model's rows depend on it."""
    found = tokens[: len(SYMBOLS)]
    if tuple(found) != SYMBOLS:
        raise InputError(f"{path}: not a bangbang vocabulary: ids 0 to 3 are {found} instead of {list(SYMBOLS)}")
