"""Translation: its scores and signature, its baseline, a run against BLEU on pieces of words, and the verbs."""

import json
from pathlib import Path

import pytest
import sacrebleu

from bangbang.cli.main import main
from bangbang.metrics import SacreBleu
from bangbang.tasks import TranslationTask, quick, signature
from bangbang.tasks.settings import Translation
from bangbang.training import Run
from tests.translating import write_translation_config

TASK = TranslationTask(Translation())
OUTPUTS = ["a dog runs on the beach today", "two men play football"]
REFERENCES = [["A dog is running on the beach today.", "The dog runs."], ["Two men play football."]]
DOCUMENTS = [["A dog is running on the beach today.", "Two men play football."], ["The dog runs.", None]]


def test_scores_and_signature_are_sacrebleus() -> None:
    bleu, chrf = sacrebleu.BLEU(), sacrebleu.CHRF()
    scores = quick(TASK.metric, OUTPUTS, REFERENCES)
    assert scores["bleu"] == pytest.approx(bleu.corpus_score(OUTPUTS, DOCUMENTS).score)
    assert scores["chrf"] == pytest.approx(chrf.corpus_score(OUTPUTS, DOCUMENTS).score)
    assert TASK.main == Translation.chosen_by == "bleu"
    ours = f"bleu|{bleu.get_signature().format()} chrf|{chrf.get_signature().format()}|bootstrap"
    assert signature(TASK.metric).startswith(ours)


def test_bleu_by_another_tokenizer() -> None:
    task = TranslationTask(Translation(tokenizer="char"))
    theirs = sacrebleu.BLEU(tokenize="char")
    assert quick(task.metric, OUTPUTS, REFERENCES)["bleu"] == pytest.approx(
        theirs.corpus_score(OUTPUTS, DOCUMENTS).score
    )
    assert "tok:char" in task.metric.signature and "tok:13a" in TASK.metric.signature
    alone = SacreBleu("bleu", "char")
    one = sacrebleu.BLEU(tokenize="char", effective_order=True).sentence_score(OUTPUTS[1], REFERENCES[1]).score
    assert alone.per_example(alone.statistics(OUTPUTS, REFERENCES))[1, 0] == pytest.approx(one)


def test_the_baseline_copies_the_source() -> None:
    assert TASK.baselines(None, ["a b", "c"]) == {"copy of the source": ["a b", "c"]}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bang-bang from a cold start, then policy gradient, both by BLEU of pieces."""
    config = write_translation_config(tmp_path_factory.mktemp("translation"))
    assert main(["train", str(config), "--out", str(config.parent / "run")]) == 0
    return config.parent / "run"


def test_a_run_against_bleu_learns_and_its_best_checkpoint_has_the_highest_bleu(run: Path) -> None:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    scores = {line["step"]: line["bleu"] for line in lines if line["kind"] == "valid"}
    opened = Run.open(run)
    assert opened.config.metric == "bleu"
    assert int(opened.checkpoint("best").name.rpartition("-")[2]) == max(scores, key=lambda step: scores[step])
    assert max(scores.values()) > 15
    rewards = [line["reward"] for line in lines if line["kind"] == "train"]
    assert 0 < rewards[-1] < 1


def test_evaluation_tuning_and_report_are_by_bleu(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(run), "--json", "--limit", "8"]) == 0
    found = json.loads(capsys.readouterr().out)
    ours, copied = (found["scores"][name] for name in ("greedy", "copy of the source"))
    assert set(ours) == {"bleu", "chrf"} and ours["bleu"]["value"] > copied["bleu"]["value"]
    assert "bleu|nrefs:1|" in found["signature"] and "chrf|nrefs:1|" in found["signature"]
    assert main(["report", str(run), "--out", str(tmp_path / "report")]) == 0
    assert "BLEU" in (tmp_path / "report" / "report.html").read_text()


@pytest.mark.parametrize("utility", ["bleu", "chrf", "gleu"])
def test_outputs_by_minimum_bayes_risk(utility: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(run), "--mbr", "4", "--utility", utility, "--json", "--limit", "4"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"][f"mbr 4 {utility} T=0.6"]["bleu"]["value"] > 0


def test_score_and_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"a": "the cat sat on a mat\none two three four\n", "b": "the cat sat on the mat\none two three\n"}
    for name, text in {**texts, "y": "the cat sat on the mat\none two three four\n"}.items():
        (tmp_path / name).write_text(text)
    a, b, y = (str(tmp_path / name) for name in ("a", "b", "y"))
    assert main(["score", "--metric", "bleu", a, y, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    theirs = sacrebleu.corpus_bleu(texts["a"].splitlines(), [["the cat sat on the mat", "one two three four"]])
    assert found["scores"]["bleu"]["value"] == pytest.approx(theirs.score)
    assert main(["compare", "--metric", "bleu", a, b, "--references", y, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["moved_by"] == "bleu"
