"""Config files: defaults, unknown keys, wrong types, settings, and the round trip through TOML."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bangbang import config as configs
from bangbang.config import Config
from bangbang.errors import InputError

CONFIGS = sorted((Path(__file__).parents[1] / "configs").glob("*.toml"))


def test_round_trip(tmp_path: Path) -> None:
    config = configs.override(Config(), ["model.units=7", 'data.corpus="a b"', "optimizer.decay=cosine"])
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
        ("model.units=0", "model.units must be at least 1"),
        ("optimizer.kind=sgd", "'adagrad'"),
        ("decoding.top_p=0", "decoding.top_p must be above 0"),
        ("training.batch_size=0", "at least 1"),
        ("units=3", "table.key=value"),
        ("model.units", "table.key=value"),
    ],
)
def test_bad_settings_name_the_key(setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        configs.override(Config(), [setting])


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
        configs.build(Config, table if isinstance(table, dict) else {"model": table}, "here")
    except InputError as error:
        assert str(error).startswith("here") or "must be" in str(error)


@pytest.mark.parametrize("name", ["headlines-debian", "captions-flickr8k"])
def test_configs_by_spg_change_the_objective_alone(name: str) -> None:
    folder = Path(__file__).parents[1] / "configs"
    plain, spg = configs.read(folder / f"{name}.toml"), configs.read(folder / f"{name}-spg.toml")
    changed = {key.split(".")[0] for key in configs.differences(spg, plain)}
    assert spg.objective.kind == "bbspg" and changed <= {"objective", "reward"}
