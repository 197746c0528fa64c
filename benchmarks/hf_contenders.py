"""The training steps that `bench hf` compares: one model of transformers, one random batch, one optimiser.

`mle_transformers` is the loss that the model itself gives for labels. TRL's trainer has a file of its own.

Shapes: B batch, S source length, T time.
"""

import argparse
from typing import Any

import torch
from torch import Tensor

from bangbang.contracts import Batch, InputSizes
from bangbang.hf import Policy
from bangbang.hf.capture import output_layer
from bangbang.models.settings import HfSettings
from bangbang.symbols import PAD
from bangbang.training.learner import Learner
from bangbang.training.optimizer import build_optimizer, clipped_step, gradient_norm
from bangbang.training.settings import OptimizerSettings
from benchmarks.contenders import REWARD, chosen, random_batch

IGNORED = -100  # a label that transformers leaves out


def from_scratch(arguments: argparse.Namespace) -> dict[str, Any]:
    """A family's settings for the sizes."""
    layers, dim, positions = arguments.layers, arguments.dim, 4 * (arguments.source_length + arguments.max_length)
    if arguments.family == "gpt2":
        sizes = {"n_embd": dim, "n_layer": 2 * layers, "n_head": 4, "n_positions": positions}
        return {"family": "gpt2", **sizes}
    if arguments.family == "t5":
        sizes = {"d_model": dim, "d_kv": dim // 4, "d_ff": 4 * dim, "num_layers": layers, "num_heads": 4}
        return {"family": "t5", **sizes}
    sizes = {"d_model": dim, "max_position_embeddings": positions}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": layers, f"{side}_attention_heads": 4, f"{side}_ffn_dim": 4 * dim}
    return {"family": arguments.family, **sizes}


def build_policy(arguments: argparse.Namespace) -> Policy:
    torch.manual_seed(arguments.seed)
    model = HfSettings(from_scratch=from_scratch(arguments)).build(InputSizes(arguments.vocab, None, None))
    assert isinstance(model, Policy)
    return model


def objective_of(name: str, arguments: argparse.Namespace) -> Any:
    kind, _, sampling = name.partition("_")
    given = {"p_drop": arguments.p_drop, "ties": arguments.ties, "sampling": sampling or "sequential"}
    return chosen("objectives", kind, **given, **({"samples": arguments.samples} if kind == "rloo" else {}))


class Contender:
    """One method: its own copy of the model and of the optimiser's state, the same batch as the others."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        self.name, self.settings = name, OptimizerSettings(kind="adamw", learning_rate=1e-12)
        self.model = build_policy(arguments).train()
        self.optimizer = build_optimizer(self.model.parameters(), self.settings)
        self.batch = random_batch(argparse.Namespace(**vars(arguments), model="attention_gru"))
        if name != "mle_transformers":
            objective = objective_of(name, arguments).build(lambda: REWARD, arguments.max_length)
            self.learner = Learner(self.model, objective).train()
        self.number, self.passes, self.positions = 0, list[int](), list[int]()
        self.calls = 0
        output_layer(self.model.inner).register_forward_pre_hook(self._count)

    def _count(self, layer: Any, arguments: Any) -> None:
        self.calls += 1

    def loss(self) -> tuple[Tensor, int]:
        if self.name == "mle_transformers":
            tokens = int((self.batch.target != PAD).sum())
            return self.model.inner(**plain_inputs(self.model, self.batch)).loss * tokens, tokens
        generator = torch.Generator().manual_seed(self.number)
        losses, _, diagnostics = self.learner(self.batch, 0, generator)
        return losses.sum(), diagnostics.sample_tokens

    def step(self) -> None:
        self.calls = 0
        loss, positions = self.loss()
        torch.autograd.backward(loss)
        norm = gradient_norm(self.model.parameters(), 1 / positions)
        clipped_step(self.optimizer, 1 / positions, norm, self.settings.clip_norm)
        self.optimizer.zero_grad(set_to_none=True)
        self.passes.append(self.calls)
        self.positions.append(positions)
        self.number += 1


def plain_inputs(model: Policy, batch: Batch) -> dict[str, Tensor]:
    """What the model itself is called with for its loss on the references."""
    given = model.template.inputs(batch.source, batch.source_length, model.alphabet, model.tokens.filler).tensors
    labels = batch.target.masked_fill(batch.target == PAD, IGNORED)
    if model.inner.config.is_encoder_decoder:
        return {**given, "labels": labels}
    ids = torch.cat((given["input_ids"], batch.target), 1)
    mask = torch.cat((given["attention_mask"], (batch.target != PAD).long()), 1)
    hidden = torch.full_like(given["input_ids"], IGNORED)
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.cat((hidden, labels), 1)}
