"""What `MetricTrainer` reads: columns of every form as batches, and what is not understood in one line."""

from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
import transformers

from bangbang.errors import InputError
from bangbang.hf import MetricConfig, MetricTrainer, Policy, Stage
from bangbang.hf.collation import Collator
from bangbang.hf.predictions import of_bytes
from bangbang.hf.preparation import force_start
from bangbang.hf.tokens import Tokens
from bangbang.objectives import Rloo
from tests.hf.families import new_model
from tests.hf.tiny import ROWS, config, model_of, tokenizer_of, trainer


def collator_of(name: str, lengths: tuple[int, int] = (50, 20), **more: Any) -> Collator:
    model, tokenizer = model_of(name), tokenizer_of(name)
    force_start(model, tokenizer)
    return Collator(Policy(model, tokens=Tokens.of(model, tokenizer, "\n")), tokenizer, lengths, **more)


SOURCES, TARGETS = [row["source"] for row in ROWS[:3]], [row["target"] for row in ROWS[:3]]


def read(name: str, batch: dict[str, torch.Tensor], key: str) -> list[str]:
    kept = [[token for token in row if token not in (-100, 0)] for row in batch[key].tolist()]
    return [tokenizer_of(name).decode(row) for row in kept]


def test_sources_and_targets() -> None:
    batch = collator_of("t5")(ROWS[:3])
    expected = tokenizer_of("t5")(SOURCES, padding=True, return_tensors="pt")
    assert batch["input_ids"].tolist() == expected["input_ids"].tolist()
    assert batch["attention_mask"].tolist() == expected["attention_mask"].tolist()
    assert read("t5", batch, "labels") == [text + "</s>" for text in TARGETS]
    assert of_bytes(batch["texts"].tolist()) == [[text] for text in TARGETS]
    assert "references" not in batch


def test_what_tokenizers_put_before_targets_is_forced() -> None:
    model, tokenizer = model_of("bart"), tokenizer_of("bart")
    force_start(model, tokenizer)
    assert model.generation_config.forced_bos_token_id == 1
    batch = collator_of("bart")(ROWS[:3])
    assert read("bart", batch, "input_ids") == [f"<s>{text}</s>" for text in SOURCES]
    assert read("bart", batch, "labels") == [text + "</s>" for text in TARGETS]


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_causal_models_read_prompts_padded_on_the_left(name: str) -> None:
    start = "<s>" if name == "llama" else ""
    collator = collator_of(name, (60, 20))
    batch = collator(
        [{**row, "source": row["source"][:shorter]} for row, shorter in zip(ROWS, (50, 40, 30), strict=False)]
    )
    assert batch["attention_mask"][:, -1].tolist() == [1, 1, 1]
    assert batch["attention_mask"][2, 0] == 0
    cut = [text[:shorter] for text, shorter in zip(SOURCES, (50, 40, 30), strict=True)]
    assert read(name, batch, "input_ids") == [f"{start}{text}\n" for text in cut]
    plain = collator([{"prompt": a, "completion": b} for a, b in zip(cut, TARGETS, strict=True)])
    assert read(name, plain, "input_ids") == [start + text for text in cut]
    assert plain["labels"].tolist() == batch["labels"].tolist()


def test_several_references() -> None:
    collator = collator_of("t5")
    rows = [{"source": "a", "references": ["one clock", "two clocks"]}, {"source": "b", "references": ["a phone"]}]
    batch = collator(rows)
    assert read("t5", batch, "labels") == ["one clock</s>", "a phone</s>"]
    assert read("t5", {"r": batch["references"][:, 1]}, "r") == ["two clocks</s>", ""]
    assert of_bytes(batch["texts"].tolist()) == [["one clock", "two clocks"], ["a phone"]]
    own = collator([{**rows[0], "target": "two clocks"}])
    assert read("t5", own, "labels") == ["two clocks</s>"]


def test_absent_references_are_none(tmp_path: Path) -> None:
    made = trainer("t5", tmp_path)
    rows = [{"source": "a", "references": ["one", "two"]}, {"source": "b", "references": ["three"]}]
    batch = made.batch(made.data_collator(rows))
    assert batch.references.shape[1] == 2
    assert not batch.references[1, 1].any()
    assert batch.references[0, 1].any()


