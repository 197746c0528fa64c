"""Tokenizers of three makes, trained on a few lines, and what each makes of words."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from bangbang.data.pieces import Writer
from bangbang.metrics.words import word_reader
from bangbang.rewards.word_view import WordView
from bangbang.symbols import EOS, SYMBOLS

LINES = [
    "A light-weight e-mail reader for the terminal.",
    "Tools - small ones - for reading and writing mail, in U.S. English.",
    "Read mails, don't write: light tools for reading the terminal's 3.5 mails",
    "the naïve café reader ; lighter, reading... weights",
]
MAKES = ("byte-level", "metaspace", "wordpiece")


def untrained(make: str) -> tuple[Tokenizer, trainers.Trainer]:
    specials = ["<unk>", "</s>"]
    if make == "byte-level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        return tokenizer, trainers.BpeTrainer(vocab_size=310, special_tokens=specials, initial_alphabet=alphabet)
    if make == "metaspace":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        return tokenizer, trainers.UnigramTrainer(vocab_size=90, special_tokens=specials, unk_token="<unk>")
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return tokenizer, trainers.WordPieceTrainer(vocab_size=110, special_tokens=specials)


@cache
def trained(make: str) -> Tokenizer:
    tokenizer, trainer = untrained(make)
    trainer.show_progress = False
    tokenizer.train_from_iterator(LINES, trainer)
    return tokenizer


def decoded(make: str) -> Callable[[list[list[int]]], list[str]]:
    tokenizer, size = trained(make), len(SYMBOLS)
    return lambda rows: [tokenizer.decode([token - size for token in row if token >= size]) for row in rows]


def encoded(make: str, text: str) -> list[int]:
    return [token + len(SYMBOLS) for token in trained(make).encode(text).ids]


def reference(make: str, text: str) -> tuple[int, ...]:
    return (*encoded(make, text), EOS)


@cache
def texts_of(make: str) -> list[str]:
    tokenizer = trained(make)
    write = Writer(json.loads(tokenizer.to_str()), Path("tokenizer.json"))
    return [*SYMBOLS, *(write(tokenizer.id_to_token(token)) for token in range(tokenizer.get_vocab_size()))]


@cache
def view_of(make: str, metric: str = "rouge") -> WordView:
    return WordView(texts_of(make), "", decoded(make), lambda text: encoded(make, text), word_reader(metric))
