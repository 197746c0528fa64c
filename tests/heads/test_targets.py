"""One token, weighted tokens and sets of tokens under every kind of output layer, against plain autograd."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from bangbang.errors import InputError
from bangbang.heads import OutputLayer, VocabularyHead, log_prob, set_log_prob, weighted_log_prob
from bangbang.symbols import BOS, EOS, PAD

Shape = tuple[int, int, int, int]  # positions, tokens per position, features, vocabulary
FORBIDDEN = torch.tensor([0, 3])


def plain_logits(layer: OutputLayer, features: Tensor) -> Tensor:
    """softcap(scale · (W f + b)), literally; -inf where forbidden."""
    logits = features @ layer.weight.t()
    if layer.bias is not None:
        logits = logits + layer.bias
    logits = layer.scale * logits
    if layer.cap is not None:
        logits = layer.cap * torch.tanh(logits / layer.cap)
    if layer.forbidden is None:
        return logits
    keep = torch.ones(len(layer.weight), dtype=torch.bool)
    keep[layer.forbidden] = False
    return torch.where(keep, logits, -torch.inf)


def plain_sum(layer: OutputLayer, features: Tensor, tokens: Tensor, c: Tensor) -> Tensor:
    """Σ_k c_k log p(token_k), slot by slot; unused slots are left out."""
    log_p = plain_logits(layer, features).log_softmax(1)
    rows = [
        sum(
            (c[i, k] * log_p[i, tokens[i, k]] for k in range(tokens.shape[1]) if c[i, k] != 0),
            start=0 * features[i].sum(),
        )
        for i in range(len(tokens))
    ]
    return torch.stack(rows)


def plain_set(layer: OutputLayer, features: Tensor, tokens: Tensor, c: Tensor) -> Tensor:
    """c · log Σ_k p(token_k), from probabilities; rows with c = 0 are left out."""
    p = plain_logits(layer, features).softmax(1)
    sums = [sum((p[i, v] for v in tokens[i] if v >= 0), start=0 * features[i].sum()) for i in range(len(tokens))]
    return torch.stack(
        [weight * total.log() if weight != 0 else 0 * total for weight, total in zip(c, sums, strict=True)]
    )


def layer_of(shape: Shape, bias: bool, scale: float, cap: float | None, forbid: bool) -> OutputLayer:
    _, _, size, vocabulary = shape
    return OutputLayer(
        torch.randn(vocabulary, size, dtype=torch.float64, requires_grad=True),
        torch.randn(vocabulary, dtype=torch.float64, requires_grad=True) if bias else None,
        scale,
        cap,
        FORBIDDEN if forbid else None,
    )


def targets_of(shape: Shape) -> tuple[Tensor, Tensor]:
    """Different tokens [N, K] that may be generated, and weights [N, K]; some slots are unused."""
    rows, slots, _, vocabulary = shape
    possible = torch.tensor([v for v in range(vocabulary) if v not in FORBIDDEN])
    tokens = torch.stack([possible[torch.randperm(len(possible))[:slots]] for _ in range(rows)])
    c = torch.randn(rows, slots, dtype=torch.float64)
    unused = torch.rand(rows, slots) < 0.3
    return tokens.masked_fill(unused, -1), c.masked_fill(unused, 0.0)


def assert_same(ours: Tensor, theirs: Tensor, inputs: list[Tensor], even: bool) -> None:
    torch.testing.assert_close(ours, theirs)
    upstream = torch.full_like(ours, -0.37) if even else torch.randn_like(ours)
    pairs = (
        torch.autograd.grad(each, inputs, upstream, retain_graph=True, materialize_grads=True)
        for each in (ours, theirs)
    )
    for one, other in zip(*pairs, strict=True):
        torch.testing.assert_close(one, other)


LAYERS = list(itertools.product([True, False], [1.0, 0.3], [None, 1.7], [True, False]))
SHAPES: list[Shape] = [(1, 1, 1, 4), (7, 3, 5, 11), (13, 2, 2, 5), (9, 4, 3, 8)]


@pytest.fixture(params=[1, 4, 64])
def rows_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_prob, "chunk_rows", lambda vocabulary: request.param)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("description", LAYERS)
@pytest.mark.parametrize("even", [True, False], ids=["summed", "weighted after"])
def test_weighted_tokens_and_sets_equal_plain_autograd(
    shape: Shape, description: tuple[bool, float, float | None, bool], even: bool, rows_at_once: None
) -> None:
    torch.manual_seed(0)
    layer = layer_of(shape, *description)
    features = torch.randn(shape[0], shape[2], dtype=torch.float64, requires_grad=True)
    inputs = [features, layer.weight, *([] if layer.bias is None else [layer.bias])]
    tokens, c = targets_of(shape)
    ours = weighted_log_prob(layer, features, tokens, c)
    assert_same(ours.log_prob, plain_sum(layer, features, tokens, c), inputs, even)
    weights = c.sum(1).masked_fill((tokens < 0).all(1), 0.0)
    ours = set_log_prob(layer, features, tokens, weights)
    assert_same(ours.log_prob, plain_set(layer, features, tokens, weights), inputs, even)


@given(
    st.integers(1, 30),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(8, 40),
    st.sampled_from(LAYERS),
    st.integers(0),
)
def test_every_shape(
    rows: int, slots: int, size: int, vocabulary: int, description: tuple[bool, float, float | None, bool], seed: int
) -> None:
    torch.manual_seed(seed % 2**31)
    shape = rows, slots, size, vocabulary
    layer = layer_of(shape, *description)
    features = torch.randn(rows, size, dtype=torch.float64, requires_grad=True)
    tokens, c = targets_of(shape)
    inputs = [features, layer.weight]
    assert_same(weighted_log_prob(layer, features, tokens, c)[0], plain_sum(layer, features, tokens, c), inputs, True)
    weights = c.sum(1).masked_fill((tokens < 0).all(1), 0.0)
    found, expected = set_log_prob(layer, features, tokens, weights), plain_set(layer, features, tokens, weights)
    assert_same(found.log_prob, expected, inputs, True)


@pytest.mark.parametrize("cap", [None, 2.0])
@pytest.mark.parametrize("score", [weighted_log_prob, set_log_prob])
def test_one_slot_equals_one_token_to_the_bit(score: Any, cap: float | None) -> None:
    torch.manual_seed(0)
    layer = OutputLayer(torch.randn(50, 8, requires_grad=True), torch.randn(50, requires_grad=True), cap=cap)
    features, tokens, c = torch.randn(20, 8, requires_grad=True), torch.randint(0, 50, (20,)), torch.randn(20)
    inputs = [features, layer.weight, layer.bias]
    single = weighted_log_prob(layer, features, tokens, c)
    weights = c.unsqueeze(1) if score is weighted_log_prob else c
    slots = score(layer, features, tokens.unsqueeze(1), weights)
    assert torch.equal(single.log_prob, slots.log_prob) and torch.equal(single.entropies, slots.entropies)
    gradients = (torch.autograd.grad(each.log_prob.sum(), inputs) for each in (single, slots))
    for one, other in zip(*gradients, strict=True):
        assert torch.equal(one, other)


def test_entropies_are_those_of_the_layer() -> None:
    torch.manual_seed(0)
    layer = layer_of((5, 2, 3, 9), True, 0.5, 2.0, True)
    features = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    tokens, c = targets_of((5, 2, 3, 9))
    p = plain_logits(layer, features).softmax(1)
    expected = torch.special.entr(p).sum(1).detach()
    torch.testing.assert_close(weighted_log_prob(layer, features, tokens, c).entropies, expected)


@pytest.mark.parametrize("frozen", list(itertools.product([True, False], repeat=3)))
@pytest.mark.parametrize("cap", [None, 2.0])
def test_what_needs_no_gradient_gets_none(frozen: tuple[bool, bool, bool], cap: float | None) -> None:
    torch.manual_seed(0)
    layer = layer_of((6, 2, 3, 9), True, 1.0, cap, True)
    features = torch.randn(6, 3, dtype=torch.float64)
    parts = [features, layer.weight, layer.bias]
    for part, still in zip(parts, frozen, strict=True):
        part.requires_grad_(not still)
    tokens, c = targets_of((6, 2, 3, 9))
    found = weighted_log_prob(layer, features, tokens, c).log_prob
    assert found.requires_grad == (not all(frozen))
    if found.requires_grad:
        learning = [part for part in parts if part.requires_grad]
        assert_same(found, plain_sum(layer, features, tokens, c), learning, True)
    ready = getattr(found.grad_fn, "ready", None)
    if not all(frozen):
        found = weighted_log_prob(layer, features, tokens, c).log_prob
        ready = found.grad_fn.ready  # type: ignore[union-attr]
        assert [ready.features is None, ready.weight is None, ready.bias is None] == list(frozen)


@pytest.mark.parametrize("score", [plain_sum, plain_set])
def test_autocast_lowers_the_products_alone(score: Any) -> None:
    torch.manual_seed(0)
    layer = OutputLayer(torch.randn(50, 64, requires_grad=True), torch.randn(50), 0.5, 3.0, FORBIDDEN)
    features = torch.randn(7, 64, requires_grad=True)
    tokens, c = targets_of((7, 3, 64, 50))
    c = c.float() if score is plain_sum else (tokens >= 0).any(1).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = (weighted_log_prob if score is plain_sum else set_log_prob)(layer, features, tokens, c).log_prob
    found.sum().backward()
    exact = layer._replace(weight=layer.weight.detach().bfloat16().double().requires_grad_(), bias=layer.bias.double())
    rounded = features.detach().bfloat16().double().requires_grad_()
    expected = score(exact, rounded, tokens, c.double())
    expected.sum().backward()
    torch.testing.assert_close(found.double(), expected, rtol=0.02, atol=0.02)
    for ours, theirs in ((layer.weight.grad, exact.weight.grad), (features.grad, rounded.grad)):
        assert ours.dtype == torch.float32
        assert float((ours - theirs).abs().max()) <= 0.02 * float(theirs.abs().max())


def test_sums_over_chunks_of_bfloat16_weights_are_rounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row at a time, each far below the rounding of the sum: in 8 bits the sum would stand still."""
    monkeypatch.setattr(log_prob, "chunk_rows", lambda vocabulary: 1)
    weight = torch.zeros(4, 1, dtype=torch.bfloat16, requires_grad=True)
    features = torch.ones(1024, 1, dtype=torch.bfloat16)
    weighted_log_prob(OutputLayer(weight), features, torch.ones(1024, dtype=torch.long), torch.ones(1024))[
        0
    ].sum().backward()
    assert weight.grad is not None and weight.grad.flatten().tolist() == [-256.0, 768.0, -256.0, -256.0]


