"""What is refused of a tokenizer from elsewhere, before any text meets it."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers

from bangbang.data import given, load_vocabulary
from bangbang.data.given import GivenVocabulary
from bangbang.data.tokenizer_rules import PATTERNS
from bangbang.errors import InputError
from tests.tokenizer_files import MAKERS, byte_level, unigram, word_pieces, written

Change = Callable[[dict[str, Any]], object]
HOSTILE = "(a+)+$"


def setting(**entries: Any) -> Change:
    return lambda table: table.update(entries)


def model(**entries: Any) -> Change:
    return lambda table: table["model"].update(entries)


def split(pattern: Any, **entries: Any) -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False, **entries}


def replace(pattern: Any, content: Any) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def sequence(*parts: Any) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(parts)}


def charsmap(texts: bytes, trie: bytes = bytes(4 * 256), size: int | None = None) -> dict[str, Any]:
    table = (len(trie) if size is None else size).to_bytes(4, "little") + trie + texts
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}


REFUSED: dict[str, tuple[Change, str]] = {
    "a regular expression": (setting(pre_tokenizer=split({"Regex": HOSTILE})), "pre_tokenizer Split has a regular exp"),
    "one among others": (
        setting(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "Digits"}, split({"Regex": HOSTILE})]}),
        "not known to be safe",
    ),
    "one that replaces": (setting(normalizer=replace({"Regex": HOSTILE}, "")), "normalizer Replace has a regular exp"),
    "one of the decoder": (setting(decoder=replace({"Regex": r"\s+"}, "")), "decoder Replace has a regular expression"),
    "one without a type": (
        setting(pre_tokenizer={"pattern": {"Regex": HOSTILE}, "behavior": "Isolated", "invert": False}),
        "pre_tokenizer None is none of those known",
    ),
    "one beside a type": (
        setting(pre_tokenizer={"type": "Digits", "individual_digits": True, "pattern": {"Regex": HOSTILE}}),
        "Digits has a setting 'pattern'",
    ),
    "another kind": (setting(decoder={"type": "CTC"}), "decoder 'CTC' is none"),
    "a kind that is no name": (setting(normalizer={"type": ["NFC"]}), "is none of those known"),
    "a list": (setting(normalizer=[]), "its normalizer is no table"),
    "nested sequences": (setting(normalizer=sequence(sequence())), "'Sequence' is none"),
    "no sequence": (setting(normalizer={"type": "Sequence", "normalizers": 3}), "not a sequence"),
    "a long sequence": (setting(normalizer=sequence(*[{"type": "NFC"}] * 33)), "at most 32"),
    "parts that are none": (setting(normalizer=sequence(None)), "component that is no table"),
    "an empty pattern": (setting(normalizer=replace({"String": ""}, "")), "has no pattern"),
    "a longer text": (setting(normalizer=replace({"String": "a"}, "aa")), "would make texts longer"),
    "a longer text by pattern": (setting(normalizer=replace({"Regex": r"\s+"}, "  ")), "would make texts longer"),
    "a long beginning": (setting(normalizer={"type": "Prepend", "prepend": "x" * 9}), "more than 8 characters"),
    "bytes of bytes": (setting(normalizer={"type": "ByteLevel"}), "ByteLevel more than once"),
    "form after form": (
        setting(normalizer=sequence({"type": "NFKD"}, replace({"String": "ا"}, "ﷺ"), {"type": "NFKC"})),
        "NFC/NFD/NFKC/NFKD more than once",
    ),
    "long replacements": (setting(normalizer=charsmap(b"a" * 65 + b"\0")), "Precompiled would make texts longer"),
    "a trie beyond the end": (setting(normalizer=charsmap(b"", size=2**31)), "table of the wrong size"),
    "no table": (setting(normalizer={"type": "Precompiled", "precompiled_charsmap": None}), "has no table"),
    "dropout": (model(dropout=0.1), "has dropout"),
    "another model": (model(type="Other"), "its model 'Other' is none"),
    "a setting of another model": (model(nbest=1), "has a setting 'nbest'"),
    "no model": (setting(model=None), "it has no model"),
    "no tokens": (model(vocab=3), "no list of tokens"),
    "a long token": (model(vocab={"x" * 1001: 0}, merges=[]), "token of more than 1000"),
    "an unknown token of another": (model(unk_token="<none>"), "no unknown token among its tokens"),
    "no list of added tokens": (setting(added_tokens=None), "added_tokens are no list"),
    "an added token without an id": (lambda table: table["added_tokens"][0].pop("id"), "without content or id"),
    "an added token twice": (lambda table: table["added_tokens"].append(table["added_tokens"][0]), "in it twice"),
    "an added token of another id": (lambda table: table["added_tokens"][0].update(id=7), "cannot have id 7"),
    "a gap": (lambda table: shift(table["model"]["vocab"], 1), "damaged vocabulary: at token"),
    "an id twice": (lambda table: shift(table["model"]["vocab"], -1), "belongs to two tokens"),
    "merges of other tokens": (model(merges=[["x", "yz"]]), "not a vocabulary of the tokenizers library"),
}


def shift(vocabulary: dict[str, int], by: int) -> None:
    last = max(vocabulary, key=lambda token: vocabulary[token])
    vocabulary[last] += by


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_one_line_that_names_the_file(case: str, tmp_path: Path) -> None:
    change, message = REFUSED[case]
    path = written(tmp_path / "tokenizer.json", byte_level(), change)
    with pytest.raises(InputError, match=message) as error:
        GivenVocabulary.of_file(path)
    assert str(error.value).startswith(f"{path}: ") and "\n" not in str(error.value)


@pytest.mark.parametrize("case", [case for case in REFUSED if "one" in case.split() or "regular" in case])
def test_a_foreign_pattern_is_not_even_compiled(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "tokenizer_from", lambda *_: pytest.fail("a tokenizer was made"))
    with pytest.raises(InputError):
        GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", byte_level(), REFUSED[case][0]))


def test_the_same_checks_hold_for_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.json"
    GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", byte_level())).save(path)
    hostile = path.read_text().replace('"pre_tokenizer": {', '"pre_tokenizer": {"pattern": {"Regex": "(a+)+$"}, ')
    path.write_text(hostile)
    with pytest.raises(InputError, match="has a setting 'pattern'"):
        load_vocabulary(path)


PIECES: dict[str, tuple[Callable[[], Tokenizer], Change, str]] = {
    "no unknown token": (unigram, model(unk_id=None), "no unknown token"),
    "a piece twice": (unigram, lambda table: table["model"]["vocab"].append(["▁", -3.0]), "'▁' is in it twice"),
    "long words": (word_pieces, model(max_input_chars_per_word=10**9), "words of more than 1000"),
    "an unknown token of another": (word_pieces, model(unk_token="[OTHER]"), "no unknown token"),
}


@pytest.mark.parametrize("case", PIECES)
def test_models_of_pieces_are_checked_too(case: str, tmp_path: Path) -> None:
    maker, change, message = PIECES[case]
    with pytest.raises(InputError, match=message):
        GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", maker(), change))


def test_a_key_twice_and_other_files(tmp_path: Path) -> None:
    path = written(tmp_path / "tokenizer.json", byte_level())
    sound = path.read_text()
    for content, message in [
        (sound.replace('"version":', '"decoder": null, "version":'), "'decoder' is in it twice"),
        (sound[:-9], "not a vocabulary"),
        ("[]", "not a tokenizer"),
        ("[" * 100_000, "not a vocabulary"),
    ]:
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            GivenVocabulary.of_file(path)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.json"
    with path.open("wb") as file:
        file.truncate(256 * 2**20 + 1)
    monkeypatch.setattr(Path, "read_text", lambda *_: pytest.fail("it was read"))
    with pytest.raises(InputError, match="larger than 256 MB"):
        GivenVocabulary.of_file(path)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: PATTERNS[pattern])
def test_published_patterns_are_taken_and_cut_as_they_stand(pattern: str, tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    vocabulary = GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", tokenizer))
    text = "It's 12345 ÀB cD,\n\n  the  end!"
    assert vocabulary.decode(vocabulary.encode(text)) == text
    assert vocabulary.encode(text) == [index + 4 for index in tokenizer.encode(text).ids]


def test_components_of_published_tokenizers_are_taken(tmp_path: Path) -> None:
    tokenizer = MAKERS["unigram"]()
    for parts in (
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(r" {2,}"), " ")],
        [normalizers.Strip(), normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()],
        [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD()],
    ):
        tokenizer.normalizer = normalizers.Sequence(parts)
        assert len(GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", tokenizer))) > 20
    tokenizer.normalizer = None
    for part in (pre_tokenizers.Punctuation(), pre_tokenizers.Digits(), pre_tokenizers.UnicodeScripts()):
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), part])
        assert len(GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", tokenizer))) > 20
    path = written(tmp_path / "tokenizer.json", tokenizer, setting(normalizer=charsmap(b"b\0")))
    assert GivenVocabulary.of_file(path).encode("x")


def test_a_tokenizer_that_gives_up_on_a_text_is_an_error(tmp_path: Path) -> None:
    trie = bytes(4 * 8)  # too short for any letter
    vocabulary = GivenVocabulary.of_file(
        written(tmp_path / "tokenizer.json", unigram(), setting(normalizer=charsmap(b"b\0", trie)))
    )
    with pytest.raises(InputError, match="gives up on a text"):
        vocabulary.encode("the cat")
