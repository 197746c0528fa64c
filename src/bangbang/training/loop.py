"""The training loop.

Data order and noise are functions of (seed, step, rank), and the learning rate is one of the step, so that a run is
resumed from weights, optimiser state and a step number alone, and equals one that was never interrupted.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import Tensor, nn

from bangbang import config as configs
from bangbang.config import Config
from bangbang.data import Batch, Corpus, prepare, spread
from bangbang.errors import InputError
from bangbang.models import ShowAndTell
from bangbang.objectives import Diagnostics, Objective
from bangbang.randomness import seed_for
from bangbang.training import checkpoint
from bangbang.training.checkpoint import Progress
from bangbang.training.clipping import clip_gradients
from bangbang.training.evaluation import decode_split
from bangbang.training.interval import Interval
from bangbang.training.journal import Example, Journal
from bangbang.training.learner import Learner
from bangbang.training.monitor import Monitor
from bangbang.training.optimizer import build_optimizer, learning_rate
from bangbang.training.reward import run_reward
from bangbang.training.run import Run
from bangbang.training.scoring import scorer_for
from bangbang.training.stopping import StopRequest
from bangbang.training.stream import BatchStream

# What may change when a run is resumed: how long it goes on, not what it is.
BUDGET = {"training.max_steps", "training.max_minutes", "training.patience", "training.keep_checkpoints"}
SAMPLES = 10
OBSERVED_IMAGES = 10_000  # at most, for the mean and deviation of their features


class Outcome(NamedTuple):
    run: Run
    progress: Progress
    interrupted: bool


def train(config: Config, folder: Path, resume: bool = False) -> Outcome:
    """Train as `config` says into the run folder, from scratch or from its newest checkpoint."""
    AcceleratorState._reset_state()  # accelerate keeps one precision per process; every training here has its own
    accelerator = Accelerator(mixed_precision=config.training.mixed_precision)
    with accelerator.main_process_first():
        corpus = prepare(config.data, config.vocabulary, progress=accelerator.is_main_process)
        run = open_or_create(folder, config, corpus, resume)
    return Trainer(run, corpus, accelerator).run_to_the_end()


def open_or_create(folder: Path, config: Config, corpus: Corpus, resume: bool) -> Run:
    if checkpoint.complete(folder / "checkpoints"):
        if not resume:
            raise InputError(f"{folder}: holds a run already; add --resume to go on with it, or choose another --out")
        run = Run.open(folder)
        changed = [key for key in configs.differences(run.config, config) if key not in BUDGET]
        if changed:
            raise InputError(f"{folder}: its config differs in {', '.join(changed)}; resume without changing these")
        if run.corpus_facts.get("fingerprint") != corpus.fingerprint:
            raise InputError(
                f"{folder}: was trained on another corpus than {corpus.folder} is now; choose another --out"
            )
    return Run.create(folder, config, corpus)


def start_from(other: Run, run: Run, model: nn.Module) -> None:
    """Give the model the weights of another run's best checkpoint."""
    if other.config.model != run.config.model:
        raise InputError(f"{other.folder}: its [model] differs from this config's; start from a run of the same model")
    if other.vocabulary.texts() != run.vocabulary.texts():
        raise InputError(
            f"{other.folder}: its vocabulary differs from this corpus's; start from a run on the same corpus"
        )
    checkpoint.load_model(other.checkpoint("best"), model)