@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_probabilities_that_underflow_keep_their_logarithm(scale: float) -> None:
    torch.manual_seed(0)
    layer = OutputLayer(torch.randn(20, 4, requires_grad=True), torch.randn(20, requires_grad=True), scale)
    features = torch.randn(6, 4, requires_grad=True)
    tokens = plain_logits(layer, features).topk(4, largest=False).indices[:, :3]
    exact = OutputLayer(layer.weight.detach().double(), layer.bias.detach().double(), scale)
    log_p = plain_logits(exact, features.detach().double()).log_softmax(1).gather(1, tokens)
    ones = torch.ones(6)
    found = set_log_prob(layer, features, tokens, ones).log_prob
    torch.testing.assert_close(found.double(), log_p.logsumexp(1), rtol=1e-5, atol=1e-3)
    assert all(g.isfinite().all() for g in torch.autograd.grad(found.sum(), [features, layer.weight, layer.bias]))
    found = weighted_log_prob(layer, features, tokens, torch.ones(6, 3)).log_prob
    torch.testing.assert_close(found.double(), log_p.sum(1), rtol=1e-5, atol=1e-3)


def test_nothing_of_the_size_of_the_logits_is_kept() -> None:
    rows, vocabulary = 300, 1000
    kept: list[int] = []
    layer = OutputLayer(torch.randn(vocabulary, 4, requires_grad=True), cap=5.0)
    features, tokens = torch.randn(rows, 4, requires_grad=True), torch.randint(0, vocabulary, (rows, 3))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t.numel()), t)[1], lambda t: t):
        found = set_log_prob(layer, features, tokens, torch.ones(rows)).log_prob
    ready = found.grad_fn.ready  # type: ignore[union-attr]
    sizes = [*kept, *(part.numel() for part in (ready.features, ready.weight) if part is not None)]
    assert len(sizes) > 3 and max(sizes) < rows * vocabulary / 10


