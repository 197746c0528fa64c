"""The chunked vocabulary layer against the plain one, value and gradients."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bangbang.heads import OutputLayer, Scored, VocabularyHead, log_prob, weighted_log_prob


def plain(features: Tensor, weight: Tensor, bias: Tensor, tokens: Tensor, c: Tensor) -> Tensor:
    """The same, literally: all logits at once, autograd through log_softmax."""
    return c * torch.log_softmax(features @ weight.t() + bias, 1)[torch.arange(len(tokens)), tokens]


def score(features: Tensor, weight: Tensor, bias: Tensor, tokens: Tensor, c: Tensor) -> Scored:
    return weighted_log_prob(OutputLayer(weight, bias), features, tokens, c)


def problem(rows: int, size: int, vocabulary: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, ...]:
    features = torch.randn(rows, size, dtype=dtype, requires_grad=True)
    weight = torch.randn(vocabulary, size, dtype=dtype, requires_grad=True)
    bias = torch.randn(vocabulary, dtype=dtype, requires_grad=True)
    return features, weight, bias, torch.randint(0, vocabulary, (rows,)), torch.randn(rows, dtype=dtype)


@pytest.fixture(params=[1, 3, 64])
def rows_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Chunk sizes that do and do not divide the number of rows."""
    size: int = request.param
    monkeypatch.setattr(log_prob, "chunk_rows", lambda vocabulary: size)
    return size


@pytest.mark.parametrize("uniform", [True, False], ids=["summed", "weighted after"])
@pytest.mark.parametrize("shape", [(1, 1, 2), (7, 5, 11), (64, 3, 4), (65, 2, 3)])
def test_value_and_gradients_equal_the_plain_layer(
    shape: tuple[int, int, int], uniform: bool, rows_at_once: int
) -> None:
    torch.manual_seed(0)
    inputs = problem(*shape)
    ours, theirs = score(*inputs).log_prob, plain(*inputs)
    torch.testing.assert_close(ours, theirs)
    upstream = torch.full_like(ours, -0.37) if uniform else torch.randn_like(ours)
    for mine, other in zip(
        torch.autograd.grad(ours, inputs[:3], upstream), torch.autograd.grad(theirs, inputs[:3], upstream), strict=True
    ):
        torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("rows", [1, 7, 64, 65])
def test_entropies_are_those_of_rows_spread_evenly(rows: int, rows_at_once: int) -> None:
    torch.manual_seed(0)
    features, weight, bias, tokens, c = problem(rows, 3, 9)
    entropies = score(features, weight, bias, tokens, c).entropies
    p = torch.softmax(features @ weight.t() + bias, 1)
    expected = -(p * p.log()).sum(1)[:: max(1, -(-rows // log_prob.ENTROPIES))]
    assert len(entropies) <= log_prob.ENTROPIES and not entropies.requires_grad
    torch.testing.assert_close(entropies, expected.detach())


def test_gradcheck(rows_at_once: int) -> None:
    torch.manual_seed(0)
    *differentiable, tokens, c = problem(5, 3, 7)
    assert torch.autograd.gradcheck(lambda *inputs: score(*inputs, tokens, c).log_prob, differentiable)


@given(st.integers(0, 1000), st.floats(0, 60))
def test_float32_stays_close_even_for_extreme_logits(seed: int, scale: float) -> None:
    torch.manual_seed(seed)
    features, weight, bias, tokens, c = problem(6, 4, 50, torch.float32)
    exact = plain(*(t.detach().double() for t in (features * scale, weight, bias)), tokens, c.double())
    ours = score(features * scale, weight, bias, tokens, c).log_prob
    assert ours.isfinite().all()
    torch.testing.assert_close(ours.double(), exact, rtol=1e-5, atol=1e-3)


def test_backward_twice_gives_the_same_gradient() -> None:
    torch.manual_seed(0)
    inputs = problem(5, 3, 7)
    total = score(*inputs).log_prob.sum()
    first = torch.autograd.grad(total, inputs[:3], retain_graph=True)
    second = torch.autograd.grad(total, inputs[:3])
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one, other)


def test_no_rows() -> None:
    head = VocabularyHead(7, 3)
    features = torch.randn(0, 3, requires_grad=True)
    head.log_prob(features, torch.zeros(0, dtype=torch.long)).sum().backward()
    assert head.weight.grad is not None and head.weight.grad.abs().sum() == 0


def test_memory_is_not_of_the_size_of_the_logits() -> None:
    """What autograd keeps between the passes is parameters, their gradients and rows; never [N, V]."""
    rows, vocabulary = 300, 1000
    kept: list[int] = []
    inputs = problem(rows, 4, vocabulary, torch.float32)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t.numel()), t)[1], lambda t: t):
        score(*inputs).log_prob.sum()
    assert kept and max(kept) < rows * vocabulary / 10


def assert_near(ours: Tensor, theirs: Tensor, share: float) -> None:
    """Apart by at most this share of the largest value."""
    assert float((ours.double() - theirs.double()).abs().max()) <= share * float(theirs.abs().max())


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize("lowered", ["parameters", "autocast"])
def test_bfloat16_gives_the_plain_layer_within_its_precision(lowered: str, rows_at_once: int) -> None:
    torch.manual_seed(0)
    exact = [part.detach().bfloat16().double() for part in problem(7, 64, 50)[:3]]
    tokens, c = torch.randint(0, 50, (7,)), torch.randn(7, dtype=torch.float64)
    theirs = [part.clone().requires_grad_() for part in exact]
    expected = plain(theirs[0], theirs[1], theirs[2], tokens, c)
    expected.sum().backward()
    dtype = torch.bfloat16 if lowered == "parameters" else torch.float32
    ours = [part.to(dtype).requires_grad_() for part in exact]
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=lowered == "autocast"):
        found = score(ours[0], ours[1], ours[2], tokens, c.to(dtype)).log_prob
    found.sum().backward()
    assert_near(found.detach(), expected.detach(), 0.02)
    for our, their in zip(ours, theirs, strict=True):
        assert our.grad is not None and their.grad is not None and our.grad.dtype == dtype
        assert_near(our.grad, their.grad, 0.02)


@pytest.mark.usefixtures("bfloat16")
def test_autocast_lowers_the_products_and_nothing_else() -> None:
    torch.manual_seed(0)
    features, weight, bias, tokens, c = problem(5, 64, 50, torch.float32)
    full = score(features, weight, bias, tokens, c).log_prob
    with torch.autocast("cpu", dtype=torch.bfloat16):
        lowered = score(features, weight, bias, tokens, c).log_prob
    rounded = features.bfloat16() @ weight.bfloat16().t()
    expected = c * torch.log_softmax(rounded.float() + bias, 1)[torch.arange(5), tokens]
    torch.testing.assert_close(lowered, expected)
    assert not torch.equal(lowered, full)
