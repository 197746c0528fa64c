"""Images, and several references of one source."""

import json
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.explanation import Subject, draw_targets, trace
from bangbang.explanation.subject import text_example, validation_example
from bangbang.explanation.targets import Methods
from bangbang.objectives import Sampling
from bangbang.objectives.settings import Mle
from bangbang.training import Run
from tests.explanation import test_trace


@pytest.fixture(scope="module")
def captioned(shapes_run: Path) -> Subject:
    """An image with two captions that the reward knows."""
    run = Run.open(shapes_run)
    example = validation_example(run, 2)
    both = run.corpus().split("valid").references(slice(1, 2))[0][:2]
    return Subject.of(run, example._replace(references=both))


def test_the_trace_of_an_image(captioned: Subject) -> None:
    assert captioned.references.shape[:2] == (1, 2) and len(captioned.y) == 1
    for settings in (test_trace.HALF, test_trace.IN_ORDER):
        test_trace.test_it_is_the_target_that_training_draws_with_its_loss(captioned, settings)
        test_trace.test_increments_are_the_rewards_own(captioned, settings)
    test_trace.test_probabilities_are_a_literal_forward_pass(captioned)
    assert trace(captioned, Sampling(p_drop=0.0)).steps[0].reference == captioned.word(int(captioned.y[0, 0]))


def test_the_targets_of_an_image(captioned: Subject) -> None:
    methods = {each.method: each for each in draw_targets(captioned, Methods.of(Mle(), 0), 20)}
    (only,) = methods["MLE"].targets
    assert only.text == captioned.text(captioned.y[0].tolist())
    assert only.reward < 1 and only.reward == pytest.approx(float(captioned.rewards(captioned.y)))


def test_the_command_line_on_images(shapes_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(shapes_run), "--example", "2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["source"].endswith(".png") and record["target"]["steps"]
    assert main(["explain", str(shapes_run), "a red square", "--reference", "a red square"]) == 2
    assert "does not read text" in capsys.readouterr().err


def test_text_examples_are_cut_as_in_training(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    subject = Subject.of(run, text_example(run, "clock " * 100, "small clock " * 30))
    assert subject.y.shape == (1, run.config.data.max_target_length)
    assert len(text_example(run, "clock " * 100, "x").inputs[0]) == run.config.data.max_source_length
