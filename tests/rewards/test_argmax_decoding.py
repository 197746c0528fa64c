"""p_drop = 0: following the arg-max of the increments spells the reference.

Stated for RougeN(3), over all y of up to five words out of four:
- no two-token context twice in `<s>` y: y_t is the only arg-max at every t, immediate repeats or not;
- else: y_t is always in the arg-max set, but not always alone there, and the model decides;
- with DUP, an immediate repeat in y is never generated, unless repeats of the reference are allowed.
"""

import itertools
from collections.abc import Sequence

import pytest
import torch

from bangbang.rewards import Bleu, Dup, Eos, Gleu, Length, RougeN, Sum, arg_max_set
from bangbang.rewards.state import BaseReward
from bangbang.symbols import BOS, EOS

SENTENCES = [list(y) for size in range(1, 6) for y in itertools.product(range(4, 8), repeat=size)]


def repeated_context(y: Sequence[int]) -> bool:
    spelled = [BOS, *y, EOS]
    contexts = [tuple(spelled[i : i + 2]) for i in range(len(spelled) - 2)]
    return len(set(contexts)) < len(contexts)


def repeated_word(y: Sequence[int]) -> bool:
    return any(a == b for a, b in itertools.pairwise(y))


def follow(reward: BaseReward, sentences: Sequence[Sequence[int]]) -> list[str]:
    """Along y: whether y_t was always alone in the arg-max set ("alone"), always in it ("tied"), or not ("lost")."""
    verdicts = []
    for size, group in itertools.groupby(sentences, key=len):
        references = torch.tensor([[*y, EOS] for y in group])
        state = reward.start(references)
        alone, among = torch.ones(2, len(references), dtype=torch.bool)
        for t in range(size + 1):
            increments = state.increments()
            in_set, rest = arg_max_set(increments)
            among &= (in_set & (increments.tokens == references[:, t, None])).any(1)
            alone &= among & (in_set.sum(1) == 1) & ~rest
            state.advance(references[:, t])
        verdicts += ["alone" if a else "tied" if b else "lost" for a, b in zip(alone, among, strict=True)]
    return verdicts


@pytest.mark.parametrize("reward", [RougeN(3), Sum(RougeN(3), Eos()), Sum(RougeN(3), Eos(), Length())])
def test_rouge_3_spells_every_reference_without_repeated_contexts(reward: BaseReward) -> None:
    for y, verdict in zip(SENTENCES, follow(reward, SENTENCES), strict=True):
        assert verdict == "alone" if not repeated_context(y) else verdict in ("alone", "tied"), y


def test_with_dup_and_eos_it_does_so_unless_a_word_is_repeated_at_once() -> None:
    for y, verdict in zip(SENTENCES, follow(Sum(RougeN(3), Dup(), Eos()), SENTENCES), strict=True):
        if repeated_word(y):
            assert verdict == "lost", y
        elif not repeated_context(y):
            assert verdict == "alone", y
        else:
            assert verdict in ("alone", "tied"), y


def test_repeats_of_the_reference_can_be_allowed() -> None:
    reward = Sum(RougeN(3), Dup(unless_in_reference=True), Eos())
    for y, verdict in zip(SENTENCES, follow(reward, SENTENCES), strict=True):
        assert verdict == "alone" if not repeated_context(y) else verdict in ("alone", "tied"), y


def test_a_repeated_context_ties() -> None:
    assert follow(RougeN(3), [[4, 5, 4, 5]]) == ["tied"]
    assert follow(RougeN(3), [[4, 4, 4]]) == ["tied"]


@pytest.mark.parametrize("reward", [RougeN(3, start_symbol=False), Bleu(start_symbol=False), Gleu(start_symbol=False)])
def test_without_the_start_symbol_all_words_tie_at_first(reward: BaseReward) -> None:
    sentences = [y for y in SENTENCES if len(y) > 1]
    assert "alone" not in follow(reward, sentences)


@pytest.mark.parametrize("reward", [Bleu(), Gleu()])
def test_bleu_and_gleu_spell_them_too(reward: BaseReward) -> None:
    sentences = [y for y in SENTENCES if len(set(y)) == len(y)]
    assert set(follow(reward, sentences)) == {"alone"}
