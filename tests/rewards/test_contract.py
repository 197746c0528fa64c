"""The main value and the weight of the loss: what every reward says of its scale, also one written elsewhere."""

import pytest
import torch
from hypothesis import given, settings
from torch.utils._python_dispatch import TorchDispatchMode

from bangbang import registry
from bangbang.errors import InputError
from bangbang.rewards import Bounds, CiderD, Dup, EditDistance, Eos, FunctionReward, RewardState, RougeN, Sum, adapted
from bangbang.rewards import references as references_module
from bangbang.rewards.settings import RewardSettings
from bangbang.symbols import EOS
from tests.rewards.cases import CASES, FREQUENCY, INPUTS, TEXTS, Case, batch, ended, one_or_several, outputs
from tests.rewards.test_sums import Vowels

MAIN = [case for case in CASES if not isinstance(case.reward, Sum)]
few = settings(derandomize=True, max_examples=20, deadline=None)
KINDS = ("rouge-n", "rouge-l", "bleu", "gleu", "cider-d", "edit-distance")


def after(reward: object, references: list[list[int]], z: list[int]) -> RewardState:
    state = adapted(reward.start(batch([references])))  # type: ignore[attr-defined]
    for token in [*z, EOS]:
        state.advance(torch.tensor([token]))
    return state


@pytest.mark.parametrize("case", MAIN, ids=lambda case: case.name)
@few
@given(references=one_or_several, z=outputs)
def test_the_loss_weight_is_the_share_of_the_bounds(case: Case, references: list[list[int]], z: list[int]) -> None:
    low, high = case.reward.bounds.low, case.reward.bounds.high
    value = case.score([*z, EOS], ended(references))
    state = after(case.reward, references, z)
    assert state.main_value().item() == pytest.approx(value, abs=1e-5)
    assert state.loss_weight().item() == pytest.approx(min(1, max(0, (value - low) / (high - low))), abs=1e-6)
    in_a_sum = after(Sum(case.reward, Dup(), Eos(), weights=(0.3, 1, 1)), references, z)
    assert in_a_sum.main_value().item() == state.main_value().item()
    assert in_a_sum.loss_weight().item() == state.loss_weight().item()


@pytest.mark.parametrize("kind", KINDS)
@few
@given(references=one_or_several, z=outputs)
def test_rewards_of_the_config_weigh_between_0_and_1(kind: str, references: list[list[int]], z: list[int]) -> None:
    settings = registry.find("rewards", kind, "here")()
    assert isinstance(settings, RewardSettings)
    reward = settings.build(INPUTS)
    assert 0 <= after(reward, references, z).loss_weight().item() <= 1
    value = after(reward, references, z).main_value().item()
    assert value <= (10 if kind == "cider-d" else 1) + 1e-6
    # the scale of the main reward in the sum is that of its shaping
    assert reward.weights[0] == (0.1 if kind == "cider-d" else 1.0)


def test_scales() -> None:
    z = [4, 5, 6, 7]
    cider = after(CiderD(FREQUENCY, TEXTS), [z], z)
    assert cider.main_value().item() > 2 and cider.loss_weight().item() == pytest.approx(cider.value().item() / 10)
    long = after(EditDistance(), [[4]], [5, 6, 7, 8, 5])
    assert long.main_value().item() == pytest.approx(1 - 5 / 2) and long.loss_weight().item() == 0
    percent = after(FunctionReward(lambda z, ys: 25.0, bounds=(0, 100)), [[4]], [5])
    assert percent.main_value().item() == 25 and percent.loss_weight().item() == 0.25
    assert Bounds(-1, 1).share(torch.tensor([-3.0, -1, 0, 0.5, 2])).tolist() == [0, 0, 0.5, 0.75, 1]
    with pytest.raises(InputError, match="bounds must rise: 1 and 1 do not"):
        FunctionReward(lambda z, ys: 0.0, bounds=(1, 1))


def test_a_reward_written_elsewhere_has_its_value_for_its_main_value() -> None:
    state = Vowels().start(torch.tensor([[4, 5, EOS], [7, 6, EOS]]))
    assert not isinstance(state, RewardState)
    whole = adapted(state)
    assert adapted(whole) is whole
    whole.advance(torch.tensor([4, 6]))
    assert whole.main_value().tolist() == whole.loss_weight().tolist() == state.value().tolist() == [1, 0]
    assert whole.select(torch.tensor([1, 0])).main_value().tolist() == [0, 1]
    summed = Sum(Vowels(), Dup(), weights=(0.5, 1)).start(torch.tensor([[4, 5, EOS], [7, 6, EOS]]))
    summed.advance(torch.tensor([4, 6]))
    assert summed.value().tolist() == [0.5, 0] and summed.main_value().tolist() == [1, 0]
    assert summed.select(torch.tensor([1, 0])).main_value().tolist() == [0, 1]


def test_a_sum_of_a_sum_has_the_first_of_all_for_its_main_reward() -> None:
    state = after(Sum(Sum(CiderD(FREQUENCY, TEXTS), Dup()), RougeN(1), Eos()), [[4, 5]], [4, 5])
    alone = after(CiderD(FREQUENCY, TEXTS), [[4, 5]], [4, 5])
    assert state.main_value().item() == alone.value().item() and state.loss_weight().item() < 1


def test_a_metric_must_be_finite() -> None:
    state = FunctionReward(lambda z, ys: float("nan")).start(torch.tensor([[4, EOS]]))
    with pytest.raises(InputError, match="the metric gives nan"):
        state.increments()


class NoDoubles(TorchDispatchMode):
    """A device that has no double precision."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple | list) else (result,):
            if isinstance(each, torch.Tensor) and each.dtype == torch.float64:
                raise TypeError(f"{func} makes a float64 tensor")
        return result


# a metric's scores are Python's numbers, made to tensors on the processor
@pytest.mark.parametrize("case", [case for case in CASES if case.name != "metric"], ids=lambda case: case.name)
def test_devices_without_double_precision(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[[4, 5, 6, 4, 5], [7, 4]], [[7, 8]], [[6, 6, 4]]]
    expected = case.reward.start(batch(rows))
    monkeypatch.setattr(references_module, "widest_float", lambda device: torch.float32)
    steps = [torch.tensor(step) for step in ([4, 8, 6], [5, EOS, 6], [EOS, 4, 4])]
    references = batch(rows)
    with NoDoubles():
        state = case.reward.start(references)
        for tokens in steps:
            state.increments()
            state.advance(tokens)
        weight, value = state.loss_weight(), state.value()
    for tokens in steps:
        expected.advance(tokens)
    torch.testing.assert_close(value, expected.value(), rtol=1e-4, atol=1e-5)
    assert weight.dtype == torch.float32