def test_chats() -> None:
    tokenizer = tokenizer_of("llama")
    template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{{ '</s>' if m['role'] == 'bot' else '' }}\n"
    template += "{% endfor %}{% if add_generation_prompt %}bot: {% endif %}"
    row = {"prompt": [{"role": "user", "content": "a clock"}], "completion": [{"role": "bot", "content": "tick"}]}
    with pytest.raises(InputError, match="chat template"):
        collator_of("llama")([row])
    tokenizer.chat_template = template
    try:
        batch = collator_of("llama")([row])
    finally:
        tokenizer.chat_template = None
    assert read("llama", batch, "input_ids") == ["user: a clock\nbot: "]
    assert read("llama", batch, "labels") == ["tick</s>"]
    assert of_bytes(batch["texts"].tolist()) == [["tick"]]


def test_token_ids() -> None:
    both = {"input_ids": [10, 11, 2], "labels": [12, 13, 2]}
    batch = collator_of("t5")([both, {"input_ids": [14, 2], "labels": [15, -100]}])
    assert batch["input_ids"].tolist() == [[10, 11, 2], [14, 2, 0]]
    assert batch["labels"].tolist() == [[12, 13, 2], [15, 2, -100]]
    whole = {"input_ids": [10, 11, 12, 13, 2], "labels": [-100, -100, 12, 13, 2]}
    batch = collator_of("gpt2")([whole, {"input_ids": [14, 15], "labels": [-100, 15]}])
    assert batch["input_ids"].tolist() == [[10, 11], [0, 14]]
    assert batch["labels"].tolist() == [[12, 13, 2], [15, 2, -100]]


def test_long_texts_are_cut() -> None:
    batch = collator_of("t5", (5, 4))(ROWS[:2])
    assert batch["input_ids"].shape == (2, 5)
    assert batch["input_ids"][:, -1].tolist() == [2, 2]
    assert batch["labels"].shape == (2, 4)
    assert batch["labels"][:, -1].tolist() == [2, 2]
    prompts = collator_of("gpt2", (5, 4))([{"prompt": SOURCES[0], "completion": "a"}])
    assert SOURCES[0].endswith(read("gpt2", prompts, "input_ids")[0])


def test_data_of_any_kind_of_dataset(tmp_path: Path) -> None:
    """Further columns are left out, as `Trainer` does."""
    table = datasets.Dataset.from_list([{**row, "number": at} for at, row in enumerate(ROWS)])
    for rows in (table, table.to_iterable_dataset(), [{**row, "number": None} for row in ROWS]):
        args = config(tmp_path, objective="mle", max_steps=1)
        made = MetricTrainer(model_of("t5"), args, train_dataset=rows, processing_class=tokenizer_of("t5"))
        made.train()
        assert made.state.global_step == 1


