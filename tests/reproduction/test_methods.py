"""The rows: groups of them, what each changes, and minutes that are equal to the longest row's."""

import json
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bangbang import config as configs
from bangbang.cli import reproduce
from bangbang.cli.main import main
from bangbang.config import Config
from bangbang.contracts import RewardInputs, Writing
from bangbang.metrics.words import word_reader
from bangbang.reproduction import METHODS, Method, Plan, WorkerPool, make_plan, pace, read_budget
from bangbang.reproduction.methods import Stage, choose, inline
from bangbang.reproduction.standing import Standing
from bangbang.training import train

CONFIGS = Path(__file__).parents[2] / "configs"


def planned(*methods: str, task: str = "headlines", steps: int = 1000, seeds: tuple[int, ...] = (1,)) -> Plan:
    config = read_budget(task, "", "small", [f"training.max_steps={steps}"])
    return make_plan(task, "small", config, Path("out"), methods, seeds)


def config_of(name: str, task: str = "headlines") -> Config:
    plan = planned("mle", name, task=task)
    return next(training.config for training in plan.trainings if training.method.name == name)


def test_groups() -> None:
    paper, field, every = ([method.name for method in choose([group])] for group in ("paper", "field", "all"))
    assert paper == [method.name for method in choose([])] and "rloo-mle" not in paper
    assert {"mle", "raml", "pg", "pg-mle", "spg-0.2", "spg-0.8", "spg-0.4-late"} <= set(paper)
    assert {"mle", "raml", "scheduled-sampling", "mixer", "mrt-mle", "ocd", "gold-mle", "rloo-mle"} <= set(field)
    assert {"scst-mle", "spg-0.4-late", "spg-0.4-all", "metric", "mle-smooth", "mle-long"} <= set(field)
    first = [method.name for method in choose(["first"])]
    assert first == ["shared-start", "mle-shared", "metric-shared"]
    strings = [method.name for method in choose(["strings"])]
    assert strings == ["mle", "match-mle"]
    assert every == list(METHODS) and set(every) == {*paper, *field, *first, *strings}
    assert [method.name for method in choose(["pg", "mle", "paper"])] == paper


def test_what_goes_on_from_trained_weights_has_a_low_rate_and_the_metric_as_its_reward() -> None:
    for name in ("rloo-mle", "scst-mle", "mrt-mle"):
        config = config_of(name)
        assert (config.optimizer.kind, config.optimizer.learning_rate) == ("adamw", 0.001)
        assert (config.reward.kind, config.reward.units) == ("rouge-l", "words") and config.training.max_steps == 250
        assert config.training.init == "out/runs/mle-seed1"
    captions = config_of("rloo-mle", "captions")
    assert captions.reward.kind == "cider-d" and captions.data.all_references
    assert captions.optimizer.learning_rate == 0.0003
    assert (captions.training.batch_size, captions.training.max_steps) == (16, 641)


def test_the_first_rows_go_on_from_one_start_which_is_no_row() -> None:
    plan = make_plan("headlines", "first", read_budget("headlines", "", "first"), Path("out"), ["first"])
    start, mle, metric = plan.trainings
    assert start.method.only_a_start and not mle.method.only_a_start and not metric.method.only_a_start
    assert mle.after == metric.after == start.name
    assert [leg.objective.kind for leg in metric.config.legs] == ["bbspg", "rloo"]
    assert metric.config.legs[-1].reward.kind == "rouge-l" and mle.config.objective.kind == "mle"
    shown = reproduce.Done(plan, {start.name, mle.name, metric.name}).runs
    assert [run.label for run in shown] == ["MLE", "SPG 0.4 → RLOO"]


def test_stages_have_their_own_rate_reward_and_batches() -> None:
    budget = read_budget("captions", "", "small", ["training.max_steps=1000"])
    config = config_of("metric", "captions")
    first, second = config.legs
    assert (first.steps, second.steps, second.start, config.max_steps) == (1000, 641, "best", 1641)
    assert (first.objective.p_drop_delay, first.objective.p_drop_rise) == (375, 125)
    assert first.optimizer == budget.optimizer and first.reward == replace(budget.reward, length=1.0)
    assert (first.batch_size, second.batch_size) == (64, 16) and not first.all_references and second.all_references
    assert (second.optimizer.learning_rate, second.optimizer.weight_decay) == (0.0003, 0.0)
    assert (second.reward.kind, second.reward.length) == ("cider-d", 0.0)
    assert [leg.objective.kind for leg in config.legs] == ["bbspg", "rloo"]
    assert config_of("metric").legs[0].objective.p_drop_delay == 750


@pytest.mark.parametrize(("task", "corpus"), [("headlines", "debian"), ("captions", "flickr8k")])
def test_the_metric_row_is_the_published_config(task: str, corpus: str) -> None:
    config = read_budget(task, corpus, "medium")
    ours = configs.read(CONFIGS / f"{task}-{corpus}-metric.toml")
    found = make_plan(task, "medium", config, Path("out"), ["metric"]).trainings[0].config
    assert found.legs == ours.legs


def test_a_row_with_stages_takes_the_place_of_the_budgets_stages() -> None:
    config = read_budget("headlines", "", "small", ["stages=[{steps = 30}, {steps = 10}]"])
    assert config.max_steps == 40
    found = make_plan("headlines", "small", config, Path("out"), ["metric"]).trainings[0].config
    assert [leg.steps for leg in found.legs] == [40, 10]


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.needs])
def test_labels_are_those_that_a_report_gives(name: str) -> None:
    """But for schedules and temperatures of stages, which are too much for a table."""
    assert re.sub(r" late rising \+ All| T=0.5", "", config_of(name).label) == METHODS[name].label


