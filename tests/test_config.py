"""Config files: defaults, unknown keys, wrong types, settings, and the round trip through TOML."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError
from bangbang.objectives.settings import BangBang, Mle, Pg, Raml
from bangbang.rewards.settings import BleuSettings, RougeLSettings

CONFIGS = sorted((Path(__file__).parents[1] / "configs").glob("*.toml"))


def test_round_trip(tmp_path: Path) -> None:
    config = configs.override(Config(), ["model.units=7", "data.corpus=debian", "optimizer.decay=cosine"])
    (tmp_path / "config.toml").write_text(configs.dumps(config))
    assert configs.read(tmp_path / "config.toml") == config
    assert list(configs.differences(config, Config())) == ["data.corpus", "model.units", "optimizer.decay"]


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_are_valid_and_name_their_command(path: Path) -> None:
    configs.read(path)
    header = path.read_text().split("\n[")[0]
    assert f"bangbang train configs/{path.name}" in header


def test_the_papers_sizes() -> None:
    config = configs.read(Path(__file__).parents[1] / "configs/headlines-paper.toml")
    assert (config.model.layers, config.model.units, config.vocabulary.size) == (3, 512, 220_000)
    assert (config.data.max_source_length, config.data.max_target_length) == (30, 15)
    assert (config.optimizer.kind, config.optimizer.learning_rate, config.optimizer.clip_norm) == ("adagrad", 0.01, 4)
    assert (config.training.batch_size, config.training.metric) == (200, "rouge-2")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.max_step=3", "did you mean 'max_steps'"),
        ("trainin.max_steps=3", "did you mean 'training'"),
        ("model.units=big", "expected int"),
        ("model.units=1.5", "expected int"),
        ("model.units=true", "expected int"),
        ("training.max_steps=1,000", "expected int, got '1,000'; did you mean 1000?"),
        ("training.max_steps=1e3", "did you mean 1000?"),
        ("optimizer.learning_rate=0,001", "expected float, got '0,001'; did you mean 0.001?"),
        ("decoding.dup=False", "expected bool, got 'False'; did you mean false?"),
        ("model.units=0", "model.units must be at least 1"),
        ("optimizer.kind=sgd", "'adagrad'"),
        ("objective.kind=bbpsg", "did you mean 'bbspg'"),
        ("objective.p_drop=0.6", "'p_drop' belongs to kind bbspg, and this is 'mle'; set objective.kind=bbspg"),
        ("data.source_field=a", "belongs to corpus files, and this is 'docstrings'; make data.corpus a path"),
        ("objective.kind=3", "kind: expected str"),
        ("data.corpus=3", "corpus: expected str"),
        ("task.kind=captions", "is for models that read features, but model.kind = 'attention_gru' reads tokens"),
        ("task.metrics=rouge", "expected a list, got 'rouge'; did you mean [\"rouge\"]?"),
        ("model.units=0x" + "f" * 5000, "larger than any number"),
        ("optimizer.kind=0x" + "f" * 5000, "a very large number"),
        ("stages.1.steps=3", "there are 0 stages"),
        ("decoding.top_p=0", "decoding.top_p must be above 0"),
        ("training.batch_size=0", "at least 1"),
        ("units=3", "table.key=value, such as model.units=3"),
        ("p_drop=0.4", "such as objective.p_drop=0.4"),
        ("nothing=3", "such as training.max_steps=500"),
        ("model.units", "table.key=value"),
    ],
)
def test_bad_settings_name_the_key(setting: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        configs.override(Config(), [setting])
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ["[model", "model = 3", "[model]\nunits = 1\nunits = 2", "\x00", "[[model]]"])
def test_bad_files_name_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"bad\.toml"):
        configs.read(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such config file"):
        configs.read(tmp_path / "none.toml")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.dictionaries(st.text(), x)))
def test_any_table_is_a_config_or_an_input_error(table: object) -> None:
    try:
        configs.build(table if isinstance(table, dict) else {"model": table}, "here")
    except InputError as error:
        assert str(error).startswith("here") or "must be" in str(error)


@given(st.sampled_from(["model", "objective", "reward", "data", "stages", "vocabulary", "task"]), st.data())
def test_any_value_of_a_known_table_is_a_config_or_an_input_error(name: str, data: st.DataObject) -> None:
    value = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())
    keys = st.sampled_from(["kind", "corpus", "steps", "objective", "units", "p_drop", "metrics", "several", "split"])
    table = data.draw(st.dictionaries(keys, value))
    try:
        configs.build({name: [table] if name == "stages" else table}, "here")
    except InputError as error:
        assert len(str(error).splitlines()) == 1


def test_another_kind_keeps_what_it_shares_with_the_old_one() -> None:
    spg = configs.override(Config(), ["objective.kind=bbspg", "objective.p_drop=0.1", "objective.samples=3"])
    pg = configs.override(spg, ["objective.kind=pg", "objective.baseline=others"])
    # the normaliser was left at its default, so the new kind's default counts
    assert pg.objective == Pg(samples=3, baseline="others", normalizer="constant")
    captions = configs.override(Config(), ["model.kind=show_and_tell", "model.layers=1"])
    assert captions.task.kind == "captions" and captions.metric == "cider-d"
    assert configs.override(captions, ["model.kind=attention_gru"]).task.kind == "headlines"


def test_what_an_older_version_wrote_is_read_without_other_kinds_settings(tmp_path: Path) -> None:
    old = """[objective]\nkind = "mle"\np_drop = 0.4\ntau = 0.85\n[reward]\nkind = "bleu"\nbeta = 1.0\nmax_n = 3
    [data]\ncorpus = "some/folder"\npath = ""\nheld_out = 7\n"""
    path = tmp_path / "config.toml"
    path.write_text(old)
    with pytest.raises(InputError, match="'path' belongs to corpus docstrings"):
        configs.read(path)
    config = configs.read(path, old=True)
    assert (
        config.objective == Mle(normalizer="positions")
        and config.reward == BleuSettings(max_n=3)
        and config.data.held_out == 7
    )
    path.write_text(configs.dumps(config) + "[extra]\n")
    with pytest.raises(InputError, match="unknown key 'extra'"):
        configs.read(path, old=True)
    # what this version wrote is never silently left out
    path.write_text(configs.dumps(config).replace('kind = "mle"', 'kind = "mle"\np_drop = 0.4'))
    with pytest.raises(InputError, match="'p_drop' belongs to kind bbspg"):
        configs.read(path, old=True)


STAGES = """
[optimizer]
learning_rate = 0.5

