"""Error rates: what the character error rate's `rest` bounds, and texts."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.data.settings import BytePairs
from bangbang.errors import InputError
from bangbang.rewards import EditDistance, dense
from bangbang.symbols import EOS, SYMBOLS, UNK
from tests.oracles import reward_scores as literal
from tests.rewards.cases import TEXTS, batch, ended, mean, one_or_several, outputs

MORE = [*TEXTS, "z", "zz", "zzzz"]  # words without a character of the references


@settings(derandomize=True, max_examples=40, deadline=None)
@given(references=one_or_several, z=outputs)
def test_characters_outside_the_references(references: list[list[int]], z: list[int]) -> None:
    state = EditDistance("character", texts=MORE).start(batch([references]), dtype=torch.float64)
    known = {letter for y in references for token in y for letter in TEXTS[token]}

    def score(tokens: list[int]) -> float:
        scores = [literal.character_accuracy(tokens, y, MORE) for y in ended(references)]
        return sum(scores) / len(scores)

    for t in range(len(z) + 1):
        rest = state.increments().rest.item()
        increments = {text: score([*z[:t], MORE.index(text)]) - score(z[:t]) for text in ("z", "zz", "zzzz", "a")}
        assert rest == pytest.approx(increments["z"], abs=1e-9)
        assert rest >= increments["zz"] - 1e-9 and rest >= increments["zzzz"] - 1e-9
        if "a" in known:
            assert rest <= increments["a"] + 1e-9
        if t < len(z):
            state.advance(torch.tensor([z[t]]))


def test_the_separator_can_be_left_out() -> None:
    texts = [*SYMBOLS, "gar", "den", "garden"]
    reward = EditDistance("character", texts=texts, separator="")
    state = reward.start(torch.tensor([[6, EOS]]))
    for token, expected in ((4, 3 / 7), (5, 6 / 7), (EOS, 1.0)):
        state.advance(torch.tensor([token]))
        assert state.value().item() == pytest.approx(expected)


# whole characters of one to four bytes, and pieces that begin, end or lie inside one; 0xFF is never part of one
PIECES = [
    *(symbol.encode() for symbol in SYMBOLS),
    *(text.encode() for text in ("a", "ü", "é", "€", "😀", "a€")),
    *(b"\xc3", b"\xbc", b"\xa9", b"\xe2", b"\xe2\x82", b"\x82\xac", b"\xac", b"\xf0\x9f", b"\x98", b"\x80b"),
    *(b"b\xc3", b"\xbca\xe2", b"\xed", b"\xff", b"\xf4", b"\xe0", b"\xf0"),
]
PIECE_TEXTS = [piece.decode("utf-8", "surrogateescape") for piece in PIECES]
ALL = range(2, len(PIECES))
some_pieces = st.lists(st.sampled_from([UNK, *range(4, len(PIECES))]), min_size=1, max_size=6)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    references=st.lists(some_pieces.filter(lambda y: set(y) != {UNK}), min_size=1, max_size=2),
    z=st.lists(st.sampled_from([UNK, *range(4, len(PIECES))]), max_size=6),
)
def test_pieces_of_characters_are_exact(references: list[list[int]], z: list[int]) -> None:
    reward = EditDistance("character", texts=PIECE_TEXTS, separator="", extra_candidates=ALL)
    state = reward.start(batch([references]), dtype=torch.float64)
    score = mean(lambda z, y: literal.piece_accuracy(z, y, PIECES))
    for t in range(len(z) + 1):
        before = score(z[:t], ended(references))
        assert state.value().item() == pytest.approx(before, abs=1e-9)
        expected = [score([*z[:t], v], ended(references)) - before for v in ALL]
        assert dense(state.increments(), len(PIECES))[0, list(ALL)].tolist() == pytest.approx(expected, abs=1e-9)
        if t < len(z):
            state.advance(torch.tensor([z[t]]))


def test_rows_in_the_middle_of_a_character_can_be_selected() -> None:
    euro, rest, a = PIECES.index(b"\xe2"), PIECES.index(b"\x82\xac"), 4
    reward = EditDistance("character", texts=PIECE_TEXTS, separator="")
    state = reward.start(torch.tensor([[PIECES.index("€".encode()), EOS], [a, EOS]]))
    state.increments()
    state.advance(torch.tensor([euro, a]))
    assert state.value().tolist() == [0.5, 0.5], "the first piece of a right character earns what it is worth"
    turned = state.select(torch.tensor([1, 0]))
    turned.advance(torch.tensor([a, rest]))
    assert turned.value().tolist() == [0.5, 0.5]
    state.advance(torch.tensor([a, EOS]))
    assert state.value().tolist() == [0.0, 1.0], "a stray byte and another character: two edits"


@settings(derandomize=True, max_examples=60, deadline=None)
@given(texts=st.tuples(*[st.text("aéßü€ 😀x", min_size=1, max_size=12)] * 2))
def test_a_vocabulary_of_pieces_counts_the_characters_of_the_text(texts: tuple[str, str]) -> None:
    vocabulary = BytePairs(size=268, lowercase=False).build(["é ü üx ü€"] * 3)
    reward = EditDistance("character", texts=vocabulary.texts(), separator="")
    z, y = (vocabulary.encode(text) for text in texts)
    state = reward.start(torch.tensor([[*y, EOS]]))
    for token in [*z, EOS]:
        state.advance(torch.tensor([token]))
    marks = [[*text, "</s>"] for text in texts]
    expected = 1 - literal.edit_distance(marks[0], marks[1]) / len(marks[1])
    assert state.value().item() == pytest.approx(expected, abs=1e-6)


def test_extra_candidates_are_exact() -> None:
    reward = EditDistance("character", texts=MORE, extra_candidates=[MORE.index("zzzz")])
    state = reward.start(torch.tensor([[4, EOS]]), dtype=torch.float64)
    expected = literal.character_accuracy([MORE.index("zzzz")], [4, EOS], MORE)
    assert dense(state.increments(), len(MORE))[0, MORE.index("zzzz")].item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EditDistance("letter"), "unit must be"),  # type: ignore[arg-type]
        (lambda: EditDistance("character"), "needs texts"),
        (lambda: EditDistance("character", texts=TEXTS, separator="--").start(torch.tensor([[4, EOS]])), "separator"),
        (lambda: EditDistance("character", texts=TEXTS).start(torch.tensor([[99, EOS]])), "99 has no text"),
        (lambda: EditDistance(extra_candidates=[0]).start(torch.tensor([[4, EOS]])), "can be generated"),
    ],
)
def test_bad_options(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]
