"""Sampling, with temperature and cuts to the likeliest tokens; what decoding gives back, and what it never generates.

Each row has uniform numbers of its own, one per time step, so a line is sampled the same whatever it is batched with.

Shapes: R rows, T time, V vocabulary.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from bangbang.contracts import Model, State
from bangbang.decoding.settings import DecodingSettings
from bangbang.precision import widest_float
from bangbang.randomness import seed_for
from bangbang.symbols import BOS, EOS, PAD, UNK


class Hypothesis(NamedTuple):
    tokens: list[int]
    """Without `</s>`."""
    log_prob: float
    """log p(tokens and, where it was reached, `</s>`) under the model alone."""
    score: float
    """What hypotheses of one input are ranked by."""


def forbidden(previous: Tensor, config: DecodingSettings) -> Tensor:
    """The tokens [R, F] that may not come after `previous` [R]: W·DUP with W = ∞, and what is never generated."""
    never = [PAD, BOS] if config.unknown else [PAD, BOS, UNK]
    tokens = torch.tensor(never, device=previous.device).expand(len(previous), -1)
    return torch.cat((tokens, previous.unsqueeze(1)), 1) if config.dup else tokens


def truncate(log_probs: Tensor, top_k: int, top_p: float) -> Tensor:
    """log_probs [R, V] with -inf below the k likeliest tokens and below the fewest that together have p (Holtzman)."""
    if 0 < top_k < log_probs.shape[1]:
        bound = log_probs.topk(top_k).values[:, -1:]
        log_probs = log_probs.masked_fill(log_probs < bound, -torch.inf)
    if top_p < 1:
        ordered, order = log_probs.softmax(1).sort(1, descending=True)
        before = ordered.cumsum(1) - ordered  # the mass of all likelier tokens; 0 for the first, which always stays
        log_probs = log_probs.masked_fill((before >= top_p).scatter(1, order, before >= top_p), -torch.inf)
    return log_probs


def draw(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """One token [R] from each row of unnormalised log_probs [R, V] by inverting its distribution at `uniform` [R]."""
    precision = widest_float(log_probs.device)
    mass = log_probs.to(precision).softmax(1).cumsum(1)
    total = mass[:, -1:].contiguous()
    tokens = torch.searchsorted(mass, uniform.to(precision).unsqueeze(1) * total, right=True)
    # rounding may point past the last possible token; the last one with any mass is then meant
    return torch.minimum(tokens, torch.searchsorted(mass, total)).squeeze(1)


def sample(
    model: Model[State], state: State, uniform: Tensor, max_length: int, config: DecodingSettings
) -> list[Hypothesis]:
    """One sequence per row of `state`; `uniform` [R, T] holds the rows' random numbers."""
    rows = torch.arange(state.rows, device=uniform.device)
    last = torch.full_like(rows, BOS)
    log_prob = torch.zeros_like(uniform[:, 0], dtype=widest_float(uniform.device))
    tokens = torch.full_like(uniform, EOS, dtype=torch.long)  # [R, T]
    for t in range(max_length):
        state, features = model.step(state, last)
        log_p = model.head.logits(features).log_softmax(1)
        possible = (log_p / config.temperature).scatter_(1, forbidden(last, config), -torch.inf)
        allowed = truncate(possible, config.top_k, config.top_p)
        last = draw(allowed, uniform[rows, t])
        tokens[rows, t] = last
        log_prob[rows] += log_p.gather(1, last.unsqueeze(1)).squeeze(1)
        going = (last != EOS).nonzero().squeeze(1)
        if len(going) == 0:
            break
        rows, last, state = rows[going], last[going], state.select(going)
    return [Hypothesis(cut(row), total, total) for row, total in zip(tokens.tolist(), log_prob.tolist(), strict=True)]


def cut(tokens: list[int]) -> list[int]:
    return tokens[: tokens.index(EOS)] if EOS in tokens else tokens


def draw_lines(
    model: Model[State],
    state: State,
    lines: Sequence[int],
    config: DecodingSettings,
    max_length: int,
    count: int,
    seed: int,
) -> list[list[Hypothesis]]:
    """`count` samples of each line, in the order of their numbers: the first ones are those of a smaller count."""
    device = state.device
    rows = torch.arange(len(lines), device=device).repeat_interleave(count)
    drawn: list[Hypothesis] = []
    for chunk in torch.split(rows, rows_together(model.head.size)):
        numbers = range(len(drawn), len(drawn) + len(chunk))
        uniform = torch.stack([line_uniforms(seed, lines[n // count], n % count, max_length) for n in numbers])
        drawn += sample(model, state.select(chunk), uniform.to(device), max_length, config)
    return [drawn[start : start + count] for start in range(0, len(drawn), count)]


def rows_together(vocabulary: int) -> int:
    """Rows that are sampled at once: their probabilities, in double precision too, take some 100 MB."""
    return max(1, 2**22 // vocabulary)


def sample_lines(
    model: Model[State],
    state: State,
    lines: Sequence[int],
    config: DecodingSettings,
    max_length: int,
    nbest: int,
    seed: int,
) -> list[list[Hypothesis]]:
    """The samples of each line, the likeliest first."""
    drawn = draw_lines(model, state, lines, config, max_length, nbest, seed)
    return [sorted(block, key=lambda hypothesis: -hypothesis.score) for block in drawn]


def line_uniforms(seed: int, line: int, number: int, count: int) -> Tensor:
    """The random numbers [count] of the `number`-th sample of a line, always drawn on the CPU."""
    generator = torch.Generator().manual_seed(seed_for(seed, "sample", line, number))
    return torch.rand(count, generator=generator)
