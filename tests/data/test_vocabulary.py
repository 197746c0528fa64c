"""Text to ids and back, and what a vocabulary file must be."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.normalizers import Lowercase

from bangbang.data import Vocabulary, load_vocabulary
from bangbang.data.settings import KINDS
from bangbang.errors import InputError
from bangbang.symbols import BOS, EOS, PAD, SYMBOLS, UNK

TEXTS = ["the cat sat on the mat", "The dog, the cat: friends!", "a mat and a cat", "naïve café_2 x2"]
PLAIN = st.text(st.characters(exclude_categories=("Cs",)), max_size=40).filter(
    lambda text: not any(symbol in text for symbol in SYMBOLS)
)
quick = settings(derandomize=True, max_examples=150, deadline=None)


def trained(**options: object) -> Vocabulary:
    return built(TEXTS, **options)


def built(texts: list[str], kind: str = "word", **options: object) -> Vocabulary:
    return KINDS[kind](**options).build(texts)


PIECES_OF_BYTES = trained(kind="bpe", size=300, lowercase=False)


def test_symbols_come_first_and_types_by_falling_count_then_name() -> None:
    vocabulary = trained()
    assert tuple(vocabulary.token(index) for index in range(4)) == SYMBOLS
    assert [vocabulary.token(index) for index in range(4, 8)] == ["the", "cat", "a", "mat"]
    assert len(vocabulary) == 4 + len({"the", "cat", "a", "mat", "sat", "on", "dog", ",", ":", "friends", "!", "and",
                                       "naïve", "café_2", "x2"})  # fmt: skip


def test_the_same_texts_give_the_same_file(tmp_path: Path) -> None:
    for kind in ("word", "bpe"):
        for name in ("one.json", "other.json"):
            trained(kind=kind, size=300).save(tmp_path / name)
        assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()


@quick
@given(text=PLAIN)
def test_texts_are_what_tokens_write(text: str) -> None:
    """Pieces of pieces of characters too: put together, their bytes are the text's."""
    vocabulary = PIECES_OF_BYTES
    texts = vocabulary.texts()
    assert texts[:4] == list(SYMBOLS) and len(set(texts)) == len(texts) == len(vocabulary)
    written = "".join(texts[index] for index in vocabulary.encode(text))
    assert written.encode("utf-8", "surrogateescape") == text.encode()


def test_texts_of_all_bytes_and_of_words(tmp_path: Path) -> None:
    PIECES_OF_BYTES.save(tmp_path / "vocabulary.json")
    texts = load_vocabulary(tmp_path / "vocabulary.json").texts()
    single = {text.encode("utf-8", "surrogateescape") for text in texts[4:]}
    assert {bytes([byte]) for byte in range(256)} <= single
    assert " cat" in texts and any("é" in text or "ï" in text for text in texts)
    assert trained().texts()[:6] == [*SYMBOLS, "the", "cat"]


def test_size_and_least_count_are_kept() -> None:
    assert len(trained(size=6)) == 6
    assert trained(min_count=2).encode("dog cat") == [UNK, trained(min_count=2).encode("cat")[0]]


def test_words_are_parted_from_punctuation_only_if_asked() -> None:
    assert trained().decode(trained().encode("Friends!The cat,")) == "friends ! the cat ,"
    whole = trained(split="whitespace", lowercase=False)
    assert [whole.token(index) for index in whole.encode("dog, cat:")] == ["dog,", "cat:"]
    assert whole.encode("THE") == [UNK]


@pytest.mark.parametrize("kind", ["word", "bpe"])
@pytest.mark.parametrize("split", ["words", "whitespace"])
@pytest.mark.parametrize("symbol", SYMBOLS)
def test_symbols_written_out_are_unknown(kind: str, split: str, symbol: str) -> None:
    text = f"the cat {symbol} the {symbol.upper()} mat"
    vocabulary = built([*TEXTS, text, text, text], kind=kind, split=split, size=300)
    assert [vocabulary.token(index) for index in range(4)] == list(SYMBOLS)
    ids = vocabulary.encode(text)
    assert not {PAD, BOS, EOS}.intersection(ids)
    assert UNK in ids
    assert vocabulary.encode(symbol) == [UNK]


