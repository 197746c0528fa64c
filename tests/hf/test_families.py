"""Tiny models of many families against plain transformers: what we train is what their own `forward` computes."""

import copy
import inspect
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import pad

from bangbang.hf import Inputs, Policy
from bangbang.models import InputDecoder
from bangbang.objectives import Sampling, spg, token_losses
from bangbang.rewards import RougeN
from bangbang.symbols import PAD
from tests.hf.families import CAUSAL, FAMILIES, READ, TARGET, features_by_steps, inputs_of, policy_of

# their `forward` takes labels for another sequence than the text alone, or none
OTHER_LABELS = {"blip2-opt", "blip2-t5", "git", "llava"}


def test_there_are_many() -> None:
    assert len(FAMILIES) >= 50


@pytest.mark.parametrize("name", FAMILIES)
def test_steps_are_the_pass_and_a_batch_is_its_rows_alone(name: str) -> None:
    policy = policy_of(name)
    assert policy.form.closed
    inputs = inputs_of(name, policy)
    with torch.no_grad():
        state = policy.encode(inputs)
        whole = policy.unroll(state, READ)
        assert (whole[0, 0] - whole[1, 0]).abs().max() > 1e-3  # the input matters
        torch.testing.assert_close(features_by_steps(policy, state, READ), whole, rtol=0, atol=1e-5)
        alone = policy.unroll(policy.encode(without_padding(inputs[1:2])), READ[1:2])
        torch.testing.assert_close(alone, whole[1:2], rtol=0, atol=1e-5)
        # from a state on: rows in another order, one of them twice, and two tokens at once
        rows = torch.tensor([2, 0, 2])
        later, _ = policy.step_over(state, READ[:, :2])
        chosen = later.select(rows)
        policy.step(later, READ[:, 2])
        _, found = policy.step_over(chosen, READ[rows, 2:4])
        torch.testing.assert_close(found, whole[rows, 3], rtol=0, atol=1e-5)


def without_padding(inputs: Inputs) -> Inputs:
    """One row alone."""
    mask = inputs.tensors.get("attention_mask")
    if mask is None:
        return inputs
    kept = mask[0].bool()
    return Inputs({name: tensor[:, kept] for name, tensor in inputs.tensors.items()})


def own_loss(name: str, policy: Policy, inputs: Inputs) -> Tensor:
    """Σ -log p(y) by the model's own `forward` with labels."""
    model: Any = policy.inner
    theirs = policy.alphabet.to_read(TARGET, policy.tokens.filler)
    labels = theirs.masked_fill(TARGET == PAD, -100)
    count = (labels != -100).sum()
    if name not in CAUSAL:
        start = torch.full_like(theirs[:, :1], model.generation_config.decoder_start_token_id)
        read = torch.cat((start, theirs[:, :-1]), 1)  # what mBART makes of labels by itself is another order
        return model(**inputs.tensors, decoder_input_ids=read, labels=labels, use_cache=False).loss * count
    prompt, mask = inputs.tensors["input_ids"], inputs.tensors["attention_mask"]
    mask = torch.cat((mask, torch.ones_like(theirs)), 1)
    given = {"position_ids": (mask.cumsum(1) - 1).clamp(min=0)} if takes_positions(model) else {}
    labels = pad(labels, (prompt.shape[1], 0), value=-100)
    ids = torch.cat((prompt, theirs), 1)
    return model(input_ids=ids, attention_mask=mask, labels=labels, use_cache=False, **given).loss * count


def takes_positions(model: Any) -> bool:
    return "position_ids" in inspect.signature(model.forward).parameters


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in OTHER_LABELS])
def test_without_dropping_it_is_the_models_own_loss_and_gradient(name: str) -> None:
    """p_drop = 0, W = ∞: z = y, and the loss is the sum of -log p(y) that transformers computes."""
    policy = policy_of(name)
    inputs = inputs_of(name, policy)
    decoder = InputDecoder(policy, policy.encode(inputs))
    generator = torch.Generator().manual_seed(1)
    proposal = spg(decoder, RougeN(3), TARGET, 6, Sampling(0.0), generator)
    y = TARGET.t().flatten()
    assert proposal.tokens.tolist() == y[y != PAD].tolist()
    ours = token_losses(policy.head, proposal).sum()
    theirs = own_loss(name, policy, inputs)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    parameters = [each for each in policy.parameters() if each.requires_grad]
    exact = torch.autograd.grad(theirs, parameters, allow_unused=True)
    found = torch.autograd.grad(ours, parameters, allow_unused=True)
    for mine, other in zip(found, exact, strict=True):
        assert (mine is None) == (other is None)
        if mine is not None and other is not None:
            torch.testing.assert_close(mine, other, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "part"),
    [("blip2-t5", "vision_model"), ("blip2-opt", "qformer"), ("vit-gpt2", "encoder"), ("whisper", "model.encoder")],
)
def test_gradients_reach_what_reads_the_input(name: str, part: str) -> None:
    """Also through a generator inside a generator, whose own `generate` would cut the graph."""
    policy = policy_of(name)
    features = policy.unroll(policy.encode(inputs_of(name, policy)), READ)
    reading = [each for each in policy.inner.get_submodule(part).parameters() if each.requires_grad]
    found = torch.autograd.grad(features.square().sum(), reading, allow_unused=True)
    assert any(each is not None and each.abs().max() > 0 for each in found)


def test_a_copy_has_a_head_of_its_own() -> None:
    """Such as the frozen one that a stage is compared with."""
    policy = policy_of("t5")
    other = copy.deepcopy(policy)
    features = torch.randn(2, 16)
    torch.testing.assert_close(other.head.logits(features), policy.head.logits(features))
    other.inner.get_output_embeddings().weight.data.mul_(2)
    asked = torch.full((2,), 20)
    assert (other.head.log_prob(features, asked) - policy.head.log_prob(features, asked)).abs().max() > 0.1
