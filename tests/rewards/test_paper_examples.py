"""The examples of the paper's supplement: y = "a man is standing on a street </s>"."""

import pytest
import torch

from bangbang.rewards import Dup, Eos, RougeL, RougeN, Sum, dense
from bangbang.rewards.state import BaseReward
from bangbang.symbols import EOS, SYMBOLS

SENTENCE = ["a", "man", "is", "standing", "on", "a", "street", "</s>"]
TEXTS = [*SYMBOLS, *dict.fromkeys(word for word in SENTENCE if word != "</s>"), "dog"]
WORDS = [text for text in TEXTS if text not in ("<pad>", "<s>", "<unk>")]


def after(reward: BaseReward, prefix: str) -> dict[str, float]:
    """What every word would add after a prefix."""
    state = reward.start(torch.tensor([[TEXTS.index(word) for word in SENTENCE]]))
    for word in prefix.split():
        state.advance(torch.tensor([TEXTS.index(word)]))
    values = dense(state.increments(), len(TEXTS))[0].tolist()
    return {word: values[TEXTS.index(word)] for word in WORDS}


def best(values: dict[str, float]) -> list[str]:
    return [word for word, value in values.items() if value == max(values.values())]


@pytest.mark.parametrize("start_symbol", [True, False])
def test_up_to_bigrams_man_and_street_tie_after_a(start_symbol: bool) -> None:
    assert best(after(RougeN(2, start_symbol=start_symbol), "a")) == ["man", "street"]


def test_trigrams_tell_them_apart_where_there_is_a_context() -> None:
    assert best(after(RougeN(3), "a")) == ["man"], "`<s> a` is a context"
    assert best(after(RougeN(3, start_symbol=False), "a")) == ["man", "street"], "`a` alone is none"
    assert best(after(RougeN(3, start_symbol=False), "man is standing on a")) == ["street"]
    assert best(after(RougeN(2, start_symbol=False), "is standing on a")) == ["man", "street"]


def test_rouge_l_gives_all_remaining_words_the_same() -> None:
    values = after(RougeL(), "a")
    assert set(best(values)) == set(SENTENCE), "a second `a` is in y too"
    assert values["dog"] < 0 < values["man"]


def test_after_a_street_rouge_l_wants_only_the_end() -> None:
    values = after(RougeL(), "a street")
    assert best(values) == ["</s>"]
    others = {value for word, value in values.items() if word != "</s>"}
    assert len(others) == 1 and others.pop() < 0, "0 for recall, a little less for F1"


def test_the_end_is_best_after_a_street_unless_it_is_shaped() -> None:
    assert best(after(RougeN(3), "a street")) == ["</s>"]
    shaped = after(Sum(RougeN(3), Eos()), "a street")
    assert "</s>" not in best(shaped)
    assert min(shaped, key=lambda word: shaped[word]) == "</s>"
    assert set(best(shaped)) == {"man", "is", "standing", "on", "a"}


def test_dup_forbids_stuttering() -> None:
    plain, shaped = after(RougeN(3), "a a"), after(Sum(RougeN(3), Dup()), "a a")
    assert shaped["a"] == pytest.approx(plain["a"] - 1)
    assert {word: value for word, value in shaped.items() if word != "a"} == pytest.approx(
        {word: value for word, value in plain.items() if word != "a"}
    )


def test_the_end_is_a_token_at_its_time() -> None:
    whole = " ".join(SENTENCE[:-1])
    assert best(after(Sum(RougeN(3), Dup(), Eos()), whole)) == ["</s>"]
    assert after(Eos(), whole)["</s>"] == 0, "t = |y|"
    assert TEXTS.index("</s>") == EOS
