"""What the methods become at the ends of their settings."""

import math

import pytest
import torch
from torch import Tensor

from bangbang.contracts import Rollout
from bangbang.models import AttentionGru, InputDecoder
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives import Proposal, Rules, Sampling, mle, sampler, spg, token_losses
from bangbang.objectives.policy_gradients import bang_bang_weights, loss_weights, others_baseline
from bangbang.rewards import Dup, EditDistance, Eos, FunctionReward, Increments, RougeN, Sum, repeat
from bangbang.symbols import BOS, EOS, PAD

REWARD = Sum(RougeN(3), Dup(), Eos())
REFERENCES = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD], [9, 5, EOS, PAD], [6, 5, 9, EOS]])


class StepByStep(InputDecoder):
    """A decoder that reads known tokens one at a time, as sampling does, rather than all at once."""

    def unroll(self, tokens: Tensor) -> Tensor:
        rollout: Rollout = self.rollout(tokens.shape[1])
        for column in tokens.unbind(1):
            rollout.step(column)
        return rollout.features().view(tokens.shape[1], len(tokens), -1).transpose(0, 1)


def model_and_decoder(kind: type[InputDecoder] = InputDecoder) -> tuple[AttentionGru, InputDecoder]:
    torch.manual_seed(0)
    model = AttentionGru(12, AttentionGruSettings(layers=2, units=8, dropout=0.0))
    source = torch.randint(4, 12, (4, 6))
    return model, kind(model, model.encode(source, torch.tensor([6, 2, 4, 6])))


def loss_and_gradients(model: AttentionGru, proposal: Proposal) -> tuple[Tensor, dict[str, Tensor]]:
    losses = token_losses(model.head, proposal)
    model.zero_grad()
    losses.sum().backward()
    return losses.detach(), {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def test_without_dropping_it_is_maximum_likelihood_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """p_drop = 0, W = ∞: z = y, every weight R(y|y) = 1, and loss and gradients have the same bits.

    Finished rows are kept to the end here, as maximum likelihood keeps them: sums over fewer rows round differently.
    """
    monkeypatch.setattr(sampler, "DONE_SHARE", 1.0)
    model, decoder = model_and_decoder(StepByStep)
    ours = spg(decoder, REWARD, REFERENCES, 6, Sampling(0.0), generator())
    losses, gradients = loss_and_gradients(model, ours)
    model, decoder = model_and_decoder(StepByStep)
    expected, exact = loss_and_gradients(model, mle(decoder, REFERENCES))
    torch.testing.assert_close(losses, expected, rtol=0, atol=0)
    assert gradients.keys() == exact.keys() == dict(model.named_parameters()).keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, exact[name], rtol=0, atol=0, msg=name)


def test_without_dropping_it_is_the_fast_maximum_likelihood_but_for_rounding() -> None:
    model, decoder = model_and_decoder()
    losses, gradients = loss_and_gradients(model, spg(decoder, REWARD, REFERENCES, 6, Sampling(0.0), generator()))
    model, decoder = model_and_decoder()
    expected, exact = loss_and_gradients(model, mle(decoder, REFERENCES))
    torch.testing.assert_close(losses, expected)
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, exact[name], rtol=1e-4, atol=1e-6, msg=name)


def test_without_a_reward_in_the_sampler_it_is_the_policy_gradient() -> None:
    """W = 0, p_drop = 0: z ~ p, all positions count, with weight R(z|y), as Eq. 6 says literally."""
    model, decoder = model_and_decoder()
    settings = Sampling(0.0, rules=Rules(weight=0.0))
    proposal = spg(decoder, REWARD, REFERENCES, 6, settings, generator())
    losses, gradients = loss_and_gradients(model, proposal)

    model, decoder = model_and_decoder()
    _, chances = torch.rand(2, 4, 6, generator=generator())
    last, sampled, weighted = torch.full((4,), BOS), [], []
    state, rewards = decoder.state, RougeN(3).start(REFERENCES)
    alive = torch.ones(4, dtype=torch.bool)
    for t in range(6):
        state, features = model.step(state, last)
        log_p = model.head.logits(features).log_softmax(1)
        last = torch.searchsorted(log_p.detach().double().exp().cumsum(1), chances[:, t, None].double()).squeeze(1)
        sampled.append(last.where(alive, torch.full_like(last, PAD)))
        weighted.append(log_p.gather(1, last[:, None]).squeeze(1) * alive)
        rewards.advance(sampled[-1])
        alive = alive & (last != EOS)
    value = -(rewards.value() * torch.stack(weighted).sum(0)).sum()
    drawn = torch.stack(sampled)
    assert proposal.tokens.tolist() == drawn[drawn != PAD].tolist()
    model.zero_grad()
    torch.testing.assert_close(losses.sum(), value.detach(), rtol=1e-5, atol=1e-6)
    # `step` looks embeddings up outside the shared node of the fast path: compare what both give a gradient
    value.backward()
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not name.startswith("head.weight"):
            torch.testing.assert_close(gradients[name], parameter.grad, rtol=1e-4, atol=1e-6, msg=name)


