"""Which rules of a foreign tokenizer are accepted.

The `tokenizers` library runs regular expressions by backtracking: a foreign one could take forever, and a chain of
replacements could make a text grow without bound. So every component must be of a known kind, with known settings, and
a pattern must be a plain text or one of those that well-known tokenizers have.
"""

import base64
import binascii
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bangbang.errors import InputError

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
LOWER, UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
CASED = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+", rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*")
# Published patterns. Each takes time that grows no faster than the text: no two ways to match the same run compete.
PATTERNS = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+": "GPT-2",
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + BLANKS: "cl100k, Llama 3",
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + BLANKS: "Qwen2",
    CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + BLANKS: "Qwen3.5",
    rf"{CASED[0]}{CONTRACTIONS}?|{CASED[1]}{CONTRACTIONS}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|"
    + BLANKS: "o200k",
    rf"{CASED[0]}|{CASED[1]}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|" + BLANKS: "Tekken",
    r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+": "CLIP",
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+": "CLIP",
    r"\s+": "CLIP's blanks",
    r" {2,}": "SentencePiece's blanks",
    r"\s{2,}|[\n\r\t]": "BARThez's blanks",
    r"[\n\r\t]": "SeamlessM4T's blanks",
    r"\n": "Pegasus's line ends",
}
BYTE_LEVEL = ("add_prefix_space", "trim_offsets", "use_regex")
METASPACE = ("replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split")
# section -> kind -> the settings it may have
KINDS: dict[str, dict[str, tuple[str, ...]]] = {
    "normalizer": {
        **dict.fromkeys(("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"), ()),
        "BertNormalizer": ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"),
        "Strip": ("strip_left", "strip_right"),
        "Prepend": ("prepend",),
        "Replace": ("pattern", "content"),
        "Precompiled": ("precompiled_charsmap",),
    },
    "pre_tokenizer": {
        **dict.fromkeys(("Whitespace", "WhitespaceSplit", "BertPreTokenizer", "UnicodeScripts"), ()),
        "ByteLevel": BYTE_LEVEL,
        "Metaspace": METASPACE,
        "Digits": ("individual_digits",),
        "Punctuation": ("behavior",),
        "CharDelimiterSplit": ("delimiter",),
        "Split": ("pattern", "behavior", "invert"),
    },
    "decoder": {
        **dict.fromkeys(("ByteFallback", "Fuse"), ()),
        "ByteLevel": BYTE_LEVEL,
        "Metaspace": METASPACE,
        "WordPiece": ("prefix", "cleanup"),
        "BPEDecoder": ("suffix",),
        "Strip": ("content", "start", "stop"),
        "Replace": ("pattern", "content"),
    },
}
SEQUENCES = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers", "decoder": "decoders"}
MOST = 32  # components of a section
SEVERAL = ("Replace", "Split")  # all others come once: a chain of those that make a text longer would fill the memory
FORMS = ("NFC", "NFD", "NFKC", "NFKD")  # and of these only one
LONGEST_PREFIX = 8  # characters that are put before a text
CHARSMAP_BYTES, LONGEST_REPLACEMENT = 4 * 2**20, 64  # SentencePiece's own take 0.3 MB and 33 bytes


def components(table: dict[str, Any], section: str, path: Path) -> list[dict[str, Any]]:
    """The components of a section, those of a sequence one by one."""
    whole = table.get(section)
    if whole is None:
        return []
    if not isinstance(whole, dict):
        raise InputError(f"{path}: not a tokenizer: its {section} is no table")
    if whole.get("type") != "Sequence":
        return [whole]
    parts = whole.get(SEQUENCES[section])
    if set(whole) != {"type", SEQUENCES[section]} or not isinstance(parts, list) or len(parts) > MOST:
        raise InputError(f"{path}: its {section} is not a sequence of at most {MOST} components")
    if not all(isinstance(part, dict) for part in parts):
        raise InputError(f"{path}: its {section} has a component that is no table")
    return parts


def check_rules(table: dict[str, Any], path: Path) -> None:
    """An InputError unless all components are known to be safe, whatever the texts."""
    for section, kinds in KINDS.items():
        for part in components(table, section, path):
            kind = part.get("type")
            if not isinstance(kind, str) or kind not in kinds:
                raise InputError(f"{path}: its {section} {kind!r} is none of those known to be safe")
            if others := sorted(set(part) - {"type", *kinds[kind]}):
                raise InputError(f"{path}: its {section} {kind} has a setting {others[0]!r}, which is not known")
            for trouble in troubles(part, section):
                raise InputError(f"{path}: its {section} {kind} {trouble}")
    before = [
        part["type"] for part in (*components(table, "normalizer", path), *components(table, "pre_tokenizer", path))
    ]
    counts = Counter("/".join(FORMS) if kind in FORMS else kind for kind in before if kind not in SEVERAL)
    for kind, count in counts.items():
        if count > 1:
            raise InputError(f"{path}: it has {kind} more than once before its model")


def troubles(part: dict[str, Any], section: str) -> Iterator[str]:
    """What is wrong with the settings of a component of a known kind."""
    if "pattern" in part:
        pattern = part["pattern"]
        form, text = next(iter(pattern.items())) if isinstance(pattern, dict) and len(pattern) == 1 else (None, None)
        if not isinstance(text, str) or not text or form not in ("String", "Regex"):
            yield "has no pattern"
        elif form == "Regex" and (text not in PATTERNS or section == "decoder"):
            yield f"has a regular expression that is not known to be safe: {text[:60]!r}"
        elif part["type"] == "Replace" and longer(part.get("content"), 1 if form == "Regex" else len(text)):
            yield "would make texts longer"
    if part["type"] == "Prepend" and longer(part.get("prepend"), LONGEST_PREFIX):
        yield f"puts more than {LONGEST_PREFIX} characters before a text"
    if part["type"] == "Precompiled" and (trouble := charsmap_trouble(part.get("precompiled_charsmap"))):
        yield trouble


def longer(text: Any, most: int) -> bool:
    return not isinstance(text, str) or len(text) > most


def charsmap_trouble(text: Any) -> str:
    """What is wrong with SentencePiece's table of replacements: the size of a trie, the trie, and texts that each end
    in a NUL."""
    try:
        table = base64.b64decode(text, validate=True)
    except (TypeError, ValueError, binascii.Error):
        return "has no table"
    trie = int.from_bytes(table[:4], "little")
    if not 4 <= len(table) <= CHARSMAP_BYTES or trie > len(table) - 4 or trie % 4:
        return "has a table of the wrong size"
    if any(len(each) > LONGEST_REPLACEMENT for each in table[4 + trie :].split(b"\0")):
        return "would make texts longer"
    return ""
