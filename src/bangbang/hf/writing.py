"""How a model's tokenizer writes texts, in our ids."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from bangbang.contracts import Writing
from bangbang.data.pieces import Writer
from bangbang.heads import Alphabet
from bangbang.metrics.words import word_reader
from bangbang.symbols import EOS, SYMBOLS


def writing_of(tokenizer: Any, alphabet: Alphabet) -> Writing | None:
    """None without a tokenizer."""
    theirs = alphabet.tables.read.tolist()

    def decode(rows: list[list[int]]) -> list[str]:
        return texts_of(tokenizer, [[theirs[token] for token in row if token != EOS] for row in rows])

    def encode(text: str) -> list[int]:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        ours: list[int] = alphabet.to_ours(torch.tensor(ids, dtype=torch.long)).tolist()
        return ours

    return None if tokenizer is None else Writing(decode, encode, word_reader)


def texts_of(tokenizer: Any, ids: Sequence[Sequence[int]]) -> list[str]:
    """The texts of rows of token ids, in which negative ones are padding."""
    kept = [[int(token) for token in row if token >= 0] for row in ids]
    return [str(text).strip() for text in tokenizer.batch_decode(kept, skip_special_tokens=True)]


def token_texts(tokenizer: Any, size: int) -> list[str]:
    """What each token writes, by our id; special tokens write nothing."""
    count = size - len(SYMBOLS)
    if tokenizer is None:
        return [*SYMBOLS, *map(str, range(count))]
    special = set(tokenizer.all_special_ids)
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        written = [tokenizer.decode([index]) for index in range(count)]
    else:
        write = Writer(json.loads(tokenizer.backend_tokenizer.to_str()), Path("tokenizer.json"))
        written = [write(token or "") for token in tokenizer.convert_ids_to_tokens(range(count))]
    return [*SYMBOLS, *("" if index in special else text for index, text in enumerate(written))]
