"""`bangbang export`: what it writes is opened by transformers alone, and says the same."""

import json
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from safetensors import SafetensorError

from bangbang.cli.main import main
from bangbang.decoding import generate
from bangbang.decoding.settings import DecodingSettings
from bangbang.hf import Policy
from bangbang.hf.loading import quiet
from bangbang.training import Run
from tests.hf.test_training import tokenizer_settings, train

TEXTS = ["This package is a small clock.", "It was made to be fast and to last, in Zürich ☃"]


@pytest.fixture(scope="module")
def exported(hf_run: Path) -> Path:
    folder = hf_run.parent / "exported"
    assert main(["export", str(hf_run), str(folder), "--checkpoint", "last"]) == 0
    return folder


def opened(run: Path) -> tuple[Run, Policy]:
    found = Run.open(run)
    policy = found.load_model("last")
    assert isinstance(policy, Policy)
    return found, policy


def test_the_folder_opens_and_says_the_same(hf_run: Path, exported: Path) -> None:
    run, policy = opened(hf_run)
    with quiet():
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(exported).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    inputs = tokenizer(TEXTS, return_tensors="pt", padding=True, truncation=True)
    sources = run.encode_sources(TEXTS)
    lengths = torch.tensor([len(source) for source in sources])
    ours = torch.nn.utils.rnn.pad_sequence([torch.tensor(source) for source in sources], batch_first=True)
    expected = policy.template.inputs(ours, lengths, policy.alphabet, policy.tokens.filler).tensors
    assert inputs["input_ids"].tolist() == expected["input_ids"].tolist()
    assert inputs["attention_mask"].tolist() == expected["attention_mask"].tolist()
    read = torch.tensor([[1, 9, 10], [1, 11, 12]])
    with torch.no_grad():
        logits = [each(**expected, decoder_input_ids=read).logits for each in (model, policy.inner)]
        assert torch.equal(*logits)
        written = model.generate(**inputs)
    found = tokenizer.batch_decode(written, skip_special_tokens=True)
    greedy = generate(policy, sources, DecodingSettings(dup=False, unknown=True), run.config.data.max_target_length)
    assert found == [run.vocabulary.decode(ranked[0].tokens) for ranked in greedy]


def test_the_card_states_data_method_scores_and_signature(exported: Path) -> None:
    card = (exported / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers")
    for told in ("40 training examples", "MLE → SPG 0.4", "rewarded by rouge", "| rouge-l |", "rouge|as:1.5.5", "±"):
        assert told in card
    assert 'family = "bart"' in card
    assert "AutoModelForSeq2SeqLM" in card
    assert str(exported.parent) not in card


def test_a_model_without_an_encoder_goes_through_a_pipeline(hf_config: Path, tmp_path: Path) -> None:
    family = '{family = "gpt2", n_embd = 16, n_layer = 1, n_head = 2, n_positions = 64}'
    settings = [f"model.from_scratch={family}", "training.max_steps=3", "training.validate_every=3"]
    assert train(hf_config, tmp_path / "run", *settings) == 0
    assert main(["export", str(tmp_path / "run"), str(tmp_path / "model"), "--no-scores"]) == 0
    run, policy = opened(tmp_path / "run")
    with quiet():
        pipe = transformers.pipeline("text-generation", model=str(tmp_path / "model"), device="cpu")
        found = pipe(TEXTS[0], return_full_text=False)[0]["generated_text"]
    config = DecodingSettings(dup=False, unknown=True)
    (ranked,) = generate(policy, run.encode_sources(TEXTS[:1]), config, run.config.data.max_target_length)
    assert found == run.vocabulary.decode(ranked[0].tokens)
    assert "| metric |" not in (tmp_path / "model" / "README.md").read_text()


def test_adapters_are_merged(hf_config: Path, hf_folder: Path, tmp_path: Path) -> None:
    lora = 'model.lora={r = 2, target_modules = ["q_proj", "v_proj"]}'
    settings = [*tokenizer_settings(hf_folder), lora, "training.max_steps=3", "decoding.method=beam"]
    assert train(hf_config, tmp_path / "run", *settings) == 0
    assert main(["export", str(tmp_path / "run"), str(tmp_path / "model"), "--split", "valid", "--limit", "2"]) == 0
    with quiet():
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model").eval()
    _, policy = opened(tmp_path / "run")
    inputs = {"input_ids": torch.tensor([[1, 20, 21, 2]]), "decoder_input_ids": torch.tensor([[2, 1, 30]])}
    with torch.no_grad():
        torch.testing.assert_close(model(**inputs).logits, policy.inner(**inputs).logits, rtol=0, atol=1e-5)
    decoding = json.loads((tmp_path / "model" / "generation_config.json").read_text())
    assert (decoding["num_beams"], decoding["forced_bos_token_id"]) == (4, 1)
    assert (tmp_path / "model" / "tokenizer.json").exists()
    assert "On 2 examples of the valid split" in (tmp_path / "model" / "README.md").read_text()


def test_bad_calls_get_one_line(
    hf_run: Path, tiny_run: Path, exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(hf_run, damaged)
    (damaged / "corpus.json").write_text("{}")
    calls = {
        "corpus.json: damaged (corpus, splits)": [damaged, tmp_path / "model", "--no-scores"],
        "is there already": [hf_run, exported],
        "is no model of transformers": [tiny_run, tmp_path / "model"],
        "not a run": [tmp_path, tmp_path / "model"],
        "no checkpoint": [hf_run, tmp_path / "model", "--checkpoint", "77"],
        "cannot be written": [hf_run, Path("/proc/nothing/model"), "--no-scores"],
    }
    for expected, words in calls.items():
        capsys.readouterr()
        assert main(["export", *map(str, words)]) == 2
        error = capsys.readouterr().err
        assert expected in error
        assert len(error.splitlines()) == 1
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        SafetensorError("I/O error: No space left on device (os error 28)"),
        Exception("No space left on device (os error 28)"),  # the tokenizers library's
    ],
)
def test_nothing_is_left_of_an_export_that_fails(
    error: Exception,
    hf_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*arguments: object, **named: object) -> None:
        raise error

    monkeypatch.setattr(transformers.PreTrainedTokenizerFast, "save_pretrained", full)
    assert main(["export", str(hf_run), str(tmp_path / "model"), "--no-scores"]) == 2
    assert "No space left" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
