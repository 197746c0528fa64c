"""Files of the `tokenizers` library: read with care, whoever wrote them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from bangbang.data.hush import hushed
from bangbang.errors import InputError
from bangbang.plain_files import read_plain

FILE_BYTES = 256 * 2**20  # 220,000 words take 5 MB


def read_table(path: Path) -> Any:
    """The JSON of a file that is not too large and has no key twice."""
    try:
        return json.loads(read_plain(path, FILE_BYTES).decode("utf-8"), object_pairs_hook=unique_keys)
    except FileNotFoundError:
        raise InputError(f"{path}: no such vocabulary file") from None
    except OSError as error:
        raise InputError(f"{path}: not a vocabulary: {error.strerror}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: not a vocabulary: {str(error) or 'larger than the memory'}") from None


def unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(items)
    if len(table) != len(items):
        twice = next(key for key, count in Counter(key for key, _ in items).items() if count > 1)
        raise ValueError(f"{twice!r} is in it twice")
    return table


def tokenizer_from(table: Any, path: Path) -> Tokenizer:
    """The tokenizer that a table describes; only call it for one whose rules are known to be safe."""
    try:
        with hushed():
            return Tokenizer.from_str(json.dumps(table))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the Rust side raises bare Exception, and, where it gives up, a BaseException
        raise InputError(f"{path}: not a vocabulary of the tokenizers library: {told(error)}") from None


def told(error: BaseException) -> str:
    """An error of the library in one line."""
    return " ".join(str(error).split())[:300]


def check_numbering(tokenizer: Tokenizer, path: Path) -> list[str]:
    """The tokens by id; every id 0..n-1 must belong to one token."""
    tokens = tokenizer.get_vocab()
    by_id = sorted(tokens, key=lambda token: tokens[token])
    for expected, token in enumerate(by_id):
        if tokens[token] != expected:
            trouble = "belongs to two tokens" if tokens[token] < expected else "is missing before it"
            number = tokens[token] if tokens[token] < expected else expected
            raise InputError(f"{path}: damaged vocabulary: at token {token!r}, id {number} {trouble}")
    return by_id
