"""The heads of transformers models: what a probe finds, adapters on the layer itself, and draws against the softmax."""

from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor

from bangbang.errors import InputError
from bangbang.heads import Alphabet, Offsets, at_temperature
from bangbang.hf import Policy
from bangbang.hf.head import ClosedHead, Form, OpenHead
from bangbang.symbols import BOS, EOS, PAD, UNK
from tests.heads.test_sampling import chi_square_fits
from tests.hf.families import READ, SOURCE, TARGET, inputs_of, new_model, policy_of

FORMS = {
    "t5": Form(True),
    "bart": Form(True, bias="final_logits_bias"),
    "gemma2": Form(True, cap=0.5),
    "granite": Form(True, scale=0.25),
    "bert": Form(True),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_probe_finds_the_form(name: str) -> None:
    assert policy_of(name).form == FORMS[name]


@pytest.mark.parametrize("name", [*FORMS, "vit-gpt2", "blip2-t5"])
def test_log_probabilities_are_the_models_own(name: str) -> None:
    """Ours of known tokens against the softmax of `forward`'s logits, over all rows of the layer."""
    policy = policy_of(name)
    with torch.no_grad():
        state = policy.encode(inputs_of(name, policy))
        theirs = policy.alphabet.to_read(READ[:, 1:], policy.tokens.filler)
        log_p = own_logits(state, theirs).flatten(0, 1).log_softmax(1)
        features = policy.unroll(state, READ).flatten(0, 1)
        asked = torch.tensor([20, 25, EOS, UNK + 20]).expand(len(features), -1)
        found = torch.stack([policy.head.log_prob(features, column) for column in asked.unbind(1)], 1)
        expected = log_p.gather(1, policy.alphabet.to_read(asked, 0))
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-5)
        own = policy.head.logits(features).log_softmax(1)
        torch.testing.assert_close(own.gather(1, asked), expected, rtol=0, atol=2e-5)
        best, tokens = policy.head.top_k(features, 3)
        torch.testing.assert_close(own.gather(1, tokens), best, rtol=0, atol=2e-5)


def own_logits(state: Any, theirs: Tensor) -> Tensor:
    outputs = state.module(**state.pass_inputs(theirs))
    return outputs.logits[:, -theirs.shape[1] - 1 :]


def with_adapters(name: str, targets: list[str]) -> Policy:
    """A policy with LoRA layers that already do something."""
    torch.manual_seed(1)
    model = get_peft_model(new_model(name), LoraConfig(r=2, target_modules=targets, lora_dropout=0.0))
    for key, parameter in model.named_parameters():
        if "lora_B" in key:
            parameter.data.normal_(0, 0.5)
    return Policy(model).eval()


@pytest.fixture(scope="module")
def lora() -> Policy:
    return with_adapters("gpt2", ["c_attn"])


@pytest.fixture(scope="module")
def lora_head() -> Policy:
    """Whose output layer has a `weight` that is not all that it multiplies by."""
    return with_adapters("bart", ["lm_head", "q_proj"])


def test_an_adapted_head_is_called(lora: Policy, lora_head: Policy) -> None:
    assert isinstance(lora.head, ClosedHead)
    assert isinstance(lora_head.head, OpenHead)
    assert lora_head.form == Form(False, bias="final_logits_bias")


def whole_loss(policy: Policy, head: Any) -> Tensor:
    state = policy.encode(SOURCE, torch.tensor([5, 3, 1]))
    features = policy.unroll(state, READ)[TARGET != PAD]
    return -head.log_prob(features, TARGET[TARGET != PAD]).sum()


def test_adapters_are_trained_as_plain_transformers_would(lora_head: Policy) -> None:
    policy = lora_head
    state = policy.encode(SOURCE, torch.tensor([5, 3, 1]))
    theirs = policy.alphabet.to_read(READ[:, 1:], 0)
    log_p = own_logits(state, theirs).log_softmax(2)
    expected = -log_p.gather(2, policy.alphabet.to_read(TARGET, 0).unsqueeze(2)).squeeze(2)[TARGET != PAD].sum()
    found = whole_loss(policy, policy.head)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    named = {name: each for name, each in policy.named_parameters() if each.requires_grad}
    assert named and all("lora" in name for name in named)
    exact = torch.autograd.grad(expected, list(named.values()))
    for mine, other in zip(torch.autograd.grad(found, list(named.values())), exact, strict=True):
        assert other.abs().max() > 0
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)


