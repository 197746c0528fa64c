"""Evaluating a run: scores are those of `bangbang evaluate`, and what was kept is used exactly as long as it holds."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from bangbang.errors import InputError
from bangbang.metrics.metric import Array
from bangbang.reporting import Evaluation, LabelledRun, evaluate
from bangbang.reporting import evaluation as module
from bangbang.reporting.evaluation import Outputs
from bangbang.training import Run
from bangbang.training.checkpoint import checksum


@pytest.fixture
def run(labelled_runs: list[LabelledRun], tmp_path: Path) -> LabelledRun:
    """A copy of a run that a test may change."""
    shutil.copytree(labelled_runs[0].folder, tmp_path / "run")
    (tmp_path / "run" / "test.json").unlink(missing_ok=True)
    return LabelledRun(tmp_path / "run", "MLE")


@pytest.fixture
def decodings(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each call of `decode_run` was with DUP."""
    calls: list[bool] = []

    def counted(*arguments: object, **options: object) -> object:
        calls.append(arguments[2].dup)  # type: ignore[attr-defined]
        return original(*arguments, **options)  # type: ignore[arg-type]

    original = module.decode_run
    monkeypatch.setattr(module, "decode_run", counted)
    return calls


def same(one: Evaluation, other: Evaluation) -> bool:
    def arrays(evaluation: Evaluation) -> list[Array]:
        return [side.statistics for side in sides(evaluation)]

    def sides(evaluation: Evaluation) -> list[Outputs]:
        return [*evaluation.decoded.values(), evaluation.without_dup]

    plain = [
        (each.sources, each.references, [(side.texts, side.cut, side.scores) for side in sides(each)])
        for each in (one, other)
    ]
    return plain[0] == plain[1] and all(map(np.array_equal, arrays(one), arrays(other)))


def test_a_second_call_decodes_nothing(run: LabelledRun, decodings: list[bool]) -> None:
    heard: list[int] = []
    first = evaluate(run, progress=heard.append)
    assert decodings == [True, False] and sum(heard) == 2 * len(first.sources)
    heard.clear()
    second = evaluate(run, progress=heard.append)
    assert decodings == [True, False] and sum(heard) == 2 * len(first.sources)
    assert same(first, second)
    assert first.without_dup.scores.keys() == {"rouge-1", "rouge-2", "rouge-l", "chrf"}


def test_a_changed_run_is_evaluated_anew(run: LabelledRun, decodings: list[bool]) -> None:
    evaluate(run)
    config = run.folder / "config.toml"
    config.write_text(config.read_text().replace("max_target_length = 15", "max_target_length = 3"))
    assert max(len(text.split()) for text in evaluate(run).with_dup.texts) <= 3
    assert len(decodings) == 4


def test_changed_weights_are_noticed(run: LabelledRun, decodings: list[bool]) -> None:
    """Even in a checkpoint of the same step."""
    evaluate(run)
    checkpoint = Run.open(run.folder).checkpoint("best")
    weights = {name: 0 * tensor for name, tensor in load_file(checkpoint / "model.safetensors").items()}
    save_file(weights, checkpoint / "model.safetensors")
    state = json.loads((checkpoint / "state.json").read_text())
    state["sha256"]["model.safetensors"] = checksum(checkpoint / "model.safetensors")
    (checkpoint / "state.json").write_text(json.dumps(state))
    assert len(set(evaluate(run).with_dup.texts)) == 1  # all words are as likely
    assert len(decodings) == 4


DAMAGES = ("version", "statistics", "outputs", "no texts", "references", "no JSON", "nan", "cut", "ways", "likelihood")


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_does_not_fit_is_made_anew(run: LabelledRun, decodings: list[bool], damage: str) -> None:
    first = evaluate(run)
    path = run.folder / "test.json"
    record = json.loads(path.read_text())
    if damage == "version":
        record["format"] = 0
    elif damage == "no texts":
        record["sources"][0] = None
    elif damage == "references":
        record["references"][0] = []
    elif damage == "statistics":
        record["ways"]["greedy +DUP"]["statistics"].pop()
    elif damage == "outputs":
        record["ways"]["greedy"]["outputs"] = 7
    elif damage == "nan":
        record["ways"]["greedy +DUP"]["statistics"][0][0] = float("nan")
    elif damage == "cut":
        record["ways"]["greedy"]["cut"][0] = "yes"
    elif damage == "ways":
        record["ways"] = [record["ways"]]
    elif damage == "likelihood":
        record["ways"]["greedy"]["likelihoods"] = {"judge": [1.0]}
    path.write_text("{" if damage == "no JSON" else json.dumps(record))
    assert same(evaluate(run), first)
    assert len(decodings) == 4


def test_another_corpus_is_refused(run: LabelledRun) -> None:
    facts = json.loads((run.folder / "corpus.json").read_text())
    (run.folder / "corpus.json").write_text(json.dumps({**facts, "fingerprint": "another"}))
    with pytest.raises(InputError, match="was trained on another corpus"):
        evaluate(run)


def test_a_link_is_not_written_through(run: LabelledRun, tmp_path: Path) -> None:
    (run.folder / "test.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(InputError, match="symbolic link"):
        evaluate(run)
    assert not (tmp_path / "elsewhere.json").exists()
