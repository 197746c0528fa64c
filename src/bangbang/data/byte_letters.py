"""The letters that byte-level pieces are written in, one for each byte."""

from functools import cache

BYTES = 256


@cache
def byte_letters() -> dict[str, int]:
    """The byte of each letter: Latin-1's own letter where it can be seen, else one of those from U+0100 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(BYTES) if byte not in seen]
    return {chr(byte): byte for byte in seen} | {chr(0x100 + number): byte for number, byte in enumerate(others)}


def spelled(token: str) -> str:
    """What a byte-level piece writes. Bytes that are no whole character stay lone surrogates: Python's
    "surrogateescape". A token with another letter writes itself."""
    letters = byte_letters()
    if not all(letter in letters for letter in token):
        return token
    return bytes(letters[letter] for letter in token).decode("utf-8", "surrogateescape")
