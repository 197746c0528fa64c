"""Words of token sequences against the metric's words of the decoded text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.metrics.words import word_reader
from bangbang.symbols import EOS, SYMBOLS
from tests.rewards.tokenizers_of_words import LINES, MAKES, encoded, reference, texts_of, view_of

METRICS = ("rouge", "bleu", "wer", "coco")
some = settings(derandomize=True, max_examples=40, deadline=None)
words = st.sampled_from([word for line in LINES for word in line.split()])
texts = st.lists(words, min_size=1, max_size=7).map(" ".join)
makes = st.sampled_from(MAKES)


def test_what_metrics_read() -> None:
    text = "Light-weight U.S. tool - 3.5, don't!"
    assert word_reader("rouge")(text) == ["light", "weight", "u", "s", "tool", "3", "5", "don", "t"]
    assert word_reader("bleu")(text) == ["Light-weight", "U", ".", "S", ".", "tool", "-", "3.5", ",", "don't", "!"]
    assert word_reader("wer")(text) == ["Light-weight", "U.S.", "tool", "-", "3.5,", "don't!"]
    assert word_reader("coco")(text) == ["light-weight", "u.s.", "tool", "3.5", "do", "n't"]


@some
@given(makes, texts)
def test_written_words_are_what_stands_between_blanks(make: str, text: str) -> None:
    view, ids = view_of(make), encoded(make, text)
    starts = view.starts(ids)
    parts = [ids[begin:end] for begin, end in zip(starts, [*starts[1:], len(ids)], strict=True)]
    assert starts[0] == 0
    assert [part.strip() for part in view.decode(parts)] == text.split()


@some
@given(st.data(), makes, st.sampled_from(("rouge", "bleu", "wer")))
def test_words_of_a_prefix_of_any_tokens_are_a_prefix_of_those_of_the_text(data, make: str, metric: str) -> None:
    """Of whatever a model may write: what was read before a word starts stays."""
    ids = data.draw(st.lists(st.integers(len(SYMBOLS) + 2, len(texts_of(make)) - 1), min_size=1, max_size=12))
    view = view_of(make, metric)
    (found,) = view.read([[*ids, EOS]])
    assert found.whole == view.words(view.decode([ids])[0])
    assert found.before[0] == [] and found.before[-1] == found.whole and found.starts[-1] == len(ids)
    for before in found.before:
        assert before == found.whole[: len(before)]


@some
@given(makes, st.sampled_from(METRICS), texts)
def test_units_are_the_reference_and_its_words(make: str, metric: str, text: str) -> None:
    view, y = view_of(make, metric), reference(make, text)
    *units, end = view.units(y)
    assert tuple(token for unit in (*units, end) for token in unit.tokens) == y
    assert [word for unit in units for word in unit.words] == view.words(view.decode([list(y)])[0])
    assert end.words == (SYMBOLS[EOS],) and all(unit.words for unit in units)
    for unit in units if metric != "coco" else []:  # whose words may depend on their neighbours
        assert view.words(view.decode([list(unit.tokens)])[0]) == list(unit.words)


def test_what_the_metric_does_not_read_belongs_to_the_next_unit() -> None:
    view = view_of("byte-level")
    units = view.units(reference("byte-level", "small - e-mail tools ..."))
    assert [unit.words for unit in units] == [("small",), ("e", "mail"), ("tools",), (SYMBOLS[EOS],)]
    assert view.decode([list(unit.tokens) for unit in units]) == ["small", " - e-mail", " tools", " ..."]


@pytest.mark.parametrize("make", MAKES)
def test_a_unit_is_spelled_as_a_word_of_its_own(make: str) -> None:
    """The first word of a text has no blank before it in some tokenizers."""
    view, y = view_of(make), reference(make, "reading mail")
    first, second, end = view.units(y)
    before = encoded(make, "light")
    for unit in (first, second):
        spelled = view.spelling(unit.tokens, before[-1])
        assert view.words(view.decode([[*before, *spelled]])[0]) == ["light", *unit.words]
    assert view.spelling(first.tokens, None) == first.tokens and view.spelling(end.tokens, before[-1]) == (EOS,)
    assert (view.spelling(first.tokens, before[-1]) != first.tokens) == (make == "byte-level")
    assert not any(view.begins[token] for token in view.continuations)
