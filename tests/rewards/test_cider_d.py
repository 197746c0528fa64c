"""CIDEr-D: what `rest` bounds, and the file of document frequencies."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings

from bangbang.errors import InputError
from bangbang.rewards import CiderD, DocumentFrequency, RougeN, dense
from bangbang.symbols import BOS, EOS, PAD
from tests.oracles import reward_scores as literal
from tests.rewards.cases import FREQUENCY, TEXTS, TRAINING, V, batch, ended, idf, one_or_several, outputs

few = settings(derandomize=True, max_examples=60, deadline=None)
UNSEEN = TEXTS.index("x")


def score(z: list[int], references: list[list[int]]) -> float:
    return sum(literal.cider_d(z, y, idf) for y in references) / len(references)


@few
@given(references=one_or_several, z=outputs)
def test_the_rest_is_exact_for_unseen_words_and_a_lower_bound_for_others(
    references: list[list[int]], z: list[int]
) -> None:
    state = CiderD(FREQUENCY, TEXTS).start(batch([references]), dtype=torch.float64)
    for t in range(len(z) + 1):
        before = score(z[:t], ended(references))
        increments = state.increments()
        for v in set(range(V)) - {PAD, BOS} - set(increments.tokens[0].tolist()):
            increment = score([*z[:t], v], ended(references)) - before
            assert increments.rest.item() <= increment + 1e-9
            if v == UNSEEN:
                assert increments.rest.item() == pytest.approx(increment, abs=1e-9)
        if t < len(z):
            state.advance(torch.tensor([z[t]]))


def test_the_bound_is_not_tight_for_frequent_words_and_extra_candidates_are_exact() -> None:
    references, often = [[7, 8]], TEXTS.index("a")
    bounded = CiderD(FREQUENCY, TEXTS).start(batch([references]), dtype=torch.float64)
    exact = CiderD(FREQUENCY, TEXTS, extra_candidates=[often, 7]).start(batch([references]), dtype=torch.float64)
    for state in (bounded, exact):
        state.advance(torch.tensor([7]))
    expected = score([7, often], ended(references)) - score([7], ended(references))
    assert dense(bounded.increments(), V)[0, often] < expected - 0.01
    assert dense(exact.increments(), V)[0, often].item() == pytest.approx(expected, abs=1e-9)


def test_the_table_counts_documents_not_occurrences() -> None:
    table = DocumentFrequency.count([[["a", "a"], ["a"]], [["b"]]], max_n=2)
    assert table.documents == 2
    assert table.counts == {
        ("a",): 1, ("b",): 1, ("</s>",): 2, ("a", "a"): 1, ("a", "</s>"): 1, ("b", "</s>"): 1,
    }  # fmt: skip


def test_a_saved_table_gives_the_same_rewards_whatever_the_vocabulary(tmp_path: Path) -> None:
    FREQUENCY.save(tmp_path / "frequency.json")
    assert [path.name for path in tmp_path.iterdir()] == ["frequency.json"]
    assert DocumentFrequency.load(tmp_path / "frequency.json") == FREQUENCY
    turned = [*TEXTS[:4], *reversed(TEXTS[4:])]
    here = CiderD(FREQUENCY, TEXTS).start(torch.tensor([[4, 5, EOS]]))
    there = CiderD(tmp_path / "frequency.json", turned).start(torch.tensor([[9, 8, EOS]]))
    moved = [turned.index(text) for text in TEXTS]
    assert torch.allclose(dense(here.increments(), V), dense(there.increments(), V)[:, moved])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a table of document frequencies"),
        ("[1]", "not a table of document frequencies"),
        ('{"documents": 5}', "not a table of document frequencies"),
        ('{"documents": 1, "max_n": 1, "counts": {"a": 1}}', "needs at least 2"),
        ('{"documents": 5, "max_n": 2, "counts": {"a": 1}}', "up to 2, not 4"),
        ('{"documents": 5, "max_n": 4, "counts": {"zebra": 1}}', "no word of this vocabulary"),
        ('{"documents": 5, "max_n": 4, "counts": {"a": 1, "ab a": 1}}', "not its beginning"),
    ],
)
def test_a_bad_table(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "frequency.json").write_text(content)
    with pytest.raises(InputError, match=message):
        CiderD(tmp_path / "frequency.json", TEXTS)


def test_a_missing_table_is_an_error_that_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.json: no document frequencies .* DocumentFrequency.count"):
        CiderD(tmp_path / "nowhere.json", TEXTS)
    with pytest.raises(InputError, match="needs a DocumentFrequency"):
        CiderD(None, TEXTS)  # type: ignore[arg-type]


def test_a_token_with_a_space_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="white space"):
        DocumentFrequency.count([[["New York"]], [["a"]]]).save(tmp_path / "frequency.json")
    assert not list(tmp_path.iterdir())


def test_tables_are_of_training_references_only() -> None:
    assert FREQUENCY.documents == len(TRAINING)
    assert not hasattr(RougeN(3), "weights"), "no other reward needs one"