@pytest.mark.parametrize("task", ["headlines", "captions", "transduction"])
def test_every_row_can_be_trained(task: str) -> None:
    """Each objective is built with the reward that it gets."""
    writing = Writing(lambda rows: ["a" for _ in rows], lambda text: [4], word_reader)
    inputs = RewardInputs(["<pad>", "<s>", "</s>", "<unk>", "a"], " ", lambda: [[["a"]]], writing)
    for training in planned("all", task=task).trainings:
        for leg in training.config.legs:
            assert leg.objective.build(lambda leg=leg: leg.reward.build(inputs), 9)  # type: ignore[misc]


def test_schedules_are_shares_of_the_budget() -> None:
    mixer, sampling = config_of("mixer").objective, config_of("scheduled-sampling").objective
    assert (mixer.delay, mixer.every, mixer.suffix_at(499), mixer.suffix_at(999)) == (500, 62, 0, 18)
    assert sampling.p_model_at(1000) == 0.25 and sampling.p_model_at(500) == 0.125


@given(
    st.recursive(
        st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text("ab\"'\\ =[]{}é\n"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=6,
    )
)
def test_a_value_in_one_line_is_read_back(value: object) -> None:
    text = inline(value)
    assert "\n" not in text and tomllib.loads(f"value = {text}")["value"] == value


def test_shares_are_of_the_budgets_steps() -> None:
    config = read_budget("headlines", "", "small", ["training.max_steps=10"])
    assert Method("a", "A", ("x",), share=0.25).changes(config) == ["training.max_steps=2"]
    assert Method("a", "A", ("x",)).changes(config) == []
    staged = Method("a", "A", ("x",), stages=(Stage(share=0.01), Stage(share=2.0, start="best")))
    assert staged.changes(config)[1] == "training.max_steps=21"


SECONDS = {
    "mle-seed1": 100.0,
    "rloo-mle-seed1": 250.0,
    "metric-seed1": 200.0,
    "mle-seed2": 120.0,
    "rloo-mle-seed2": 270.0,
    "metric-seed2": 400.0,
}


def stand(monkeypatch: pytest.MonkeyPatch, seconds: dict[str, float]) -> None:
    def standing(folder: Path, config: Config) -> Standing:
        done = folder.name in seconds
        return Standing(config.max_steps if done else 3, seconds.get(folder.name, 1.0), done)

    monkeypatch.setattr(pace, "standing", standing)


def test_minutes_are_the_longest_rows_with_what_it_started_from(monkeypatch: pytest.MonkeyPatch) -> None:
    stand(monkeypatch, SECONDS)
    plan = planned("mle", "rloo-mle", "metric", "mle-long", seeds=(1, 2))
    long = [training.config for training in plan.trainings if training.method.name == "mle-long"]
    # MLE: 110 s for 1,000 steps; RLOO: 260 s on top of them, more than the 300 s of the stages
    assert [config.training.max_steps for config in long] == [round(1000 * 370 / 110)] * 2
    assert plan.later == [] and [training.name for training in plan.trainings][3] == "mle-long-seed1"


def test_it_is_never_shorter_than_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    stand(monkeypatch, {"mle-seed1": 100.0, "raml-seed1": 60.0})
    assert planned("mle", "raml", "mle-long").trainings[-1].config.max_steps == 1000


def test_it_waits_until_the_others_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    stand(monkeypatch, {name: seconds for name, seconds in SECONDS.items() if name != "metric-seed2"})
    plan = planned("mle", "rloo-mle", "metric", "mle-long", seeds=(1, 2))
    assert plan.later == ["mle-long-seed1", "mle-long-seed2"] and len(plan.trainings) == 6


def work_here(pool: WorkerPool) -> bool:
    """Train what waits, without processes of its own."""
    for training in pool.waiting:
        train(training.config, training.folder)
        pool.done.add(training.name)
    return False


def test_a_reproduction_by_the_clock(
    tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Trained after the others; then its steps stay, whatever is added."""
    monkeypatch.setattr(WorkerPool, "work", work_here)
    reports: list[set[str]] = []
    monkeypatch.setattr(reproduce, "show_results", lambda plan, done, arguments: reports.append(done))
    settings = ["vocabulary.split=words", "model.units=8", "training.batch_size=8", "training.max_steps=6"]
    settings += ["training.validate_every=6", f"data.cache={tiny_corpus.parent / 'cache'}"]
    command = ["reproduce", "headlines", "--corpus", str(tiny_corpus), "--out", str(tmp_path / "out"), "--jobs", "1"]
    command += [word for setting in settings for word in ("--set", setting)]
    command += ["--methods", "mle", "metric", "mle-long"]
    assert main(command) == 0
    assert reports == [{"mle-seed1", "metric-seed1", "mle-long-seed1"}]
    capsys.readouterr()
    assert main([*command, "rloo-mle", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    steps = {each["name"]: (each["steps_before"], each["steps"], each["done"]) for each in plan["trainings"]}
    assert steps["metric-seed1"] == (0, 8, True) and steps["rloo-mle-seed1"] == (6, 2, False)
    assert steps["mle-long-seed1"][1] >= 6 and steps["mle-long-seed1"][2] and plan["later"] == []
