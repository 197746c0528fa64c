"""A small corpus of made-up words and their phones, in two languages, and a run on one of them."""

import unicodedata
from pathlib import Path

LETTERS = "aeiouklmnp"
# some phones are of several characters, with marks that combine; a doubled letter is a doubled phone
PHONES = {"a": "ɑ", "e": "e̞", "i": "i", "o": "õ̞", "u": "ɯ̟ᵝ", "k": "k", "l": "l", "m": "m", "n": "n", "p": "t͡ɕ"}

CONFIG = """
[task]
kind = "transduction"

[data]
corpus = "{corpus}"
language = "xaa"
normal_form = "NFC"
max_source_length = 20
max_target_length = 20
cache = "{cache}"

[vocabulary]
split = "whitespace"
lowercase = false

[source_vocabulary]
split = "characters"
lowercase = false

[model]
layers = 1
units = 24
dropout = 0.0

[reward]
kind = "exact-match"
dup = 0.0

[optimizer]
kind = "adamw"
learning_rate = 0.02
decay = "cosine"

[training]
batch_size = 32
max_steps = 120
validate_every = 60
log_every = 20

[decoding]
dup = false
"""


def word(number: int) -> tuple[str, str]:
    """A word of two to four letters and its phones."""
    digits = [number * 7 % 10, number * 3 // 10 % 10, number // 50 % 10, number // 4 % 10]
    letters = "".join(LETTERS[digit] for digit in digits[: 2 + number % 3])
    phones = " ".join(PHONES[letter] for letter in letters)
    return letters, unicodedata.normalize("NFC", phones)


def write_language(folder: Path, language: str, sizes: dict[str, int], start: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in sizes.items():
        rows = ["\t".join(word(number)) + "\n" for number in range(start, start + size)]
        (folder / f"{language}_{split}.tsv").write_text("".join(rows), "utf-8")
        start += size
    return folder


def write_transduction_config(folder: Path) -> Path:
    """Two languages, and a config that trains on the first in seconds."""
    for language, start in (("xaa", 0), ("xbb", 400)):
        write_language(folder / "words", language, {"train": 300, "dev": 30, "test": 30}, start)
    path = folder / "transduction.toml"
    path.write_text(CONFIG.format(corpus=folder / "words", cache=folder / "cache"))
    return path
