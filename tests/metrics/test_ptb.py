"""Caption tokens against Stanford's PTBTokenizer 3.4.1 as coco-caption runs it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.metrics.ptb import PUNCTUATION, tokenize
from tests.metrics.oracle_files import fixture, needs_oracles, rows

CAPTIONS = fixture("ptb_tokens.json")
TOKENIZED = dict(zip([caption for caption, _ in CAPTIONS], tokenize([caption for caption, _ in CAPTIONS]), strict=True))


@pytest.mark.parametrize(("caption", "expected"), CAPTIONS)
def test_our_captions_get_the_tokens_of_the_java_program(caption, expected):
    assert TOKENIZED[caption] == expected


def test_the_next_caption_decides_whether_a_letter_keeps_its_full_stop():
    assert tokenize(["vitamin c.", "A man runs"]) == ["vitamin c", "a man runs"]
    assert tokenize(["vitamin c.", "Two men run"]) == ["vitamin c.", "two men run"]


def test_line_ends_within_a_caption_do_not_shift_the_others():
    assert tokenize(["a\nb", "c\u2028d\r\ne", "f"]) == ["a b", "c d e", "f"]


@needs_oracles
def test_every_coco_caption_gets_the_tokens_of_the_java_program():
    images = rows("coco_caption.jsonl")
    candidates = tokenize([image["candidate"] for image in images])
    assert candidates == [image["candidate_tokens"] for image in images]
    references = tokenize([text for image in images for text in image["references"]])
    assert references == [text for image in images for text in image["references_tokens"]]


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=4))
def test_any_unicode_gives_one_line_a_caption_without_punctuation(captions):
    lines = tokenize(captions)
    assert len(lines) == len(captions)
    assert not PUNCTUATION & {token for line in lines for token in line.split(" ")}


def test_long_captions_without_blanks_finish():
    assert tokenize(["a!" * 5000])[0].startswith("a")
    assert tokenize(["x@" * 5000 + "." * 5000])[0]


def test_lone_surrogates_are_left_out():
    assert tokenize(["a\ud800b \ud800"]) == ["a b"]
