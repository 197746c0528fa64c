"""What is explained: a run's model, without dropout, before one example, as the model reads it.

Shapes: N targets, T time, D features.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bangbang.config import Leg
from bangbang.contracts import Sources, Vocabulary
from bangbang.data import Split
from bangbang.decoding import Hypothesis, Utility, decoding_device, generate
from bangbang.decoding.generation import collate
from bangbang.decoding.settings import DecodingSettings
from bangbang.errors import InputError
from bangbang.models import Generator, InputDecoder
from bangbang.rewards import Sum, repeat
from bangbang.symbols import BOS, EOS, PAD, SYMBOLS, UNK
from bangbang.training import Run
from bangbang.training.checkpoint import read_progress
from bangbang.training.learner import reward_inputs
from bangbang.training.utilities import run_utility


class Example(NamedTuple):
    source: str
    """A text, or an image's name."""
    inputs: Sources
    """The same as `generate` takes it, alone."""
    references: Sequence[str]
    """The one that the example is made of, then others that the reward sees."""


def text_example(run: Run, source: str, reference: str) -> Example:
    if run.task.reads != "tokens":
        raise InputError(f"{run.folder}: does not read text; choose an example by --example N")
    return Example(source, run.encode_sources([source]), [reference])


def validation_example(run: Run, number: int) -> Example:
    """The `number`-th validation row, counted from 1, with its first reference; with all, if training shows them."""
    split = run.corpus().split("valid")
    if not 1 <= number <= len(split):
        raise InputError(f"--example {number}: the validation split has examples 1 to {len(split)}")
    return row_example(run, split, number - 1)


def row_example(run: Run, split: Split, row: int) -> Example:
    """A row of a split, with the references that training, or its last stage, would show."""
    rows = slice(row, row + 1)
    (source,), (references,) = split.sources(rows), split.references(rows)
    inputs = run.task.inputs(split, rows, run.encode_sources)
    return Example(source, inputs, references if run.config.legs[-1].all_references else references[:1])


class LoadedRun(NamedTuple):
    """A checkpoint of a run in memory, without dropout, and the reward that it was trained by."""

    run: Run
    checkpoint: str
    step: int
    """Steps of its stage that the checkpoint was trained for."""
    leg: Leg
    """That stage."""
    model: Generator[Any]
    device: torch.device
    reward: Sum

    @classmethod
    def of(cls, run: Run, checkpoint: str = "best") -> "LoadedRun":
        device, folder = decoding_device(), run.checkpoint(checkpoint)
        step = read_progress(folder).step
        leg = run.config.leg_before(step)
        model = run.load_model(checkpoint, device)
        # step by step is token by token, whatever the reward was taken over
        reward = leg.reward.summed(reward_inputs(run, lambda: run.corpus().split("train")))
        return cls(run, folder.name, step - leg.first_step, leg, model, device, reward)

    def write(self, inputs: Sources, decoding: DecodingSettings, utility: Utility | None) -> Hypothesis:
        """What the model writes for one input."""
        length = self.run.config.data.max_target_length
        (best, *_), *_ = generate(self.model, inputs, decoding, length, device=self.device, utility=utility)
        return best

    @torch.no_grad()
    def decoder(self, inputs: Sources) -> InputDecoder[Any]:
        """The model before one input."""
        source, source_length = collate(inputs, [0])
        return InputDecoder(self.model, self.model.encode(source.to(self.device), source_length.to(self.device)))


@dataclass(frozen=True)
class Subject:
    """One source, its reference, and all that an objective takes to make targets of them."""

    run: Run
    checkpoint: str
    step: int
    """Steps of its stage that the checkpoint was trained for."""
    leg: Leg
    """That stage."""
    source: str
    """A text, or an image's name."""
    reference: str
    output: str
    """What the model itself writes for the source, by the run's decoding settings."""
    decoder: InputDecoder[Any]
    y: Tensor  # [1, T] the reference
    references: Tensor  # what the reward compares with: [1, T] the same, or [1, M, T] with others
    reward: Sum

    @classmethod
    def of(cls, run: Run, example: Example, checkpoint: str = "best") -> "Subject":
        """What is over the model's lengths is cut, as in training."""
        reference_ids(run, example.references)  # a bad reference is told before the model is loaded
        loaded, decoding = LoadedRun.of(run, checkpoint), run.config.decoding
        output = loaded.write(example.inputs, decoding, run_utility(run, decoding))
        return cls.before(loaded, example, run.vocabulary.decode(output.tokens))

    @classmethod
    def before(cls, loaded: LoadedRun, example: Example, output: str) -> "Subject":
        """A model that is loaded already before an example, for which it writes the `output`."""
        ids = reference_ids(loaded.run, example.references)
        return cls(
            loaded.run,
            loaded.checkpoint,
            loaded.step,
            loaded.leg,
            example.source,
            example.references[0],
            output,
            loaded.decoder(example.inputs),
            torch.tensor(ids[:1], device=loaded.device),
            pad_references(ids).to(loaded.device),
            loaded.reward,
        )

    @property
    def device(self) -> torch.device:
        """Where the model and the references are."""
        return self.y.device

    @property
    def max_length(self) -> int:
        return self.run.config.data.max_target_length

    def word(self, token: int) -> str:
        return legible(self.run.vocabulary, token)

    def text(self, tokens: list[int]) -> str:
        return self.run.vocabulary.decode(tokens)

    def rewards(self, targets: Tensor) -> Tensor:
        """R(z | y) of padded targets [N, T], of the main reward. [N]"""
        state = repeat(self.reward.start(self.references), len(targets))
        value = state.main_value()
        for tokens in targets.unbind(1):
            state.advance(tokens)
            # a target that was cut off without `</s>` does not see the padding
            value = state.main_value().where(tokens != PAD, value)
        return value

    @torch.no_grad()
    def log_probabilities(self, targets: Tensor) -> Tensor:
        """log p(z | x) of padded targets [N, T]. [N]"""
        read = torch.cat((torch.full_like(targets[:, :1], BOS), targets[:, :-1]), 1)
        features = self.decoder.repeat(len(targets)).unroll(read)  # [N, T, D]
        written = targets != PAD
        each = torch.zeros(targets.shape, device=targets.device)
        each[written] = self.decoder.head.log_prob(features[written], targets[written])
        return each.sum(1)


def legible(vocabulary: Vocabulary, token: int) -> str:
    """A token as a person reads it: pieces show the space they begin with, bytes that are no text their name."""
    if token <= UNK:
        return SYMBOLS[token]
    text = vocabulary.decode([token]).replace(" ", "␣")
    whole = text and text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text
    return text if whole else vocabulary.token(token)


def pad_references(sequences: Sequence[Sequence[int]]) -> Tensor:
    """[1, T], or [1, M, T] where there are several."""
    rows = torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(ids) for ids in sequences], batch_first=True, padding_value=PAD
    )
    return rows if len(rows) == 1 else rows.unsqueeze(0)


def reference_ids(run: Run, texts: Sequence[str]) -> list[list[int]]:
    """References as training sees them: cut, with `</s>` at the end. One of them must have a known word."""
    found = [ids[: run.config.data.max_target_length - 1] for ids in run.vocabulary.encode_batch(list(texts))]
    if all(index == UNK for ids in found for index in ids):
        trouble = "the run's vocabulary has none of its words" if any(found) else "it is empty"
        raise InputError(f"the reference {texts[0]!r} can earn no reward: {trouble}")
    return [[*ids, EOS] for ids in found]
