"""What every model has without writing it, against the recurrent models' own fast ways."""

import pytest
import torch
from torch import Tensor, nn

from bangbang.models import AttentionGru, Generator, InputDecoder, ShowAndTell, TwoPassRollout
from bangbang.models.settings import AttentionGruSettings, ShowAndTellSettings
from bangbang.objectives import BangBang, Proposal, token_losses
from bangbang.objectives.policy_gradients import bang_bang_sampling, spg
from bangbang.rewards import Dup, Eos, RougeN, Sum
from bangbang.symbols import BOS, EOS, PAD

ROWS, TIME, VOCABULARY = 20, 6, 30
REWARD = Sum(RougeN(3), Dup(), Eos())


class TwoPass(InputDecoder):  # type: ignore[type-arg]
    """A decoder that samples by the default rollout, whatever its model has."""

    def rollout(self, max_length: int) -> TwoPassRollout:  # type: ignore[type-arg]
        return TwoPassRollout(self.model, self.state)

    def repeat(self, times: int) -> "TwoPass":
        repeated = super().repeat(times)
        return TwoPass(repeated.model, repeated.state)


def texts() -> tuple[Generator, tuple[Tensor, Tensor]]:  # type: ignore[type-arg]
    torch.manual_seed(0)
    model = AttentionGru(VOCABULARY, AttentionGruSettings(layers=2, units=8, dropout=0.0)).double()
    return model, (torch.randint(4, VOCABULARY, (ROWS, 7)), torch.randint(2, 8, (ROWS,)))


def images() -> tuple[Generator, tuple[Tensor, Tensor]]:  # type: ignore[type-arg]
    torch.manual_seed(0)
    model = ShowAndTell(VOCABULARY, 5, ShowAndTellSettings(units=8, dropout=0.0)).double()
    return model, (torch.rand(ROWS, 5, dtype=torch.float64), torch.ones(ROWS, dtype=torch.long))


def gradients(model: nn.Module, proposal: Proposal) -> tuple[Tensor, dict[str, Tensor]]:
    losses = token_losses(model.head, proposal)  # type: ignore[arg-type]
    model.zero_grad()
    losses.sum().backward()
    return losses.detach(), {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("problem", [texts, images])
@pytest.mark.parametrize("samples", [1, 2])
def test_a_rollout_in_two_passes_equals_the_tapes(problem: object, samples: int) -> None:
    """Rows drop out on the way: references have very different lengths, and so have samples."""
    model, inputs = problem()  # type: ignore[operator]
    references = torch.randint(EOS + 2, VOCABULARY, (ROWS, TIME))
    lengths = 1 + torch.arange(ROWS) % (TIME - 1)
    references[torch.arange(ROWS), lengths] = EOS
    references[torch.arange(TIME) > lengths[:, None]] = PAD
    sampling = bang_bang_sampling(BangBang(p_drop=0.4, samples=samples, ends="reference"), 0)
    found = []
    for decoder in (InputDecoder, TwoPass):
        torch.manual_seed(1)
        proposal = spg(
            decoder(model, model.encode(*inputs)),
            REWARD,
            references,
            TIME,
            sampling,
            torch.Generator().manual_seed(2),
        )
        found.append((proposal, *gradients(model, proposal)))
    (ours, losses, grads), (plain, plain_losses, plain_grads) = found
    assert torch.equal(ours.tokens, plain.tokens) and ours.diagnostics == plain.diagnostics
    torch.testing.assert_close(losses, plain_losses)
    assert grads.keys() == plain_grads.keys()
    for name, gradient in grads.items():
        torch.testing.assert_close(gradient, plain_grads[name], msg=name)


@pytest.mark.parametrize("problem", [texts, images])
def test_steps_one_by_one_equal_reading_all_at_once(problem: object) -> None:
    model, inputs = problem()  # type: ignore[operator]
    tokens = torch.randint(4, VOCABULARY, (ROWS, TIME))
    tokens[:, 0] = BOS
    state = model.encode(*inputs)
    torch.testing.assert_close(Generator.unroll(model, state, tokens), model.unroll(state, tokens))


def test_two_passes_sample_without_dropout_and_train_with_it() -> None:
    torch.manual_seed(0)
    model = AttentionGru(VOCABULARY, AttentionGruSettings(layers=1, units=32, dropout=0.5)).train()
    inputs = torch.randint(4, VOCABULARY, (ROWS, 7)), torch.full((ROWS,), 7)
    state = model.encode(*inputs)
    start = torch.full((ROWS,), BOS)
    one, two = TwoPassRollout(model, state), TwoPassRollout(model, state)
    assert torch.equal(one.step(start), two.step(start)) and model.training
    assert (one.features() == 0).float().mean() > 0.3
