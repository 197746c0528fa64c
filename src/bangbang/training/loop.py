"""The training loop.

Data order and noise are functions of (seed, step, rank), and the learning rate is one of the step, so that a run is
resumed from weights, optimiser state and a step number alone, and equals one that was never interrupted.
"""

import time
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState
from torch import Tensor

from bangbang import config as configs
from bangbang.config import Config, Leg, leg_label
from bangbang.consent import FULL, Consent
from bangbang.contracts import AnchoredObjective, Batch, Diagnostics, Objective
from bangbang.data import Corpus, prepare
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.files import way_out
from bangbang.folders import named
from bangbang.instructions import secure_bfloat16
from bangbang.locks import locked
from bangbang.metrics.metric import is_better
from bangbang.products import by_widest_instructions
from bangbang.randomness import seed_for
from bangbang.tasks import quick
from bangbang.training import checkpoint, guard, retention, stage_start
from bangbang.training.averaging import WeightAverage
from bangbang.training.checkpoint import Progress
from bangbang.training.distributed import Ranks, join, launch
from bangbang.training.evaluation import decode_split
from bangbang.training.journal import Journal, ShownExample
from bangbang.training.learner import BatchStream, Learner, check_memory, run_reward
from bangbang.training.monitor import Interval, Monitor
from bangbang.training.optimizer import build_optimizer, clipped_step, gradient_norm, learning_rate
from bangbang.training.resumption import check_unchanged, resume
from bangbang.training.run import Run
from bangbang.training.shared_memory import SharedMemory
from bangbang.training.stopping import StopRequest, is_done
from bangbang.training.utilities import run_utility

# Buckets in place of gradients, not beside them. Every parameter is used in every step, so none need be searched for,
# and buffers (the features' mean and deviation) never change after the start, so none need be sent again.
DATA_PARALLEL = DistributedDataParallelKwargs(gradient_as_bucket_view=True, broadcast_buffers=False)
SAMPLES = 10


class Outcome(NamedTuple):
    run: Run
    progress: Progress
    interrupted: bool
    is_main: bool
    """Whether this is the process that speaks for the run."""


def train(config: Config, folder: Path, resume: bool = False, consent: Consent = FULL) -> Outcome:
    """Train as `config` says into the run folder, from scratch or from its newest checkpoint."""
    folder = named(folder)
    join()
    AcceleratorState._reset_state()  # accelerate keeps one precision per process; every training here has its own
    accelerator = Accelerator(
        cpu=not torch.accelerator.is_available(),  # without it, accelerate would start no gloo processes
        mixed_precision=config.training.mixed_precision,
        kwargs_handlers=[DATA_PARALLEL],
    )
    ranks = Ranks(accelerator)
    if config.training.mixed_precision == "bf16" and accelerator.device.type == "cpu":
        ranks.together(secure_bfloat16)  # before anything is multiplied
    by_widest_instructions()
    # before minutes go into the corpus; torchrun may start this very run again, which `claim` finds out
    ranks.together(lambda: check_free(folder, resume or launch() != ""), on_main_only=True)
    # where processes share a disk, one makes the corpus and the others wait for it
    corpus = ranks.together(
        lambda: prepare(config.data, config.vocabulary, config.source_vocabulary, ranks.is_main, consent)
    )
    assert corpus is not None
    facts = {key: value for key, value in configs.flat(config).items() if not key.startswith("data.")}
    ranks.check_equal(config=repr(facts), corpus=corpus.fingerprint)
    with ExitStack() as held:
        run = ranks.together(lambda: claim(held, folder, config, corpus, resume), on_main_only=True)
        try:
            return Trainer(run or Run.elsewhere(folder, config, corpus), corpus, accelerator).run_to_the_end()
        except OSError as error:
            raise InputError(
                f"{folder}: {error}; what was saved is whole; {way_out(error, 'go on with --resume')}"
            ) from None


def claim(held: ExitStack, folder: Path, config: Config, corpus: Corpus, resume: bool) -> Run:
    """The run folder for this process alone, until `held` is closed."""
    hold = held.enter_context(locked(folder))
    job = launch()
    again = job != "" and hold.job == job  # torchrun --max-restarts: this very run, after a worker died
    run = open_or_create(folder, config, corpus, resume or again)
    hold.sign(job)  # only now: a job that was refused must not be taken in when torchrun starts it again
    return run


