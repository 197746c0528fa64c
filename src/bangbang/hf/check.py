"""Whether a model fits: its head, its steps against its pass, a batch against its rows alone."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from bangbang.errors import InputError
from bangbang.hf.inputs import Inputs
from bangbang.hf.loading import load_model, load_tokenizer, quiet, told
from bangbang.hf.policy import Policy
from bangbang.hf.samples import sample_inputs
from bangbang.symbols import BOS, SYMBOLS

TOLERANCE = 1e-3  # of the largest feature: what is wrong is wrong by far more, what is right by far less
TOKENS = 5


class Report(NamedTuple):
    """What a check finds."""

    name: str
    family: str
    """The model's type, as transformers calls it."""
    model: str
    """Its class."""
    weights: int
    """How many numbers it has."""
    reads: str
    """Its main input."""
    fits: bool
    troubles: list[str]
    """Why it does not fit; empty if it does."""
    notes: list[str]
    """What one should know of it."""
    head: str = ""
    """The form of its output layer."""
    tokens: int = 0
    """Tokens of its vocabulary."""
    ends: tuple[int, ...] = ()
    """Those that end a text, in its own ids; the first is the one that is written."""
    prefix: tuple[int, ...] = ()
    """What its decoder is made to read first; empty leaves it to the model."""
    steps_error: float | None = None
    """Largest difference between features of steps and of a pass, as a share of the largest feature."""
    batch_error: float | None = None
    """The same between rows of a batch and each alone."""


def check(name: str) -> Report:
    """The report on a folder or a hub id; an InputError if it cannot be loaded."""
    model = load_model(name)
    return examine(name, model, load_tokenizer(name))


def examine(name: str, model: PreTrainedModel, tokenizer: Any = None, example: Inputs | None = None) -> Report:
    """The report on a model that is there."""
    report = Report(
        name=name,
        family=model.config.model_type,
        model=type(model).__name__,
        weights=sum(weight.numel() for weight in model.parameters()),
        reads=model.main_input_name,
        fits=True,
        troubles=[],
        notes=[] if tokenizer is not None else ["no tokenizer.json: special tokens are those of its configs alone"],
    )
    try:
        with quiet():
            policy = Policy(model, tokenizer, example=example).eval()
            found = told(name, lambda: measured(report, policy, example or sample_inputs(model, policy.tokens)))
    except InputError as error:
        return report._replace(fits=False, troubles=[str(error)])
    return found._replace(fits=not found.troubles)


@torch.no_grad()
def measured(report: Report, policy: Policy, inputs: Inputs) -> Report:
    tokens = some_tokens(policy, len(inputs))
    state = policy.encode(inputs)
    whole = policy.unroll(state, tokens)
    stepped = []
    for column in tokens.unbind(1):
        state, features = policy.step(state, column)
        stepped.append(features)
    rows = [policy.unroll(policy.encode(alone(inputs, row)), tokens[row : row + 1]) for row in range(len(inputs))]
    steps, batch = share(torch.stack(stepped, 1), whole), share(torch.cat(rows), whole)
    troubles = []
    if not steps <= TOLERANCE:
        troubles.append(
            f"its steps differ from its pass by {steps:.1e} of the features: what is sampled is not trained"
        )
    if not batch <= TOLERANCE:
        troubles.append(f"a batch differs from its rows alone by {batch:.1e} of the features: padding is not masked")
    notes = list(report.notes)
    if not policy.form.closed:
        notes.append("its output layer is called, chunk by chunk, and computed anew in the backward pass")
    if not policy.chunks:
        notes.append("it reads one token at a time behind its cache: jumps save nothing")
    return report._replace(
        troubles=troubles,
        notes=notes,
        head=str(policy.form),
        tokens=policy.alphabet.size - len(SYMBOLS),
        ends=policy.tokens.ends,
        prefix=policy.prefix,
        steps_error=steps,
        batch_error=batch,
    )


def some_tokens(policy: Policy, rows: int) -> Tensor:
    """Tokens to read, in our ids, the first of which stands for the prefix."""
    theirs = torch.tensor(policy.tokens.ordinary(rows * TOKENS)).view(rows, TOKENS)
    tokens = policy.alphabet.to_ours(theirs)
    tokens[:, 0] = BOS
    return tokens


def alone(inputs: Inputs, row: int) -> Inputs:
    """One row of texts without its padding; of other inputs, the row."""
    one = inputs[row : row + 1]
    mask = one.tensors.get("attention_mask")
    if mask is None or "input_ids" not in one.tensors:
        return one
    kept = mask[0].bool()
    short = {name: tensor[:, kept] for name, tensor in one.tensors.items() if tensor.shape == mask.shape}
    return Inputs({**one.tensors, **short})


def share(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-12))
