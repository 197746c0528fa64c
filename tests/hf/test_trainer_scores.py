"""What `MetricTrainer.evaluate` and `predict` report: scores of texts, as `bangbang.metrics` has them."""

from pathlib import Path
from typing import Any

import pytest
import torch

from bangbang.hf.predictions import metric_of, texts_of
from bangbang.hf.text_reward import TextReward
from bangbang.metrics import Rouge, SacreBleu, estimates
from bangbang.metrics.settings import RougeSettings
from tests.hf.tiny import ROWS, model_of, tokenizer_of, trainer


@pytest.mark.parametrize("name", ["t5", "bart", "gpt2"])
def test_scores_are_those_of_the_texts(name: str, tmp_path: Path) -> None:
    """References are made of what the model writes, so that there is something to find."""
    made = trainer(name, tmp_path, model=model_of(name, spread=0.5), metric=["rouge", "bleu"], max_target_length=8)
    written = texts_of(tokenizer_of(name), made.predict(ROWS[:4]).predictions)
    assert len({*written}) > 1
    rows = [
        {"source": row["source"], "references": [text + " a clock", "a phone"]}
        for row, text in zip(ROWS, written, strict=False)
    ]
    scores = made.evaluate(rows)
    references = [row["references"] for row in rows]
    rouge = Rouge().corpus(written, references, None)
    assert scores["eval_rouge-l"] == 100 * rouge["rouge-l"].f1.value
    assert scores["eval_rouge-1"] == 100 * rouge["rouge-1"].f1.value > 0
    bleu = SacreBleu("bleu")
    assert scores["eval_bleu"] == estimates(bleu, bleu.statistics(written, references), None)[0].value


@pytest.mark.parametrize("name", ["t5", "bart", "gpt2", "llama"])
def test_what_is_written_is_what_generate_writes(name: str, tmp_path: Path) -> None:
    """Of causal models without the prompt; by beam search where asked for."""
    made = trainer(name, tmp_path, model=model_of(name, spread=0.5), generation_num_beams=2)
    found = texts_of(tokenizer_of(name), made.predict(ROWS[:3]).predictions)
    for row, text in zip(ROWS, found, strict=False):
        inputs = made.data_collator([row])
        read = {key: inputs[key] for key in ("input_ids", "attention_mask")}
        given = inputs["input_ids"].shape[1] if name in ("gpt2", "llama") else 0
        whole = made.model.generate(**read, num_beams=2, max_new_tokens=6 + (name == "bart"), pad_token_id=0)
        expected = tokenizer_of(name).decode(whole[0, given:], skip_special_tokens=True).strip()
        assert text == expected


def test_the_loss_is_that_of_the_references(tmp_path: Path) -> None:
    made = trainer("t5", tmp_path, model=model_of("t5", spread=0.5))
    batch = made.data_collator(ROWS[:4])
    inputs = {key: batch[key] for key in ("input_ids", "attention_mask", "labels")}
    with torch.no_grad():
        expected = made.model(**inputs, decoder_input_ids=shifted(inputs["labels"])).loss
    assert made.evaluate()["eval_loss"] == pytest.approx(float(expected), rel=1e-5)


def shifted(labels: torch.Tensor) -> torch.Tensor:
    return torch.cat((torch.ones_like(labels[:, :1]), labels[:, :-1].clamp(min=0)), 1)


def test_a_users_own_scores_come_too(tmp_path: Path) -> None:
    seen: list[Any] = []

    def own(found: Any) -> dict[str, float]:
        seen.append(found.label_ids)
        return {"mine": 1.0}

    made = trainer("t5", tmp_path, compute_metrics=own, metric=None)
    scores = made.evaluate()
    assert scores["eval_mine"] == 1
    assert "eval_rouge-l" not in scores
    assert seen[0].shape == (4, 6)
    assert seen[0].tolist() == made.data_collator(ROWS[:4])["labels"].tolist()


def test_without_generation_there_is_the_loss_alone(tmp_path: Path) -> None:
    scores = trainer("t5", tmp_path, predict_with_generate=False).evaluate()
    assert "eval_loss" in scores
    assert "eval_rouge-l" not in scores


def test_the_best_model_is_found_by_a_score(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"metric_for_best_model": "rouge-l", "load_best_model_at_end": True}
    made = trainer("t5", tmp_path, eval_strategy="steps", eval_steps=1, save_strategy="steps", save_steps=1, **settings)
    made.train()
    assert made.state.best_metric is not None
    assert made.state.best_model_checkpoint is not None


def test_metrics_by_name_as_settings_and_as_they_are() -> None:
    assert metric_of(None) is None
    for value in ("rouge", RougeSettings(), Rouge()):
        metric = metric_of(value)
        assert metric is not None
        assert metric.names == ("rouge-1", "rouge-2", "rouge-3", "rouge-l")
    several = metric_of(["rouge", "wer"])
    assert several is not None
    assert several.names[-2:] == ("wer", "per")


def test_a_function_of_texts_is_asked_of_whole_texts() -> None:
    """Rows keep their references when they are chosen; after the end nothing is added."""

    def decode(rows: list[list[int]]) -> list[str]:
        return ["".join(chr(token) for token in row if token > 3) for row in rows]

    def same(prediction: str, references: list[str]) -> float:
        return 10.0 * references.count(prediction) + len(references)

    references = torch.tensor([[[97, 98, 2], [98, 2, 0]], [[99, 2, 0], [0, 0, 0]]])
    state = TextReward(same, decode).start(references)
    assert state.value().tolist() == [0, 0]
    state = state.select(torch.tensor([0, 0, 1]))
    for tokens in ([97, 98, 99], [98, 2, 2], [2, 97, 97]):
        state.advance(torch.tensor(tokens))
    assert state.value().tolist() == [12, 12, 11]
    assert state.loss_weight().tolist() == [12, 12, 11]
    assert state.select(torch.tensor([False, True, True])).value().tolist() == [12, 11]
