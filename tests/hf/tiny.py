"""Tiny random models with tokenizers, and trainers of them: what the tests of `MetricTrainer` share."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from bangbang.hf import MetricConfig, MetricTrainer
from bangbang.hf.loading import quiet
from tests.conftest import sentence
from tests.hf.families import BART, GPT2, GROUPED, T5

SIZE = 328  # more rows than the tokenizer has tokens
TEMPLATES = {"t5": "$A </s>", "bart": "<s> $A </s>", "gpt2": "", "llama": "<s> $A"}
ROWS = [dict(zip(("source", "target"), sentence(number), strict=True)) for number in range(12)]
BUILD: dict[str, Callable[[], Any]] = {
    "t5": lambda: transformers.T5ForConditionalGeneration(
        transformers.T5Config(**{**T5, "vocab_size": SIZE, "dropout_rate": 0.0})
    ),
    "bart": lambda: transformers.BartForConditionalGeneration(
        transformers.BartConfig(
            **{**BART, "vocab_size": SIZE, "max_position_embeddings": 128, "decoder_start_token_id": 2}
        )
    ),
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            **{**GPT2, "vocab_size": SIZE, "n_positions": 128},
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    ),
    "llama": lambda: transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**{**GROUPED, "vocab_size": SIZE, "max_position_embeddings": 128})
    ),
}


@cache
def tokenizer_of(name: str) -> Any:
    """A byte-level tokenizer that puts around texts what those of the family do."""
    specials = ["<pad>", "<s>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([text for number in range(30) for text in sentence(number)], trainer)
    if TEMPLATES[name]:
        known = [("<s>", 1), ("</s>", 2)]
        tokenizer.post_processor = processors.TemplateProcessing(TEMPLATES[name], special_tokens=known)
    names = dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), specials, strict=True))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)


def model_of(name: str, spread: float = 0.0) -> Any:
    """`spread`: the deviation of its weights; as they are initialised, all tokens are nearly as likely."""
    torch.manual_seed(0)
    with quiet():
        model = BUILD[name]()
    if spread:
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.data.normal_(0, spread)
    return model


def config(folder: Path, **settings: Any) -> MetricConfig:
    """A short training on this machine's processor, which writes nothing unless told so."""
    plain = {
        "max_steps": -1 if "stages" in settings else 2,
        "per_device_train_batch_size": 4,
        "logging_steps": 1,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "save_strategy": "no",
        "max_target_length": 6,
        "learning_rate": 0.01,
    }
    return MetricConfig(str(folder), **{**plain, **settings})


def trainer(name: str, folder: Path, model: Any = None, rows: Any = None, **settings: Any) -> MetricTrainer:
    own = {key: settings.pop(key) for key in ("callbacks", "peft_config", "compute_metrics") if key in settings}
    rows = ROWS if rows is None else rows
    return MetricTrainer(
        model_of(name) if model is None else model,
        config(folder, **settings),
        train_dataset=rows,
        eval_dataset=rows[:4],
        processing_class=tokenizer_of(name),
        **own,
    )


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {key: value.detach().clone() for key, value in model.state_dict().items()}


def losses(trained: Any) -> list[float]:
    """Of each step."""
    return [line["loss"] for line in trained.state.log_history if "loss" in line]