def test_the_loss_omits_what_the_model_chose() -> None:
    _, decoder = model_and_decoder()
    proposal = spg(decoder, REWARD, REFERENCES, 15, Sampling(0.5), generator())
    counts = proposal.diagnostics
    assert len(proposal.tokens) == counts.driven_tokens < counts.sample_tokens
    assert counts.driven_tokens + counts.model_tokens == counts.sample_tokens
    everything = spg(decoder, REWARD, REFERENCES, 15, Sampling(1.0), generator())
    assert len(everything.tokens) == 0 and everything.diagnostics.model_tokens > 0
    alone = spg(decoder, REWARD, REFERENCES, 15, Sampling(rules=Rules(weight=0.0)), generator())  # policy gradient
    counts = alone.diagnostics
    assert len(alone.tokens) == counts.model_tokens == counts.sample_tokens and counts.driven_tokens == 0


def test_a_large_finite_weight_is_the_infinite_one_where_nothing_ties() -> None:
    _, decoder = model_and_decoder()
    hard = spg(decoder, REWARD, REFERENCES, 6, Sampling(0.0), generator())
    soft = spg(decoder, REWARD, REFERENCES, 6, Sampling(0.0, rules=Rules(weight=10_000.0)), generator())
    assert hard.tokens.tolist() == soft.tokens.tolist()
    assert math.isinf(Sampling().rules.weight)


def test_the_baseline_is_the_mean_of_the_others() -> None:
    values = torch.tensor([0.2, 0.4, 0.9, 0.0, 0.0, 0.3])
    expected = [0.2 - 0.65, 0.4 - 0.55, 0.9 - 0.3, 0.0 - 0.15, 0.0 - 0.15, 0.3 - 0.0]
    torch.testing.assert_close(others_baseline(values, 3), torch.tensor(expected))
    torch.testing.assert_close(loss_weights(values, Sampling(weight_by_reward=False)), torch.ones(6))
    torch.testing.assert_close(loss_weights(values, Sampling()), values)


class Constant:
    """A reward written elsewhere, with the least that a reward has: 0.25 for every sequence."""

    def start(self, references: Tensor) -> "ConstantState":
        return ConstantState(torch.zeros(len(references), 0))


class ConstantState:
    def __init__(self, past: Tensor) -> None:
        self.past = past  # [B, t]

    def increments(self) -> Increments:
        gain = torch.full_like(self.past.sum(1), 0.0 if self.past.shape[1] else 0.25)
        return Increments(torch.full_like(gain, EOS, dtype=torch.long)[:, None], gain[:, None], gain)

    def advance(self, tokens: Tensor) -> None:
        self.past = torch.cat((self.past, tokens[:, None].float()), 1)

    def value(self) -> Tensor:
        return torch.full_like(self.past.sum(1), 0.25 if self.past.shape[1] else 0.0)

    def select(self, rows: Tensor) -> "ConstantState":
        return ConstantState(self.past[rows])


def words(z: list[int], references: list[list[int]]) -> float:
    """A metric from -5 to 5, with as many of either sign."""
    return 5.0 - 2 * len(z)


@pytest.mark.parametrize(
    ("reward", "low", "high"),
    [
        (Constant(), 0, 1),
        (Sum(Constant(), Dup(), weights=(0.5, 1)), 0, 1),
        (EditDistance(), 0, 1),
        (Sum(FunctionReward(words, bounds=(-5, 5)), Eos()), -5, 5),
        (Sum(RougeN(3), Dup(), Eos()), 0, 1),
    ],
    ids=["elsewhere", "elsewhere, in a sum", "edit distance", "from -5 to 5", "rouge"],
)
def test_the_loss_is_weighted_by_the_main_reward_as_a_share_of_its_bounds(reward, low: float, high: float) -> None:
    """All samples of a cold model: coefficients lie between 0 and 1, and what is reported is the raw value."""
    _, decoder = model_and_decoder()
    noise = generator()
    coins, chances = torch.rand(2, 12, 6, generator=generator())
    proposal = spg(decoder, reward, REFERENCES, 6, Sampling(0.7, samples=3), noise)
    state = repeat(reward.start(REFERENCES), 3)
    sample = sampler.draw(
        decoder.repeat(3).rollout(6), decoder.head, state, bang_bang_weights(coins, 0.7), chances, Rules()
    )
    main = reward.parts[0] if isinstance(reward, Sum) else reward
    values = []
    for row, z in enumerate(sample.tokens):
        alone = main.start(REFERENCES[row // 3 : row // 3 + 1])
        for token in z[z != PAD]:
            alone.advance(token[None])
        values.append(alone.value().item())
    raw = torch.tensor(values)
    share = ((raw - low) / (high - low)).clamp(0, 1)
    torch.testing.assert_close(sample.rewards, raw)
    torch.testing.assert_close(sample.shares, share)
    assert proposal.diagnostics.reward == pytest.approx(values and sum(values), abs=1e-4)
    _, row = sample.driven.t().nonzero(as_tuple=True)
    torch.testing.assert_close(proposal.coefficients, share[row])