class Products(TorchDispatchMode):
    """Counts matrix products."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.addmm_)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("score", [weighted_log_prob, set_log_prob])
@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("cap", [None, 5.0])
def test_a_training_pass_takes_three_products(score: Any, frozen: bool, cap: float | None) -> None:
    """Two where the layer does not learn, one where nothing does."""
    layer = OutputLayer(torch.randn(40, 8, requires_grad=not frozen), torch.randn(40), cap=cap)
    features, tokens = torch.randn(30, 8, requires_grad=True), torch.randint(0, 40, (30, 3))
    c = torch.ones_like(tokens if score is weighted_log_prob else tokens[:, 0], dtype=torch.float32)
    with Products() as products:
        score(layer, features, tokens, c).log_prob.sum().backward()
    assert products.count == 3 - frozen
    with Products() as products, torch.no_grad():
        score(layer, features, tokens, c)
    assert products.count == 1


class TestForbidden:
    """`<pad>` and `<s>` of our own head, whatever its bias says."""

    def head(self, bias: float) -> VocabularyHead:
        torch.manual_seed(0)
        head = VocabularyHead(9, 4)
        with torch.no_grad():
            head.bias[[PAD, BOS]] = bias
        return head

    @pytest.mark.parametrize("bias", [0.0, 50.0, -1e4])
    def test_they_have_no_probability_and_no_gradient(self, bias: float) -> None:
        head, features = self.head(bias), torch.randn(200, 4)
        assert head.logits(features).softmax(1)[:, :EOS].sum() == 0
        assert int(head.sample(features, torch.rand(200)).min()) >= EOS
        assert head.candidate_logits(features[:1], torch.tensor([[PAD, BOS]])).tolist() == [[-torch.inf] * 2]
        log_p, tokens = head.top_k(features, 9)
        assert (tokens[:, :7] >= EOS).all() and (log_p[:, 7:] == -torch.inf).all()
        head.log_prob(features, torch.randint(EOS, 9, (200,))).sum().backward()
        assert head.weight.grad is not None and head.bias.grad is not None
        assert head.weight.grad[:EOS].abs().sum() == 0 and head.bias.grad[:EOS].abs().sum() == 0
        assert head.weight.grad.isfinite().all() and head.bias.grad[EOS:].abs().min() > 0

    def test_old_and_new_biases_score_alike(self) -> None:
        features, tokens = torch.randn(5, 4), torch.tensor([2, 3, 4, 5, 8])
        old, new = (self.head(bias).log_prob(features, tokens) for bias in (-1e4, 0.0))
        assert torch.equal(old, new)

    def test_a_state_dict_holds_weight_and_bias_alone(self) -> None:
        assert list(self.head(0.0).state_dict()) == ["weight", "bias"]

    def test_as_targets_they_are_an_error_where_something_is_to_be_learnt(self) -> None:
        head, features = self.head(0.0), torch.randn(3, 4)
        with pytest.raises(InputError, match="position 1 "):
            head.score(features, torch.tensor([4, BOS, PAD]))
        with pytest.raises(InputError, match="position 2 "):
            head.score_sets(features, torch.tensor([[4, PAD], [5, BOS], [BOS, PAD]]))
        with torch.no_grad():
            assert head.log_prob(features, torch.tensor([4, BOS, PAD])).isinf().tolist() == [False, True, True]

    def test_with_a_weight_of_zero_they_are_unused(self) -> None:
        head, features = self.head(0.0), torch.randn(2, 4, requires_grad=True)
        tokens, c = torch.tensor([[4, PAD, 6], [PAD, PAD, PAD]]), torch.tensor([[1.0, 0.0, -2.0], [0.0, 0.0, 0.0]])
        found = head.score(features, tokens, c).log_prob
        log_p = head.logits(features).log_softmax(1)
        torch.testing.assert_close(found, torch.stack((log_p[0, 4] - 2 * log_p[0, 6], torch.zeros(()))))
        found.sum().backward()
        assert features.grad is not None and features.grad.isfinite().all() and features.grad[1].abs().sum() == 0
        sets = head.score_sets(features, tokens, torch.tensor([2.0, 0.0])).log_prob
        torch.testing.assert_close(sets, torch.stack((2 * log_p[0, [4, 6]].logsumexp(0), torch.zeros(()))))
        assert all(g.isfinite().all() for g in torch.autograd.grad(sets.sum(), [features, head.weight, head.bias]))