class Processor:
    """A tokenizer and a reader of images or sounds in one, as transformers has them."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)


def test_sounds(tmp_path: Path) -> None:
    model = new_model("whisper")
    extractor = transformers.WhisperFeatureExtractor(feature_size=4, chunk_length=1, hop_length=1000, n_fft=400)
    model.config.max_source_positions = 8
    processor = Processor(tokenizer=tokenizer_of("t5"), feature_extractor=extractor)
    sound = np.sin(np.arange(8000) / 20).astype(np.float32)
    rows = [{"audio": {"array": sound, "sampling_rate": 16000}, "text": "a clock"}, {"audio": sound, "text": "a"}]
    with torch.no_grad():
        model.resize_token_embeddings(320)
    made = MetricTrainer(model, config(tmp_path, max_steps=1), train_dataset=rows, processing_class=processor)
    batch = made.data_collator(rows)
    assert batch["input_features"].shape == (2, 4, 16)
    assert read("t5", batch, "labels") == ["a clock</s>", "a</s>"]
    made.train()
    assert made.evaluate(rows)["eval_loss"] > 0


def test_images(tmp_path: Path) -> None:
    model = new_model("vit-gpt2")
    model.decoder.resize_token_embeddings(320)
    reader = transformers.ViTImageProcessorPil(size={"height": 8, "width": 8})
    processor = Processor(tokenizer=tokenizer_of("t5"), image_processor=reader)
    rows = [{"image": np.full((9, 9, 3), shade, dtype=np.uint8), "text": "a clock"} for shade in (0, 255)]
    made = MetricTrainer(model, config(tmp_path, max_steps=1), train_dataset=rows, processing_class=processor)
    assert made.data_collator(rows)["pixel_values"].shape == (2, 3, 8, 8)
    made.train()
    assert made.evaluate(rows)["eval_loss"] > 0


def reward(prediction: str, references: list[str]) -> float:
    return 0.0


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"objective": "rlo"}, "'rlo' is not one of .* did you mean 'rloo'?"),
        ({"objective": 3}, "objective must be a name, a table or settings, not 3"),
        ({"objective": "rloo", "samples": 1}, "objective.samples must be at least 2, not 1"),
        ({"objective": "mle", "p_drop": 0.3}, "'p_drop' belongs to kind bbspg, and this is 'mle'"),
        ({"objective": {"kind": "bbspg", "p_dorp": 0.3}}, "unknown key 'p_dorp'; did you mean 'p_drop'?"),
        ({"p_drop": 1.5}, "objective.p_drop must be between 0 and 1"),
        ({"sampling": "leaps"}, "sampling: 'leaps' is not one of"),
        ({"reward": "rouge"}, "'rouge' is not one of 'rouge-n'"),
        ({"reward": 3}, "reward must be a name, settings, a reward or a function of texts, not 3"),
        ({"reward": reward}, "objective 'bbspg' needs per-token increments"),
        ({"reward": reward, "objective": "ocd"}, "objective 'ocd' needs per-token increments"),
        ({"stages": [{"objective": "mle"}]}, "stages, number 1: has no steps"),
        ({"stages": [{"steps": 2, "rate": 1}]}, "stages, number 1: unknown key 'rate'"),
        ({"stages": [Stage(0)]}, "stages, number 1: steps must be at least 1"),
        ({"stages": [Stage(2, objective="mle", p_drop=0.2)]}, "number 1: objective: 'p_drop' belongs to kind bbspg"),
        ({"stages": [Stage(2)], "max_steps": 3}, "max_steps is 3, the stages have 2"),
        ({"max_target_length": 0}, "max_target_length must be at least 1"),
        ({"label_smoothing_factor": 0.1}, "set objective=Mle\\(label_smoothing"),
    ],
)
def test_bad_settings_get_one_line(settings: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=told) as caught:
        config(tmp_path, **settings)
    assert "\n" not in str(caught.value)


def test_bad_data_gets_one_line(tmp_path: Path) -> None:
    args, tokenizer = config(tmp_path), tokenizer_of("t5")
    table = datasets.Dataset.from_list([{"source": "a", "summary": "b"}])
    for rows in (table, [{"source": "a", "summary": "b"}]):
        with pytest.raises(InputError, match="the columns source, summary is not understood; it must have source and"):
            MetricTrainer(model_of("t5"), args, train_dataset=rows, processing_class=tokenizer)
    with pytest.raises(InputError, match="a reference must be a text, not 3"):
        collator_of("t5")([{"source": "a", "target": 3}])
    with pytest.raises(InputError, match="has no references"):
        collator_of("t5")([{"source": "a", "references": []}])
    with pytest.raises(InputError, match="there is no prompt"):
        collator_of("gpt2")([{"input_ids": [10, 11], "labels": [10, 11]}])
    with pytest.raises(InputError, match="images need a processor"):
        collator_of("t5")([{"image": 0, "text": "a"}])


def test_bad_trainers_get_one_line(tmp_path: Path) -> None:
    from peft import LoraConfig, PromptTuningConfig

    with pytest.raises(InputError, match="args must be a MetricConfig, not Seq2SeqTrainingArguments"):
        MetricTrainer(model_of("t5"), transformers.Seq2SeqTrainingArguments(str(tmp_path), report_to=[]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="need a tokenizer as processing_class"):
        MetricTrainer(model_of("t5"), config(tmp_path))
    with pytest.raises(InputError, match="'blue' is not one of"):
        trainer("t5", tmp_path, metric="blue")
    with pytest.raises(InputError, match="no such folder"):
        MetricTrainer(str(tmp_path / "none"), config(tmp_path))
    prompts = PromptTuningConfig(task_type="SEQ_2_SEQ_LM", num_virtual_tokens=2)
    with pytest.raises(InputError, match="choose LoRA"):
        trainer("t5", tmp_path, peft_config=prompts)
    lora = LoraConfig(r=2, target_modules=["q"], task_type="SEQ_2_SEQ_LM")
    adapted = trainer("t5", tmp_path, peft_config=lora).model
    with pytest.raises(InputError, match="leave peft_config out"):
        trainer("t5", tmp_path, model=adapted, peft_config=lora)


def test_a_function_that_fails_gets_one_line(tmp_path: Path) -> None:
    for wrong, told in (
        (lambda a, b: float("nan"), "gives nan for the text"),
        (lambda a, b: "x", "fails for the text"),
    ):
        made = trainer("t5", tmp_path, objective=Rloo(samples=2), reward=wrong)
        with pytest.raises(InputError, match=told):
            made.compute_loss(made.model, made.data_collator(ROWS[:2]))


def test_the_settings_of_a_default_are_there() -> None:
    assert MetricConfig.objective == "bbspg"