def check_free(folder: Path, resume: bool) -> None:
    if retention.listed(folder / "checkpoints") and not resume:
        raise InputError(f"{folder}: holds a run already; add --resume to go on with it, or choose another --out")


def open_or_create(folder: Path, config: Config, corpus: Corpus, resume: bool) -> Run:
    check_free(folder, resume)
    if retention.listed(folder / "checkpoints"):
        run = Run.open(folder)
        check_unchanged(run, config)
        if run.corpus_facts.get("fingerprint") != corpus.fingerprint:
            raise InputError(
                f"{folder}: was trained on another corpus than {corpus.folder} is now; choose another --out"
            )
        for name, fingerprint in Run.elsewhere(folder, config, corpus).fingerprints.items():
            if run.fingerprints.get(name) != fingerprint:
                raise InputError(f"{folder / name}.json: is not the {name} of {corpus.folder}")
        config = replace(config, decoding=run.config.decoding)
    return Run.create(folder, config, corpus)


class Trainer:
    """One run in the making: its model, optimiser, data and place."""

    def __init__(self, run: Run, corpus: Corpus, accelerator: Accelerator) -> None:
        self.run, self.config, self.accelerator = run, run.config, accelerator
        self.valid_split, self.task = corpus.split("valid"), run.task
        self.stream = BatchStream(
            corpus.split("train"),
            self.config,
            accelerator.process_index,
            accelerator.num_processes,
            accelerator.device,
        )
        check_memory(self.stream.split.examples, self.config)
        torch.manual_seed(seed_for(self.config.training.seed, "weights"))
        self.model = run.build_model()
        self.model.prepare(self.stream.split)
        self.model = self.model.to(accelerator.device)
        self.ranks = Ranks(accelerator)
        resumed = self.ranks.together(lambda: resume(run, self.model), on_main_only=True)
        self.notes = resumed.notes if resumed else []
        self.progress = Progress(*self.ranks.from_main(resumed and resumed.progress))
        decoding = self.ranks.from_main(resumed and asdict(resumed.decoding))
        # the folder's may be tuned by now
        run.config = self.config = replace(run.config, decoding=DecodingSettings(**decoding))
        self.saved, self.saved_at = self.progress.step, time.monotonic()
        self.leg = self.config.leg_at(self.progress.step)
        self.optimizer = build_optimizer(self.model.parameters(), self.leg.optimizer)
        saved = run.checkpoints / checkpoint.name_of(self.progress.step)
        if not self.leg_begins():
            load = partial(checkpoint.load_optimizer, saved, self.model, self.optimizer)
            self.ranks.together(load, on_main_only=True)
        # those of later stages too: what is wrong with one should not be found out after hours
        to_come = [self.leg, *(leg for leg in self.config.legs if leg.number > self.leg.number)]
        self.objectives = {leg.number: self.objective(leg) for leg in to_come}
        self.own_learner = Learner(self.model, self.objectives[self.leg.number])
        self.learner = accelerator.prepare(self.own_learner)
        gradients = sum(parameter.nbytes for parameter in self.model.parameters())
        if memory := SharedMemory.of(self.ranks, gradients):
            self.learner.register_comm_hook(memory, SharedMemory.average_bucket)
        self.ranks.share_optimizer(list(self.model.parameters()), self.optimizer)
        if not self.leg_begins():
            self.hand_over_start()
        self.utility = run_utility(run, self.config.decoding, lambda: self.stream.split)
        self.average = None if self.leg_begins() else self.saved_average(saved)
        self.journal = Journal(run.folder, self.progress.step) if accelerator.is_main_process else None

    def leg_begins(self) -> bool:
        """Whether the run stands at the start of its stage, where the optimiser's state is fresh."""
        return self.progress.step == self.leg.first_step

    def new_average(self) -> WeightAverage | None:
        decay = self.leg.optimizer.average_decay
        return WeightAverage(self.model, decay) if decay else None

    def saved_average(self, saved: Path) -> WeightAverage | None:
        """The average as it was in a checkpoint, which only the main process reads."""
        average = self.new_average()
        if average is not None:
            self.ranks.together(lambda: average.load(checkpoint.read_weights(saved, self.model)), on_main_only=True)
            self.ranks.share(average.values.values())
        return average

    def objective(self, leg: Leg) -> Objective:
        length = self.config.data.max_target_length
        return leg.objective.build(lambda: run_reward(self.run, leg.reward, lambda: self.stream.split), length)

    def begin_leg(self) -> None:
        """Go on with the stage that begins at this step: its weights, a new optimiser, its objective."""
        self.leg = self.config.leg_at(self.progress.step)
        if self.leg.start == "best" and self.progress.has_best:
            self.ranks.together(self.load_best, on_main_only=True)
            self.ranks.share(self.model.state_dict().values())
        self.average = self.new_average()
        self.optimizer = build_optimizer(self.model.parameters(), self.leg.optimizer)
        self.own_learner.objective = self.objectives[self.leg.number]
        self.hand_over_start()
        if self.config.stages:
            number, label = self.leg.number + 1, leg_label(self.leg)
            self.monitor.say(f"stage {number} of {len(self.config.stages)}: {label}, {self.leg.steps:,} steps")
            if self.journal:
                self.journal.begin_stage(self.progress.step, number, label, self.progress.seconds)

    def hand_over_start(self) -> None:
        """Give the objective the model of its stage's start, if it asks for it; the run keeps those weights."""
        if not self.leg.objective.needs_start:
            return
        objective, start = self.objectives[self.leg.number], stage_start.frozen(self.model)
        assert isinstance(objective, AnchoredObjective)
        use = stage_start.save if self.leg_begins() else stage_start.load
        self.ranks.together(partial(use, self.run.checkpoints, self.leg.number, start), on_main_only=True)
        self.ranks.share(start.state_dict().values())
        objective.begin_stage(start)

    def load_best(self) -> None:
        """Put the best validated weights into the model."""
        best = self.run.checkpoints / checkpoint.name_of(self.progress.best_step)
        try:
            checkpoint.read_state(best)
            checkpoint.load_model(best, self.model)
        except InputError as error:
            raise InputError(f"{error}; stage {self.leg.number + 1} starts from these weights, the best ones") from None

    def run_to_the_end(self) -> Outcome:
        limits, max_steps = self.config.training, self.config.max_steps
        with Monitor(self.config, self.progress, self.ranks.is_main) as self.monitor, StopRequest() as stop:
            for line in (self.greeting(), *self.notes):
                self.monitor.say(line)
            if limits.init and not self.progress.has_best and self.progress.step == 0:
                # the weights it begins with may stay the best: an objective need not improve them
                self.validate()
                self.save()
            interval = Interval(self.progress)
            while True:
                done = is_done(self.config, self.progress)
                interrupted, finished, due = self.ranks.any(stop.made, done, self.checkpoint_is_due())
                if interrupted or finished:
                    break
                if due:
                    self.save()
                if self.leg_begins() or self.progress.step == self.leg.end:
                    self.begin_leg()
                interval.add(*self.take_step(self.stream.batch(self.progress.step)))
                self.progress = self.progress._replace(step=self.progress.step + 1, seconds=interval.total_seconds())
                guard.check(self.progress, limits.max_skipped, self.run.folder)
                last = self.progress.step in (self.leg.end, max_steps)
                if last or self.progress.step % limits.log_every == 0:
                    self.log(interval)
                if last or self.progress.step % limits.validate_every == 0:
                    self.validate()
                    self.save()
            if not interrupted:
                self.judge_last_steps(interval)
            if self.saved != self.progress.step:
                self.save()
        if self.journal:
            self.journal.close()
        return Outcome(self.run, self.progress, interrupted, self.ranks.is_main)

    def judge_last_steps(self, interval: Interval) -> None:
        """Validate where a budget other than steps has ended a run, unless that was just done."""
        if self.progress.validated_step == self.progress.step:
            return
        if interval.losses:
            self.log(interval)
        self.validate()
        self.save()

    def greeting(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        caveat = f"; {self.run.caveat}" if self.run.caveat else ""
        return (
            f"{parameters:,} parameters, {self.stream.split.examples:,} training examples, "
            f"{self.stream.steps_per_epoch(self.leg):,} steps an epoch, vocabulary {len(self.run.vocabulary):,}, "
            f"on {self.accelerator.device}, into {self.run.folder}{caveat}"
        )

    def checkpoint_is_due(self) -> bool:
        minutes = self.config.training.checkpoint_minutes
        old = time.monotonic() - self.saved_at >= 60 * minutes
        return minutes > 0 and old and self.saved != self.progress.step

    def take_step(self, batch: Batch) -> tuple[Tensor, Tensor, Diagnostics, int]:
        """One update. Returns the mean loss, the gradient's norm, what the targets were like, the number of examples.

        A batch without a position that counts changes nothing, and has no loss.
        """
        accelerator, settings, step = self.accelerator, self.leg.optimizer, self.progress.step
        seed, rank = self.config.training.seed, accelerator.process_index
        torch.manual_seed(seed_for(seed, "noise", step, rank))
        generator = torch.Generator().manual_seed(seed_for(seed, "targets", step, rank))
        self.learner.train()
        with accelerator.autocast():
            losses, own, diagnostics = self.learner(batch, step - self.leg.first_step, generator)
        total = losses.sum()
        accelerator.backward(total)
        total, count = accelerator.reduce(torch.stack((total.detach().float(), total.new_tensor(own).float())), "sum")
        # gradients are averaged over processes: times their number, this is the gradient of the sum over all of them
        # divided by their count
        loss, factor = total / count.clamp(min=1), accelerator.num_processes / count.clamp(min=1)
        norm = gradient_norm(self.model.parameters(), factor)
        finite = guard.is_finite(loss, norm)
        self.progress = guard.counted(self.progress, finite)
        if finite and count > 0:
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(step - self.leg.first_step, self.leg.steps, settings)
            clipped_step(self.optimizer, factor, norm, settings.clip_norm)
        if self.average is not None:
            self.average.add(step - self.leg.first_step + 1)
        self.optimizer.zero_grad(set_to_none=True)
        examples = len(batch.source) * accelerator.num_processes
        return loss if count > 0 else loss * torch.nan, norm, diagnostics, examples

    def log(self, interval: Interval) -> None:
        values = interval.close(self.accelerator.device, lambda sums: self.accelerator.reduce(sums, "sum"))
        rate = learning_rate(self.progress.step - 1 - self.leg.first_step, self.leg.steps, self.leg.optimizer)
        epoch = self.stream.epochs(self.progress.step)
        self.monitor.update(self.progress, values)
        if self.journal:
            record = {"epoch": epoch, "seconds": self.progress.seconds, "learning_rate": rate, **values}
            record["skipped"] = self.progress.skipped
            if self.config.stages:
                record["stage"] = self.leg.number + 1
            self.journal.record("train", self.progress.step, record)

    def validate(self) -> None:
        """Decode the validation set, score it, note whether it is the best so far."""
        limits, metric, step = self.config.training, self.config.metric, self.progress.step
        with self.average.in_place() if self.average else nullcontext():
            decoded = decode_split(
                self.run,
                self.model,
                self.valid_split,
                self.config.decoding,
                limit=limits.validation_examples,
                seed=limits.seed,
                device=self.accelerator.device,
                part=(self.ranks.rank, self.ranks.count),
                gather=self.ranks.gather,
                utility=self.utility,
            )
        found = self.ranks.is_main and quick(self.task.metric, decoded.outputs, decoded.references)
        scores = self.ranks.from_main(found)
        words = sum(len(output.split()) for output in decoded.outputs) / len(decoded.outputs)
        last = self.progress.best_score
        better = not self.progress.has_best or is_better(self.task.metric, metric, scores[metric], last)
        self.progress = self.progress._replace(
            best_step=step if better else self.progress.best_step,
            best_score=scores[metric] if better else self.progress.best_score,
            validations_since_best=0 if better else self.progress.validations_since_best + 1,
            validations=self.progress.validations + 1,
            validated_step=step,
        )
        self.monitor.report(self.progress, scores, better)
        if self.journal:
            self.journal.record("valid", step, {"seconds": self.progress.seconds, "words": words, **scores})
            self.journal.samples(step, [ShownExample(*row) for row in zip(*decoded[:3], strict=True)][:SAMPLES])

    def save(self) -> None:
        """A checkpoint of this step; then those that are not to be kept go."""
        self.ranks.together(self.write_checkpoint, on_main_only=True)
        self.saved, self.saved_at = self.progress.step, time.monotonic()

    def write_checkpoint(self) -> None:
        folder, kept = self.run.checkpoints, self.config.training.keep_checkpoints
        if not retention.listed(folder):
            self.model.keep(self.run.model_folder)
        average = self.average.tensors() if self.average else None
        checkpoint.save(folder, self.model, self.optimizer, self.progress, self.run.origin, average)
        retention.prune(folder, kept, self.progress.best_step)
