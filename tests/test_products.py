"""Both ways round give the same product, whatever the number of rows and threads."""

from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional as F

from bangbang import products
from bangbang.products import FEW, add_product, affine, by_columns


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture(params=["mkl", "onednn"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of the two the small weights of these tests are multiplied by."""
    if request.param == "onednn" and products.onednn_linear is None:
        pytest.skip("this build of torch has no oneDNN")
    monkeypatch.setattr(products, "LARGE", 0 if request.param == "onednn" else 10**9)
    return str(request.param)


@pytest.mark.parametrize("count", [0, 1, FEW.start, 5, 8, 9, 15, 16, 33, FEW.stop - 1, FEW.stop, 100])
def test_equals_linear(count: int, threads: int, library: str) -> None:
    torch.manual_seed(count)
    rows, weight, bias = torch.randn(count, 7), torch.randn(11, 7), torch.randn(11)
    few = count in FEW and (library == "onednn" or (threads > 1 and count > 8))
    assert (by_columns(rows, weight) is not None) == few
    wide = torch.full((count, 13), torch.nan)  # a row of the result may be part of a longer one
    expected = F.linear(rows, weight, bias)
    torch.testing.assert_close(affine(rows, weight, bias, wide[:, :11]), expected)
    torch.testing.assert_close(wide[:, :11], expected)
    assert wide[:, 11:].isnan().all()
    torch.testing.assert_close(affine(rows, weight, None, torch.full((count, 11), torch.nan)), rows @ weight.t())
    torch.testing.assert_close(add_product(wide[:, :11], rows, weight), expected + rows @ weight.t())
    assert wide[:, 11:].isnan().all()
