"""Rewards of words on a model whose sequences can all be written down: credit of tokens, and a coin for each word."""

import math
from collections import Counter, defaultdict
from itertools import product

import torch
from torch import Tensor

from bangbang.objectives import Sampling
from bangbang.objectives.policy_gradients import mixed_samples
from bangbang.rewards import Eos, RougeN, Sum, WordReward, WordView, read
from bangbang.symbols import EOS, PAD, SYMBOLS, UNK
from tests.objectives.test_exact import references
from tests.oracles.enumeration import TIME, TOKENS, A, B, PrefixModel, Tokens, gradient, sequences

TEXTS = [*SYMBOLS, " a", "b"]  # so that A B is the word "ab", and A A two words
Y = ((A, B, EOS), (B, EOS))  # "ab" or "b"
P_DROP = 0.4


def reward() -> WordReward:
    view = WordView(
        TEXTS, "", lambda rows: ["".join(map(TEXTS.__getitem__, row)) for row in rows], lambda _: [B], str.split
    )
    return WordReward(Sum(RougeN(2), Eos()), view)


def padded(rows: list[Tokens]) -> Tensor:
    return torch.tensor([[*z, *[PAD] * (TIME - len(z))] for z in rows])


def test_words_are_those_of_the_text() -> None:
    view = reward().view
    assert view.read_texts([(A, B, A), (B, UNK, B), (A, A, EOS)]) == [["ab", "a"], ["bb"], ["a", "a"]]
    assert view.starts((B, B, A, EOS)) == [0, 2, 3] and view.continuations == [B]


def test_credit_by_the_token_has_the_gradient_of_the_expected_reward() -> None:
    """-Σ_{z,z'} p(z) p(z') Σ_t (G_t - G'_t) ∂log p(z_t), G_t = R(z) - R(text before z_t); J = 2."""
    model, every = PrefixModel(), sequences()
    state = reward().start(references(Y, len(every)))
    earned, finals = read(state, padded(every)).tolist(), state.loss_weight().tolist()
    p = {z: model.sequence_log_p(z).exp().item() for z in every}
    value = torch.stack([model.sequence_log_p(z).exp() * final for z, final in zip(every, finals, strict=True)]).sum()
    left = {z: [final - before for before in row] for z, row, final in zip(every, earned, finals, strict=True)}
    coefficients: Counter[tuple[Tokens, int]] = Counter()
    for z, other in product(every, every):
        for t, token in enumerate(z):
            coefficients[z[:t], token] += p[z] * p[other] * (left[z][t] - (left[other][t] if t < len(other) else 0))
    terms = [c * model.log_p(prefix)[token] for (prefix, token), c in coefficients.items()]
    torch.testing.assert_close(
        gradient(-torch.stack(terms).sum(), model), gradient(-value, model), rtol=1e-5, atol=1e-7
    )


class Recursion:
    """The probability of every sample with its driven tokens, as the sampler's page says."""

    def __init__(self, model: PrefixModel) -> None:
        self.model, self.found = model, defaultdict[tuple[Tokens, tuple[bool, ...]], float](float)

    def p(self, prefix: Tokens, among: tuple[int, ...]) -> dict[int, float]:
        mass = {token: self.model.log_p(prefix)[token].exp().item() for token in among}
        return {token: each / sum(mass.values()) for token, each in mass.items()}

    def best(self, prefix: Tokens) -> list[Tokens]:
        state = reward().start(references(Y, 1))
        for token in prefix:
            state.advance(torch.tensor([token]))
        return state.best_spellings([0])[0]

    def between(self, z: Tokens, driven: tuple[bool, ...], chance: float) -> None:
        if self.over(z, driven, chance):
            return
        ways = self.best(z)
        self.spell(z, driven, chance * (1 - P_DROP) if ways else 0.0, ways)
        for token, p in self.p(z, (EOS, UNK, A) if z else TOKENS).items():
            self.open((*z, token), (*driven, False), chance * p * (P_DROP if ways else 1.0))

    def open(self, z: Tokens, driven: tuple[bool, ...], chance: float) -> None:
        if self.over(z, driven, chance):
            return
        ways = self.best(z)
        for token, p in self.p(z, TOKENS).items():
            ends = token != B and bool(ways)
            self.open((*z, token), (*driven, False), chance * p * (P_DROP if ends else 1.0))
            self.spell(z, driven, chance * p * (1 - P_DROP) if ends else 0.0, ways)

    def spell(self, z: Tokens, driven: tuple[bool, ...], chance: float, ways: list[Tokens]) -> None:
        if chance == 0 or self.over(z, driven, chance):
            return
        for token, p in self.p(z, tuple(dict.fromkeys(way[0] for way in ways))).items():
            left = [way[1:] for way in ways if way[0] == token]
            step = (*z, token), (*driven, True), chance * p
            if left[0]:
                self.spell(*step, [way for way in left if way])
            else:
                self.between(*step)

    def over(self, z: Tokens, driven: tuple[bool, ...], chance: float) -> bool:
        done = len(z) == TIME or z[-1:] == (EOS,)
        if done:
            self.found[z, driven] += chance
        return done


def test_samples_by_words_follow_their_distribution() -> None:
    """Chi-square of sequences with who chose each token, with ties and rows that end at different times."""
    model, rows = PrefixModel(seed=3), 4_000
    drawn = mixed_samples(
        model.decoder(rows), reward(), references(Y, rows), TIME, Sampling(P_DROP), torch.Generator().manual_seed(5)
    )
    sample = drawn[1]
    expected = Recursion(model)
    expected.between((), (), 1.0)
    assert math.isclose(sum(expected.found.values()), 1.0)
    counts: Counter[tuple[Tokens, tuple[bool, ...]]] = Counter()
    for z, driven in zip(sample.tokens.tolist(), sample.driven.tolist(), strict=True):
        length = sum(token != PAD for token in z)
        counts[tuple(z[:length]), tuple(driven[:length])] += 1
    assert all(expected.found[each] > 0 for each in counts)
    common = {each: rows * p for each, p in expected.found.items() if rows * p >= 5}
    chi_square = sum((counts[each] - mean) ** 2 / mean for each, mean in common.items())
    freedom = len(common) - 1
    assert len(common) >= 12 and sample.tied.any()
    assert chi_square < freedom + 4 * math.sqrt(2 * freedom)
