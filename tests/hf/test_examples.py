"""The examples run: from a folder to a model that `pipeline` opens, and from random weights to a reward that rises."""

from pathlib import Path

from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from examples import hf_cold_start, hf_finetune


def test_fine_tuning(tmp_path: Path) -> None:
    scores = hf_finetune.main(["--out", str(tmp_path), "--steps", "3", "1"])
    assert scores["eval_rouge-l"] >= 0
    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    inputs = tokenizer("For years this lamp", return_tensors="pt")
    assert len(model.generate(**inputs, max_new_tokens=4)) == 1


def test_fine_tuning_on_a_file(tmp_path: Path) -> None:
    data = tmp_path / "pairs.jsonl"
    data.write_text('{"source": "a long text", "target": "short"}\n' * 10)
    scores = hf_finetune.main(["--out", str(tmp_path / "out"), "--steps", "1", "1", "--data", str(data)])
    assert 0 <= scores["eval_rouge-l"] <= 100
    assert (tmp_path / "out" / "model.safetensors").is_file()


def test_a_cold_start() -> None:
    rewards = hf_cold_start.main(["--steps", "20", "--p-drop", "0.2"])
    assert len(rewards) == 2
    assert all(0 < reward <= 1 for reward in rewards)
