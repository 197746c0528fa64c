"""Text as ROUGE-1.5.5.pl sees it: bytes, ASCII letters and digits in lower case, a line feed between sentences."""

from typing import NamedTuple

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
