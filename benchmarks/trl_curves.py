"""Validation scores against minutes: TRL's RLOO trainer and ours, from the same weights of a model without an encoder.

RUN is a run of maximum likelihood, such as one of configs/hf-causal-debian.toml, and its best weights are the start.
Each contender has as many minutes of processor time; validation is not counted. Both RLOO trainers have the same
prompts, batches, samples, temperature, rate and optimiser, and are paid ROUGE-L of the words. What differs is theirs:
`metric` pays each token what it still earns, `metric-sequence` and `trl` one number for each text. `bbspg` starts from
random weights, with the minutes given by --cold-minutes. The result goes to standard output as JSON.

examples:
  python -m benchmarks.trl_curves runs/hf-causal --minutes 3 > curves.json
  python -m benchmarks.trl_curves runs/hf-causal --contenders metric trl --picture curves.svg
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
from transformers import PrinterCallback, TrainerCallback

from bangbang.data import Split
from bangbang.hf import MetricConfig, MetricTrainer, Policy
from bangbang.hf.export import tokenizer_of
from bangbang.hf.loading import quiet
from bangbang.metrics import Rouge
from bangbang.products import by_widest_instructions
from bangbang.symbols import BOS
from bangbang.tasks.scores import quick
from bangbang.training import Run
from bangbang.training.evaluation import decode_split

CONTENDERS = ("metric", "metric-sequence", "trl", "bbspg")
ENDLESS = 1_000_000  # steps; the clock ends a training
Point = tuple[float, int, float]
"""Minutes, steps, the score that the run is validated by."""


class Clock(TrainerCallback):  # type: ignore[misc]  # it has no types
    """Ends a training after so many minutes of processor time, and asks for a score now and then."""

    def __init__(self, score: Callable[[], float], minutes: float, points: int) -> None:
        self.score, self.minutes, self.every = score, minutes, minutes / points
        self.curve, self.began, self.aside = list[Point](), 0.0, 0.0

    def on_train_begin(self, arguments: Any, state: Any, control: Any, **named: Any) -> None:
        self.began = time.process_time()
        self.note(0)

    def on_step_end(self, arguments: Any, state: Any, control: Any, **named: Any) -> None:
        passed = self.passed()
        if passed >= self.every * len(self.curve):
            self.note(state.global_step)
        control.should_training_stop = passed >= self.minutes

    def passed(self) -> float:
        return (time.process_time() - self.began - self.aside) / 60

    def note(self, step: int) -> None:
        minutes, stopped = self.passed(), time.process_time()
        self.curve.append((minutes, step, self.score()))
        print("{:.2f} minutes, step {}: {:.2f}".format(*self.curve[-1]), file=sys.stderr, flush=True)
        self.aside += time.process_time() - stopped


class Ground:
    """What contenders share: the start, the pairs in the model's ids, how a model is scored."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments, self.run = arguments, Run.open(arguments.run)
        self.valid, self.length = self.run.corpus().split("valid"), self.run.config.data.max_target_length
        self.rows = rows_of(self.run.corpus().split("train"), arguments.seed)
        self.folder = tempfile.TemporaryDirectory()

    def start(self, trained: bool) -> tuple[Policy, Any]:
        """The model, and a tokenizer of its vocabulary."""
        torch.manual_seed(self.arguments.seed)
        policy = self.run.load_model() if trained else self.run.build_model()
        if not isinstance(policy, Policy) or policy.inner.config.is_encoder_decoder:
            raise SystemExit(f"{self.arguments.run}: not of a model without an encoder, which TRL needs")
        content = (self.run.folder / "vocabulary.json").read_text()
        return policy, tokenizer_of(content, policy, 2 * self.run.config.data.max_source_length)

    def score(self, policy: Policy) -> float:
        limit = self.arguments.examples
        training = policy.training
        policy.eval()
        found = decode_split(self.run, policy, self.valid, self.run.config.decoding, limit)
        policy.train(training)
        return quick(self.run.task.metric, found.outputs, found.references)[self.run.config.metric]

    def settings(self, rate: float) -> dict[str, Any]:
        return {
            "output_dir": self.folder.name, "max_steps": ENDLESS, "learning_rate": rate, "warmup_steps": 20,
            "lr_scheduler_type": "constant_with_warmup", "max_grad_norm": 1.0, "seed": self.arguments.seed,
            "report_to": [], "save_strategy": "no", "logging_strategy": "no", "use_cpu": True, "disable_tqdm": True,
        }  # fmt: skip

    def curve(self, name: str) -> list[Point]:
        cold = name == "bbspg"
        policy, tokenizer = self.start(trained=not cold)
        minutes = self.arguments.cold_minutes if cold else self.arguments.minutes
        clock = Clock(lambda: self.score(policy), minutes, self.arguments.points)
        with quiet():
            trainer = (self.trl if name == "trl" else self.ours)(name, policy, tokenizer, clock)
            trainer.remove_callback(PrinterCallback)  # standard output is for the result
            trainer.train()
        return clock.curve

    def ours(self, name: str, policy: Policy, tokenizer: Any, clock: Clock) -> Any:
        given = self.arguments
        paid: dict[str, Any] = {"objective": "bbspg", "p_drop": 0.2, "sampling": "jumps", "reward": {"kind": "rouge-n"}}
        if name != "bbspg":
            credit = "sequence" if name == "metric-sequence" else "token"
            table = {"kind": "rloo", "samples": given.samples, "credit": credit, "temperature": given.temperature}
            paid = {"objective": table, "reward": "rouge-l", "units": "words"}
        settings = MetricConfig(
            **self.settings(given.cold_rate if name == "bbspg" else given.rate),
            **paid,
            per_device_train_batch_size=given.batch,
            max_target_length=self.length,
            max_source_length=self.run.config.data.max_source_length + 1,
            remove_unused_columns=False,
        )
        rows = [
            {"input_ids": source + target, "labels": [-100] * len(source) + target} for source, target, _ in self.rows
        ]
        return MetricTrainer(policy.inner, settings, train_dataset=rows, processing_class=tokenizer, callbacks=[clock])

    def trl(self, name: str, policy: Policy, tokenizer: Any, clock: Clock) -> Any:
        import datasets
        from trl import RLOOConfig, RLOOTrainer

        class Peer(RLOOTrainer):  # type: ignore[misc]  # it has no types
            """Prompts are ids already, so that they are those of ours."""

            def _tokenize_prompts(self, prompts: list[str]) -> tuple[list[list[int]], None, dict[str, Any]]:
                return [[int(token) for token in prompt.split()] for prompt in prompts], None, {}

        given, metric = self.arguments, Rouge(metrics=("rouge-l",))

        def reward(completions: list[str], reference: list[str], **others: Any) -> list[float]:
            pairs = zip(completions, reference, strict=True)
            return [metric.score(text, [other])["rouge-l"].f1 for text, other in pairs]

        settings = RLOOConfig(
            **self.settings(given.rate),
            per_device_train_batch_size=given.batch * given.samples,
            num_generations=given.samples,
            max_completion_length=self.length,
            temperature=given.temperature,
            beta=0.0,
            bf16=False,
            gradient_checkpointing=False,
        )
        pairs = {
            "prompt": [" ".join(map(str, source)) for source, _, _ in self.rows],
            "reference": [text for _, _, text in self.rows],
        }
        return Peer(
            policy.inner,
            reward,
            settings,
            train_dataset=datasets.Dataset.from_dict(pairs),
            processing_class=tokenizer,
            callbacks=[clock],
        )


