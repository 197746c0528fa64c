"""A tokenizer from elsewhere as a vocabulary: its texts come back, and ids 0 to 3 stay ours."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, processors

from bangbang.data import load_vocabulary
from bangbang.data.given import GivenVocabulary
from bangbang.data.settings import TokenizerFile
from bangbang.errors import InputError
from bangbang.symbols import BOS, EOS, PAD, SYMBOLS, UNK
from tests.tokenizer_files import MAKERS, TEXTS, byte_level, whole_words, word_pieces, written

ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=40).filter(lambda text: "<|endoftext|>" not in text)


def of(tokenizer: Tokenizer, folder: Path, *ends: str) -> GivenVocabulary:
    return GivenVocabulary.of_file(written(folder / "tokenizer.json", tokenizer), ends)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> GivenVocabulary:
    return of(byte_level(), tmp_path_factory.mktemp("pieces"))


@given(text=ANY)
@example(text="é\u0301 \U0001f9ab\n\n  \t x")
def test_byte_level_texts_come_back_exactly(pieces: GivenVocabulary, text: str) -> None:
    ids = pieces.encode(text)
    assert not {PAD, BOS, EOS, UNK} & set(ids)
    assert pieces.decode([BOS, *ids, EOS, 9, PAD]) == text
    texts = pieces.texts()
    assert "".join(texts[index] for index in ids).encode("utf-8", "surrogateescape") == text.encode()


@pytest.mark.parametrize("name", MAKERS)
def test_ids_are_the_tokenizers_own_plus_four(name: str, tmp_path: Path) -> None:
    tokenizer = MAKERS[name]()
    vocabulary = of(tokenizer, tmp_path)
    assert len(vocabulary) == tokenizer.get_vocab_size() + 4 == len(vocabulary.texts())
    assert [vocabulary.token(index) for index in range(4)] == list(SYMBOLS) == vocabulary.texts()[:4]
    unknown = tokenizer.token_to_id("[UNK]" if name == "word pieces" else "<unk>")
    for text in [*TEXTS, "", "ein Hund €"]:
        theirs = tokenizer.encode(text, add_special_tokens=False).ids
        ids = vocabulary.encode(text)
        assert ids == [UNK if token == unknown else token + 4 for token in theirs]
        assert vocabulary.decode(ids) == tokenizer.decode(theirs)
    assert vocabulary.encode_batch(TEXTS) == [vocabulary.encode(text) for text in TEXTS]
    for index in (-1, len(vocabulary)):
        with pytest.raises(IndexError):
            vocabulary.token(index)


@pytest.mark.parametrize("name", MAKERS)
def test_texts_of_tokens_write_the_text(name: str, tmp_path: Path) -> None:
    vocabulary = of(MAKERS[name](), tmp_path)
    texts = vocabulary.texts()
    for text in TEXTS[:1] + TEXTS[2:3]:
        written_out = vocabulary.joint.join(texts[index] for index in vocabulary.encode(text))
        assert written_out.removeprefix(" ") == text


def test_what_stands_between_tokens_and_in_front_of_them(tmp_path: Path) -> None:
    assert of(whole_words(), tmp_path).joint == " "
    for name in set(MAKERS) - {"words"}:
        assert of(MAKERS[name](), tmp_path).joint == ""
    vocabulary = of(word_pieces(), tmp_path)
    texts = {vocabulary.token(index): text for index, text in enumerate(vocabulary.texts())}
    assert texts["cat"] == " cat" and texts["##a"] == "a" and texts["[CLS]"] == ""
    vocabulary = of(MAKERS["byte fallback"](), tmp_path)
    texts = {vocabulary.token(index): text for index, text in enumerate(vocabulary.texts())}
    assert texts["▁"] == " " and texts["<0xE2>"] == "\udce2" and texts["<0x41>"] == "A"


def test_special_tokens_in_a_text_are_unknown_and_none_are_added(tmp_path: Path) -> None:
    tokenizer = byte_level(("<pad>", "</s>", "<mask>"))
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=50)
    vocabulary = of(tokenizer, tmp_path)
    ids = vocabulary.encode("the cat</s> on<mask><pad>")
    assert ids.count(UNK) == 3 and not {PAD, BOS, EOS} & set(ids) and ids[-1] == UNK
    assert vocabulary.decode(ids) == "the cat on"
    assert vocabulary.encode("the cat sat on the mat") == [
        token + 4 for token in Tokenizer.encode(byte_level(("<pad>", "</s>", "<mask>")), TEXTS[0]).ids
    ]


def test_one_token_may_begin_end_pad_and_be_unknown(tmp_path: Path) -> None:
    def change(table: dict[str, Any]) -> None:
        table["model"]["unk_token"] = "<|endoftext|>"

    vocabulary = GivenVocabulary.of_file(written(tmp_path / "tokenizer.json", byte_level(), change))
    assert vocabulary.translation.theirs[:5] == [-1, -1, 0, -1, -1]
    assert vocabulary.encode("<|endoftext|>") == [UNK] and vocabulary.decode([UNK, EOS]) == ""


def test_several_ends_and_added_tokens_in_the_middle(tmp_path: Path) -> None:
    tokenizer = byte_level(("<s>", "</s>"))
    tokenizer.add_special_tokens(["<|im_end|>"])
    tokenizer.add_tokens([AddedToken("bangbang", normalized=False)])
    with pytest.raises(InputError, match=r"one of </s>, <\|im_end\|>; name those .* vocabulary.ends"):
        of(tokenizer, tmp_path)
    vocabulary = of(tokenizer, tmp_path, "<|im_end|>", "</s>", "<|im_end|>")
    first, second = tokenizer.token_to_id("<|im_end|>"), tokenizer.token_to_id("</s>")
    assert vocabulary.translation.ends == [first, second] and vocabulary.translation.theirs[EOS] == first
    assert vocabulary.encode("a bangbang<|im_end|></s>")[-3:] == [len(vocabulary) - 1, UNK, UNK]
    assert vocabulary.texts()[-2:] == ["", "bangbang"] and vocabulary.decode([len(vocabulary) - 1]) == "bangbang"


def test_an_end_that_is_ordinary_text_never_ends_a_text_by_itself(tmp_path: Path) -> None:
    vocabulary = of(byte_level(), tmp_path, "Ċ")
    assert EOS not in vocabulary.encode("a\nb") and UNK in vocabulary.encode("a\nb")


def test_ends_that_cannot_be_found(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no well-known end; its special tokens are <x>; name"):
        of(byte_level(("<x>",)), tmp_path)
    with pytest.raises(InputError, match=r"no token '</t>'; its special tokens are <\|endoftext\|>"):
        of(byte_level(), tmp_path, "</t>")


def test_old_files_that_do_not_name_their_model(tmp_path: Path) -> None:
    for maker in MAKERS.values():
        tokenizer = maker()
        named = of(tokenizer, tmp_path)
        path = written(tmp_path / "tokenizer.json", tokenizer, lambda table: table["model"].pop("type"))
        assert GivenVocabulary.of_file(path).fingerprint == named.fingerprint


@pytest.mark.parametrize("name", MAKERS)
def test_the_copy_stands_for_the_file(name: str, tmp_path: Path) -> None:
    vocabulary, copy = of(MAKERS[name](), tmp_path), tmp_path / "vocabulary.json"
    vocabulary.save(copy)
    (tmp_path / "tokenizer.json").unlink()
    loaded = load_vocabulary(copy)
    assert loaded.fingerprint == vocabulary.fingerprint and loaded.texts() == vocabulary.texts()
    assert loaded.encode_batch([*TEXTS, "</s> €"]) == vocabulary.encode_batch([*TEXTS, "</s> €"])
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == copy.read_bytes()


def test_the_fingerprint_knows_the_ends(tmp_path: Path) -> None:
    tokenizer = byte_level(("</s>", "<eos>"))
    one, other = of(tokenizer, tmp_path, "</s>"), of(tokenizer, tmp_path, "<eos>")
    assert one.fingerprint != other.fingerprint


DAMAGES: dict[str, tuple[dict[str, Any], str]] = {
    "no ends": ({"ends": []}, "its ends is not stated"),
    "ends of another": ({"ends": ["</t>"]}, "no token '</t>'"),
    "ends no list": ({"ends": "</s>"}, "must have ends, tokenizer, unknown"),
    "other unknown": ({"unknown": "a"}, "its unknown token is not stated"),
    "more": ({"more": 1}, "must have ends, tokenizer, unknown"),
    "no tokenizer": ({"tokenizer": []}, "not a tokenizer"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_copy_is_refused_by_name(case: str, tmp_path: Path) -> None:
    change, message = DAMAGES[case]
    path = tmp_path / "vocabulary.json"
    of(byte_level(("</s>",)), tmp_path).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError, match=message) as error:
        load_vocabulary(path)
    assert str(error.value).startswith(str(path)) and "\n" not in str(error.value)


def test_settings_find_a_file_by_its_content(tmp_path: Path) -> None:
    one, other = written(tmp_path / "one.json", byte_level()), written(tmp_path / "other.json", byte_level())
    assert TokenizerFile(file=str(one)).identity == TokenizerFile(file=str(other)).identity
    written(other, byte_level(texts=["other texts"]))
    assert TokenizerFile(file=str(one)).identity != TokenizerFile(file=str(other)).identity
    assert TokenizerFile(file=str(one)).identity != TokenizerFile(file=str(one), ends=("<|endoftext|>",)).identity
    with pytest.raises(InputError, match=r"vocabulary\.file"):
        TokenizerFile().check()
    with pytest.raises(InputError, match="no such vocabulary file"):
        TokenizerFile(file=str(tmp_path / "none.json")).check()