class Trainer:
    """One run in the making: its model, optimiser, data and place."""

    def __init__(self, run: Run, corpus: Corpus, accelerator: Accelerator) -> None:
        self.run, self.config, self.accelerator = run, run.config, accelerator
        self.valid_split, self.scorer = corpus.split("valid"), scorer_for(run.config)
        self.stream = BatchStream(
            corpus.split("train", self.config.data.all_references),
            self.config.training,
            accelerator.process_index,
            accelerator.num_processes,
            accelerator.device,
        )
        torch.manual_seed(seed_for(self.config.training.seed, "weights"))
        self.model = run.build_model()
        if isinstance(self.model, ShowAndTell):
            self.model.observe(self.stream.split.features(spread(len(self.stream.split), OBSERVED_IMAGES)))
        self.model = self.model.to(accelerator.device)
        self.optimizer = build_optimizer(self.model.parameters(), self.config.optimizer)
        self.progress = Progress()
        whole = checkpoint.complete(run.checkpoints)
        if not whole and self.config.training.init:
            start_from(Run.open(self.config.training.init), run, self.model)
        for newest in whole[-1:]:
            self.progress = checkpoint.read_progress(newest)
            checkpoint.load_model(newest, self.model)
            checkpoint.load_optimizer(newest, self.model, self.optimizer)
        reward = run_reward(run, lambda: self.stream.split)
        objective = Objective(self.config.objective, reward, self.config.data.max_target_length)
        self.learner = accelerator.prepare(Learner(self.model, objective))
        self.journal = Journal(run.folder, self.progress.step) if accelerator.is_main_process else None

    def run_to_the_end(self) -> Outcome:
        limits = self.config.training
        with Monitor(limits, self.progress, self.accelerator.is_main_process) as self.monitor, StopRequest() as stop:
            self.monitor.say(self.greeting())
            interval = Interval(self.progress)
            while not (stop.made or self.finished()):
                interval.add(*self.take_step(self.stream.batch(self.progress.step)))
                self.progress = self.progress._replace(step=self.progress.step + 1, seconds=interval.total_seconds())
                last = self.progress.step == limits.max_steps
                if last or self.progress.step % limits.log_every == 0:
                    self.log(interval)
                if last or self.progress.step % limits.validate_every == 0:
                    self.validate()
                    self.save()
            if not (self.run.checkpoints / checkpoint.name_of(self.progress.step)).exists() and self.progress.step:
                self.save()
        if self.journal:
            self.journal.close()
        return Outcome(self.run, self.progress, stop.made)

    def greeting(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return (
            f"{parameters:,} parameters, {self.stream.split.examples:,} training examples, "
            f"{self.stream.steps_per_epoch:,} steps an epoch, vocabulary {len(self.run.vocabulary):,}, "
            f"on {self.accelerator.device}, into {self.run.folder}"
        )

    def finished(self) -> bool:
        limits, progress = self.config.training, self.progress
        out_of_time = 0 < limits.max_minutes * 60 <= progress.seconds
        out_of_patience = 0 < limits.patience <= progress.validations_since_best
        return progress.step >= limits.max_steps or out_of_time or out_of_patience

    def take_step(self, batch: Batch) -> tuple[Tensor, Tensor, Diagnostics, int]:
        """One update. Returns the mean loss of a position, the gradient's norm, what the targets were like and the
        number of examples."""
        accelerator, settings, step = self.accelerator, self.config.optimizer, self.progress.step
        seed, rank = self.config.training.seed, accelerator.process_index
        torch.manual_seed(seed_for(seed, "noise", step, rank))
        generator = torch.Generator().manual_seed(seed_for(seed, "targets", step, rank))
        self.learner.train()
        with accelerator.autocast():
            losses, diagnostics = self.learner(batch, step, generator)
        count = accelerator.reduce(torch.tensor(float(len(losses)), device=losses.device), "sum")
        # gradients are averaged over processes: times their number, this is the gradient of the mean over all positions
        loss = losses.sum() * (accelerator.num_processes / count)
        accelerator.backward(loss)
        norm = clip_gradients(self.model.parameters(), settings.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(step, self.config.training.max_steps, settings)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        examples = len(batch.source) * accelerator.num_processes
        return accelerator.reduce(loss.detach(), "mean"), norm, diagnostics, examples

    def log(self, interval: Interval) -> None:
        values = interval.close(lambda sums: self.accelerator.reduce(sums.to(self.accelerator.device), "sum"))
        rate = learning_rate(self.progress.step - 1, self.config.training.max_steps, self.config.optimizer)
        epoch = self.progress.step / self.stream.steps_per_epoch
        self.monitor.update(self.progress, values["loss"], values["examples_per_second"])
        if self.journal:
            record = {"epoch": epoch, "seconds": self.progress.seconds, "learning_rate": rate, **values}
            self.journal.record("train", self.progress.step, record)

    def validate(self) -> None:
        """Decode the validation set, score it, note whether it is the best so far."""
        limits, data, step = self.config.training, self.config.data, self.progress.step
        decoded = decode_split(
            self.model,
            self.run.vocabulary,
            self.valid_split,
            self.config.decoding,
            data.max_source_length,
            data.max_target_length,
            limit=limits.validation_examples,
            seed=limits.seed,
            device=self.accelerator.device,
        )
        scores = self.scorer.quick(decoded.outputs, decoded.references)
        words = sum(len(output.split()) for output in decoded.outputs) / len(decoded.outputs)
        better = self.progress.best_step == 0 or scores[limits.metric] > self.progress.best_score
        self.progress = self.progress._replace(
            best_step=step if better else self.progress.best_step,
            best_score=scores[limits.metric] if better else self.progress.best_score,
            validations_since_best=0 if better else self.progress.validations_since_best + 1,
        )
        self.monitor.report(self.progress, scores, better)
        if self.journal:
            self.journal.record("valid", step, {"seconds": self.progress.seconds, "words": words, **scores})
            self.journal.samples(step, [Example(*row) for row in zip(*decoded, strict=True)][:SAMPLES])

    def save(self) -> None:
        if self.accelerator.is_main_process:
            checkpoint.save(self.run.checkpoints, self.model, self.optimizer, self.progress)
            checkpoint.prune(self.run.checkpoints, self.config.training.keep_checkpoints, self.progress.best_step)
