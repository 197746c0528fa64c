"""Error rates: what the character error rate's `rest` bounds, and texts."""

import pytest
import torch
from hypothesis import given, settings

from bangbang.errors import InputError
from bangbang.rewards import EditDistance, dense
from bangbang.symbols import EOS, SYMBOLS
from tests.oracles import reward_scores as literal
from tests.rewards.cases import TEXTS, batch, ended, one_or_several, outputs

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
