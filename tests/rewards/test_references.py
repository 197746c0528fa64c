"""Bad references and tokens are errors that name what is wrong."""

import pytest
import torch
from torch import Tensor

from bangbang.errors import InputError
from bangbang.rewards import Dup, RougeN, Sum, dense
from bangbang.rewards.references import References
from bangbang.symbols import BOS, EOS, PAD, UNK

GOOD = torch.tensor([[4, 5, EOS], [6, EOS, PAD]])


def test_candidates_are_the_distinct_known_words() -> None:
    references = References.of(torch.tensor([[[7, 4, 7, EOS], [4, 9, EOS, PAD]], [[UNK, 5, EOS, PAD], [PAD] * 4]]))
    assert references.candidates.tolist() == [[EOS, 4, 7, 9], [EOS, 5, PAD, PAD]]
    assert references.slots.tolist() == [[[2, 1, 2, 0], [1, 3, 0, 4]], [[4, 1, 0, 4], [4] * 4]]
    assert references.lengths.tolist() == [[4, 3], [3, 0]]
    assert references.weights.tolist() == [[0.5, 0.5], [1, 0]]


@pytest.mark.parametrize(
    ("references", "message"),
    [
        (GOOD.int(), "dtype torch.int64, not torch.int32"),
        (GOOD.float(), "dtype torch.int64, not torch.float32"),
        (GOOD[0], r"\[batch, time\].* not \[3\]"),
        (GOOD[None, None], r"not \[1, 1, 2, 3\]"),
        (GOOD[:, :0], "hold no tokens"),
        (torch.tensor([[4, EOS], [PAD, PAD]]), "reference 1 is empty: it has no reference at all"),
        (torch.tensor([[4, EOS], [EOS, PAD]]), "reference 1 is empty: nothing stands before </s>"),
        (torch.tensor([[[EOS, PAD], [PAD, PAD]]]), "reference 0 is empty: nothing stands before </s>"),
        (torch.tensor([[4, EOS], [UNK, EOS]]), "reference 1 has no known word"),
        (torch.tensor([[4, EOS], [4, 5]]), "reference 1 does not end with </s>"),
        (torch.tensor([[4, EOS, 5]]), "reference 0 does not end with </s>"),
        (torch.tensor([[[4, EOS, PAD], [4, PAD, EOS]]]), "reference 1 of row 0 does not end with </s>"),
        (torch.tensor([[EOS, 4, EOS]]), "more than one </s>"),
        (torch.tensor([[BOS, 4, EOS]]), "contains <s>"),
        (torch.tensor([[4, -1, EOS]]), "reference 0 has a negative token id"),
        (torch.tensor([[[4, EOS], [99, EOS]]]), "reference 1 of row 0 has a token id outside the vocabulary of 10"),
        (torch.tensor([[4, 5, 6, 7, EOS]]), "reference 0 is longer than 4 tokens"),
        ([[4, EOS]], "must be a tensor of token ids, not list"),
    ],
)
@pytest.mark.parametrize("reward", [RougeN(3), Dup(), Sum(RougeN(3), Dup())])
def test_bad_references(reward: RougeN, references: Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        reward.start(references, vocabulary_size=10, max_length=4)
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)


def test_one_of_several_references_may_be_unknown_or_absent() -> None:
    state = RougeN(3).start(torch.tensor([[[4, EOS], [UNK, EOS], [PAD, PAD]]]))
    assert state.increments().values.max() > 0


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (torch.tensor([4]), r"advance needs \[2\] token ids .* not \[1\]"),
        (torch.tensor([[4], [5]]), r"not \[2, 1\]"),
        (torch.tensor([4, 5], dtype=torch.int32), "torch.int32"),
        (torch.tensor([4, -2]), "token id -2 is outside the vocabulary"),
        (torch.tensor([10, 4]), "token id 10 is outside the vocabulary"),
    ],
)
@pytest.mark.parametrize("reward", [RougeN(3), Sum(Dup(), RougeN(3))])
def test_bad_tokens(reward: RougeN, tokens: Tensor, message: str) -> None:
    state = reward.start(GOOD, vocabulary_size=10)
    with pytest.raises(InputError, match=message):
        state.advance(tokens)
    assert not state.value().any(), "nothing was appended"


def test_dense_needs_a_vocabulary_that_holds_the_candidates() -> None:
    with pytest.raises(InputError, match="candidate 6 is outside a vocabulary of 6 tokens"):
        dense(RougeN(3).start(GOOD).increments(), 6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RougeN(0),
        lambda: RougeN(7),
        lambda: RougeN(orders=(1, 1)),
        lambda: RougeN(measure="f2"),  # type: ignore[arg-type]
        lambda: RougeN(several="worst"),  # type: ignore[arg-type]
        Sum,
        lambda: Sum(RougeN(3), weights=(1, 2)),
    ],
)
def test_bad_options(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]