def rows_of(split: Split, seed: int) -> list[tuple[list[int], list[int], str]]:
    """Prompt and target in the model's ids, which are ours, and the reference as a text; in an order by the seed."""
    batch = split.batch(numpy.arange(split.examples))
    texts = [text for row in split.references(slice(None)) for text in row]
    found = [
        ([*source[:length].tolist(), BOS], target[:end].tolist(), text)
        for source, length, target, end, text in zip(*batch[:4], texts, strict=True)
    ]
    random.Random(seed).shuffle(found)
    return found


def draw(curves: dict[str, list[Point]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    for name, curve in curves.items():
        axes.plot([minutes for minutes, _, _ in curve], [score for *_, score in curve], label=name, marker=".")
    axes.set(xlabel="minutes of processor time", ylabel="validation score")
    axes.legend()
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def main(words: list[str] | None = None) -> dict[str, list[Point]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--minutes", type=float, default=3.0, help="of processor time")
    parser.add_argument("--cold-minutes", type=float, default=6.0, help="of bbspg from random weights")
    parser.add_argument("--points", type=int, default=6, help="of a curve, beside its start")
    parser.add_argument("--examples", type=int, default=300, help="validation pairs")
    parser.add_argument("--batch", type=int, default=32, help="prompts in a step")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--rate", type=float, default=0.0003)
    parser.add_argument("--cold-rate", type=float, default=0.002)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, metavar="SVG")
    arguments = parser.parse_args(words)
    by_widest_instructions()
    ground = Ground(arguments)
    curves = {}
    for name in arguments.contenders:
        print(name, file=sys.stderr, flush=True)
        curves[name] = ground.curve(name)
    if arguments.picture:
        draw(curves, arguments.picture)
    print(json.dumps({"minutes, steps, score": curves, "arguments": vars(arguments)}, default=str, indent=1))
    return curves


if __name__ == "__main__":
    main()
