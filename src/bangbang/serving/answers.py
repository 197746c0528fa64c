"""What runs answer: their outputs by each decoder, token by token, and with a reference what training makes of it.

Shapes: T time, D features, K alternatives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bangbang.contracts import Sources
from bangbang.decoding import Hypothesis, Utility
from bangbang.decoding.settings import DecodingSettings, by_method, describe
from bangbang.errors import InputError
from bangbang.explanation import Subject, trace
from bangbang.explanation.judgement import judge
from bangbang.explanation.page import trace_record
from bangbang.explanation.subject import Example, LoadedRun, legible
from bangbang.explanation.targets import bang_bang
from bangbang.features import Encoder
from bangbang.serving.questions import METHODS, Question
from bangbang.symbols import BOS, EOS
from bangbang.training import Run
from bangbang.training.utilities import run_utility, settled

ALTERNATIVES = 4
SHOWN = 2_000  # letters of a text that an answer repeats
SEED = 1  # of minimum Bayes risk's samples and of the target that is shown: the same question has the same answer


@dataclass(frozen=True)
class ServedRun:
    """A run with all that answering takes, in memory."""

    name: str
    loaded: LoadedRun
    encoder: str
    """By which it sees pictures; empty where it reads text."""
    decoders: Mapping[str, tuple[DecodingSettings, Utility | None]]
    """By what tables call them."""
    missing: str
    """Why a decoder is left out; nothing, mostly."""

    @classmethod
    def of(cls, name: str, run: Run, checkpoint: str = "best", encoder: str = "") -> "ServedRun":
        decoders, missing = {}, ""
        for method in METHODS:
            settings = settled(run, by_method(run.config.decoding, method))
            try:
                decoders[describe(settings)] = settings, run_utility(run, settings)
            except InputError as error:  # a utility that counts n-grams of a corpus that is gone
                missing = f"no {method}: {error}"
        return cls(name, LoadedRun.of(run, checkpoint), encoder, decoders, missing)

    @property
    def reads(self) -> str:
        return self.loaded.run.task.reads

    def facts(self) -> dict[str, Any]:
        """What the page says of the run before it is asked."""
        run = self.loaded.run
        return {
            "name": self.name,
            "label": run.config.label,
            "reads": self.reads,
            "checkpoint": self.loaded.checkpoint,
            "caveat": run.caveat,
            "missing": self.missing,
        }

    def answer(self, question: Question, inputs: Sources, cut: bool = False) -> dict[str, Any]:
        """All that the page shows of one question; what is wrong with the reference is a note beside the outputs."""
        chosen = {name: each for name, each in self.decoders.items() if each[0].method in question.methods}
        found = {name: self.loaded.write(inputs, *decoder) for name, decoder in chosen.items()}
        outputs = [self.output(name, inputs, each) for name, each in found.items()]
        answer = {"run": self.name, "cut": cut, "outputs": outputs, "trace": None, "note": ""}
        if question.reference and outputs:
            try:
                source = question.text[:SHOWN] or "the picture"
                example = Example(source, inputs, [question.reference])
                subject = Subject.before(self.loaded, example, outputs[0]["text"])
                for output, each in zip(outputs, found.values(), strict=True):
                    judge_output(subject, output, self.complete(each))
                answer["trace"] = self.training(subject)
            except InputError as error:
                answer["note"] = str(error)
        return answer

    def complete(self, hypothesis: Hypothesis) -> list[int]:
        """With `</s>`, unless the text was cut at the model's length."""
        ended = len(hypothesis.tokens) < self.loaded.run.config.data.max_target_length
        return [*hypothesis.tokens, *([EOS] if ended else [])]

    @torch.no_grad()
    def output(self, name: str, inputs: Sources, hypothesis: Hypothesis) -> dict[str, Any]:
        """A text and, of each of its tokens, the model's probability beside those of its favourites."""
        vocabulary, tokens = self.loaded.run.vocabulary, self.complete(hypothesis)
        decoder = self.loaded.decoder(inputs)
        read = torch.tensor([[BOS, *tokens[:-1]]], device=self.loaded.device)
        features = decoder.unroll(read)[0]  # [T, D]
        own = decoder.head.log_prob(features, torch.tensor(tokens, device=self.loaded.device)).exp().tolist()
        log_p, favourites = decoder.head.top_k(features, min(ALTERNATIVES, len(vocabulary)))  # [T, K]
        others = [
            [{"token": legible(vocabulary, v), "probability": p} for v, p in zip(names, values, strict=True)]
            for names, values in zip(favourites.tolist(), log_p.exp().tolist(), strict=True)
        ]
        rows = [
            {"token": legible(vocabulary, token), "probability": p, "likeliest": each}
            for token, p, each in zip(tokens, own, others, strict=True)
        ]
        text = vocabulary.decode(hypothesis.tokens)
        return {
            "decoder": name,
            "text": text,
            "written": self.loaded.run.written(text),
            "log_prob": hypothesis.log_prob,
            "tokens": rows,
            "reward": None,
        }

    def training(self, subject: Subject) -> dict[str, Any]:
        """One target that bang-bang SPG would train on."""
        settings = bang_bang(self.loaded.leg.objective, self.loaded.step)
        return trace_record(subject, settings, trace(subject, settings, SEED), SEED) | {"run": self.name}


def judge_output(subject: Subject, output: dict[str, Any], tokens: Sequence[int]) -> None:
    """Add to an output what each of its tokens earned."""
    judgements = judge(subject, tokens)
    for row, each in zip(output["tokens"], judgements, strict=True):
        row |= each._asdict()
    output["reward"] = judgements[-1].reward


class Desk:
    """Where questions are answered, one after the other."""

    def __init__(self, runs: Sequence[ServedRun], encoders: Mapping[str, Encoder]) -> None:
        self.runs, self.encoders = runs, encoders

    def facts(self) -> list[dict[str, Any]]:
        return [run.facts() for run in self.runs]

    def answer(self, question: Question) -> list[dict[str, Any]]:
        """The answers of all runs that read what is asked of."""
        wanted = "tokens" if question.picture is None else "features"
        asked = [run for run in self.runs if run.reads == wanted]
        if not asked:
            raise InputError(f"no run here reads {'texts' if question.picture is None else 'pictures'}")
        if question.picture is None:
            return [self.of_text(run, question) for run in asked]
        # in half precision, as `bangbang features` keeps them
        rows = {name: each.encode([question.picture]).half().float() for name, each in self.encoders.items()}
        return [self.of_picture(run, rows[run.encoder], question) for run in asked]

    def of_picture(self, served: ServedRun, features: Tensor, question: Question) -> dict[str, Any]:
        size = (served.loaded.run.image_features or {})["size"]
        if features.shape[1] != size:
            raise InputError(f"{served.name}: reads {size} features, but {served.encoder} gives {features.shape[1]}")
        return served.answer(question, features)

    def of_text(self, served: ServedRun, question: Question) -> dict[str, Any]:
        run = served.loaded.run
        vocabulary, most = run.source_vocabulary or run.vocabulary, run.config.data.max_source_length
        (ids,) = vocabulary.encode_batch([question.text])
        return served.answer(question, [ids[:most]], len(ids) > most)
