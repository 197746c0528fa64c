"""A matrix that serves as embeddings and as output layer: its gradient against plain autograd's."""

import copy

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from bangbang.heads import VocabularyHead
from bangbang.symbols import EOS


def gradients(head: VocabularyHead, loss: Tensor) -> list[Tensor]:
    head.zero_grad()
    loss.backward()
    return (
        [head.weight.grad.clone(), head.bias.grad.clone()] if head.bias.grad is not None else [head.weight.grad.clone()]
    )


@pytest.fixture
def head() -> VocabularyHead:
    torch.manual_seed(0)
    return VocabularyHead(9, 4).double()


SOURCE, TARGET = torch.tensor([[5, 5, 2], [8, 0, 5]]), torch.tensor([5, 3, 8, 5, 2, 4])


def test_lookups_and_scores_give_one_gradient(head: VocabularyHead) -> None:
    head.begin()
    features = torch.tanh(head.embed(SOURCE).flatten(0, 1) * head.embed(TARGET))
    ours = gradients(head, head.log_prob(features, TARGET).sum())
    features = torch.tanh(F.embedding(SOURCE, head.weight).flatten(0, 1) * F.embedding(TARGET, head.weight))
    possible = (features @ head.weight.t() + head.bias)[:, EOS:]
    log_p = possible.log_softmax(1)[torch.arange(6), TARGET - EOS]
    for mine, other in zip(ours, gradients(head, log_p.sum()), strict=True):
        torch.testing.assert_close(mine, other)


def test_lookups_alone(head: VocabularyHead) -> None:
    head.begin()
    [ours] = gradients(head, (head.embed(SOURCE) ** 2).sum())
    [theirs] = gradients(head, (F.embedding(SOURCE, head.weight) ** 2).sum())
    torch.testing.assert_close(ours, theirs)


def test_two_passes_before_one_backward(head: VocabularyHead) -> None:
    losses = []
    for tokens in (SOURCE, SOURCE.flip(1)):
        head.begin()
        losses.append(head.log_prob(head.embed(tokens).flatten(0, 1), TARGET).sum())
    ours = gradients(head, losses[0] + losses[1])
    separate = []
    for tokens in (SOURCE, SOURCE.flip(1)):
        head.begin()
        separate.append(gradients(head, head.log_prob(head.embed(tokens).flatten(0, 1), TARGET).sum()))
    for mine, *others in zip(ours, *separate, strict=True):
        torch.testing.assert_close(mine, others[0] + others[1])


def test_a_used_layer_can_be_copied(head: VocabularyHead) -> None:
    head.begin()
    head.embed(SOURCE)
    assert torch.equal(copy.deepcopy(head).weight, head.weight)


def test_a_second_backward_adds_the_same_again(head: VocabularyHead) -> None:
    head.begin()
    loss = head.log_prob(head.embed(SOURCE).flatten(0, 1), TARGET).sum()
    loss.backward(retain_graph=True)
    assert head.weight.grad is not None
    once = head.weight.grad.clone()
    loss.backward()
    torch.testing.assert_close(head.weight.grad, 2 * once)
