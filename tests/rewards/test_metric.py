"""Any Python function as a reward: called only where it may differ, and once."""

import pytest
import torch

from bangbang.rewards import FunctionReward, dense, repeat
from bangbang.symbols import EOS, SYMBOLS, UNK

REFERENCES = torch.tensor([[4, 5, EOS], [UNK, 6, EOS]])


class Counting:
    def __init__(self) -> None:
        self.calls: list[tuple[list[object], list[list[object]]]] = []

    def __call__(self, candidate: list[object], references: list[list[object]]) -> float:
        self.calls.append((candidate, references))
        return float(sum(token in references[0] for token in candidate))


def test_it_is_called_for_the_candidates_and_once_for_the_rest() -> None:
    metric = Counting()
    state = FunctionReward(metric).start(REFERENCES)
    written = dense(state.increments(), 10)
    assert [candidate for candidate, _ in metric.calls] == [[UNK], [2], [4], [5], [UNK], [2], [6]]
    assert metric.calls[-1][1] == [[-1, 6, EOS]], "an unknown word of a reference matches nothing"
    assert written[0].tolist() == [0, 0, 1, 0, 1, 1, 0, 0, 0, 0]


def test_samples_of_one_example_share_results_and_finished_rows_cost_nothing() -> None:
    metric = Counting()
    state = repeat(FunctionReward(metric).start(REFERENCES), 5)
    state.increments()
    state.increments()
    assert len(metric.calls) == 7
    state.advance(torch.full((10,), EOS))
    assert len(metric.calls) == 7
    assert not dense(state.increments(), 10).any()
    assert len(metric.calls) == 7
    assert state.value().tolist() == [1.0] * 10


def test_texts_are_handed_over_if_given() -> None:
    metric = Counting()
    texts = [*SYMBOLS, "a", "b", "c"]
    state = FunctionReward(metric, texts=texts, extra_candidates=[6]).start(REFERENCES[1:])
    state.increments()
    assert metric.calls[0] == (["<other>"], [["<unk>", "c", "</s>"]])
    state.advance(torch.tensor([6]))
    assert state.value().item() == 1


def test_small_increments_of_large_scores_survive_single_precision() -> None:
    state = FunctionReward(lambda candidate, references: 1e6 + 0.25 * len(candidate)).start(REFERENCES)
    state.advance(torch.tensor([4, 6]))
    assert state.increments().rest.tolist() == pytest.approx([0.25, 0.25])
