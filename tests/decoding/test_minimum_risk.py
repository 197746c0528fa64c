"""Minimum Bayes risk against loops over pairs of texts, and its independence of the batch."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bangbang.decoding import Contest, Hypothesis, RewardUtility, generate, sampling, utility
from bangbang.decoding.minimum_risk import Pool
from bangbang.decoding.sampling import draw_lines
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.rewards import RougeL, Sum
from bangbang.symbols import EOS, UNK
from tests.decoding.table_model import TableModel
from tests.rewards.cases import CASES, Case, V

CPU = torch.device("cpu")
LENGTH = 6
MBR = DecodingSettings(method="mbr", mbr_samples=9, dup=False, unknown=True)
ROUGE_L = next(case for case in CASES if case.name == "rouge-l")
SINGLE = [case for case in CASES if not isinstance(case.reward, Sum)]

texts = st.lists(st.integers(UNK, V - 1), max_size=4).map(tuple)
drawn_texts = st.lists(texts, min_size=1, max_size=6)


@pytest.fixture
def model() -> TableModel:
    torch.manual_seed(5)
    return TableModel(torch.randn(6, V, V).double() * 1.5)


def says_something(tokens: Sequence[int]) -> bool:
    return bool(set(tokens) - {UNK})


def literal_utility(case: Case, z: Sequence[int], y: Sequence[int]) -> float:
    return case.score([*z, EOS], [[*y, EOS]])


def literal_ranking(case: Case, drawn: Sequence[Hypothesis], further: Sequence[Hypothesis] = ()) -> list[Hypothesis]:
    """The definition, a pair at a time; a draw with nothing to say is no reference."""
    references = [tuple(each.tokens) for each in drawn if says_something(each.tokens)]
    first: dict[tuple[int, ...], Hypothesis] = {}
    for each in (*drawn, *further):
        first.setdefault(tuple(each.tokens), each)
    scored = [
        each._replace(score=sum(literal_utility(case, z, y) for y in references) / max(1, len(references)))
        for z, each in first.items()
    ]
    return sorted(scored, key=lambda each: (-round(each.score, 9), -each.log_prob))


def hypotheses(tokens: Sequence[Sequence[int]]) -> list[Hypothesis]:
    """Each text with a likelihood of its own, the same wherever it is drawn."""
    return [Hypothesis(list(z), -float(sum(token * V**place for place, token in enumerate(z))), 0.0) for z in tokens]


def assert_same(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> None:
    assert [each.tokens for each in found] == [each.tokens for each in expected]
    assert [each.log_prob for each in found] == [each.log_prob for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-9)


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
@settings(max_examples=10)
@given(lines=st.lists(drawn_texts, min_size=1, max_size=3), beams=drawn_texts)
def test_the_ranking_is_that_of_loops_over_pairs(case: Case, lines: list[list[tuple[int, ...]]], beams: list) -> None:
    further = hypotheses(beams)
    pools = [Pool.of(hypotheses(line), further) for line in lines]
    matrices = RewardUtility(case.reward).matrices([pool.contest() for pool in pools], CPU)
    for line, pool, matrix in zip(lines, pools, matrices, strict=True):
        assert_same(pool.ranked(matrix), literal_ranking(case, hypotheses(line), further))


@settings(max_examples=30)
@given(line=drawn_texts, count=st.integers(1, 7))
def test_the_first_draws_of_many_are_ranked_as_if_they_were_all(line: list[tuple[int, ...]], count: int) -> None:
    pool = Pool.of(hypotheses(line))
    [matrix] = RewardUtility(RougeL()).matrices([pool.contest()], CPU)
    assert_same(pool.ranked(matrix, count), literal_ranking(ROUGE_L, hypotheses(line[:count])))


@pytest.mark.parametrize(("positions", "table"), [(1, 1), (20, 200), (2**18, 2**24)])
def test_the_size_of_what_is_computed_together_changes_nothing(
    positions: int, table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(1)
    lines = [
        [torch.randint(4, V, (int(size),), generator=generator).tolist() for size in torch.arange(count + 1)]
        for count in (4, 1, 6, 3)
    ]
    contests = [Contest(line, line[1:]) for line in lines]
    monkeypatch.setattr(utility, "POSITIONS", positions)
    monkeypatch.setattr(utility, "TABLE", table)
    found = RewardUtility(RougeL()).matrices(contests, CPU)
    for (candidates, references), matrix in zip(contests, found, strict=True):
        expected = [[literal_utility(ROUGE_L, z, y) for y in references] for z in candidates]
        assert torch.allclose(matrix, torch.tensor(expected, dtype=torch.float64))


def test_equal_utilities_go_to_the_likelier_text() -> None:
    likelier, less = Hypothesis([4, 5], -1.0, 0.0), Hypothesis([6, 7], -2.0, 0.0)
    for drawn in ([likelier, less], [less, likelier]):
        pool = Pool.of(drawn)
        [matrix] = RewardUtility(RougeL()).matrices([pool.contest()], CPU)
        assert [each.tokens for each in pool.ranked(matrix)] == [[4, 5], [6, 7]]


def test_nothing_to_compare_with_leaves_the_likeliest() -> None:
    pool = Pool.of([Hypothesis([], -3.0, 0.0), Hypothesis([UNK], -2.0, 0.0)])
    [matrix] = RewardUtility(RougeL()).matrices([pool.contest()], CPU)
    assert pool.ranked(matrix) == [Hypothesis([UNK], -2.0, 0.0), Hypothesis([], -3.0, 0.0)]


def test_generate_ranks_what_it_draws_and_searches(model: TableModel) -> None:
    inputs, config = [[line % 6] for line in range(10)], replace(MBR, mbr_beam=3, temperature=0.7)
    found = generate(model, inputs, config, LENGTH, nbest=99, seed=3, utility=RewardUtility(RougeL()))
    drawn = draw_lines(model, model.encode(torch.tensor(inputs), torch.ones(10)), range(10), config, LENGTH, 9, seed=3)
    searched = generate(model, inputs, replace(config, method="beam", beam_size=3), LENGTH, nbest=3)
    for ranked, samples, beam in zip(found, drawn, searched, strict=True):
        expected = literal_ranking(ROUGE_L, samples, beam)
        assert_same(ranked, expected)
    assert generate(model, inputs, config, LENGTH, 2, 3, utility=RewardUtility(RougeL())) == [
        each[:2] for each in found
    ]


def test_one_sample_is_that_sample(model: TableModel) -> None:
    inputs = [[line % 6] for line in range(12)]
    config = replace(MBR, mbr_samples=1, unknown=False)
    found = generate(model, inputs, config, LENGTH, seed=8, utility=RewardUtility(RougeL()))
    drawn = generate(model, inputs, replace(config, method="sample"), LENGTH, seed=8)
    assert [[each.tokens for each in line] for line in found] == [[each.tokens for each in line] for line in drawn]
    assert [line[0].score for line in found] == [float(bool(line[0].tokens)) for line in found]


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
def test_a_line_comes_out_the_same_alone_and_in_any_batch(case: Case, model: TableModel) -> None:
    inputs, measured = [[line % 6] for line in range(11)], RewardUtility(case.reward)
    together = generate(model, inputs, MBR, LENGTH, nbest=3, seed=4, utility=measured)
    for size in (1, 4):
        assert generate(model, inputs, replace(MBR, batch_size=size), LENGTH, 3, 4, utility=measured) == together
    for line in (0, 6, 10):
        alone = generate(model, [inputs[line]], MBR, LENGTH, 3, 4, first_line=line, utility=measured)
        assert alone == [together[line]]


def test_fewer_draws_are_the_first_of_many(model: TableModel) -> None:
    state = model.encode(torch.tensor([[0], [3]]), torch.ones(2))
    many = draw_lines(model, state, [4, 9], MBR, LENGTH, 8, seed=2)
    assert draw_lines(model, state, [4, 9], MBR, LENGTH, 5, seed=2) == [line[:5] for line in many]


def test_the_number_of_rows_drawn_together_changes_nothing(model: TableModel, monkeypatch: pytest.MonkeyPatch) -> None:
    state = model.encode(torch.tensor([[0], [3], [1]]), torch.ones(3))
    together = draw_lines(model, state, [4, 9, 2], MBR, LENGTH, 5, seed=2)
    for rows in (1, 4):
        monkeypatch.setattr(sampling, "rows_together", lambda vocabulary, rows=rows: rows)
        assert draw_lines(model, state, [4, 9, 2], MBR, LENGTH, 5, seed=2) == together


def test_a_text_that_the_others_resemble_beats_the_likeliest() -> None:
    drawn = [[4, 5, 6]] * 2 + [[7, 8, 5, 6, 4], [7, 8, 6], [7, 8, 5]]
    pool = Pool.of(hypotheses(drawn))
    [matrix] = RewardUtility(RougeL()).matrices([pool.contest()], CPU)
    assert Counter(map(tuple, drawn)).most_common(1)[0][0] == (4, 5, 6)
    assert pool.ranked(matrix)[0].tokens == [7, 8, 5, 6, 4]


class Nothing:
    """A utility that nobody may ask."""

    def matrices(self, contests: Sequence[Contest], device: torch.device) -> Iterator[Tensor]:
        raise AssertionError


def test_no_utility_is_asked_unless_it_is_minimum_risk(model: TableModel) -> None:
    for method in ("greedy", "beam", "sample"):
        assert generate(model, [[0]], replace(MBR, method=method), LENGTH, utility=Nothing())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda model: generate(model, [[0]], MBR, LENGTH), "needs a utility"),
        (lambda model: RewardUtility(lambda z, y: 1.0, "mine"), "'mine': a reward without increments"),
        (lambda model: generate(model, [[0]], replace(MBR, mbr_samples=0), LENGTH), "mbr_samples must be at least 1"),
    ],
)
def test_what_cannot_be_is_told(wrong: Callable[[TableModel], object], message: str, model: TableModel) -> None:
    with pytest.raises(InputError, match=message):
        wrong(model)
