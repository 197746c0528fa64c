"""What `MetricTrainer` does to its arguments before it trains: checks them, and prepares the model."""

import functools
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

from torch import nn

from bangbang.errors import InputError
from bangbang.hf.collation import Collator, check_columns
from bangbang.hf.loading import told
from bangbang.hf.metric_config import MetricConfig
from bangbang.hf.requirements import require


def checked(args: MetricConfig | None) -> MetricConfig:
    args = MetricConfig("metric-trainer") if args is None else args
    if not isinstance(args, MetricConfig):
        raise InputError(f"MetricTrainer: args must be a MetricConfig, not {type(args).__name__}")
    if args.batch_eval_metrics or not args.eval_do_concat_batches:
        raise InputError("MetricTrainer: scores are of the whole set; leave batch_eval_metrics and its kin out")
    return args


def check_dataset(dataset: Any, collator: Collator) -> None:
    """An InputError if the columns of a dataset, where they can be known, are not understood."""
    columns: Sequence[str] | None = getattr(dataset, "column_names", None)
    if columns is None and isinstance(dataset, list | tuple) and dataset:
        columns = list(dataset[0])
    if columns is not None and collator.other is None:
        check_columns(columns, collator.main)


def adapted(model: Any, peft_config: Any) -> Any:
    """The model, or a PEFT model of it."""
    require("MetricTrainer", peft=peft_config is not None)
    if peft_config is not None:
        from peft import get_peft_model

        if hasattr(model, "get_base_model"):
            raise InputError("MetricTrainer: the model is a PEFT model already; leave peft_config out")
        model = told("peft_config", lambda: get_peft_model(model, peft_config))
    if getattr(getattr(model, "active_peft_config", None), "is_prompt_learning", False):
        raise InputError("MetricTrainer: prompts that are learnt are not trained here; choose LoRA or the like")
    return model


def inner_of(model: Any) -> Any:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def force_start(model: Any, tokenizer: Any) -> None:
    """What a tokenizer puts in front of every target, such as a language code, is forced, not learnt."""
    inner = inner_of(model)
    if tokenizer is None or not inner.config.is_encoder_decoder:
        return
    ids, plain = tokenizer(text_target="a")["input_ids"], tokenizer(text_target="a", add_special_tokens=False)
    if (
        len(ids) > 1
        and ids[0] in tokenizer.all_special_ids
        and ids[1 : 1 + len(plain["input_ids"])] == plain["input_ids"]
    ):
        inner.generation_config.forced_bos_token_id = ids[0]


def hand_over_loss(model: nn.Module) -> None:
    """Lets `forward` return a loss that is handed to it.

    What wraps a model, for several processes or for other numbers, is only there while `forward` runs. The loss itself
    calls the model without wrappers: autocast, entered twice, would never end.
    """
    before = vars(model).get("forward")

    @functools.wraps(type(model).forward)
    def forward(self: nn.Module, *inputs: Any, metric_loss: Callable[[], Any] | None = None, **named: Any) -> Any:
        if metric_loss is None:
            return type(self).forward(self, *inputs, **named) if before is None else before(*inputs, **named)
        wrapped = without_wrappers(self)
        if before is not None:
            self.forward = before
        try:
            return metric_loss()
        finally:
            self.forward = wrapped

    model.forward = MethodType(forward, model)


def without_wrappers(model: nn.Module) -> Any:
    """Takes off what was put around `forward`, and returns it."""
    return vars(model).pop("forward", None)
