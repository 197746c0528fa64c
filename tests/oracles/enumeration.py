"""A model whose sequences can all be written down, and the paper's equations as literal sums over them.

Four tokens can be generated: `</s>`, `<unk>` and two words, in at most three steps. The model has a free vector of
features for every prefix, so nothing it could do is out of reach.
"""

import itertools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bangbang.heads import VocabularyHead
from bangbang.symbols import BOS, EOS, UNK
from tests.oracles import reward_scores

A, B = 4, 5
TOKENS = (EOS, UNK, A, B)
SIZE, TIME, FEATURES = 6, 3, 3  # vocabulary, longest sequence, features
Tokens = tuple[int, ...]


def prefixes() -> list[Tokens]:
    """All beginnings that can go on, the empty one first."""
    return [p for length in range(TIME) for p in itertools.product((UNK, A, B), repeat=length)]


def sequences() -> list[Tokens]:
    """All that can come out: ended by `</s>`, or cut at the longest length."""
    return [(*p, v) for p in prefixes() for v in TOKENS if v == EOS or len(p) == TIME - 1]


class PrefixModel(nn.Module):
    """p(z_t | z_{1:t-1}) = softmax(W f(z_{1:t-1}) + b), with f a table."""

    def __init__(self, seed: int = 0, scale: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.head = VocabularyHead(SIZE, FEATURES).double()
        self.table = nn.Parameter(scale * torch.randn(len(prefixes()), FEATURES, dtype=torch.float64))
        with torch.no_grad():
            self.head.weight.copy_(torch.randn(SIZE, FEATURES, dtype=torch.float64))
        self.number = {prefix: number for number, prefix in enumerate(prefixes())}

    def log_p(self, prefix: Tokens) -> Tensor:
        """log p of every next token. [V]"""
        features = self.table[self.number[prefix]]
        logits = self.head.weight @ features + self.head.bias
        return torch.log_softmax(torch.cat((torch.full((EOS,), -torch.inf), logits[EOS:])), 0)

    def sequence_log_p(self, z: Tokens) -> Tensor:
        return sum((self.log_p(z[:t])[token] for t, token in enumerate(z)), start=torch.zeros((), dtype=torch.float64))

    def decoder(self, rows: int) -> "PrefixDecoder":
        return PrefixDecoder(self, rows)


class PrefixDecoder:
    """The model as objectives ask for it, for a batch of equal inputs."""

    def __init__(self, model: PrefixModel, rows: int) -> None:
        self.model, self.rows, self.head = model, rows, model.head

    def repeat(self, times: int) -> "PrefixDecoder":
        return PrefixDecoder(self.model, self.rows * times)

    def rollout(self, max_length: int) -> "PrefixRollout":
        return PrefixRollout(self.model, self.rows)

    def unroll(self, tokens: Tensor) -> Tensor:
        rollout = PrefixRollout(self.model, len(tokens))
        for column in tokens.unbind(1):
            rollout.step(column)
        return rollout.features().view(tokens.shape[1], len(tokens), -1).transpose(0, 1)


class PrefixRollout:
    def __init__(self, model: PrefixModel, rows: int) -> None:
        self.model, self.prefixes, self.visited = model, [()] * rows, []

    def step(self, tokens: Tensor) -> Tensor:
        read = [(*p, int(v)) for p, v in zip(self.prefixes, tokens, strict=True)]
        self.prefixes = [tuple(v for v in p if v != BOS) for p in read]
        numbers = [self.model.number.get(p, 0) for p in self.prefixes]  # finished rows may be anywhere
        self.visited.append(torch.tensor(numbers))
        return self.model.table.detach()[self.visited[-1]]

    def keep(self, rows: Tensor) -> None:
        self.prefixes = [self.prefixes[row] for row in rows]

    def features(self) -> Tensor:
        return self.model.table[torch.cat(self.visited)]


def main_reward(z: Tokens, references: Sequence[Tokens]) -> float:
    """The paper's: the average of ROUGE-1, -2 and -3 F1, averaged over references."""
    return sum(reward_scores.rouge_n(z, y, (1, 2, 3)) for y in references) / len(references)


def shaping(z: Tokens, references: Sequence[Tokens]) -> float:
    """DUP + EOS, averaged over references."""
    return reward_scores.dup(z) + sum(reward_scores.eos(z, y) for y in references) / len(references)


def total_reward(z: Tokens, references: Sequence[Tokens]) -> float:
    """The main reward + DUP + EOS."""
    return main_reward(z, references) + shaping(z, references)


def delta_r(prefix: Tokens, references: Sequence[Tokens]) -> dict[int, float]:
    before = total_reward(prefix, references) if prefix else 0.0
    return {v: total_reward((*prefix, v), references) - before for v in TOKENS}


def q_step(model: PrefixModel, prefix: Tokens, references: Sequence[Tokens], w: float) -> dict[int, Tensor]:
    """q̃(z_t | z_{1:t-1}, w_t) ∝ exp(log p + w_t Δr); for w = ∞ the model restricted to the arg-max set, which are the
    least penalized tokens with the largest gain."""
    log_p, increments = model.log_p(prefix), delta_r(prefix, references)
    if math.isinf(w):
        penalties = {v: shaping((*prefix, v), references) for v in TOKENS}
        free = [v for v in TOKENS if penalties[v] > max(penalties.values()) - 1e-9]
        top = max(increments[v] for v in free)
        scores = {v: log_p[v] if v in free and increments[v] > top - 1e-9 else log_p[v] - math.inf for v in TOKENS}
    else:
        scores = {v: log_p[v] + w * increments[v] for v in TOKENS}
    probabilities = torch.softmax(torch.stack(list(scores.values())), 0)
    return dict(zip(scores, probabilities, strict=True))


def q_tilde(
    model: PrefixModel, z: Tokens, references: Sequence[Tokens], w: Sequence[float], end: int | None = None
) -> float:
    """q̃(z | w) = Π_t q̃(z_t | z_{1:t-1}, w_t); where samples have an `end`, the token of that number is `</s>`."""
    return math.prod(
        float(token == EOS) if t + 1 == end else q_step(model, z[:t], references, w[t])[token].item()
        for t, token in enumerate(z)
    )


def weight_vectors(p_drop: float, weight: float) -> list[tuple[float, tuple[float, ...]]]:
    """All w with their probabilities p(w)."""
    each = [(p_drop, 0.0), (1 - p_drop, weight)]
    return [(math.prod(p for p, _ in w), tuple(v for _, v in w)) for w in itertools.product(each, repeat=TIME)]


def gradient(value: Tensor, model: PrefixModel) -> Tensor:
    """∂value/∂θ as one vector, zeros for parameters it does not depend on."""
    found = torch.autograd.grad(value, list(model.parameters()), allow_unused=True, retain_graph=True)
    pairs = zip(found, model.parameters(), strict=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs])
