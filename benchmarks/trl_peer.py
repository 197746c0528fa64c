"""A step of TRL's RLOO trainer on the model and the prompts of `bench hf`. It takes models without an encoder only."""

import argparse
import tempfile
import time
from importlib.util import find_spec
from typing import Any

from bangbang.hf.loading import quiet
from bangbang.symbols import SYMBOLS
from benchmarks.contenders import random_batch
from benchmarks.hf_contenders import build_policy


def missing(arguments: argparse.Namespace) -> str:
    """Why TRL cannot be measured here, or nothing."""
    if find_spec("trl") is None:
        return "trl is not installed"
    return "" if arguments.family == "gpt2" else "TRL trains no models with an encoder; --family gpt2"


class TrlContender:
    """One optimiser step a call: completions, rewards of texts, loss, update. Time outside of the step is left out."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        import datasets
        from transformers import PrinterCallback, TrainerCallback
        from trl import RLOOConfig, RLOOTrainer

        policy, tokenizer = build_policy(arguments), word_tokenizer(arguments.vocab)
        batch = random_batch(argparse.Namespace(**vars(arguments), model="attention_gru"))
        prompts = [f"{tokenizer.decode(row)} <s>" for row in batch.source.tolist()]
        samples, self.times = arguments.samples, list[tuple[float, float]]()
        outer = self

        class Clock(TrainerCallback):  # type: ignore[misc]
            def on_step_begin(self, *given: Any, **named: Any) -> None:
                outer.began = time.perf_counter(), time.process_time()

            def on_step_end(self, *given: Any, **named: Any) -> None:
                wall, processor = outer.began
                outer.times.append((time.perf_counter() - wall, time.process_time() - processor))

        def reward(completions: list[str], **others: Any) -> list[float]:
            return [float(len(set(text.split()))) for text in completions]

        self.folder = tempfile.TemporaryDirectory()
        settings = {
            "per_device_train_batch_size": arguments.batch * samples,
            "num_generations": samples,
            "max_completion_length": arguments.max_length,
            "max_steps": 1,
            "learning_rate": 1e-12,
            "beta": 0.0,
            "report_to": "none",
            "save_strategy": "no",
            "use_cpu": True,
            "bf16": False,
            "disable_tqdm": True,
            "gradient_checkpointing": False,
        }
        with quiet():
            self.trainer = RLOOTrainer(
                model=policy.inner,
                reward_funcs=reward,
                args=RLOOConfig(self.folder.name, **settings),
                train_dataset=datasets.Dataset.from_dict({"prompt": prompts}),
                processing_class=tokenizer,
                callbacks=[Clock()],
            )
        self.trainer.remove_callback(PrinterCallback)  # standard output is for the numbers

    def step(self) -> None:
        with quiet():
            self.trainer.train()


def word_tokenizer(size: int) -> Any:
    """A tokenizer of as many words as the vocabulary has, in our ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {name: number for number, name in enumerate([*SYMBOLS, *(f"w{n}" for n in range(len(SYMBOLS), size))])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=SYMBOLS[3]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), SYMBOLS, strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="left", **names)
