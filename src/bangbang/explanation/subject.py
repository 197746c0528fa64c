"""What is explained: a run's model, without dropout, before one example.

Shapes: N targets, T time, D features.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from bangbang.decoding import generate
from bangbang.decoding.generation import pad
from bangbang.errors import InputError
from bangbang.rewards import Sum, repeat
from bangbang.symbols import BOS, EOS, PAD, SYMBOLS, UNK
from bangbang.training import Run
from bangbang.training.checkpoint import read_progress
from bangbang.training.learner import InputDecoder
from bangbang.training.reward import run_reward


@dataclass(frozen=True)
class Subject:
    """One source, its reference, and all that an objective takes to make targets of them."""

    run: Run
    checkpoint: str
    step: int
    """The training step that the checkpoint was written after."""
    source: str
    reference: str
    output: str
    """What the model itself writes for the source, by the run's decoding settings."""
    decoder: InputDecoder
    references: Tensor  # [1, T]
    reward: Sum

    @classmethod
    @torch.no_grad()
    def of(cls, run: Run, source: str, reference: str, checkpoint: str = "best") -> "Subject":
        """A source and a reference as text; what is over the model's lengths is cut, as in training."""
        references = reference_ids(run, reference)
        folder, model = run.checkpoint(checkpoint), run.load_model(checkpoint)
        ids = run.vocabulary.encode(source)[: run.config.data.max_source_length]
        (best, *_), *_ = generate(model, [ids], run.config.decoding, run.config.data.max_target_length)
        return cls(
            run,
            folder.name,
            read_progress(folder).step,
            source,
            reference,
            run.vocabulary.decode(best.tokens),
            InputDecoder(model, model.encode(*pad([ids]))),
            references,
            run_reward(run, lambda: run.corpus().split("train")),
        )

    @property
    def max_length(self) -> int:
        return self.run.config.data.max_target_length

    def word(self, token: int) -> str:
        """A token as a person reads it: pieces show the space they begin with, bytes that are no text their name."""
        if token <= UNK:
            return SYMBOLS[token]
        text = self.run.vocabulary.decode([token]).replace(" ", "␣")
        return (
            text if text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text else self.run.vocabulary.token(token)
        )

    def text(self, tokens: list[int]) -> str:
        return self.run.vocabulary.decode(tokens)

    def rewards(self, targets: Tensor) -> Tensor:
        """R(z | y) of padded targets [N, T], of the main reward. [N]"""
        state = repeat(self.reward.parts[0].start(self.references), len(targets))
        value = state.value()
        for tokens in targets.unbind(1):
            state.advance(tokens)
            # a target that was cut off without `</s>` does not see the padding
            value = state.value().where(tokens != PAD, value)
        return value

    @torch.no_grad()
    def log_probabilities(self, targets: Tensor) -> Tensor:
        """log p(z | x) of padded targets [N, T]. [N]"""
        read = torch.cat((torch.full_like(targets[:, :1], BOS), targets[:, :-1]), 1)
        features = self.decoder.repeat(len(targets)).unroll(read)  # [N, T, D]
        written = targets != PAD
        each = torch.zeros(targets.shape)
        each[written] = self.decoder.head.log_prob(features[written], targets[written])
        return each.sum(1)


def validation_pair(run: Run, number: int) -> tuple[str, str]:
    """The source and the first reference of the `number`-th validation row, counted from 1."""
    split = run.corpus().split("valid")
    if not 1 <= number <= len(split):
        raise InputError(f"--example {number}: the validation split has examples 1 to {len(split)}")
    row = slice(number - 1, number)
    return split.sources(row)[0], split.references(row)[0][0]


def reference_ids(run: Run, text: str) -> Tensor:
    """A reference as training sees it: cut, with `</s>` at its end. [1, T]"""
    ids = run.vocabulary.encode(text)[: run.config.data.max_target_length - 1]
    if all(index == UNK for index in ids):
        trouble = "the run's vocabulary has none of its words" if ids else "it is empty"
        raise InputError(f"the reference {text!r} can earn no reward: {trouble}")
    return torch.tensor([[*ids, EOS]])
