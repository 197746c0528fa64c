"""`bangbang bench step` and `train-step`: every number is there, and the count of operations is the products' own."""

import argparse
import json
from typing import Any

import pytest
import torch

from bangbang.cli.main import main
from bangbang.products import LARGE, affine, onednn_linear
from benchmarks import step
from benchmarks.contenders import Contender
from benchmarks.matrix_products import record

SMALL = ["--vocab", "60", "--dim", "8", "--batch", "4", "--max-length", "6", "--mean-length", "4", "--repeats", "1"]
KEYS = {
    "seconds_per_step", "positions", "seconds_per_position", "ratio_per_position", "ratio_per_step",
    "extra_memory_mb", "bound_share", "gflop", "sequences", "ratio_per_sequence",
    "lengths",
}  # fmt: skip


def measured(capsys: pytest.CaptureFixture[str], *command: str) -> dict[str, Any]:
    assert main(["bench", *command, "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


@pytest.mark.parametrize("model", ["attention_gru", "show_and_tell"])
def test_every_method_has_every_number(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = measured(capsys, "step", "--model", model, *SMALL, "--no-memory")
    for method in ("mle", "bbspg", "naive", "pg"):
        assert set(result[method]) == KEYS
        assert result[method]["positions"] > 0 and result[method]["bound_share"] > 0
    needed = [result[method]["gflop"] / result[method]["positions"] for method in ("naive", "bbspg")]
    assert needed[0] == pytest.approx(needed[1])


def test_methods_with_several_samples_are_measured_by_the_sequence(capsys: pytest.CaptureFixture[str]) -> None:
    methods = ("mle", "rloo", "scst", "mrt", "ocd")
    result = measured(capsys, "step", *SMALL, "--methods", *methods, "--samples", "3", "--no-memory")
    lengths = {method: result[method]["lengths"] for method in methods}
    assert lengths == {"mle": "cold", "rloo": "settled", "scst": "settled", "mrt": "settled", "ocd": "cold"}
    assert [result[method]["sequences"] for method in methods] == [1, 3, 3, 5, 3]
    for method in methods:
        row = result[method]
        assert set(row) == KEYS and row["ratio_per_sequence"] == pytest.approx(row["ratio_per_step"] / row["sequences"])
    assert result["rloo"]["positions"] > 4 * 3, "three samples of each of four examples"


@pytest.mark.parametrize("lengths", ["cold", "settled"])
def test_no_sample_is_left_out_of_the_loss(lengths: str) -> None:
    parser = argparse.ArgumentParser()
    step.add_arguments(parser)
    contender = Contender("rloo", parser.parse_args([*SMALL, "--samples", "4", "--lengths", lengths]))
    losses, _, diagnostics = contender.learner(contender.batch, 0, torch.Generator().manual_seed(0))
    assert len(losses) > 0.9 * diagnostics.sample_tokens and diagnostics.equal == 0


def test_samples_of_a_model_that_knows_how_long_headlines_are_end_sooner(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["step", *SMALL, "--methods", "mle", "bbspg", "--no-memory", "--repeats", "5", "--max-length", "15"]
    result = {lengths: measured(capsys, *command, "--lengths", lengths) for lengths in ("cold", "settled")}
    assert result["settled"]["mle"]["positions"] == result["cold"]["mle"]["positions"]
    assert result["settled"]["bbspg"]["positions"] < result["cold"]["bbspg"]["positions"]


def test_samples_may_end_with_the_references(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["step", *SMALL, "--methods", "mle", "bbspg", "--no-memory", "--repeats", "5", "--mean-length", "2"]
    result = {ends: measured(capsys, *command, "--ends", ends) for ends in ("open", "reference")}
    assert result["reference"]["shape"]["ends"] == "reference"
    assert result["reference"]["bbspg"]["positions"] <= result["reference"]["mle"]["positions"]
    assert result["reference"]["bbspg"]["positions"] < result["open"]["bbspg"]["positions"]


def test_a_train_step_has_its_bound(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--batch", "4", "--units", "8", "--vocabulary", "50", "--source-length", "5", "--target-length", "4"]
    result = measured(capsys, "train-step", *sizes, "--repeats", "1")
    assert result["bound_share"] == pytest.approx(result["products_ms"] / result["step_ms"])


def test_operations_are_counted_for_every_kind_of_product() -> None:
    a, b, c, v = torch.randn(3, 4), torch.randn(4, 5), torch.randn(2, 3, 4), torch.randn(4)

    def code() -> None:
        _ = a @ b  # 3 · 5 · 4
        _ = torch.addmm(torch.zeros(5), a, b)  # the same
        _ = torch.bmm(c, b.expand(2, 4, 5))  # twice that
        _ = a.mv(v)  # 3 · 4

    products = record(code)
    assert products.flops == 2 * (60 + 60 + 120 + 12)
    products()


def test_products_by_onednn_are_run_as_such() -> None:
    rows, weight = torch.randn(8, 64), torch.randn(LARGE // 64, 64)
    out = torch.empty(8, len(weight))
    products = record(lambda: affine(rows, weight, weight[:, 0], out))
    ((left, right, _, by_onednn),) = products.calls
    assert products.flops == 2 * 8 * LARGE and by_onednn == (onednn_linear is not None)
    assert left.shape == weight.shape and right.shape == (rows.shape if by_onednn else rows.t().shape)
    products()


def test_the_products_alone_lie_densely_but_share_what_was_shared() -> None:
    wide, transposed = torch.randn(6, 10)[:, 2:6], torch.randn(3, 4).t()

    def code() -> None:
        for _ in range(2):
            wide @ transposed

    (left, right, out, _), (again, *_) = record(code).calls
    assert left is again
    assert left.shape == (6, 4) and left.is_contiguous()
    assert right.shape == (4, 3) and right.stride() == (1, 4)
    assert out.shape == (6, 3) and out.is_contiguous()
