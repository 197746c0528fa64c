"""transformers' `Seq2SeqTrainer`, with a loss of ours: any generator, trained against the metric.

Data, optimizer, precision, logs, callbacks, checkpoints and processes stay the Trainer's. Ours are the loss, how losses
of several micro-batches are added up, what evaluation scores, and stages.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import EvalPrediction, PreTrainedModel, Seq2SeqTrainer
from transformers.trainer_utils import EvalLoopOutput, PredictionOutput

from bangbang.contracts import Batch, Diagnostics
from bangbang.errors import InputError
from bangbang.hf.collation import COLUMNS, IGNORED, Collator, as_bytes, tokenizer_of
from bangbang.hf.curriculum import Curriculum, staged_schedule
from bangbang.hf.loading import load_model, load_tokenizer
from bangbang.hf.metric_config import MetricConfig
from bangbang.hf.policy import Policy
from bangbang.hf.predictions import Scorer, new_tokens
from bangbang.hf.preparation import adapted, check_dataset, checked, force_start, hand_over_loss, inner_of
from bangbang.hf.tokens import Tokens
from bangbang.hf.writing import texts_of
from bangbang.objectives import Mle, means
from bangbang.precision import widest_float
from bangbang.randomness import seed_for
from bangbang.symbols import PAD

BESIDE = ("labels", "references", "texts")  # what a batch has beside the model's inputs


class MetricTrainer(Seq2SeqTrainer):  # type: ignore[misc]  # it has no types
    """A `Seq2SeqTrainer` for encoder-decoders and causal language models whose loss is that of an objective."""

    args: MetricConfig
    lr_scheduler: Any
    loss_is_scaled_for_ga = True  # by `compute_loss`: a micro-batch counts by its share of the step

    def __init__(
        self,
        model: str | PreTrainedModel | nn.Module,
        args: MetricConfig | None = None,
        data_collator: Callable[[list[Any]], Mapping[str, Tensor]] | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        processing_class: Any = None,
        compute_metrics: Callable[[EvalPrediction], dict[str, float]] | None = None,
        callbacks: list[Any] | None = None,
        optimizers: tuple[Any, Any] = (None, None),
        peft_config: Any = None,
    ) -> None:
        """`model`: a folder or a hub id, a model, or a PEFT model. `peft_config` makes a PEFT model of it.

        `processing_class`: its tokenizer, or its processor of images or sounds; with a folder or a hub id, its own.
        `compute_metrics`: further scores, of token ids as `Seq2SeqTrainer` gives them.
        """
        args = checked(args)
        if isinstance(model, str):
            name, model = model, load_model(model)
            processing_class = load_tokenizer(name) if processing_class is None else processing_class
        if args.generation_config is not None:
            model.generation_config = self.load_generation_config(args.generation_config)
        model = adapted(model, peft_config)
        tokenizer = tokenizer_of(processing_class)
        force_start(model, tokenizer)
        self.policy = Policy(model, tokens=Tokens.of(inner_of(model), tokenizer, args.separator))
        lengths = args.max_source_length, args.max_target_length
        collator = Collator(self.policy, processing_class, lengths, data_collator)
        for dataset in (train_dataset, *(eval_dataset.values() if isinstance(eval_dataset, dict) else [eval_dataset])):
            check_dataset(dataset, collator)
        self.curriculum = Curriculum(args, self.policy, collator, train_dataset)
        self.likelihood = Mle().build(never, args.max_target_length)
        self.scorer = Scorer(args.metric, tokenizer, compute_metrics) if args.predict_with_generate else None
        self.sums: Diagnostics | None = None  # since the last line of the log
        self.drawn = (-1, 0)  # the step of the last micro-batch, and its number within the step
        hand_over_loss(model)
        super().__init__(
            model,
            args,
            collator,
            train_dataset,
            eval_dataset,
            processing_class,
            compute_metrics=self.scorer,
            callbacks=callbacks,
            optimizers=optimizers,
        )
        if args.n_gpu > 1:
            raise InputError("MetricTrainer: several devices need a process each; start it by torchrun")

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        self._signature_columns: list[str] = list(dict.fromkeys([*self._signature_columns, *COLUMNS]))

    def batch(self, inputs: Mapping[str, Tensor]) -> Batch:
        """What objectives take, of a batch of the collator."""
        given = {name: value for name, value in inputs.items() if name not in BESIDE}
        several = inputs.get("references")
        if several is None:
            return self.policy.batch(given, inputs["labels"])
        batch = self.policy.batch(given, inputs["labels"], several.unbind(1))
        absent = (several == IGNORED).all(2, keepdim=True)
        return batch._replace(references=batch.references.masked_fill(absent, PAD))

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Σ_m n_m / N · L_m over the micro-batches m of a step: L_m divided as the objective says, N = Σ_m n_m.

        n_m is the number of reference tokens, or of examples if that is what the objective's loss is divided by.
        """
        step = self.state.global_step
        number, leg = self.curriculum.at(step)
        self.drawn = step, self.drawn[1] + 1 if self.drawn[0] == step else 0
        objective = self.curriculum.objective(number, step, self.args.should_save)
        seed = seed_for(self.args.seed, "stage", number, self.drawn[1])
        place = step - leg.first_step, seed, self.args.process_index
        ask = functools.partial(self.policy.loss, self.batch(inputs), objective, *place)
        loss, diagnostics = model(metric_loss=ask)
        self.sums = diagnostics if self.sums is None else added(self.sums, diagnostics)
        own = self.count(inputs)
        whole = own if num_items_in_batch is None else num_items_in_batch
        copies = self.accelerator.num_processes if self.args.average_tokens_across_devices else 1
        loss = loss * (copies * own / whole)  # processes take the mean of their gradients
        return (loss, {}) if return_outputs else loss

    def count(self, inputs: Mapping[str, Tensor]) -> int:
        labels = inputs["labels"]
        by_tokens = self.curriculum.at(self.state.global_step)[1].objective.normalizer == "positions"
        return int((labels != IGNORED).sum()) if by_tokens else len(labels)

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> Tensor | None:
        if not batch_samples:
            return None
        total = torch.tensor(sum(map(self.count, batch_samples)), device=device)
        if self.args.average_tokens_across_devices and self.args.world_size > 1:
            total = self.accelerator.gather(total).sum()
        return total

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        if not self.args.stages or self.lr_scheduler is not None:
            return super().create_scheduler(num_training_steps, optimizer)
        self.lr_scheduler = staged_schedule(self.optimizer if optimizer is None else optimizer, self.args)
        self._created_lr_scheduler = True
        return self.lr_scheduler

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        if "loss" in logs and self.sums is not None:
            own = torch.tensor(self.sums, dtype=widest_float(self.args.device), device=self.args.device)
            every = self.accelerator.gather(own).view(-1, len(own)).sum(0)
            logs.update(means(Diagnostics(*every.tolist())))
            self.sums = None
        super().log(logs, start_time)

    def evaluation_loop(self, *arguments: Any, **options: Any) -> EvalLoopOutput:
        self.gather_function = self.accelerator.gather_for_metrics  # which leaves out rows that fill up a last batch
        return super().evaluation_loop(*arguments, **options)

    def predict(self, test_dataset: Any, *arguments: Any, **options: Any) -> PredictionOutput:
        check_dataset(test_dataset, self.data_collator)
        found = super().predict(test_dataset, *arguments, **options)
        labels = found.label_ids
        return found._replace(label_ids=labels[0] if isinstance(labels, tuple) else labels)

    def prediction_step(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        prediction_loss_only: bool,
        ignore_keys: list[str] | None = None,
        **options: Any,
    ) -> tuple[Tensor | None, Any, Any]:
        """The mean -log p of reference tokens, what the model writes, and the references as ids and as texts."""
        inputs = self._prepare_inputs(inputs)
        with torch.no_grad(), self.compute_loss_context_manager():
            loss, _ = model(metric_loss=functools.partial(self.policy.loss, self.batch(inputs), self.likelihood))
        if prediction_loss_only or self.scorer is None:
            return loss.detach(), None, None
        written = self.generated(inputs, {**getattr(self, "_gen_kwargs", {}), **options})
        labels, texts = inputs["labels"], inputs.get("texts")
        if texts is None:
            texts = as_bytes([[text] for text in texts_of(self.scorer.tokenizer, labels.tolist())])
        return loss.detach(), written, (labels, texts.to(labels.device))

    def generated(self, inputs: Mapping[str, Tensor], options: Mapping[str, Any]) -> Tensor:
        """The tokens that `generate` adds, in the model's ids, -100 after the end."""
        tokens = self.policy.tokens
        given = {name: value for name, value in inputs.items() if name not in BESIDE}
        chosen = {name: value for name, value in options.items() if value is not None}
        if not {"max_length", "max_new_tokens"} & set(chosen):
            chosen["max_new_tokens"] = self.args.max_target_length
        if self.policy.prefix:
            rows = len(inputs["labels"])
            given["decoder_input_ids"] = torch.tensor([self.policy.prefix], device=self.args.device).repeat(rows, 1)
        ends = {"pad_token_id": tokens.filler, "eos_token_id": list(tokens.ends)}
        generator: Any = self.model
        with torch.no_grad():
            written = generator.generate(**given, **ends, **chosen)
        return new_tokens(written, given, self.policy.inner, tokens.ends)


def never() -> Any:
    raise AssertionError("maximum likelihood asks for no reward")


def added(one: Diagnostics, other: Diagnostics) -> Diagnostics:
    sums: list[Any] = [first + second for first, second in zip(one, other, strict=True)]
    return Diagnostics(*sums)
