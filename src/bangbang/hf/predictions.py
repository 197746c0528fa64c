"""What `MetricTrainer.evaluate` reports: exact scores of generated texts.

Shapes: B batch, T time, L bytes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import EvalPrediction, PreTrainedModel

from bangbang import registry
from bangbang.errors import InputError
from bangbang.hf.collation import IGNORED
from bangbang.hf.writing import texts_of
from bangbang.metrics import Metric
from bangbang.metrics.settings import MetricSettings
from bangbang.tasks.scores import Chosen, Joined, quick

F1 = ".f1"


class Scorer:
    """Scores of predictions, as `Trainer` asks for them; `further` are those of a user's own function."""

    def __init__(
        self, metric: Any, tokenizer: Any, further: Callable[[EvalPrediction], dict[str, float]] | None = None
    ) -> None:
        self.metric, self.tokenizer, self.further = metric_of(metric), tokenizer, further
        if self.metric is not None and tokenizer is None:
            raise InputError("MetricTrainer: scores of texts need a tokenizer as processing_class, or metric=None")

    def __call__(self, found: EvalPrediction) -> dict[str, float]:
        labels, texts = found.label_ids
        scores: dict[str, float] = {}
        if self.metric is not None:
            written = texts_of(self.tokenizer, found.predictions)
            scores = quick(self.metric, written, of_bytes(texts))
        if self.further is not None:
            scores |= self.further(EvalPrediction(found.predictions, labels, found.inputs, found.losses))
        return scores


def metric_of(value: Any) -> Metric | None:
    """The metric of a name, of settings, of an object, or of a list of these; None for none.

    Of scores that have precision, recall and F1, F1 in percent is taken, as papers have it.
    """
    listed = value if isinstance(value, list | tuple) else [value] if value else []
    found = [in_percent(single(each)) for each in listed]
    return None if not found else found[0] if len(found) == 1 else Joined(found)


def single(value: Any) -> Metric:
    if isinstance(value, str):
        value = registry.find("metrics", value, "MetricConfig: metric")()
    if isinstance(value, MetricSettings):
        return value.build()
    if not hasattr(value, "statistics"):
        raise InputError(f"MetricConfig: metric must be a name or a metric, not {value!r}")
    metric: Metric = value
    return metric


def in_percent(metric: Metric) -> Metric:
    names = {name.removesuffix(F1): name for name in metric.names if name.endswith(F1)}
    return Chosen(metric, names, dict.fromkeys(names, 100.0), metric.signature) if names else metric


def of_bytes(rows: Any) -> list[list[str]]:
    """Back from `as_bytes`."""
    return [json.loads(bytes(int(byte) for byte in row if byte >= 0)) for row in rows]


def new_tokens(written: Tensor, given: Mapping[str, Tensor], model: PreTrainedModel, ends: Sequence[int]) -> Tensor:
    """Of what `generate` returns [B, T], the tokens behind the prompt, -100 after the end."""
    name = "decoder_input_ids" if model.config.is_encoder_decoder else "input_ids"
    start = model.generation_config.decoder_start_token_id
    read = given.get(name, written[:, :1] if start is not None and name != "input_ids" else written[:, :0])
    if torch.equal(written[:, : read.shape[1]], read):
        written = written[:, read.shape[1] :]
    end = torch.isin(written, torch.tensor(list(ends), device=written.device))
    return written.masked_fill(end.cumsum(1) - end.long() > 0, IGNORED)
