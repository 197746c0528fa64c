"""The plan: equal but for the objective, whole, and the commands that it says."""

import json
from pathlib import Path

import pytest

from bangbang import config as configs
from bangbang.cli.main import main, verb_parser
from bangbang.objectives import BangBang, Raml
from bangbang.reproduction import BUDGETS, METHODS, make_plan, read_budget, tasks
from bangbang.reproduction.budgets import FOLDER, budget_file
from bangbang.reproduction.plan import changes

CONFIGS = Path(__file__).parents[2] / "configs"
OWN = {"training.init", "training.seed"}
TASKS = tasks()
ALL_BUDGETS = [(task, budget) for task in TASKS for budget in BUDGETS if budget_file(task, "", budget).exists()]


@pytest.mark.parametrize(("task", "budget"), ALL_BUDGETS)
def test_runs_differ_in_the_objective_alone(task: str, budget: str) -> None:
    plan = make_plan(task, budget, read_budget(task, "", budget), Path("out"), seeds=(1, 2))
    assert len(plan.trainings) == 2 * sum("paper" in method.groups for method in METHODS.values())
    for training in plan.trainings:
        apart = {key for key in configs.differences(plan.config, training.config) if not key.startswith("objective.")}
        assert apart <= (OWN | {"reward.length"} if training.config.is_own else OWN)
        assert training.config.training.max_steps == plan.config.training.max_steps
        assert training.config.training.seed == training.seed


def test_the_papers_rows_are_there() -> None:
    plan = make_plan("headlines", "small", read_budget("headlines", "", "small"), Path("out"))
    paper = {each.method.label: each.config for each in plan.trainings if not each.config.is_own}
    assert list(paper) == ["MLE", "RAML", "PG", "PG from MLE", "SPG 0.2", "SPG 0.4", "SPG 0.6", "SPG 0.8"]
    kinds = [config.objective.kind for config in paper.values()]
    assert kinds == ["mle", "raml", "pg", "pg", "bbspg", "bbspg", "bbspg", "bbspg"]
    assert [config.objective for config in paper.values()][4:] == [BangBang(p_drop=p) for p in (0.2, 0.4, 0.6, 0.8)]
    starts = {label: config.training.init for label, config in paper.items()}
    assert starts.pop("PG from MLE") == "out/runs/mle-seed1"
    assert set(starts.values()) == {""}


def test_our_rows() -> None:
    config = read_budget("headlines", "", "small", ["training.max_steps=1000"])
    ours = [each for each in make_plan("headlines", "small", config, Path("out")).trainings if each.config.is_own]
    by_name = {each.method.name: each.config for each in ours}
    assert by_name["spg-0.4-late"].objective.p_drop_delay == 500
    assert by_name["spg-0.4-late"].reward.length == 0.0
    assert by_name["spg-0.4-late-length"].objective.p_drop_delay == 500
    assert by_name["spg-0.4-late-length"].reward.length == 1.0
    assert list(by_name) == ["spg-0.4-late", "spg-0.4-late-length"]


def test_medium_budgets_are_the_published_configs() -> None:
    """docs/results.md trains with the files in configs/; `reproduce` is to give the same rows."""
    pairs = {
        ("headlines", "debian"): ("headlines-debian", "headlines-debian-spg", "spg-0.4-late"),
        ("captions", "flickr8k"): ("captions-flickr8k", "captions-flickr8k-spg", "spg-0.4-late-length"),
    }
    for (task, corpus), (plain, spg, name) in pairs.items():
        plan = make_plan(task, "medium", read_budget(task, corpus, "medium"), Path("out"))
        by_name = {each.method.name: each.config for each in plan.trainings}
        for file, found in ((plain, by_name["mle"]), (spg, by_name[name])):
            ours = configs.read(CONFIGS / f"{file}.toml")
            assert set(configs.differences(ours, found)) <= {"training.checkpoint_minutes", "training.metric"}, file
            assert ours.metric == found.metric


def test_the_paper_budget_is_the_papers() -> None:
    headlines, captions = (read_budget(task, "", "paper") for task in ("headlines", "captions"))
    for config, batch, steps, metric in ((headlines, 200, 10_000_000, "rouge-2"), (captions, 25, 4_000_000, "cider-d")):
        assert (config.optimizer.kind, config.optimizer.learning_rate, config.optimizer.clip_norm) == (
            "adagrad",
            0.01,
            4,
        )
        assert (config.training.batch_size, config.training.max_steps, config.metric) == (batch, steps, metric)
        assert (config.model.units, config.data.max_target_length, Raml().tau) == (512, 15, 0.85)
    assert (headlines.model.layers, headlines.vocabulary.size, headlines.data.max_source_length) == (3, 220_000, 30)
    assert (captions.model.layers, captions.vocabulary.size, captions.model.dropout) == (1, 8_854, 0.3)


def test_every_budget_file_is_found_by_its_name() -> None:
    corpora = ("docstrings", "debian", "shapes", "a/path", "a/path/flickr8k")
    found = {budget_file(task, corpus, budget) for task, budget in ALL_BUDGETS for corpus in corpora}
    assert found == set(FOLDER.glob("*.toml"))


@pytest.mark.parametrize("budget", ["small", "medium"])
@pytest.mark.parametrize("task", TASKS)
def test_little_is_lost_by_an_interruption(task: str, budget: str) -> None:
    assert 0 < read_budget(task, "", budget).training.checkpoint_minutes <= 0.5


def test_a_command_trains_what_the_plan_says(tmp_path: Path) -> None:
    config = read_budget("captions", "my 'photos'", "small", ["model.units=64"])
    plan = make_plan("captions", "small", config, tmp_path, ["paper", "rloo-mle", "metric"])
    (tmp_path / "config.toml").write_text(configs.dumps(plan.config))
    for training in plan.trainings:
        arguments = verb_parser("train").parse_args(training.start[1:])
        start = [f"training.init={json.dumps(str(arguments.init))}"] if arguments.init else []
        assert configs.read(arguments.config, [*arguments.set, *start]) == training.config
        assert arguments.out == training.folder


def test_what_changed_is_named() -> None:
    before = read_budget("headlines", "", "small")
    now = configs.override(
        before, ["model.units=64", "data.cache=elsewhere", "training.checkpoint_minutes=3", "decoding.method=beam"]
    )
    assert list(changes(before, now)) == ["model.units was 128, now 64"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "spg-0.5"], "did you mean 'spg-0."),
        (["--methods", "pg-mle"], "starts from mle"),
        (["--methods", "mle-long"], "by the pace of mle"),
        (["--methods", "papers"], "did you mean 'paper'"),
        (["--seeds", "1", "1"], "a seed comes twice"),
        (["--jobs", "0"], "at least 1"),
        (["--languages", "../dut"], "a language is a name"),
        (["--set", "model.kind=show_and_tell"], "no model for headlines"),
        (["--set", "model.unit=3"], "did you mean 'units'"),
    ],
)
def test_bad_options(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "headlines", "--dry-run", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_dry_run_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "headlines", "--dry-run", "--json", "--seeds", "3", "--jobs", "2"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [each["label"] for each in shown["trainings"]] == [
        method.label for method in METHODS.values() if "paper" in method.groups
    ]
    assert shown["seconds"] is None and not list(tmp_path.iterdir())
