"""Dropout: the rate, the scale, and that it is a function of the seed."""

import pytest
import torch

from bangbang.models.layers import Dropout


def test_share_dropped_and_mean_kept() -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, 1001)  # not a multiple of the four elements that one draw serves
    y = Dropout(0.3)(x)
    # standard deviation of the share is sqrt(0.3 * 0.7 / 1e6) = 0.00046: five of them
    assert (y == 0).double().mean().item() == pytest.approx(0.3, abs=0.0023)
    assert y.max().item() == pytest.approx(1 / 0.7, rel=1e-4)
    neighbours = ((y[:, 1:] == 0) & (y[:, :-1] == 0)).double().mean().item()
    assert neighbours == pytest.approx(0.09, abs=0.0023)


def test_same_seed_same_noise() -> None:
    noise = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        noise.append(Dropout(0.5)(torch.ones(7, 3)))
    assert torch.equal(noise[0], noise[1])
    assert not torch.equal(noise[0], noise[2])


def test_gradient_is_the_mask() -> None:
    torch.manual_seed(0)
    x = torch.randn(50, requires_grad=True)
    y = Dropout(0.5)(x)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.where(y == 0, 0.0, 2.0))


def test_nothing_dropped_in_evaluation() -> None:
    x = torch.randn(10)
    assert torch.equal(Dropout(0.9).eval()(x), x)


@pytest.mark.parametrize("rate", [1 - 2**-16, 0.999999, 1 - 2**-53])
def test_the_highest_rates_keep_one_activation_in_65536(rate: float) -> None:
    torch.manual_seed(0)
    y = Dropout(rate)(torch.ones(2**20))
    assert set(y.tolist()) == {0.0, 65536.0}


def test_impossible_rate() -> None:
    with pytest.raises(ValueError, match=r"1\.0"):
        Dropout(1.0)
