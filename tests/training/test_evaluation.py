"""Decoding a split."""

from pathlib import Path

from bangbang.tasks import quick
from bangbang.training import Run
from bangbang.training.evaluation import decode_split


def test_outputs_are_in_the_order_of_the_split(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    split = run.corpus().split("test")
    whole = decode_split(run, run.load_model(), split, run.config.decoding)
    part = decode_split(run, run.load_model(), split, run.config.decoding, limit=3)
    assert len(whole.outputs) == len(split) and whole.outputs[:3] == part.outputs
    assert quick(run.task.metric, whole.outputs, whole.references)["rouge-1"] > 40
