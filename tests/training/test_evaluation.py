"""Decoding a split."""

from dataclasses import replace
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


def test_outputs_that_reach_the_limit_are_marked(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    split, way = run.corpus().split("test"), run.config.decoding
    assert not any(decode_split(run, run.load_model(), split, way, limit=5).cut)
    run.config = replace(run.config, data=replace(run.config.data, max_target_length=2))
    found = decode_split(run, run.load_model(), split, way, limit=5)
    assert found.cut == [len(text.split()) == 2 for text in found.outputs] and any(found.cut)
