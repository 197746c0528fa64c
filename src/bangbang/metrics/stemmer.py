"""The stemmer of ROUGE-1.5.5: WordNet's irregular forms first, else a Porter stemmer with a step 4 of its own.

Differences from Porter (1980), all found by comparing with scores of the Perl script:
  - step 2 maps `bli` to `ble` and `logi` to `log` (Porter's own later departures);
  - step 4 is three removals in a row, not one: a suffix of Porter's list without ment, ent and ion; then ment; then
    ent, or else ion after s or t. So "accidental" -> "accident" -> "accid".
Words of up to three characters stay as they are.
"""

import re
from functools import cache, lru_cache
from importlib.resources import files

SHORTEST_STEMMED = 4  # characters
CACHED_WORDS = 1 << 18

# A stem is [C](VC)^m[V]; y is a vowel after a consonant, a consonant elsewhere.
_CONSONANTS = "[^aeiou][^aeiouy]*"
_VOWELS = "[aeiouy][aeiou]*"
_MEASURE_OVER_0 = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}")
_MEASURE_IS_1 = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}(?:{_VOWELS})?$")
_MEASURE_OVER_1 = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}{_VOWELS}{_CONSONANTS}")
_HAS_VOWEL = re.compile(f"^(?:{_CONSONANTS})?[aeiouy]")
_SHORT_SYLLABLE = re.compile(f"^{_CONSONANTS}[aeiouy][^aeiouwxy]$")  # *o of the paper, for a whole stem of measure 1

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_2_SUFFIX = re.compile(f"(?:{'|'.join(_STEP_2)})$")
_STEP_3_SUFFIX = re.compile(f"(?:{'|'.join(_STEP_3)})$")
_STEP_4_SUFFIX = re.compile("(?:al|ance|ence|er|ic|able|ible|ant|ement|ou|ism|ate|iti|ous|ive|ize)$")


@cache
def exceptions() -> dict[str, str]:
    """WordNet's irregular forms as ROUGE-1.5.5 ships them: word -> base form."""
    text = files("bangbang.metrics").joinpath("irregular_forms.txt").read_text(encoding="ascii")
    table = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            word, base = line.split()
            table[word] = base
    return table


@lru_cache(maxsize=CACHED_WORDS)
def stem(word: str) -> str:
    """The stem of one lower-case ASCII word as ROUGE-1.5.5 -m sees it."""
    if len(word) < SHORTEST_STEMMED:
        return word
    return exceptions().get(word) or porter(word)


def porter(word: str) -> str:
    # An initial y is a consonant; hiding it keeps the vowel classes above simple.
    hidden_y = word[0] == "y"
    word = "Y" + word[1:] if hidden_y else word
    word = _step_5(_step_4(_replace(_replace(_step_1(word), _STEP_2_SUFFIX, _STEP_2), _STEP_3_SUFFIX, _STEP_3)))
    return "y" + word[1:] if hidden_y else word


def _step_1(word: str) -> str:
    """Plurals, -ed, -ing, and a final y after a vowel."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if word.endswith("eed"):
        if _MEASURE_OVER_0.match(word[:-3]):
            word = word[:-1]
    elif word.endswith(("ed", "ing")):
        stem = word[: -2 if word.endswith("ed") else -3]
        if _HAS_VOWEL.match(stem):
            word = _repair(stem)
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    return word


def _repair(stem: str) -> str:
    """What is left of a word without its -ed or -ing: conflat(e), hop(p), fil(e)."""
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if len(stem) > 1 and stem[-1] == stem[-2] and stem[-1] not in "aeiouylsz":
        return stem[:-1]
    return stem + "e" if _SHORT_SYLLABLE.match(stem) else stem


def _replace(word: str, suffix: re.Pattern[str], replacement: dict[str, str]) -> str:
    found = suffix.search(word)
    if found and _MEASURE_OVER_0.match(word[: found.start()]):
        return word[: found.start()] + replacement[found.group()]
    return word


def _step_4(word: str) -> str:
    found = _STEP_4_SUFFIX.search(word)
    if found:
        word = _without(word, found.group())
    word = _without(word, "ment")
    if word.endswith("ent"):
        return _without(word, "ent")
    return _without(word, "ion") if word.endswith(("sion", "tion")) else word


def _without(word: str, suffix: str) -> str:
    return word[: -len(suffix)] if word.endswith(suffix) and _MEASURE_OVER_1.match(word[: -len(suffix)]) else word


def _step_5(word: str) -> str:
    """A final e, and one of a final ll."""
    if word.endswith("e"):
        stem = word[:-1]
        if _MEASURE_OVER_1.match(stem) or (_MEASURE_IS_1.match(stem) and not _SHORT_SYLLABLE.match(stem)):
            word = stem
    if word.endswith("ll") and _MEASURE_OVER_1.match(word):
        word = word[:-1]
    return word
