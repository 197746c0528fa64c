"""Smoothed targets under every kind of output layer, against the plain formula by autograd."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bangbang.errors import InputError
from bangbang.heads import BorrowedHead, OutputLayer, VocabularyHead, log_prob, weighted_log_prob
from bangbang.symbols import BOS, EOS, PAD
from tests.heads.test_targets import FORBIDDEN, LAYERS, Products, assert_same, layer_of, plain_logits, targets_of


def plain(layer: OutputLayer, features: Tensor, tokens: Tensor, c: Tensor, smoothing: float) -> Tensor:
    """Σ_k c_k · [(1-ε) · log p(token_k) + ε · mean of log p(v) over the v that are not forbidden], slot by slot."""
    log_p = plain_logits(layer, features).log_softmax(1)
    free = [v for v in range(len(layer.weight)) if layer.forbidden is None or v not in layer.forbidden]
    rows = []
    for i, row in enumerate(tokens.view(len(tokens), -1)):
        even = sum(log_p[i, v] for v in free) / len(free)
        weights = c.view(len(tokens), -1)[i]
        parts = [w * ((1 - smoothing) * log_p[i, v] + smoothing * even) for v, w in zip(row, weights, strict=True) if w]
        rows.append(sum(parts, start=0 * features[i].sum()))
    return torch.stack(rows)


@pytest.fixture(params=[2, 64])
def rows_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_prob, "chunk_rows", lambda vocabulary: request.param)


@pytest.mark.parametrize("description", LAYERS)
@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("even", [True, False], ids=["summed", "weighted after"])
def test_value_and_gradients_equal_the_plain_formula(
    description: tuple[bool, float, float | None, bool], slots: int, even: bool, rows_at_once: None
) -> None:
    torch.manual_seed(0)
    shape = (7, slots, 5, 11)
    layer = layer_of(shape, *description)
    features = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    inputs = [features, layer.weight, *([] if layer.bias is None else [layer.bias])]
    tokens, c = targets_of(shape)
    if slots == 1:
        tokens, c = tokens.squeeze(1), c.squeeze(1)
    found = weighted_log_prob(layer, features, tokens, c, 0.1).log_prob
    assert_same(found, plain(layer, features, tokens, c, 0.1), inputs, even)


@given(st.floats(0.001, 0.99), st.integers(1, 9), st.integers(5, 30), st.sampled_from(LAYERS), st.integers(0, 2**31))
def test_every_share(
    smoothing: float, rows: int, vocabulary: int, description: tuple[bool, float, float | None, bool], seed: int
) -> None:
    torch.manual_seed(seed)
    shape = (rows, 2, 3, vocabulary)
    layer, (tokens, c) = layer_of(shape, *description), targets_of(shape)
    features = torch.randn(rows, 3, dtype=torch.float64, requires_grad=True)
    found = weighted_log_prob(layer, features, tokens, c, smoothing).log_prob
    assert_same(found, plain(layer, features, tokens, c, smoothing), [features, layer.weight], True)


@given(st.integers(0, 1000), st.floats(0, 60))
def test_float32_stays_close_even_for_extreme_logits(seed: int, scale: float) -> None:
    torch.manual_seed(seed)
    weight, features = torch.randn(50, 4, requires_grad=True), scale * torch.randn(6, 4)
    tokens, c = torch.randint(4, 50, (6,)), torch.randn(6)
    layer = OutputLayer(weight, forbidden=FORBIDDEN)
    found = weighted_log_prob(layer, features, tokens, c, 0.2).log_prob
    exact = plain(
        OutputLayer(weight.detach().double(), forbidden=FORBIDDEN), features.double(), tokens, c.double(), 0.2
    )
    torch.testing.assert_close(found.double(), exact, rtol=1e-5, atol=1e-3)


def test_a_share_of_zero_is_no_smoothing_to_the_bit() -> None:
    torch.manual_seed(0)
    layer, features = OutputLayer(torch.randn(50, 8, requires_grad=True)), torch.randn(20, 8, requires_grad=True)
    tokens, c = torch.randint(0, 50, (20,)), torch.randn(20)
    found = [weighted_log_prob(layer, features, tokens, c, *asked).log_prob for asked in ((), (0.0,))]
    gradients = [torch.autograd.grad(each.sum(), [features, layer.weight]) for each in found]
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=0)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=0)


def test_our_head_leaves_out_what_is_never_generated() -> None:
    torch.manual_seed(0)
    head, features = VocabularyHead(9, 4), torch.randn(5, 4)
    with torch.no_grad():
        head.bias[[PAD, BOS]] = 50.0
    tokens = torch.randint(EOS, 9, (5,))
    found = head.score(features, tokens, smoothing=0.3).log_prob
    log_p = torch.nn.functional.linear(features, head.weight[EOS:], head.bias[EOS:]).log_softmax(1)
    expected = 0.7 * log_p.gather(1, tokens[:, None] - EOS).squeeze(1) + 0.3 * log_p.mean(1)
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    assert head.weight.grad is not None and head.bias.grad is not None
    assert not head.weight.grad[:EOS].any() and not head.bias.grad[:EOS].any()
    with pytest.raises(InputError, match="position 1 "):
        head.score(features[:2], torch.tensor([4, BOS]), smoothing=0.3)
    with torch.no_grad():
        assert head.score(features[:2], torch.tensor([4, BOS]), smoothing=0.3).log_prob.isinf().tolist() == [
            False,
            True,
        ]


def test_a_borrowed_head_has_its_own_tokens() -> None:
    """With a scale, a soft-cap and tokens of its own that are forbidden."""
    torch.manual_seed(0)
    linear = torch.nn.Linear(4, 7)
    head = BorrowedHead(linear, ends=[6, 2], unknown=0, forbidden=[1], scale=0.5, cap=2.0)
    features, tokens = torch.randn(3, 4), head.from_layer(torch.tensor([6, 3, 0]))
    logits = 2.0 * torch.tanh(0.5 * linear(features) / 2.0)[:, [0, 3, 4, 5, 6]]  # neither 1 nor the second end
    log_p = logits.log_softmax(1)
    expected = 0.9 * log_p[[0, 1, 2], [4, 1, 0]] + 0.1 * log_p.mean(1)
    torch.testing.assert_close(head.score(features, tokens, smoothing=0.1).log_prob, expected)


@pytest.mark.parametrize("cap", [None, 5.0])
def test_it_takes_three_products_and_keeps_nothing_of_the_size_of_the_logits(cap: float | None) -> None:
    rows, vocabulary = 300, 1000
    kept: list[int] = []
    layer = OutputLayer(torch.randn(vocabulary, 4, requires_grad=True), cap=cap, forbidden=FORBIDDEN)
    features, tokens = torch.randn(rows, 4, requires_grad=True), torch.randint(4, vocabulary, (rows,))
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t.numel()), t)[1], lambda t: t)
    with Products() as products, hooks:
        found = weighted_log_prob(layer, features, tokens, torch.ones(rows), 0.1).log_prob
        ready = found.grad_fn.ready  # type: ignore[union-attr]
        sizes = [*kept, ready.features.numel(), ready.weight.numel()]
        found.sum().backward()
    assert products.count == 3 * -(-rows // log_prob.chunk_rows(vocabulary))
    assert max(sizes) < rows * vocabulary / 10
