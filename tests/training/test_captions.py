"""Captioning end to end on drawn shapes: it learns to look, resumes to the bit, and every objective trains it."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from bangbang import config as configs
from bangbang.cli.main import main
from bangbang.data import Batch
from bangbang.decoding import generate
from bangbang.errors import InputError
from bangbang.objectives.settings import Mle
from bangbang.rewards import RougeN
from bangbang.tasks import quick
from bangbang.training import Run, checkpoint, train
from bangbang.training.learner import Learner


def lines(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").open()]


def test_it_learns_to_look_at_the_image(shapes_run: Path) -> None:
    run = Run.open(shapes_run)
    split, model = run.corpus().split("valid"), run.load_model()
    features, references = split.features(slice(None)), split.references(slice(None))

    def score(images: torch.Tensor) -> float:
        found = generate(model, images, run.config.decoding, 15)
        outputs = [run.vocabulary.decode(best[0].tokens) for best in found]
        return quick(run.task.metric, outputs, references)["cider-d"]

    def surprise(batch: Batch) -> float:
        """-log p of a token of the captions; steadier than scores of forty outputs."""
        losses, *_ = Learner(model, Mle().build(RougeN, 15))(batch, 0, torch.Generator())
        return losses.mean().item()

    batch = split.batch(np.arange(split.examples))
    swapped = batch._replace(source=batch.source.roll(split.examples // 2, 0))
    assert surprise(batch) < 0.9 and surprise(swapped) > 1.2 * surprise(batch)
    own, others = score(features), score(features.roll(1, 0))
    assert own > 0.7 and own > others
    assert own == pytest.approx(checkpoint.read_progress(run.checkpoint("best")).best_score)
    best = max(line["cider-d"] for line in lines(shapes_run) if line["kind"] == "valid")
    assert best == pytest.approx(own)


def test_it_resumes_to_the_bit(shapes_config: Path, tmp_path: Path) -> None:
    steady = ["--set", "optimizer.decay=none", "--set", "training.validate_every=4"]
    steady += ["--set", "training.validation_examples=4"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    main(["train", str(shapes_config), "--out", str(whole), "--set", "training.max_steps=8", *steady])
    main(["train", str(shapes_config), "--out", str(parts), "--set", "training.max_steps=5", *steady])
    main(["train", "--resume", "--out", str(parts), "--set", "training.max_steps=8"])
    one, two = (load_file(folder / "checkpoints/step-00000008/model.safetensors") for folder in (whole, parts))
    assert one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize(
    "settings",
    [
        ["objective.kind=raml"],
        ["objective.kind=pg"],
        ["objective.kind=spg", "objective.reward_weight=20.0"],
        ["objective.kind=bbspg"],
        ["objective.kind=bbspg", "data.all_references=true", "reward.kind=cider-d", "reward.max_n=4"],
    ],
    ids=" ".join,
)
def test_every_objective_trains_it(shapes_config: Path, tmp_path: Path, settings: list[str]) -> None:
    short = ["training.max_steps=6", "training.log_every=3", "training.validation_examples=5"]
    outcome = train(configs.read(shapes_config, [*settings, *short]), tmp_path)
    assert outcome.progress.step == 6
    losses = [line["loss"] for line in lines(tmp_path) if line["kind"] == "train"]
    assert len(losses) == 2 and all(math.isfinite(loss) for loss in losses)


def test_the_model_must_fit_the_sources(shapes_config: Path, tiny_config: Path, tmp_path: Path) -> None:
    settings = ["model.kind=attention_gru", "training.metric=rouge-2"]
    with pytest.raises(
        InputError, match=r"reads tokens, but the sources of shapes are images; set another model\.kind"
    ):
        train(configs.read(shapes_config, settings), tmp_path / "a")
    settings = ["model.kind=show_and_tell", "model.layers=1", "training.metric=cider-d"]
    with pytest.raises(InputError, match=r"reads features, but the sources of .* are texts; set another model\.kind"):
        train(configs.read(tiny_config, settings), tmp_path / "b")
    with pytest.raises(InputError, match=r"training\.metric"):
        train(configs.read(shapes_config, ["training.metric=rouge-2"]), tmp_path / "c")


def test_evaluate_reports_caption_scores_without_a_lead_baseline(
    shapes_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(shapes_run), "--split", "test", "--limit", "20", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["scores"]) == ["greedy +DUP"]
    assert list(report["scores"]["greedy +DUP"]) == ["cider-d", "coco-rouge-l", "bleu-4", "rouge-l"]
    assert "coco|" in report["signature"] and "stem:porter" in report["signature"]
    assert main(["evaluate", str(shapes_run), "--split", "test", "--limit", "20"]) == 0
    assert "synthetic-test-" in capsys.readouterr().out


def test_two_runs_are_compared_by_caption_scores(shapes_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", str(shapes_run), str(shapes_run), "--split", "test", "--limit", "8", "--metric", "coco"]
    assert main([*arguments, "--resamples", "50", "--json"]) == 0
    score = json.loads(capsys.readouterr().out)["scores"]["cider-d"]
    assert score["a"]["value"] == score["b"]["value"] > 0 and score["difference"]["value"] == 0


def test_features_are_read_from_the_map_and_not_kept_with_each_example(shapes_run: Path) -> None:
    corpus = Run.open(shapes_run).corpus()
    assert corpus.features is not None and isinstance(corpus.features.array, np.memmap)
    train_split = corpus.split("train")
    stored = sum(path.stat().st_size for path in (corpus.folder / "train").iterdir())
    assert train_split.examples == 5 * len(train_split) and stored < 0.5 * corpus.features.array.nbytes
