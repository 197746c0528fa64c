"""RAML's targets against the literal distributions."""

import math

import pytest
import torch

from bangbang.objectives import Sampling, raml, spg, token_losses
from bangbang.objectives.reward_augmented import edit_weights, hamming_targets, other_tokens, reward_targets
from bangbang.rewards import Dup, Eos, Increments, RougeN, Sum
from bangbang.symbols import EOS, PAD, UNK
from tests.oracles.enumeration import SIZE, TIME, TOKENS, A, B, PrefixModel, delta_r, sequences

TAU = 0.85


def test_edit_weights_are_the_published_ones() -> None:
    n, words = 6, 50
    literal = [math.comb(n, e) * math.exp(-e / TAU) * (words - 1) ** (e - e / TAU) for e in range(n + 1)]
    ours = edit_weights(torch.tensor([n, 2]), TAU, words).exp()
    torch.testing.assert_close(ours[0], torch.tensor(literal, dtype=torch.float64))
    assert ours[1, 3:].tolist() == [0, 0, 0, 0]


def test_hamming_targets() -> None:
    rows, vocabulary = 20_000, 13
    reference = torch.tensor([5, 6, 7, UNK, 5, EOS, PAD])
    drawn = hamming_targets(reference.expand(rows, -1), 1.5, vocabulary, torch.Generator().manual_seed(1))
    assert (drawn[:, 5:] == reference[5:]).all() and drawn[:, :5].min() >= UNK and drawn.max() < vocabulary
    distance = (drawn != reference).sum(1)
    expected = edit_weights(torch.tensor([5]), 1.5, vocabulary - 3).softmax(1)[0] * rows
    counts = torch.bincount(distance, minlength=6).double()
    assert float(((counts - expected) ** 2 / expected).sum()) < 5 + 4 * math.sqrt(10)
    # which word is edited, and into which other: all alike
    edited = (drawn[:, :5] != reference[:5]).sum(0).double()
    assert float(((edited - edited.mean()) ** 2 / edited.mean()).sum()) < 4 + 4 * math.sqrt(8)
    words = torch.bincount(drawn[:, 1][drawn[:, 1] != 6], minlength=vocabulary)[UNK:].double()
    others = words[words > 0]
    assert len(others) == vocabulary - 3 - 1
    assert float(((others - others.mean()) ** 2 / others.mean()).sum()) < 8 + 4 * math.sqrt(16)


def test_reward_targets_follow_exp_of_the_increments() -> None:
    rows, tau, y = 20_000, 0.3, (A, B, EOS)
    reward = Sum(RougeN(3), Dup(), Eos())
    state = reward.start(torch.tensor(y).expand(rows, -1))
    drawn = reward_targets(state, TIME, tau, SIZE, torch.Generator().manual_seed(3))
    counts = dict.fromkeys(sequences(), 0)
    for z in drawn.tolist():
        counts[tuple(v for v in z if v != PAD)] += 1

    def probability(z: tuple[int, ...]) -> float:
        total = 1.0
        for t, token in enumerate(z):
            mass = {v: math.exp(delta / tau) for v, delta in delta_r(z[:t], (y,)).items()}
            total *= mass[token] / sum(mass.values())
        return total

    expected = {z: rows * probability(z) for z in counts}
    statistic = sum((counts[z] - expected[z]) ** 2 / expected[z] for z in counts if expected[z] >= 5)
    freedom = sum(expected[z] >= 5 for z in counts) - 1
    assert freedom > 10 and statistic < freedom + 4 * math.sqrt(2 * freedom)


def test_other_tokens_are_evenly_those_that_are_no_candidates() -> None:
    rows = 20_000
    tokens = torch.tensor([[5, EOS, PAD]]).expand(rows, -1)
    increments = Increments(tokens, torch.zeros(rows, 3), torch.zeros(rows))
    counts = torch.bincount(other_tokens(increments, 9, torch.Generator().manual_seed(0)), minlength=9).double()
    assert counts[[0, 1, EOS, 5]].sum() == 0
    free = counts[[3, 4, 6, 7, 8]]
    assert float(((free - rows / 5) ** 2 / (rows / 5)).sum()) < 4 + 4 * math.sqrt(8)


@pytest.mark.parametrize("reward", [None, RougeN(3)], ids=["hamming", "reward"])
def test_all_positions_of_the_target_count(reward: RougeN | None) -> None:
    model = PrefixModel()
    references = torch.tensor([[A, B, EOS], [B, EOS, PAD]])
    generator = torch.Generator().manual_seed(0)
    proposal = raml(model.decoder(2), references, TIME, TAU, 3, generator, reward)
    assert len(proposal.tokens) == proposal.diagnostics.sample_tokens
    assert proposal.diagnostics.samples == 6 and proposal.diagnostics.reference_tokens == 15
    assert set(proposal.tokens.tolist()) <= set(TOKENS)
    assert (token_losses(model.head, proposal) > 0).all()


def test_of_several_references_the_mean_length_is_counted() -> None:
    """As spg counts: rows of 3 + 2 and of 2 tokens have 3 references of 7 tokens in all, two samples of each row."""
    several = torch.tensor([[[A, B, EOS], [B, EOS, PAD]], [[B, EOS, PAD], [PAD, PAD, PAD]]])
    generator = torch.Generator().manual_seed(0)
    proposal = raml(PrefixModel().decoder(2), several, TIME, TAU, 2, generator, RougeN(3))
    sampled = spg(PrefixModel().decoder(2), RougeN(3), several, TIME, Sampling(samples=2), generator)
    assert proposal.diagnostics.samples == 4
    assert proposal.diagnostics.reference_tokens == sampled.diagnostics.reference_tokens == round(7 / 3 * 4)