@quick
@given(st.lists(st.sampled_from(["the", "cat", "mat", ",", "friends", "!"]), max_size=12))
def test_known_words_come_back(words: list[str]) -> None:
    vocabulary = WORDS
    ids = vocabulary.encode(" ".join(words))
    assert vocabulary.decode([BOS, *ids, EOS, 5, PAD]) == " ".join(words)
    assert vocabulary.encode(vocabulary.decode(ids)) == ids


@quick
@given(PLAIN, st.sampled_from([("words", True), ("words", False), ("whitespace", True), ("whitespace", False)]))
def test_byte_pairs_come_back_exactly(text: str, options: tuple[str, bool]) -> None:
    vocabulary = BYTE_PAIRS[options]
    ids = vocabulary.encode(text)
    assert UNK not in ids
    assert vocabulary.decode(ids) == (Lowercase().normalize_str(text) if options[1] else text)


@quick
@given(st.lists(PLAIN, max_size=5))
def test_a_batch_is_its_texts(texts: list[str]) -> None:
    assert WORDS.encode_batch(texts) == [WORDS.encode(text) for text in texts]


WORDS = trained()
BYTE_PAIRS = {
    (split, lower): trained(kind="bpe", size=300, split=split, lowercase=lower)
    for split in ("words", "whitespace")
    for lower in (True, False)
}


def test_save_and_load_keep_everything(tmp_path: Path) -> None:
    for number, vocabulary in enumerate((WORDS, *BYTE_PAIRS.values())):
        path = tmp_path / f"{number}.json"
        vocabulary.save(path)
        loaded = load_vocabulary(path)
        assert len(loaded) == len(vocabulary)
        for text in [*TEXTS, "a strange </s> text €", ""]:
            assert loaded.encode(text) == vocabulary.encode(text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.json", "1.json", "2.json", "3.json", "4.json"]


def test_decode_stops_at_the_end_and_shows_unknowns() -> None:
    cat = WORDS.encode("cat")[0]
    assert WORDS.decode([BOS, cat, UNK, PAD, cat, EOS, cat]) == "cat <unk> cat"


def test_no_token_beyond_the_last() -> None:
    with pytest.raises(IndexError):
        WORDS.token(len(WORDS))


@pytest.mark.parametrize(("options", "least"), [({"size": 4}, 5), ({"kind": "bpe", "size": 259}, 260)])
def test_too_small_a_size_is_refused(options: dict[str, object], least: int) -> None:
    with pytest.raises(InputError, match=f"needs {least}"):
        trained(**options)


def damage_numbering(text: str) -> str:
    table = json.loads(text)
    table["model"]["vocab"]["cat"] = table["model"]["vocab"]["mat"]
    return json.dumps(table)


def damage_symbols(text: str) -> str:
    table = json.loads(text)
    words = table["model"]["vocab"]
    words["<s>"], words["</s>"] = 2, 1
    table["added_tokens"][1]["content"], table["added_tokens"][2]["content"] = "</s>", "<s>"
    return json.dumps(table)


DAMAGES = {
    "cut off": (lambda text: text[: len(text) // 2], "not a vocabulary"),
    "other json": (lambda text: '{"a": 1}', "not a vocabulary"),
    "not json": (lambda text: "hello", "not a vocabulary"),
    "duplicate": (lambda text: text.replace('"cat":', '"mat":'), "'mat' is in it twice"),
    "one id twice": (damage_numbering, "damaged vocabulary"),
    "foreign": (damage_symbols, "not a vocabulary made here"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damaged_files_are_refused_by_name(case: str, tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.json"
    WORDS.save(path)
    change, message = DAMAGES[case]
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=message) as error:
        load_vocabulary(path)
    assert str(path) in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such vocabulary"):
        load_vocabulary(tmp_path / "none.json")


def test_characters_come_back_with_their_marks_and_blanks() -> None:
    vocabulary = built(["ṣ́e up", "look up\tV;PST\tSG"], split="characters", lowercase=False)
    assert vocabulary.joint == ""
    for text in ("look up", "ṣ́", "look\tV;PST\tSG"):
        assert vocabulary.decode(vocabulary.encode(text)) == text
    assert len(vocabulary.encode("up\tV;PST")) == 3 and vocabulary.encode("ß\tPL") == [UNK, UNK]
    assert [vocabulary.texts()[index] for index in vocabulary.encode("up\tSG")] == ["u", "p", "\tSG"]
