"""A config's training by transformers alone: `Seq2SeqTrainer`, and the loss that the model itself gives for labels.

The run folder that it makes is one like any other, for `tune`, `evaluate` and `report`. Model, first weights, pairs,
sizes of batches, steps, rate and schedule are those of the config, and so is the choice of the best weights by
validation. All else is transformers': the loop, the optimiser, the order of the pairs (of like lengths together).

examples:
  python -m benchmarks.plain_trainer configs/hf-debian.toml --out runs/hf-debian-plain
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import PrinterCallback, Seq2SeqTrainer, Seq2SeqTrainingArguments, TrainerCallback

from bangbang import config as configs
from bangbang.config import Config
from bangbang.data import Split, prepare
from bangbang.hf import Policy
from bangbang.hf.loading import quiet
from bangbang.metrics.metric import is_better
from bangbang.products import by_widest_instructions
from bangbang.randomness import seed_for
from bangbang.tasks.scores import quick
from bangbang.training import Run, checkpoint
from bangbang.training.checkpoint import Progress
from bangbang.training.evaluation import decode_split
from bangbang.training.journal import Journal
from bangbang.training.optimizer import build_optimizer
from benchmarks.hf_contenders import plain_inputs

ARGUMENTS = {"report_to": [], "save_strategy": "no", "use_cpu": True, "disable_tqdm": True}


class Pairs(torch.utils.data.Dataset[dict[str, Any]]):
    """A split's examples by their numbers; a collator makes the batches."""

    def __init__(self, split: Split) -> None:
        self.lengths = (split.target_lengths.astype(int) * 1000 + split.source_lengths).tolist()

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {"number": number, "input_ids": range(self.lengths[number])}  # as long as the sampler is to believe


class Validation(TrainerCallback):  # type: ignore[misc]  # it has no types
    """Every so many steps: scores of the validation split, a checkpoint, a line. Time spent on it is not counted."""

    def __init__(self, run: Run, policy: Policy, split: Split) -> None:
        self.run, self.policy, self.split, self.progress = run, policy, split, Progress()
        self.journal, self.began, self.aside = Journal(run.folder, 0), 0.0, 0.0
        self.optimizer = build_optimizer(policy.parameters(), run.config.optimizer)  # whose state is not kept

    def on_train_begin(self, *given: Any, **named: Any) -> None:
        self.began = time.process_time()

    def on_step_end(self, arguments: Any, state: Any, control: Any, **named: Any) -> None:
        limits, step = self.run.config.training, state.global_step
        if step % limits.validate_every and step != state.max_steps:
            return
        stopped = time.process_time()
        seconds = stopped - self.began - self.aside
        self.policy.eval()
        found = decode_split(self.run, self.policy, self.split, self.run.config.decoding, limits.validation_examples)
        self.policy.train()
        scores, metric = quick(self.run.task.metric, found.outputs, found.references), self.run.config.metric
        last = self.progress.best_score
        better = not self.progress.has_best or is_better(self.run.task.metric, metric, scores[metric], last)
        self.progress = Progress(
            step=step,
            seconds=seconds,
            best_step=step if better else self.progress.best_step,
            best_score=scores[metric] if better else last,
            validations=self.progress.validations + 1,
            validated_step=step,
        )
        if not self.run.checkpoints.exists():
            self.policy.keep(self.run.model_folder)
        checkpoint.save(self.run.checkpoints, self.policy, self.optimizer, self.progress, self.run.origin)
        self.journal.record("valid", step, {"seconds": seconds, **scores})
        print(f"step {step}: {metric} {scores[metric]:.2f}, {seconds / 60:.1f} minutes", flush=True)
        self.aside += time.process_time() - stopped


def train(config: Config, folder: Path) -> Run:
    by_widest_instructions()
    corpus = prepare(config.data, config.vocabulary, config.source_vocabulary)
    assert corpus is not None
    run, pairs, settings = Run.create(folder, config, corpus), corpus.split("train"), config.optimizer
    torch.manual_seed(seed_for(config.training.seed, "weights"))
    policy = run.build_model()
    assert isinstance(policy, Policy)

    def collate(rows: list[dict[str, Any]]) -> dict[str, Tensor]:
        numbers = torch.tensor([row["number"] for row in rows]).numpy()
        return plain_inputs(policy, pairs.batch(numbers))

    with quiet(), tempfile.TemporaryDirectory() as place:
        trainer = Seq2SeqTrainer(
            policy.inner,
            Seq2SeqTrainingArguments(
                place,
                max_steps=config.max_steps,
                per_device_train_batch_size=config.training.batch_size,
                learning_rate=settings.learning_rate,
                weight_decay=settings.weight_decay,
                warmup_steps=settings.warmup_steps,
                lr_scheduler_type={"cosine": "cosine", "none": "constant_with_warmup"}[settings.decay],
                max_grad_norm=settings.clip_norm,
                seed=config.training.seed,
                train_sampling_strategy="group_by_length",
                remove_unused_columns=False,
                logging_steps=config.training.log_every,
                **ARGUMENTS,
            ),
            collate,
            Pairs(pairs),
            callbacks=[Validation(run, policy, corpus.split("valid"))],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return run


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="a TOML file of an encoder-decoder, without stages")
    parser.add_argument("--out", type=Path, required=True, metavar="RUN", help="the run folder")
    parser.add_argument("--set", action="append", default=[], metavar="TABLE.KEY=VALUE", help="change a setting")
    given = parser.parse_args(words)
    train(configs.read(given.config, given.set), given.out)


if __name__ == "__main__":
    main()
