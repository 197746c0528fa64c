"""What a token of a foreign tokenizer writes, as its decoder puts texts together."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from bangbang.data.tokenizer_rules import components

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


BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class Writer:
    """The text of one token in the middle of a text: decoders work token by token, but for the first and the last."""

    def __init__(self, table: dict[str, Any], path: Path) -> None:
        self.decoders = components(table, "decoder", path)

    def __call__(self, token: str) -> str:
        for decoder in self.decoders:
            token = written(token, decoder)
        return token


def written(token: str, decoder: dict[str, Any]) -> str:
    """A token after one decoder. Those that join tokens or strip the whole text leave it as it is."""
    match decoder["type"]:
        case "ByteLevel":
            return spelled(token)
        case "Metaspace":
            return token.replace(decoder["replacement"], " ")
        case "Replace":
            return token.replace(decoder["pattern"]["String"], decoder["content"])
        case "ByteFallback" if byte := BYTE.fullmatch(token):
            return bytes([int(byte[1], 16)]).decode("utf-8", "surrogateescape")
        case "WordPiece":  # a word begins with a blank, a continuation does not
            return token.removeprefix(prefix) if token.startswith(prefix := decoder["prefix"]) else f" {token}"
        case "BPEDecoder":
            return token.replace(decoder["suffix"], " ")
    return token
