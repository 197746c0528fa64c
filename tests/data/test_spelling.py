"""Outputs as people write them: what is learnt, and that nothing else is said than the tokens."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.data.blanks import Beside, Blanks, between
from bangbang.data.settings import BytePairs, Words
from bangbang.data.spelling import SPELLING, Spelling, learn_spelling, read_spelling, starts
from bangbang.data.trained import TrainedVocabulary
from bangbang.errors import InputError

TARGETS = [
    "Return the API of a GStreamer element.",
    "Open an API (such as JSON) with Python.",
    "JSON that isn't valid, e.g. a file's first line.",
    'Call "close" and wait; then call "open" again.',
    "A non-zero size - or none at all?",
    "Read a non-empty file. Then close it.",
    "Close it, if it isn't closed.",
    "YAML of a size.",
]


def learnt(texts: list[str], **options: object) -> Spelling:
    found = learn_spelling(TrainedVocabulary.train(texts, Words(**options)), texts)  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.mark.parametrize("text", TARGETS)
def test_what_was_learnt_from_is_written_as_it_was(text: str) -> None:
    spelling = learnt(TARGETS * 2)
    assert (
        spelling.written(" ".join(spelling.vocabulary.texts()[token] for token in spelling.vocabulary.encode(text)))
        == text
    )


@pytest.mark.parametrize(
    ("output", "written"),
    [
        ("the api isn ' t python", "The API isn't Python"),
        ("read the gstreamer file ' s size .", "Read the GStreamer file's size."),
        ("wait for it ( or not ) , e . g . a yaml file", "Wait for it (or not), e.g. a YAML file"),
        ('call " api " and " json "', 'Call "API" and "JSON"'),
        ("a non - valid file", "A non-valid file"),
        ("call it . return it", "Call it. Return it"),
        ("<unk> the file", "<unk> the file"),
        ("", ""),
    ],
)
def test_new_outputs_are_written_like_the_training_targets(output: str, written: str) -> None:
    more = ["It is for Python, or not.", 'It is "Python" and "API" (or not).', "A file's API, a line's JSON."]
    assert learnt([*TARGETS, *more] * 2).written(output) == written


def test_the_first_word_of_a_sentence_tells_nothing_of_its_capital() -> None:
    spelling = learnt(["Lines of text", "Lines of Lines", "the lines of it", "the lines", "HTTP of it", "Python"] * 2)
    assert spelling.inside == {"http": "HTTP"}  # lines is mostly not Lines; Python may be a word like any other
    assert spelling.form("lines", first=True) == "Lines" and spelling.form("python", first=False) == "python"


def test_sentences_begin_as_they_do_in_the_targets() -> None:
    spelling = learnt(["library for pictures", "tools for pictures", "Perl module for tools", "module for Perl"] * 2)
    assert not spelling.capital
    assert spelling.written("module for perl") == "module for Perl" and spelling.written("perl tools") == "Perl tools"


def test_a_capital_that_was_seen_once_is_not_believed_unless_it_is_inside() -> None:
    assert learnt(["of a Title", "of the macOS", "of", "the"]).inside == {"macos": "macOS"}


def test_sentences_begin_after_a_full_stop_and_a_blank_but_not_after_a_letter() -> None:
    tokens = ["read", "e", ".", "g", ".", "a", "file", ".", "b", ".", "then", "stop", "!", "now"]
    found = starts(tokens, [token not in (".", "!", "b") for token in tokens])
    assert [token for token, first in zip(tokens, found, strict=True) if first] == ["read", "now"]


WORDS = st.sampled_from(["a", "API", "İx", "ß", "Σίς", "unk", "s", "_", "x_y", "don't", "Foo", "9"])
MARKS = st.sampled_from([".", ",", "'", '"', "(", ")", "<", ">", "/", "-", "!", "…", "\u0301"])
TEXTS = st.lists(st.builds(str.__add__, WORDS | MARKS, st.sampled_from(["", " "])), min_size=1, max_size=12).map(
    "".join
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(TEXTS, min_size=1, max_size=6),
    st.sampled_from(["words", "whitespace", "bare-words"]),
    st.booleans(),
    st.data(),
)
def test_the_written_text_has_the_same_tokens(
    texts: list[str], split: str, lowercase: bool, data: st.DataObject
) -> None:
    spelling = learnt(texts, split=split, lowercase=lowercase)
    vocabulary = spelling.vocabulary
    if len(vocabulary) == 4:
        return
    ids = data.draw(st.lists(st.integers(4, len(vocabulary) - 1), max_size=12))
    text = vocabulary.decode(ids)
    assert vocabulary.encode(spelling.written(text)) == vocabulary.encode(text)


@settings(deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_a_place_that_was_seen_twice_has_its_commonest_blank(texts: list[str]) -> None:
    """Exceptions that are left out agree with what decides instead of them."""
    seen: Counter[tuple[Beside, bool]] = Counter()
    for number, text in enumerate(texts * 2):
        for place in between(text.split(" ")):
            if place is not None:
                seen[place, bool(number % 3)] += 1
    blanks = Blanks.learn(seen)
    for place, _ in seen:
        balance = seen[place, True] - seen[place, False]
        if balance:
            assert blanks.blank(place) == (balance > 0)


def test_a_saved_spelling_comes_back(tmp_path: Path) -> None:
    spelling = learnt(TARGETS)
    spelling.save(tmp_path / SPELLING)
    again = read_spelling(tmp_path / SPELLING, spelling.vocabulary)
    assert again is not None and again._replace(blanks=spelling.blanks) == spelling
    assert again.blanks.known == spelling.blanks.known


def test_a_run_without_one_and_pieces_of_words_have_none(tmp_path: Path) -> None:
    assert read_spelling(tmp_path / SPELLING, TrainedVocabulary.train(TARGETS, Words())) is None
    for config in (BytePairs(size=300), Words(split="characters")):
        assert learn_spelling(TrainedVocabulary.train(TARGETS, config), TARGETS) is None


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        '{"capital": 1, "inside": {}, "first": {}, "blanks": {}}',
        '{"capital": true, "inside": {"a": 1}, "first": {}, "blanks": {}}',
        '{"capital": true, "inside": {"a": "\\u001b"}, "first": {}, "blanks": {}}',
        '{"capital": true, "inside": {}, "first": {"a": "AAAA"}, "blanks": {}}',
        '{"capital": true, "inside": {}, "first": {}, "blanks": {"< 0 a": true}}',
        '{"capital": true, "inside": {}, "first": {}, "blanks": {"< 0 a , b": 1}}',
    ],
)
def test_a_damaged_file_is_refused_with_the_way_out(content: str, tmp_path: Path) -> None:
    (tmp_path / SPELLING).write_text(content)
    with pytest.raises(InputError, match=r"spelling.json: damaged.*; remove it"):
        read_spelling(tmp_path / SPELLING, TrainedVocabulary.train(TARGETS, Words()))


def test_a_form_that_says_something_else_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / SPELLING).write_text('{"capital": true, "inside": {"open": "shut"}, "first": {}, "blanks": {}}')
    spelling = read_spelling(tmp_path / SPELLING, TrainedVocabulary.train(TARGETS, Words()))
    assert spelling is not None and spelling.written("call open") == "call open"
