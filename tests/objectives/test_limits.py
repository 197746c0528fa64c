"""What the methods become at the ends of their settings."""

import math

import pytest
import torch
from torch import Tensor

from bangbang.contracts import Rollout
from bangbang.models import AttentionGru, InputDecoder
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives import Proposal, Rules, Sampling, mle, sampler, spg, token_losses
from bangbang.objectives.policy_gradients import loss_weights, others_baseline
from bangbang.rewards import Dup, Eos, RougeN, Sum
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
