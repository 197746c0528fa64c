"""The model of a foreign tokenizer: how words become tokens, and what a word that it does not know becomes."""

from pathlib import Path
from typing import Any

from bangbang.errors import InputError

# kind -> the settings it may have
KINDS = {
    "BPE": (
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
        "merges",
    ),
    "WordPiece": ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word"),
    "Unigram": ("unk_id", "byte_fallback"),
    "WordLevel": ("unk_token",),
}
# files of old versions do not name the kind: the setting that tells it
TELLING = {"merges": "BPE", "max_input_chars_per_word": "WordPiece", "unk_id": "Unigram"}
LONGEST_WORD = 1_000  # of WordPiece: its time grows with the square
LONGEST_TOKEN = 1_000  # characters


def checked_model(model: dict[str, Any], path: Path) -> dict[str, Any]:
    """The model with its kind named; an InputError if its encoding could be random, slow or ambiguous."""
    kind = model.get("type", next((kind for key, kind in TELLING.items() if key in model), "WordLevel"))
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"{path}: its model {kind!r} is none of {', '.join(KINDS)}")
    if others := sorted(set(model) - {"type", "vocab", *KINDS[kind]}):
        raise InputError(f"{path}: its model {kind} has a setting {others[0]!r}, which is not known")
    if model.get("dropout"):
        raise InputError(f"{path}: its model {kind} has dropout: a text would be cut differently each time")
    if kind == "WordPiece" and not within(model.get("max_input_chars_per_word", 100), LONGEST_WORD):
        raise InputError(f"{path}: its model {kind} takes words of more than {LONGEST_WORD} characters")
    tokens = tokens_of(model, path)
    if any(len(token) > LONGEST_TOKEN for token in tokens):
        raise InputError(f"{path}: its model {kind} has a token of more than {LONGEST_TOKEN} characters")
    return {**model, "type": kind}


def within(number: Any, most: int) -> bool:
    return type(number) is int and number <= most


def tokens_of(model: dict[str, Any], path: Path) -> list[str]:
    """The model's tokens, in the file's order; one that is there twice is an error."""
    vocabulary = model.get("vocab")
    if isinstance(vocabulary, list):  # Unigram's, each with its score
        entries = [entry[0] if isinstance(entry, list) and entry else None for entry in vocabulary]
    else:
        entries = [*vocabulary] if isinstance(vocabulary, dict) else [None]
    seen: set[str] = set()
    for token in entries:
        if not isinstance(token, str):
            raise InputError(f"{path}: not a tokenizer: its model has no list of tokens")
        if token in seen:
            raise InputError(f"{path}: damaged vocabulary: {token!r} is in it twice")
        seen.add(token)
    return [token for token in entries if token is not None]


def unknown_token(model: dict[str, Any], path: Path) -> str | None:
    """The token for unknown words. Only BPE does without: it leaves out what it does not know."""
    if model["type"] == "Unigram":
        index, tokens = model.get("unk_id"), tokens_of(model, path)
        token = tokens[index] if type(index) is int and 0 <= index < len(tokens) else None
    else:
        token = model.get("unk_token")
    if token is None and model["type"] == "BPE":
        return None
    if not isinstance(token, str) or token not in tokens_of(model, path):
        raise InputError(f"{path}: its model {model['type']} has no unknown token among its tokens")
    return token
