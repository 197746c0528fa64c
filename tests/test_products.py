"""Both ways round give the same product, whatever the number of rows and threads."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from bangbang import products
from bangbang.products import FEW, add_product, affine, by_columns, by_widest_instructions, float32_is_whole


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


CPUS = {
    "an AMD with AVX-512": ("AuthenticAMD", "avx2 avx512f avx512_bf16", True),
    "an AMD without": ("AuthenticAMD", "avx2", False),
    "an AMD with AMX": ("AuthenticAMD", "avx512f amx_tile amx_bf16", False),
    "an Intel": ("GenuineIntel", "avx2 avx512f", False),
}


@pytest.fixture
def untouched() -> Iterator[None]:
    """Nobody has chosen a precision; after the test it is as it was before."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    by_widest_instructions.cache_clear()
    yield
    torch.set_float32_matmul_precision(before)
    by_widest_instructions.cache_clear()


def told(folder: Path, vendor: str, flags: str) -> Path:
    (folder / "cpuinfo").write_text(f"vendor_id\t: {vendor}\nflags\t\t: fpu {flags}\n")
    return folder / "cpuinfo"


@pytest.mark.skipif(torch.accelerator.is_available(), reason="for machines without an accelerator")
@pytest.mark.parametrize("cpu", CPUS)
def test_onednn_multiplies_where_mkl_leaves_instructions_unused(cpu: str, tmp_path: Path, untouched: None) -> None:
    vendor, flags, expected = CPUS[cpu]
    # a machine whose oneDNN rounds although its CPU says that it has no AMX is left alone
    torch.set_float32_matmul_precision("medium")
    whole = float32_is_whole()
    torch.set_float32_matmul_precision("highest")
    assert by_widest_instructions(told(tmp_path, vendor, flags)) == (expected and whole)
    assert torch.get_float32_matmul_precision() == ("medium" if expected and whole else "highest")


def test_a_cpu_that_tells_nothing_is_left_alone(tmp_path: Path, untouched: None) -> None:
    assert not by_widest_instructions(tmp_path / "none")
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_choice_of_others_stays(tmp_path: Path, untouched: None) -> None:
    torch.set_float32_matmul_precision("high")
    assert not by_widest_instructions(told(tmp_path, "AuthenticAMD", "avx512f"))
    assert torch.get_float32_matmul_precision() == "high"


def test_a_choice_for_one_device_alone_stays(tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> str:
        raise RuntimeError("a mix of the legacy and new APIs")

    monkeypatch.setattr(torch, "get_float32_matmul_precision", refuse)
    monkeypatch.setattr(torch, "set_float32_matmul_precision", pytest.fail)
    assert not by_widest_instructions(told(tmp_path, "AuthenticAMD", "avx512f"))
    monkeypatch.undo()


def test_products_that_round_are_found_out_and_switched_off(
    tmp_path: Path, untouched: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = torch.mm
    monkeypatch.setattr(torch, "mm", lambda a, b: exact(a.bfloat16(), b.bfloat16()).float())
    assert not by_widest_instructions(told(tmp_path, "AuthenticAMD", "avx512f"))
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("rows", [1, 3, 64, 700])
def test_whatever_the_library_products_are_float32(rows: int, untouched: None) -> None:
    by_widest_instructions()
    torch.manual_seed(rows)
    left, right = torch.randn(rows, 300), torch.randn(90, 300)
    exact = (left.double() @ right.double().t()).float()
    torch.testing.assert_close(left @ right.t(), exact, rtol=1e-5, atol=3e-5)
    torch.testing.assert_close(torch.zeros(rows, 90).addmm_(left, right.t()), exact, rtol=1e-5, atol=3e-5)
