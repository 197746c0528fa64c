"""Self-critical training: literally, in expectation, and where the sample is the greedy output."""

import math

import pytest
import torch
from torch import Tensor

from bangbang.contracts import Batch
from bangbang.models import AttentionGru
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives import scst, token_losses
from bangbang.objectives.policy_gradients import model_samples
from bangbang.objectives.settings import Scst
from bangbang.rewards import Dup, Eos, RougeN, Sum
from bangbang.symbols import BOS, EOS, PAD
from tests.objectives.test_exact import REWARD, STANDARD_ERRORS, Y, references
from tests.objectives.test_limits import REFERENCES, generator, loss_and_gradients, model_and_decoder
from tests.objectives.test_rloo import policy_gradient
from tests.oracles.enumeration import TIME, A, PrefixModel, gradient, main_reward

GREEDY = torch.tensor([[5, 6, EOS], [8, EOS, PAD], [9, 9, 9], [7, 5, 9]])


def new_model(dropout: float) -> tuple[AttentionGru, Batch]:
    torch.manual_seed(0)
    model = AttentionGru(12, AttentionGruSettings(layers=2, units=8, dropout=dropout))
    with torch.no_grad():
        model.head.weight.mul_(20)  # so that the likeliest token changes from step to step, and rows end
    lengths = (REFERENCES != PAD).sum(1)
    return model, Batch(
        torch.randint(4, 12, (4, 6)), torch.tensor([6, 2, 4, 6]), REFERENCES, lengths, REFERENCES[:, None]
    )


def literal_greedy(model: AttentionGru, source: Tensor, length: Tensor, max_length: int) -> list[list[int]]:
    """One input at a time, in eval mode, by the arg-max of all logits."""
    found = []
    for row in range(len(source)):
        state, z = model.encode(source[row : row + 1, : length[row]], length[row : row + 1]), [BOS]
        while len(z) <= max_length and z[-1] != EOS:
            state, features = model.step(state, torch.tensor(z[-1:]))
            z.append(int(model.head.logits(features)[0].argmax()))
        found.append(z[1:])
    return found


@pytest.mark.parametrize("max_length", [1, 7])
def test_greedy_is_what_the_model_writes_without_dropout(max_length: int) -> None:
    model, batch = new_model(dropout=0.5)
    model.train()
    written = model.greedy(batch.source, batch.source_length, max_length)
    assert model.training and not written.requires_grad
    model.eval()
    expected = literal_greedy(model, batch.source, batch.source_length, max_length)
    assert [[v for v in row if v != PAD] for row in written.tolist()] == expected
    assert written.shape[1] == max(map(len, expected))


def literal_reward(z: Tensor, y: Tensor) -> float:
    state = RougeN(3).start(y[None])
    for token in z[z != PAD]:
        state.advance(token[None])
    return state.value().item()


def test_the_weights_are_rewards_less_that_of_the_greedy_output() -> None:
    _, decoder = model_and_decoder()
    reward = Sum(RougeN(3), Dup(), Eos())
    proposal = scst(decoder, reward, REFERENCES, GREEDY, 6, 3, generator())
    _, sample = model_samples(decoder, reward, REFERENCES, 6, 3, generator())
    baseline = [literal_reward(z, y) for z, y in zip(GREEDY, REFERENCES, strict=True)]
    weights = [literal_reward(z, REFERENCES[row // 3]) - baseline[row // 3] for row, z in enumerate(sample.tokens)]
    counted = [(t, row) for t in range(6) for row, z in enumerate(sample.tokens) if z[t] != PAD and weights[row]]
    assert proposal.tokens.tolist() == [int(sample.tokens[row, t]) for t, row in counted]
    assert proposal.coefficients.tolist() == pytest.approx([weights[row] for _, row in counted])
    assert baseline[1] == 1 and len(set(baseline)) > 2


def test_a_model_that_samples_what_it_writes_greedily_has_nothing_to_learn() -> None:
    model, batch = new_model(dropout=0.0)
    with torch.no_grad():
        model.head.weight.mul_(1e4)  # all of p on one token
    proposal = Scst(samples=2).build(lambda: RougeN(3), 6).propose(model, batch, 0, generator())
    assert len(proposal.tokens) == 0 and proposal.diagnostics.samples == 8 and proposal.divisor == 48
    losses, gradients = loss_and_gradients(model, proposal)
    assert len(losses) == 0 and all(not found.any() for found in gradients.values())


def test_its_mean_is_the_gradient_of_the_expected_reward() -> None:
    """Whatever output is the baseline."""
    model, rows = PrefixModel(), 200
    greedy = torch.tensor([[A, EOS]]).expand(rows, 2)
    assert 0 < main_reward((A, EOS), Y) < 1

    def estimate(seed: int) -> Tensor:
        noise = torch.Generator().manual_seed(seed)
        proposal = scst(model.decoder(rows), REWARD, references(Y, rows), greedy, TIME, 2, noise)
        return gradient(token_losses(model.head, proposal).sum() / (rows * 2), model)

    drawn, exact = torch.stack([estimate(seed) for seed in range(25)]), policy_gradient(model)
    bound = STANDARD_ERRORS * drawn.std(0) / math.sqrt(len(drawn)) + 1e-7
    assert ((drawn.mean(0) - exact).abs() <= bound).all()
    assert bound.norm() < 0.6 * exact.norm()


def test_its_name() -> None:
    assert Scst().label == "SCST" and Scst().is_rewarded and not Scst().is_the_papers
