"""`MetricTrainer` against transformers' own Trainer and against `Policy`: loss, accumulation, resume, stages."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments, TrainerCallback

from bangbang.hf import MetricConfig, MetricTrainer, Stage
from bangbang.objectives import BangBang, Mle, Rloo
from bangbang.randomness import seed_for
from bangbang.rewards import Dup, RougeL, Sum
from tests.hf.tiny import ROWS, config, losses, model_of, tokenizer_of, trainer, weights


def tokenised(name: str) -> list[dict[str, Any]]:
    """As a fine-tuning script makes them: of causal models, the prompt's labels are -100."""
    tokenizer, rows = tokenizer_of(name), []
    for row in ROWS:
        if name == "t5":
            target = tokenizer(text_target=row["target"])["input_ids"][-3 - len(rows) % 4 :]  # of several lengths
            rows.append({**tokenizer(row["source"]), "labels": target})
            continue
        prompt = tokenizer(row["source"])["input_ids"]
        target = [*tokenizer(row["target"])["input_ids"][:4], 2]
        labels = [-100] * len(prompt) + target
        rows.append({"input_ids": prompt + target, "attention_mask": [1] * len(labels), "labels": labels})
    for row in rows:
        row.pop("token_type_ids", None)
    return rows


def script(name: str, folder: Path, ours: bool, batch: int = 4, parts: int = 1, **settings: Any) -> Any:
    """A fine-tuning script. `ours`: with the three lines changed."""
    kind, arguments, more = Seq2SeqTrainer, Seq2SeqTrainingArguments, {}
    if ours:
        kind, arguments, more = MetricTrainer, MetricConfig, {"objective": "mle", **settings}
    args = arguments(
        str(folder),
        max_steps=2,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=parts,
        learning_rate=0.01,
        logging_steps=1,
        max_grad_norm=0.0,
        optim="sgd",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        save_strategy="no",
        **more,
    )
    tokenizer = tokenizer_of(name)
    trained = kind(
        model_of(name),
        args,
        train_dataset=tokenised(name),
        data_collator=DataCollatorForSeq2Seq(tokenizer),
        processing_class=tokenizer,
    )
    trained.train()
    return trained


@pytest.mark.parametrize("name", ["t5", "gpt2"])
def test_maximum_likelihood_is_that_of_seq2seq_trainer(name: str, tmp_path: Path) -> None:
    """Three lines of a script are changed; with its own objective it computes what it did before."""
    theirs, ours = script(name, tmp_path, False), script(name, tmp_path, True)
    assert losses(ours) == pytest.approx(losses(theirs), rel=1e-5)
    expected = weights(theirs.model)
    for key, found in weights(ours.model).items():
        torch.testing.assert_close(found, expected[key], rtol=1e-4, atol=1e-6)
    before = weights(model_of(name))
    assert any(not torch.equal(before[key], expected[key]) for key in before)


@pytest.mark.parametrize(
    "objective",
    [Mle(), Mle(normalizer="sequences"), BangBang(p_drop=0.0, weight_by_reward=False)],
    ids=["tokens", "sequences", "reward"],
)
def test_accumulation_is_one_large_batch(objective: Any, tmp_path: Path) -> None:
    whole = script("t5", tmp_path, True, objective=objective)
    parts = script("t5", tmp_path, True, batch=1, parts=4, objective=objective)
    assert losses(parts) == pytest.approx(losses(whole), rel=1e-5)
    expected = weights(whole.model)
    for key, found in weights(parts.model).items():
        torch.testing.assert_close(found, expected[key], rtol=1e-4, atol=1e-6)


def test_transformers_own_accumulation_is_not(tmp_path: Path) -> None:
    """Why `loss_is_scaled_for_ga` is set: T5's own loss ignores the number of tokens it is handed."""
    whole, parts = script("t5", tmp_path, False), script("t5", tmp_path, False, batch=1, parts=4)
    ratio = losses(parts)[0] / losses(whole)[0]
    if ratio == pytest.approx(1, rel=0.1):
        pytest.skip(f"transformers {transformers.__version__} scales it")
    assert ratio == pytest.approx(4, rel=0.1)


def test_one_batch_is_the_loss_of_policy(tmp_path: Path) -> None:
    made = trainer("t5", tmp_path, objective=Rloo(samples=3))
    batch = made.data_collator(ROWS[:3])
    found = made.compute_loss(made.model, batch).detach()
    objective = made.curriculum.objective(0, 0, False)
    expected, _ = made.policy.loss(made.batch(batch), objective, 0, seed_for(42, "stage", 0, 0))
    assert float(found) == float(expected.detach()) != 0
    assert float(made.compute_loss(made.model, batch).detach()) != float(found)  # the step's second micro-batch


@pytest.mark.parametrize("name", ["bart", "llama"])
def test_a_training_that_was_interrupted_equals_one_that_was_not(name: str, tmp_path: Path) -> None:
    """With dropout, accumulation, samples and stages; stopped in the middle of the second stage."""
    stages = [{"steps": 1, "objective": "mle"}, Stage(3, objective=Rloo(kl=0.1), samples=2, reward="rouge-l")]
    settings: dict[str, Any] = {
        "stages": stages,
        "save_strategy": "steps",
        "save_steps": 2,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 2,
    }
    whole = trainer(name, tmp_path / "whole", **settings)
    whole.train()
    again = trainer(name, tmp_path / "whole", **settings)
    again.train(resume_from_checkpoint=str(tmp_path / "whole" / "checkpoint-2"))
    assert again.state.global_step == 4
    expected = weights(whole.model)
    assert all(torch.equal(found, expected[key]) for key, found in weights(again.model).items())


