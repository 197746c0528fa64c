"""What a token of a foreign tokenizer writes, as its decoder puts texts together."""

import re
from pathlib import Path
from typing import Any

from bangbang.data.byte_letters import spelled
from bangbang.data.tokenizer_rules import components

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
