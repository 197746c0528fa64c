"""`bangbang train` and the verbs that read its runs, for models of the transformers library."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from bangbang.cli.main import main
from bangbang.hf import Policy
from bangbang.training import Run


def train(config: Path, out: Path, *settings: str, resume: bool = False) -> int:
    options = [word for setting in settings for word in ("--set", setting)]
    return main(["train", str(config), "--out", str(out), *options, *(["--resume"] if resume else [])])


def weights(run: Path, step: int) -> dict[str, torch.Tensor]:
    return load_file(run / "checkpoints" / f"step-{step:08d}" / "model.safetensors")


def test_a_run_that_was_interrupted_equals_one_that_was_not(hf_config: Path, hf_run: Path, tmp_path: Path) -> None:
    """Through both stages, stopped in the middle of the second."""
    assert train(hf_config, tmp_path / "run", "training.max_steps=4") == 0
    assert train(hf_config, tmp_path / "run", resume=True) == 0
    found, expected = weights(tmp_path / "run", 6), weights(hf_run, 6)
    assert set(found) == set(expected)
    assert all(torch.equal(found[name], expected[name]) for name in found)
    before = weights(hf_run, 3)
    assert any(not torch.equal(before[name], expected[name]) for name in found)


def test_runs_are_evaluated_and_explained(hf_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(hf_run), "--split", "test", "--side-by-side", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert {"greedy", "beam 4"} <= set(scores)
    assert main(["explain", str(hf_run), "--example", "1"]) == 0
    assert "in the loss" in capsys.readouterr().out


def test_a_run_says_the_same_of_a_line_alone_and_in_a_batch(hf_run: Path) -> None:
    from bangbang.decoding import generate
    from bangbang.decoding.settings import DecodingSettings

    run = Run.open(hf_run)
    model = run.load_model("last")
    assert isinstance(model, Policy)
    sources = run.encode_sources(["a clock", "This package is a small parser for your phone.", "an editor"])
    for method in ("greedy", "beam", "sample"):
        config = DecodingSettings(method=method)  # type: ignore[arg-type]
        together = generate(model, sources, config, 8)
        alone = [generate(model, [source], config, 8, first_line=line)[0] for line, source in enumerate(sources)]
        assert [ranked[0].tokens for ranked in together] == [ranked[0].tokens for ranked in alone]


def test_a_model_without_an_encoder_learns_to_write(hf_config: Path, tmp_path: Path) -> None:
    family = '{family = "gpt2", n_embd = 16, n_layer = 1, n_head = 2, n_positions = 64}'
    settings = [f"model.from_scratch={family}", "training.max_steps=3", "training.validate_every=3"]
    assert train(hf_config, tmp_path / "run", *settings) == 0
    policy = Run.open(tmp_path / "run").load_model("last")
    assert isinstance(policy, Policy)
    assert not policy.inner.config.is_encoder_decoder
    # a prompt ends in `<s>`, whatever is in front of it
    inputs = policy.template.inputs(torch.tensor([[9, 8], [7, 0]]), torch.tensor([2, 1]), policy.alphabet, 0).tensors
    assert inputs["input_ids"].tolist() == [[9, 8, 1], [0, 7, 1]]
    assert inputs["attention_mask"].tolist() == [[1, 1, 1], [0, 1, 1]]


def test_how_attention_is_computed_is_kept(hf_config: Path, tmp_path: Path) -> None:
    """transformers keeps it nowhere, and a resumed run must go on in the same way."""
    sizes = "d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2"
    family = f'{{family="bart", {sizes}, encoder_ffn_dim=16, decoder_ffn_dim=16, attn_implementation="eager"}}'
    settings = [f"model.from_scratch={family}", "stages=[]", "training.max_steps=1"]
    assert train(hf_config, tmp_path / "run", *settings) == 0
    policy = Run.open(tmp_path / "run").load_model("last")
    assert isinstance(policy, Policy) and policy.inner.config._attn_implementation == "eager"


def tokenizer_settings(folder: Path) -> list[str]:
    return [
        "model.from_scratch={}",
        f'model.name="{folder}"',
        "vocabulary.kind=tokenizer",
        f'vocabulary.file="{folder}/tokenizer.json"',
        'vocabulary.ends=["</s>"]',
    ]


def test_a_pretrained_model_with_adapters(
    hf_config: Path, hf_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adapters alone change, a resumed run equals one that was not interrupted, and nothing else is asked for."""
    lora = 'model.lora={r = 2, target_modules = ["q_proj", "v_proj"], lora_dropout = 0.1}'
    settings = [*tokenizer_settings(hf_folder), lora]
    assert train(hf_config, tmp_path / "whole", *settings) == 0
    assert train(hf_config, tmp_path / "run", *settings, "training.max_steps=4") == 0
    assert train(hf_config, tmp_path / "run", *settings, resume=True) == 0
    found, expected = weights(tmp_path / "run", 6), weights(tmp_path / "whole", 6)
    assert all(torch.equal(found[name], expected[name]) for name in found)
    before = weights(tmp_path / "whole", 3)
    changed = {name for name in found if not torch.equal(before[name], expected[name])}
    assert changed and all("lora" in name for name in changed)
    monkeypatch.setattr("bangbang.hf.building.load_model", None)  # a run that is read needs nothing from elsewhere
    monkeypatch.setattr("bangbang.hf.building.load_tokenizer", None)
    policy = Run.open(tmp_path / "run").load_model("last")
    assert isinstance(policy, Policy)
    assert policy.prefix == (2, 1)
    assert (policy.template.before, policy.template.after) == ((1,), (2,))
    assert policy.head.size == 324  # of the 328 rows, 320 are tokens


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["model.from_scratch={}"], "set model.name, or model.from_scratch with a family"),
        (['model.from_scratch={family="no-such"}'], "family = 'no-such'"),
        (['model.from_scratch={family="bart", d_modell=8}'], "did you mean 'd_model'?"),
        (['model.from_scratch={family="vit"}'], "no model that generates texts"),
        (['model.from_scratch={family="bart", encoder_layers=1000000}'], "more than any model has"),
        (['model.from_scratch={family="bart", attn_implementation="some/code"}'], "is none of eager, sdpa"),
        (['model.name="x"'], "empty where there is model.from_scratch"),
        (["model.from_scratch={}", 'model.name="/nowhere"'], "vocabulary.file to its tokenizer.json"),
        (["model.lora={rank=3}"], "peft knows no 'rank'"),
        (['model.lora={r=3, target_modules=["none"]}'], "model.lora"),
        (['model.from_scratch={family="bart", d_model=32, max_position_embeddings=10}'], "max_position_embeddings may"),
    ],
)
def test_what_is_wrong_is_one_line(
    settings: list[str], expected: str, hf_config: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert train(hf_config, tmp_path / "run", *settings) == 2
    lines = capfd.readouterr().err.splitlines()
    assert expected in lines[-1]
    assert "Traceback" not in "".join(lines)


def test_a_strangers_run_is_one_line(hf_run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What a run keeps of its model is read with as much care as a model's folder, and nothing else is looked for."""

    def change(name: str, text: str | None) -> None:
        path = tmp_path / "run" / "model" / name
        path.unlink() if text is None else path.write_text(text)

    config = json.loads((hf_run / "model" / "config.json").read_text())
    cases = {
        "no config.json": ("config.json", None),
        "damaged": ("config.json", "[]"),
        "more than any model has": ("config.json", json.dumps({**config, "decoder_layers": 10**7})),
        "belongs to another model": ("config.json", json.dumps({**config, "encoder_layers": 2})),
        "cannot be loaded": (
            "config.json",
            json.dumps({**config, "model_type": "x", "auto_map": {"AutoConfig": "a.B"}}),
        ),
        "it must have lists of tokens": ("frame.json", '{"before": [], "after": ["</s>"], "prefix": []}'),
    }
    for expected, (name, text) in cases.items():
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        shutil.copytree(hf_run, tmp_path / "run")
        change(name, text)
        assert main(["evaluate", str(tmp_path / "run")]) == 2
        errors = capfd.readouterr().err.splitlines()
        assert len(errors) == 1
        assert expected in errors[0]


def test_a_missing_package_is_one_line(
    hf_config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from importlib.metadata import PackageNotFoundError

    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr("bangbang.hf.requirements.version", missing)
    assert train(hf_config, tmp_path / "run") == 2
    assert "model.kind = 'hf' needs transformers: pip install 'bangbang[hf]'" in capsys.readouterr().err