def test_stages(tmp_path: Path) -> None:
    """Each has its objective, its reward, and a learning rate that falls to 0 within it."""
    seen: list[tuple[str, float]] = []
    made = trainer(
        "t5",
        tmp_path,
        lr_scheduler_type="linear",
        p_drop=0.3,
        stages=[Stage(2, objective="mle"), Stage(2, learning_rate=0.001, reward="rouge-l")],
    )
    first, second = made.curriculum.legs
    assert (first.objective.kind, second.objective) == ("mle", BangBang(p_drop=0.3))
    assert second.reward.kind == "rouge-l"

    class Watch(TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "loss" in logs:
                seen.append(("reward" if "reward" in logs else "", logs["learning_rate"]))

    made.add_callback(Watch())
    made.train()
    assert seen == [
        ("", pytest.approx(0.01)),
        ("", pytest.approx(0.005)),
        ("reward", pytest.approx(0.001)),
        ("reward", pytest.approx(0.0005)),
    ]


def test_what_a_stage_began_with_is_compared_with(tmp_path: Path) -> None:
    """A large β, a reward that all texts earn alike: only the start pulls, and at first not at all."""
    made = trainer("t5", tmp_path, objective=Rloo(samples=2, kl=100.0), reward=lambda text, references: 1.0)
    batch = made.data_collator(ROWS[:3])
    assert abs(float(made.compute_loss(made.model, batch).detach())) < 1e-4
    with torch.no_grad():
        made.model.shared.weight.add_(torch.randn_like(made.model.shared.weight))
    assert abs(float(made.compute_loss(made.model, batch).detach())) > 1
    assert (tmp_path / "stage-1-start.safetensors").is_file()


def test_rewards_of_every_kind(tmp_path: Path) -> None:
    def shorter(prediction: str, references: list[str]) -> float:
        return -abs(len(prediction) - len(references[0]))

    asked: list[dict[str, Any]] = [
        {"reward": "rouge-l"},
        {"reward": {"kind": "rouge-n", "max_n": 2}},
        {"reward": Sum(RougeL(), Dup())},
        {"reward": "cider-d"},
        {"reward": {"kind": "edit-distance", "unit": "character"}},
        {"reward": shorter, "objective": "rloo", "samples": 2},
        {"reward": shorter, "objective": "mrt", "samples": 2},
        {"reward": shorter, "objective": "scst"},
    ]
    for settings in asked:
        made = trainer("t5", tmp_path, **settings, save_strategy="steps", save_steps=1, max_steps=1)
        made.train()
        assert torch.tensor(losses(made)).isfinite().all()
        assert "reward" in json.loads((tmp_path / "checkpoint-1" / "trainer_state.json").read_text())["log_history"][0]
    assert made.args.to_dict()["reward"].endswith("shorter")


def test_adapters_alone_are_trained(tmp_path: Path) -> None:
    from peft import LoraConfig

    made = trainer("t5", tmp_path, peft_config=LoraConfig(r=2, target_modules=["q", "v"], task_type="SEQ_2_SEQ_LM"))
    before = weights(made.model)
    made.train()
    changed = {key for key, value in weights(made.model).items() if not torch.equal(value, before[key])}
    assert changed and all("lora_" in key for key in changed)
    scores = made.evaluate()
    assert scores["eval_rouge-l"] >= 0
    made.save_model(str(tmp_path / "saved"))
    assert (tmp_path / "saved" / "adapter_model.safetensors").is_file()


@pytest.mark.parametrize(
    ("settings", "tolerance"),
    [({"bf16": True}, 0.1), ({"gradient_checkpointing": True}, 1e-5), ({"sampling": "passes"}, 1e-5)],
    ids=["bf16", "checkpointing", "passes"],
)
def test_other_ways_to_compute(settings: dict[str, Any], tolerance: float, tmp_path: Path) -> None:
    plain, other = trainer("t5", tmp_path), trainer("t5", tmp_path, **settings)
    plain.train()
    other.train()
    assert losses(other) == pytest.approx(losses(plain), rel=tolerance)


def test_lower_precision_ends_with_the_training(tmp_path: Path) -> None:
    """Though the loss calls the model, and the one it started from, many times within one `forward`."""
    made = trainer("t5", tmp_path, bf16=True, objective=Rloo(samples=2, kl=0.1), max_steps=1)
    made.train()
    made.evaluate()
    assert not torch.is_autocast_enabled("cpu")


def test_settings_come_from_a_command_line(tmp_path: Path) -> None:
    words = f"--output_dir {tmp_path} --objective rloo --samples 3 --reward rouge-l --report_to none"
    (found,) = transformers.HfArgumentParser(MetricConfig).parse_args_into_dataclasses(words.split())
    assert found.legs()[0].objective == Rloo(samples=3)
    assert found.legs()[0].reward.kind == "rouge-l"


def test_settings_can_be_given_as_they_are(tmp_path: Path) -> None:
    (leg,) = config(tmp_path, objective=BangBang(p_drop=0.2, ties="reference"), p_drop=0.5).legs()
    assert leg.objective == BangBang(p_drop=0.5, ties="reference")