def test_the_open_form_answers_like_the_closed_one() -> None:
    policy = policy_of("bart")
    opened = OpenHead(policy._head_parts, policy.form._replace(closed=False), policy.alphabet, policy.tokens.rows)
    features = torch.randn(7, 16, requires_grad=True)
    tokens, weights = torch.randint(8, 40, (7, 3)), torch.rand(7, 3)
    tokens[0, 1], weights[0, 1] = PAD, 0.0
    several = torch.tensor([[20, 21, PAD]]).expand(7, -1)
    for name, arguments in (
        ("score", (tokens, weights)),
        ("score", (tokens[:, 0],)),
        ("score", (tokens, weights, 0.1)),
        ("score_sets", (several, weights[:, 0])),
    ):
        found, expected = (getattr(head, name)(features, *arguments) for head in (opened, policy.head))
        for mine, other in zip(found, expected, strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5)
        gradients = [torch.autograd.grad(each.log_prob.sum(), features)[0] for each in (found, expected)]
        torch.testing.assert_close(*gradients, rtol=1e-5, atol=1e-5)
    for name, more in (("logits", ()), ("candidate_logits", (tokens,)), ("top_k", (4, tokens))):
        found, expected = (getattr(head, name)(features.detach(), *more) for head in (opened, policy.head))
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    offsets = Offsets(tokens, torch.full((7, 3), -torch.inf))
    uniform = torch.rand(7)
    drawn = [head.sample(features.detach(), uniform, offsets, 0.7, 5) for head in (opened, policy.head)]
    assert drawn[0].tolist() == drawn[1].tolist()


@pytest.mark.parametrize("name", ["bart", "gemma2", "granite", "adapted"])
def test_at_a_temperature(name: str, lora_head: Policy) -> None:
    """Scores, gradients and the best tokens are those of softmax(logits / T), over all rows of the layer."""
    head = (lora_head if name == "adapted" else policy_of(name)).head
    features, tokens = torch.randn(5, 16, requires_grad=True), torch.randint(8, 40, (5,))
    theirs = head.scored_layer().logits(features) / 0.4
    exact = theirs.log_softmax(1).gather(1, head.to_layer(tokens)[:, None]).squeeze(1)
    cold = at_temperature(head, 0.4)
    found = cold.log_prob(features, tokens)
    torch.testing.assert_close(found, exact, rtol=1e-4, atol=1e-5)
    gradients = [torch.autograd.grad(each.sum(), features)[0] for each in (found, exact)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)
    best, chosen = cold.top_k(features.detach(), 3)
    torch.testing.assert_close(best, theirs.log_softmax(1).detach().gather(1, head.to_layer(chosen)))


@pytest.mark.parametrize("kind", ["closed", "open"])
def test_draws_follow_the_models_softmax(kind: str, lora_head: Policy) -> None:
    """Without what is never generated: the rest is drawn as likely as it is beside one another."""
    policy = policy_of("t5") if kind == "closed" else lora_head
    with torch.no_grad():
        features = policy.unroll(policy.encode(SOURCE[:1], torch.tensor([5])), READ[:1, :2])[0, 1:]
        drawn = policy.head.sample(features.expand(20_000, -1), torch.rand(20_000))
        logits = policy.head.logits(features)
        p = logits.masked_fill(torch.arange(policy.head.size) == PAD, -torch.inf).softmax(1)[0]
    assert chi_square_fits(drawn, p)
    assert p[PAD] == p[BOS] == 0
    assert (p > 0).sum() == 40 - 2  # all but their pad and start


def test_a_head_with_more_rows_than_tokens_never_writes_the_others() -> None:
    policy = policy_of("t5")
    few = Alphabet(30, [2], 3, [0, 1], rows=40)
    other = Policy(policy.inner, tokens=policy.tokens._replace(alphabet=few))
    assert other.head.size == 34
    features = torch.randn(500, 16)
    drawn = other.head.sample(features, torch.rand(500))
    assert int(drawn.max()) < 34
    assert other.head.logits(features).shape == (500, 34)
    full = policy.head.logits(features).log_softmax(1)[:, 10:34]
    torch.testing.assert_close(other.head.logits(features).log_softmax(1)[:, 10:34], full)


def test_what_does_not_fit_is_told() -> None:
    model: Any = new_model("gpt2")
    forward = model.forward

    def squared(*arguments: Any, **named: Any) -> Any:
        outputs = forward(*arguments, **named)
        outputs.logits = outputs.logits**2
        return outputs

    model.forward = squared
    with pytest.raises(InputError, match="no scale, soft-cap or bias"):
        Policy(model)
