"""The guest's reward, objective, model and corpus, each against its definition."""

import torch
from bangbang_arithmetic.corpus import Arithmetic
from bangbang_arithmetic.model import BagOfWords
from bangbang_arithmetic.objective import MixedSettings
from bangbang_arithmetic.reward import Coverage

from bangbang.contracts import Batch
from bangbang.corpora.pairs import Ledger
from bangbang.objectives import Mle, Pg, token_losses
from bangbang.rewards import RougeN, dense
from bangbang.symbols import BOS, EOS

SOURCE, LENGTH = torch.tensor([[4, 5, 6], [7, 8, 0]]), torch.tensor([3, 2])
TARGET = torch.tensor([[4, 5, 2], [9, 2, 0]])
BATCH = Batch(SOURCE, LENGTH, TARGET, torch.tensor([3, 2]), TARGET.unsqueeze(1))


def test_the_corpus_adds_up() -> None:
    pairs = {pair.source: pair.targets for pair in Arithmetic(largest=40).build().splits["train"](Ledger())}
    assert len(pairs) == 41**2
    assert pairs["seven plus twelve"] == ("nineteen",) and pairs["forty plus thirty three"] == ("seventy three",)


def test_the_rewards_increments_are_differences_of_shares() -> None:
    state = Coverage().start(torch.tensor([[4, 5, 4, 6, EOS]]), dtype=torch.float64)
    had: set[int] = set()
    for token in (5, 7, 5, 4, EOS):
        found = dense(state.increments(), 8)[0]
        for v in range(EOS, 8):
            gain = (len({4, 5, 6} & (had | {v})) - len({4, 5, 6} & had)) / 3
            assert abs(found[v].item() - gain) < 1e-8
        state.advance(torch.tensor([token]))
        had.add(token)
    assert abs(state.value().item() - 2 / 3) < 1e-8


def test_the_objectives_loss_is_the_mixture() -> None:
    torch.manual_seed(1)
    model = BagOfWords(12, 12, 8)

    def total(settings: MixedSettings | Pg | Mle) -> torch.Tensor:
        objective = settings.build(lambda: RougeN(3), 5)
        return token_losses(model.head, objective.propose(model, BATCH, 0, torch.Generator().manual_seed(3))).sum()

    pg, mle = total(Pg(samples=4, baseline="others")), total(Mle())
    for share in (0.0, 0.3, 1.0):
        torch.testing.assert_close(total(MixedSettings(share=share)), share * pg + (1 - share) * mle)


def test_a_rollout_of_the_model_equals_reading_all_at_once() -> None:
    torch.manual_seed(1)
    model = BagOfWords(12, 12, 8)
    tokens = torch.tensor([[BOS, 5, 6], [BOS, 9, 4]])
    expected = model.unroll(model.encode(SOURCE, LENGTH), tokens)
    rollout = model.rollout(model.encode(SOURCE, LENGTH), 3)
    steps = [rollout.step(column) for column in tokens.unbind(1)]
    torch.testing.assert_close(torch.stack(steps, 1), expected)
    torch.testing.assert_close(rollout.features().view(3, 2, -1).transpose(0, 1), expected)
