"""What `make run` does, on a tiny corpus: decoders are chosen, a short table is shown, a second call does nothing."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from bangbang.cli.main import main
from bangbang.errors import InputError
from bangbang.reproduction import tuning
from bangbang.training import Run

SETTINGS = ["model.units=16", "training.batch_size=8", "training.max_steps=20", "training.validate_every=20"]
SETTINGS += ["vocabulary.size=300", "optimizer.warmup_steps=1"]


@pytest.fixture(scope="module")
def out(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("first") / "out"


def call(corpus: Path, out: Path) -> list[str]:
    words = ["reproduce", "headlines", "--corpus", str(corpus), "--budget", "first", "--methods", "first", "--tune"]
    changes = [*SETTINGS, f"data.cache={out.parent / 'cache'}"]
    return [*words, "--brief", "--out", str(out), *(word for each in changes for word in ("--set", each))]


@pytest.fixture(scope="module")
def told(tiny_corpus: Path, out: Path) -> str:
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as text:
        patch.setenv("OMP_NUM_THREADS", "1")
        assert main(call(tiny_corpus, out)) == 0
    return text.getvalue()


def test_a_table_ten_outputs_and_the_page(out: Path, told: str) -> None:
    for label in ("lead ", "MLE", "SPG 0.4 → RLOO", "best decoder", "±", "reference"):
        assert label in told
    assert told.count("reference") == 10 and "shared-start" not in told
    assert told.rstrip().splitlines()[-1] == f"the page: {out / 'report.html'}"
    assert (out / "report.html").is_file()


def test_decoders_are_chosen_once(out: Path, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = [out / "runs" / f"{name}-seed1" for name in ("mle-shared", "metric-shared")]
    assert all(map(tuning.is_tuned, folders))
    assert not tuning.is_tuned(out / "runs" / "shared-start-seed1")
    monkeypatch.setattr(tuning, "tune_run", lambda *_: pytest.fail("it was tuned already"))
    tuning.tune_runs(folders, out / "logs", 2)
    monkeypatch.setattr(Run, "checkpoint_name", lambda self, which: "step-00000001")
    assert not tuning.is_tuned(folders[0])


def test_a_run_that_cannot_be_tuned_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing: no decoder was chosen \(exit code 2\): .*not a run"):
        tuning.tune_run(tmp_path / "nothing", tmp_path / "logs" / "log")


def test_several_languages_are_not_shown_in_brief(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "transduction", "--languages", "dut", "fre", "--brief"]) == 2
    assert "--tune and --brief are for a corpus of one language" in capsys.readouterr().err
