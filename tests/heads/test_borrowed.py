"""A foreign output layer in our ids, against the foreign model's own softmax."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from bangbang.errors import InputError
from bangbang.heads import Alphabet, BorrowedHead, Offsets
from bangbang.symbols import BOS, EOS, PAD, UNK
from tests.heads.test_sampling import chi_square_fits

SIZE, FEATURES = 12, 3
ENDS, UNKNOWN, FORBIDDEN = [7, 2], 5, [1, 11]
GONE = [*ENDS, UNKNOWN, *FORBIDDEN]  # foreign ids whose own id, + 4, is not in use


def borrowed(bias: bool = True, scale: float = 0.7, cap: float | None = 3.0) -> BorrowedHead:
    torch.manual_seed(0)
    linear = nn.Linear(FEATURES, SIZE, bias=bias).double()
    nn.init.normal_(linear.weight)
    return BorrowedHead(linear, ENDS, UNKNOWN, FORBIDDEN, scale, cap)


def foreign_log_p(head: BorrowedHead, features: Tensor) -> Tensor:
    """The foreign model's log p [N, V'], without what is never generated."""
    raw = head.scale * head.linear(features)  # type: ignore[operator]
    logits = raw if head.cap is None else head.cap * torch.tanh(raw / head.cap)
    return logits.index_fill(1, torch.tensor([*FORBIDDEN, ENDS[1]]), -torch.inf).log_softmax(1)


def own_log_p(head: BorrowedHead, features: Tensor) -> Tensor:
    """The same by our ids [N, V' + 4], put together one by one."""
    theirs = foreign_log_p(head, features)
    nothing = torch.full_like(theirs[:, 0], -torch.inf)
    columns = [nothing, nothing, theirs[:, ENDS[0]], theirs[:, UNKNOWN]]
    columns += [nothing if token in GONE else theirs[:, token] for token in range(SIZE)]
    return torch.stack(columns, 1)


FORMS = [(True, 0.7, 3.0), (False, 1.0, None), (True, 1.0, None), (False, 0.2, 1.0)]


@pytest.mark.parametrize("form", FORMS)
def test_every_answer_is_in_our_ids(form: tuple[bool, float, float | None]) -> None:
    head, features = borrowed(*form), torch.randn(6, FEATURES, dtype=torch.float64)
    log_p = own_log_p(head, features).detach()
    assert head.size == SIZE + 4
    torch.testing.assert_close(head.logits(features).log_softmax(1).detach(), log_p)
    everything = torch.arange(head.size).expand(6, -1)
    candidates = head.candidate_logits(features, everything).detach()
    torch.testing.assert_close(candidates.log_softmax(1), log_p)
    best, tokens = head.top_k(features, 5)
    torch.testing.assert_close(best, log_p.topk(5).values)
    torch.testing.assert_close(log_p.gather(1, tokens), best)
    excluded = torch.cat((tokens[:, :1], torch.tensor([[PAD, BOS, ENDS[1] + 4]]).expand(6, -1)), 1)
    torch.testing.assert_close(head.top_k(features, 4, excluded)[0], best[:, 1:])
    with torch.no_grad():
        scores = torch.stack([head.log_prob(features, column) for column in everything.unbind(1)], 1)
    torch.testing.assert_close(scores, log_p)


def test_draws_follow_the_foreign_softmax_with_offsets() -> None:
    head, feature = borrowed(), torch.randn(1, FEATURES, dtype=torch.float64)
    rows, log_p = feature.expand(40_000, -1), own_log_p(head, feature).detach()[0]
    assert chi_square_fits(head.sample(rows, torch.rand(40_000)), log_p.exp())
    tokens, values = [EOS, 4 + 4, 4 + 3, PAD, BOS, 4 + UNKNOWN], [1.5, -torch.inf, 0.7, 0.0, 9.0, 9.0]
    offsets = Offsets(torch.tensor([tokens]).expand(40_000, -1), torch.tensor([values]).expand(40_000, -1))
    shifted = log_p.clone()
    shifted[tokens[:3]] += torch.tensor(values[:3])
    assert chi_square_fits(head.sample(rows, torch.rand(40_000), offsets), shifted.softmax(0))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sets", [True, False])
def test_gradients_reach_the_foreign_parameters(form: tuple[bool, float, float | None], sets: bool) -> None:
    head = borrowed(*form)
    features = torch.randn(3, FEATURES, dtype=torch.float64, requires_grad=True)
    tokens = torch.tensor([[EOS, 8, PAD], [UNK, PAD, PAD], [4, 7, EOS]])
    c = torch.tensor([[0.5, -1.0, 0.0], [2.0, 0.0, 0.0], [1.0, 3.0, -0.5]], dtype=torch.float64)
    inputs = [features, *head.linear.parameters()]  # type: ignore[attr-defined]
    log_p = own_log_p(head, features)
    if sets:
        ours = head.score_sets(features, tokens, c[:, 0]).log_prob
        theirs = torch.stack([c[i, 0] * log_p[i, tokens[i][tokens[i] != PAD]].logsumexp(0) for i in range(3)])
    else:
        ours = head.score(features, tokens, c).log_prob
        used = [(i, k) for i, k in itertools.product(range(3), range(3)) if c[i, k] != 0]
        terms = [(i, c[i, k] * log_p[i, tokens[i, k]]) for i, k in used]
        theirs = torch.stack([torch.stack([term for j, term in terms if i == j]).sum() for i in range(3)])
    torch.testing.assert_close(ours, theirs)
    gradients = (torch.autograd.grad(each.sum(), inputs) for each in (ours, theirs))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_parameters_are_not_registered_and_not_copied() -> None:
    head = borrowed()
    owner = nn.Module()
    owner.head = head
    assert not list(owner.parameters()) and not owner.state_dict()
    assert head.layer().weight is head.linear.weight
    head.linear.weight = nn.Parameter(torch.zeros(SIZE, FEATURES, dtype=torch.float64))  # type: ignore[misc]
    assert head.layer().weight is head.linear.weight  # looked up anew, as models replace theirs


def test_a_bias_of_ones_own_replaces_the_layers() -> None:
    linear, bias = nn.Linear(FEATURES, SIZE), torch.randn(1, SIZE)
    features = torch.randn(4, FEATURES)
    ours = BorrowedHead(linear, [7], bias=bias).logits(features)[:, 4 + 3]
    torch.testing.assert_close(ours, features @ linear.weight[3] + bias[0, 3])


def test_what_the_head_never_generates_is_no_target() -> None:
    head, features = borrowed(), torch.randn(1, FEATURES, dtype=torch.float64)
    for token in (PAD, BOS, ENDS[1] + 4, UNKNOWN + 4, FORBIDDEN[1] + 4):
        with pytest.raises(InputError, match="position 0 "):
            head.score(features, torch.tensor([token]))


def test_one_token_may_be_end_padding_start_and_unknown() -> None:
    """As in the vocabulary of GPT-2."""
    head = BorrowedHead(nn.Linear(FEATURES, SIZE), [11], unknown=11, forbidden=[11])
    features = torch.randn(2, FEATURES)
    log_p = head.logits(features).log_softmax(1)
    expected = head.linear(features).log_softmax(1)  # type: ignore[operator]
    torch.testing.assert_close(log_p[:, EOS], expected[:, 11])
    assert log_p[:, [PAD, BOS, UNK, 11 + 4]].isinf().all() and log_p.exp().sum().item() == pytest.approx(2)


@given(st.data())
def test_translation_there_and_back(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 30))
    ids = st.integers(0, size - 1)
    ends = data.draw(st.lists(ids, min_size=1, max_size=3))
    unknown, forbidden = data.draw(st.none() | ids), data.draw(st.lists(ids, max_size=3))
    alphabet = Alphabet(size, ends, unknown, forbidden)
    own = torch.arange(alphabet.size)
    theirs = alphabet.to_theirs(own)
    known = theirs >= 0
    assert torch.equal(alphabet.to_ours(theirs[known]), own[known])
    possible = set(range(size)) - set(alphabet.forbidden)
    assert sorted(theirs[known].tolist()) == sorted(possible)  # every token that may be generated has one own id
    assert theirs[EOS] == ends[0] and (alphabet.to_ours(torch.tensor(ends)) == EOS).all()
    assert alphabet.to_ours(torch.tensor([[-100, -1]])).tolist() == [[PAD, PAD]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ends": []}, "needs an end"),
        ({"ends": [SIZE]}, f"end token {SIZE} is outside"),
        ({"ends": [1], "unknown": -1}, "unknown token -1 is outside"),
        ({"ends": [1], "forbidden": [3, 99]}, "forbidden token 99 is outside"),
        ({"ends": [1], "cap": 0.0}, "soft-cap must be positive"),
    ],
)
def test_bad_descriptions(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        BorrowedHead(nn.Linear(FEATURES, SIZE), **arguments)  # type: ignore[arg-type]