[[stages]]
steps = 5
objective = {kind = "bbspg", p_drop = 0.2}

[[stages]]
steps = 7
start = "best"
objective = {kind = "pg", samples = 3, baseline = "others"}
reward = {kind = "rouge-l"}
optimizer = {learning_rate = 0.1}
"""


def test_stages_change_the_tables_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(STAGES)
    config = configs.read(tmp_path / "config.toml")
    first, second = config.legs
    assert (first.first_step, first.end, second.first_step, second.end, config.max_steps) == (0, 5, 5, 12, 12)
    assert first.objective == BangBang(p_drop=0.2) and first.reward == config.reward
    assert first.optimizer.learning_rate == 0.5 and second.optimizer.learning_rate == 0.1
    assert second.objective == Pg(samples=3, baseline="others") and second.reward == RougeLSettings()
    assert [config.leg_at(step).number for step in (0, 4, 5, 11, 12, 99)] == [0, 0, 1, 1, 1, 1]
    assert config.label == "SPG 0.2 → PG" and config.is_own
    (tmp_path / "config.toml").write_text(configs.dumps(config))
    assert configs.read(tmp_path / "config.toml") == config


def test_stages_are_cut_at_max_steps_and_changed_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(STAGES)
    settings = ["training.max_steps=8", "stages.2.objective.samples=5", "stages.1.steps=6", "optimizer.clip_norm=1"]
    first, second = configs.read(tmp_path / "config.toml", settings).legs
    assert (first.steps, second.steps, second.objective) == (6, 2, Pg(samples=5, baseline="others"))
    assert first.optimizer.clip_norm == second.optimizer.clip_norm == 1
    assert len(configs.read(tmp_path / "config.toml", ["training.max_steps=5"]).legs) == 1


def test_stages_as_one_setting_replace_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(STAGES)
    stages = 'stages=[{steps = 7, objective = {kind = "raml", tau = 0.5}}, {steps = 2, start = "best"}]'
    first, second = configs.read(tmp_path / "config.toml", [stages, "stages.2.steps=3"]).legs
    assert (first.steps, first.objective, second.steps, second.start) == (7, Raml(tau=0.5), 3, "best")
    assert configs.read(tmp_path / "config.toml", ["stages=[]"]).stages == ()


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 40))
def test_legs_follow_each_other_up_to_max_steps(steps: list[int], most: int) -> None:
    config = configs.build({"stages": [{"steps": each} for each in steps], "training": {"max_steps": most}}, "here")
    stage_of = [number for number, each in enumerate(steps) for _ in range(each)]  # of every step
    trained = min(most, len(stage_of))
    assert [leg.number for leg in config.legs for _ in range(leg.steps)] == stage_of[:trained]
    assert [leg.first_step for leg in config.legs] == [0, *(leg.end for leg in config.legs[:-1])]
    assert config.max_steps == config.legs[-1].end == trained
    for step in range(len(stage_of) + 2):  # those beyond max_steps were taken before it was lowered
        last = stage_of[min(step, len(stage_of)) - 1]
        assert config.leg_at(step).number == (stage_of[step] if step < trained else last)
        assert config.leg_before(step).number == (last if step else 0)


def test_labels_name_the_stages_in_turn() -> None:
    kinds = ["mle", "mle", "pg", "mle"]
    stages = [{"steps": 2, "objective": {"kind": kind}} for kind in kinds]
    assert configs.build({"stages": stages}, "here").label == "MLE → PG → MLE"
    assert configs.build({"stages": stages, "training": {"max_steps": 5}}, "here").label == "MLE → PG"


def test_differences_in_stages_are_named_as_settings_are(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(STAGES)
    settings = ["stages.2.optimizer.learning_rate=0.2", "stages.1.reward.dup=2", "stages.1.steps=4"]
    one, other = (configs.read(tmp_path / "config.toml", each) for each in ([], settings))
    assert set(configs.differences(one, other)) == {setting.partition("=")[0] for setting in settings}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("stages.3.steps=3", "there are 2 stages"),
        ("stages.1.steps.x=3", "steps is no table"),
        ("stages=5", "expected a list of tables"),
        ("stages=two", "expected a list of tables"),
        ("stages=[5]", "expected a list of tables"),
        ("stages=[{}]", "stages.steps must be at least 1"),
        ("stages.2.objective.p_drop=2", "'p_drop' belongs to kind bbspg"),
        ("stages.1.objective.p_drop=2", "--set: stages, number 1: objective.p_drop must be between 0 and 1"),
    ],
)
def test_bad_settings_of_stages(tmp_path: Path, setting: str, message: str) -> None:
    (tmp_path / "config.toml").write_text(STAGES)
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        configs.read(tmp_path / "config.toml", [setting])


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ("steps = 0", "stages.steps must be at least 1"),
        ("objective = {kind = 'mle'}", "stages.steps must be at least 1"),
        (
            "steps = 3\nobjective = {p_drop = 0.3}",
            r"\.toml: stages, number 1: objective: 'p_drop' belongs to kind bbspg",
        ),
        ("steps = 3\noptimizer = {clip_norm = 0}", r"\.toml: stages, number 1: optimizer.clip_norm must be above 0"),
        ("steps = 3\n[[stages]]\nsteps = 1\nreward = {a = 3}\n[training]\nmax_steps = 2", "number 2: reward: unknown"),
        ("steps = 3\nmodel = {units = 3}", "unknown key 'model'"),
        ("steps = 3\nreward = 3", "expected a table"),
        ("steps = 3\nstart = 'first'", "is not one of 'last', 'best'"),
    ],
)
def test_bad_stages(tmp_path: Path, stage: str, message: str) -> None:
    (tmp_path / "config.toml").write_text(f"[[stages]]\n{stage}\n")
    with pytest.raises(InputError, match=message):
        configs.read(tmp_path / "config.toml")


@pytest.mark.parametrize("name", ["headlines-debian", "captions-flickr8k"])
def test_configs_by_spg_change_the_objective_alone(name: str) -> None:
    folder = Path(__file__).parents[1] / "configs"
    plain, spg = configs.read(folder / f"{name}.toml"), configs.read(folder / f"{name}-spg.toml")
    changed = {key.split(".")[0] for key in configs.differences(spg, plain)}
    assert spg.objective.kind == "bbspg" and changed <= {"objective", "reward"}
