"""Three ways to draw the same samples: step by step, by jumps, and by passes over whole sequences."""

import pytest
import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.models import AttentionGru, InputDecoder
from bangbang.models.jumps import JumpRollout
from bangbang.models.settings import AttentionGruSettings
from bangbang.objectives import Rules, Sampling, draw, spg, token_losses
from bangbang.objectives.passes import ReadOnce
from bangbang.objectives.policy_gradients import bang_bang_weights, mixed_samples
from bangbang.objectives.settings import BangBang
from bangbang.rewards import Dup, Eos, RougeN, Sum, adapted, arg_max_set
from bangbang.symbols import EOS, PAD
from tests.objectives.test_limits import generator

REWARD = Sum(RougeN(3), Dup(), Eos())
LENGTH = 9


def model_and_references(rows: int = 24) -> tuple[AttentionGru, InputDecoder, Tensor]:
    """Enough rows that finished ones are left behind on the way; no dropout, which one-pass rollouts sample with."""
    torch.manual_seed(3)
    model = AttentionGru(14, AttentionGruSettings(layers=1, units=8, dropout=0.0))
    for parameter in model.parameters():
        parameter.data.mul_(4)  # so that the model has opinions
    source, lengths = torch.randint(4, 14, (rows, 6)), torch.randint(1, 7, (rows,))
    references = torch.randint(4, 14, (rows, 6))
    ends = torch.randint(1, 6, (rows, 1))
    place = torch.arange(6)
    references = references.masked_fill(place == ends, EOS).masked_fill(place > ends, PAD)
    return model, model.begin(source, lengths), references  # type: ignore[return-value]


def settings_of(p_drop: float, **others: object) -> Sampling:
    return Sampling(p_drop)._replace(**others)


@pytest.mark.parametrize("p_drop", [0.0, 0.1, 0.4, 0.8, 1.0])
@pytest.mark.parametrize(
    "others", [{}, {"samples": 2}, {"ends": "reference"}, {"positions": "all", "exact_ties": True}]
)
def test_passes_end_in_what_steps_would_have_drawn(p_drop: float, others: dict[str, object]) -> None:
    _, decoder, references = model_and_references()
    settings = settings_of(p_drop, **others)
    steps = spg(decoder, REWARD, references, LENGTH, settings, generator())
    passes = spg(decoder, REWARD, references, LENGTH, settings._replace(way="passes"), generator())
    assert passes.tokens.tolist() == steps.tokens.tolist()
    torch.testing.assert_close(passes.coefficients, steps.coefficients)
    assert passes.diagnostics == steps.diagnostics
    assert passes.divisor == steps.divisor


def test_passes_are_trained_on_the_same_features() -> None:
    """The loss and its gradient are those of steps."""
    found = []
    for way in ("sequential", "passes"):
        model, decoder, references = model_and_references()
        proposal = spg(decoder, REWARD, references, LENGTH, settings_of(0.4, way=way), generator())
        loss = token_losses(model.head, proposal).sum()
        loss.backward()
        found.append((loss.detach(), [each.grad.clone() for each in model.parameters() if each.grad is not None]))
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


def test_after_k_passes_the_first_k_tokens_are_right() -> None:
    _, decoder, references = model_and_references()
    settings = settings_of(0.6)
    _, expected = mixed_samples(decoder, REWARD, references, LENGTH, settings, generator())
    for most in range(1, 6):
        few = settings._replace(way="passes", max_passes=most)
        rollout, sample = mixed_samples(decoder, REWARD, references, LENGTH, few, generator())
        assert isinstance(rollout, ReadOnce)
        assert rollout.calls == most
        assert sample.tokens[:, :most].tolist() == expected.tokens[:, :most].tolist()


def test_passes_that_were_stopped_leave_targets_that_are_right_for_their_prefix() -> None:
    """Where the reward chose, the token is among the best for the prefix that stands before it."""
    _, decoder, references = model_and_references()
    settings = settings_of(0.5, way="passes", max_passes=2)
    _, sample = mixed_samples(decoder, REWARD, references, LENGTH, settings, generator())
    state = adapted(REWARD.start(references))
    checked = 0
    for t, tokens in enumerate(sample.tokens.unbind(1)):
        increments = state.increments()
        best = arg_max_set(increments)
        among = ((increments.tokens == tokens.unsqueeze(1)) & best.candidates).any(1)
        known = (increments.tokens == tokens.unsqueeze(1)).any(1)
        driven = sample.driven[:, t]
        assert bool((among | (best.rest & ~known))[driven].all())
        checked += int(driven.sum())
        state.advance(tokens)
    assert checked > 30


@pytest.mark.parametrize("ties", ["model", "reference"])
@pytest.mark.parametrize("p_drop", [0.0, 0.2, 1.0])
def test_jumps_draw_what_steps_with_the_same_coins_do(p_drop: float, ties: str) -> None:
    _, decoder, references = model_and_references()
    rules = Rules(ties=ties)  # type: ignore[arg-type]
    settings = settings_of(p_drop, rules=rules, way="jumps")
    rollout, sample = mixed_samples(decoder, REWARD, references, LENGTH, settings, generator())
    coins, chances = torch.rand(2, len(references), LENGTH, generator=generator())
    driven = bang_bang_weights(coins[:1].expand_as(coins), p_drop)
    expected = draw(
        decoder.rollout(LENGTH),
        decoder.head,
        REWARD.start(references),
        driven,
        chances,
        rules,
        references if ties == "reference" else None,
    )
    for name in ("tokens", "driven", "tied", "rewards", "shares"):
        torch.testing.assert_close(getattr(sample, name), getattr(expected, name))
    assert isinstance(rollout, JumpRollout)
    written = int((sample.tokens != PAD).any(0).sum())
    dropped = int((~driven[0, :written]).sum())
    assert dropped <= rollout.calls <= written
    if ties == "reference":
        assert rollout.calls <= dropped + 1  # once all candidates are forbidden, and only the model has others
    features = rollout.features()
    assert len(features) == int(sample.places.max()) + 1


def test_settings_go_together() -> None:
    assert BangBang(sampling="passes", max_passes=3).label == "SPG 0.4 by passes"
    with pytest.raises(InputError, match="max_passes"):
        BangBang(max_passes=3)


def test_other_decoders_are_told() -> None:
    class Plain:
        head = None

        def repeat(self, times: int) -> "Plain":
            return self

    _, _, references = model_and_references(2)
    with pytest.raises(InputError, match='must be "sequential" for a Plain'):
        spg(Plain(), REWARD, references, 4, settings_of(0.1, way="jumps"), generator())  # type: ignore[arg-type]
