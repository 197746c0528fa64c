"""How likely the outputs of a run are under another run's model: a judge that no reward has trained.

A run is judged by maximum likelihood of another seed, so that none is judged by the weights it started from.

Shapes: B batch, T time, D features.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from bangbang.config import Config
from bangbang.contracts import Model
from bangbang.decoding import decoding_device
from bangbang.decoding.generation import collate
from bangbang.reporting.evaluation import (
    Evaluation,
    identity_of,
    own_split,
    report_metric,
    ways,
    weights_of,
)
from bangbang.reporting.kept import Kept, key_of
from bangbang.symbols import BOS, EOS, PAD
from bangbang.training import Run

JUDGE = "MLE"  # the label of those that may judge
BATCH = 64


class Likelihood(NamedTuple):
    log_prob: float
    """Σ log p(output | source) over all outputs."""
    tokens: int
    """Of all outputs, with `</s>` where it was written."""


class Judged(NamedTuple):
    """An evaluation and the settings of its run."""

    evaluation: Evaluation
    config: Config


def likelihoods(judged: Sequence[Judged]) -> dict[Path, dict[str, Likelihood]]:
    """By run and decoder, for every run that has a judge among the others."""
    found = {}
    for each in judged:
        judge = judge_of(each, judged)
        if judge is not None:
            found[each.evaluation.run.folder] = judge_run(each.evaluation, judge.evaluation)
    return found


def judge_of(one: Judged, others: Sequence[Judged]) -> Judged | None:
    """The first run by maximum likelihood, from a cold start, that has another seed."""
    for other in others:
        config = other.config
        other_seed = config.training.seed != one.config.training.seed
        if other_seed and config.label == JUDGE and not config.training.init:
            return other
    return None


def judge_run(evaluation: Evaluation, judge: Evaluation) -> dict[str, Likelihood]:
    """By decoder, the likelihood of a run's outputs; kept beside them."""
    opened, other = (Run.open(each.run.folder, each.run.cache) for each in (evaluation, judge))
    kept = Kept.read(opened.folder, identity_of(opened, opened.checkpoint("best"), report_metric(opened.task)))
    weights = weights_of(other.checkpoint("best"))
    written = {name: kept.ways[key_of(way)] for name, way in ways(opened, list(evaluation.decoded)).items() if name}
    missing = [each for each in written.values() if weights not in each.likelihoods]
    if missing:
        model = other.load_model("best", decoding_device())
        split = own_split(other)
        inputs = other.task.inputs(split, slice(0, len(split)), other.encode_sources)
        for each in missing:
            tokens = output_tokens(other, each.outputs, each.cut)
            each.likelihoods[weights] = list(map(float, log_likelihood(model, inputs, tokens)))
        kept.save()
    return {
        name: Likelihood(each.likelihoods[weights][0], int(each.likelihoods[weights][1]))
        for name, each in written.items()
    }


def output_tokens(run: Run, texts: Sequence[str], cut: Sequence[bool]) -> list[list[int]]:
    """The token ids of outputs, with `</s>` where it was written."""
    length = run.config.data.max_target_length
    encoded = run.vocabulary.encode_batch(list(texts))
    return [ids[:length] if was_cut else [*ids[: length - 1], EOS] for ids, was_cut in zip(encoded, cut, strict=True)]


@torch.no_grad()
def log_likelihood(model: Model[Any], inputs: Any, outputs: Sequence[Sequence[int]]) -> Likelihood:
    """Σ_n Σ_t log p(z_t | z_{1:t-1}, x) of outputs z, one for each input x."""
    device, total = decoding_device(), 0.0
    order = sorted(range(len(outputs)), key=lambda line: len(outputs[line]))
    for start in range(0, len(order), BATCH):
        lines = order[start : start + BATCH]
        source, length = collate(inputs, lines)
        target = padded([outputs[line] for line in lines]).to(device)  # [B, T]
        fed = torch.cat((torch.full_like(target[:, :1], BOS), target[:, :-1]), 1)
        features = model.begin(source.to(device), length.to(device)).unroll(fed)  # [B, T, D]
        real = target != PAD
        total += float(model.head.log_prob(features[real], target[real]).sum(dtype=torch.float32))
    return Likelihood(total, sum(map(len, outputs)))


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def unjudged(judged: Sequence[Judged], found: Mapping[Path, object]) -> str:
    """Why some runs have no likelihood of their outputs; nothing if all have."""
    if len(found) == len(judged):
        return ""
    return f"likelihood of outputs left out where there is no {JUDGE} run of another seed to judge by"
