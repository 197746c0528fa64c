"""Rewards of words against text-level scores of the decoded texts, by the metrics themselves."""

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from bangbang.contracts import RewardInputs, Writing
from bangbang.errors import InputError
from bangbang.metrics import CocoCaption, ErrorRates, Rouge, SacreBleu
from bangbang.metrics.words import word_reader
from bangbang.rewards import RougeL, RougeN, WordReward, read
from bangbang.rewards.settings import (
    BleuSettings,
    CiderDSettings,
    EditDistanceSettings,
    ExactMatchSettings,
    RewardSettings,
    RougeLSettings,
    RougeNSettings,
)
from bangbang.symbols import EOS, PAD
from tests.rewards.tokenizers_of_words import LINES, MAKES, decoded, encoded, reference, texts_of, view_of

END = "qqend"  # how `</s>` is written where a metric of texts is to count it
some = settings(derandomize=True, max_examples=25, deadline=None)
words = st.sampled_from([word for line in LINES for word in line.split()])
texts = st.lists(words, min_size=1, max_size=7).map(" ".join)
references = texts.filter(lambda text: any(letter.isalnum() for letter in text))  # which no metric finds empty
makes = st.sampled_from(MAKES)


def rows(sequences: list[tuple[int, ...]]) -> Tensor:
    longest = max(map(len, sequences))
    return torch.tensor([[*each, *[PAD] * (longest - len(each))] for each in sequences])


def inputs(make: str) -> RewardInputs:
    writing = Writing(decoded(make), lambda text: encoded(make, text), word_reader)
    names = texts_of(make)
    return RewardInputs(
        names, "", lambda: [[[names[token] for token in encoded(make, line)]] for line in LINES], writing
    )


def main_reward(settings: RewardSettings, make: str) -> WordReward:
    plain = dataclasses.replace(settings, units="words", dup=0.0, eos=0.0)
    found = plain.build(inputs(make))
    assert isinstance(found, WordReward)
    return found


def value(reward: WordReward, make: str, z: str, y: str) -> float:
    state = reward.start(rows([reference(make, y)]))
    for token in reference(make, z):
        state.advance(torch.tensor([token]))
    return state.main_value().item()


def written(make: str, text: str) -> str:
    """What the model would write: tokenizers may lose characters."""
    return f"{decoded(make)([encoded(make, text)])[0]} {END}"


@some
@given(makes, texts, references)
def test_rouge(make: str, z: str, y: str) -> None:
    scores = Rouge().score(written(make, z), [written(make, y)])
    for n in (1, 2, 3):
        reward = main_reward(RougeNSettings(min_n=n, max_n=n, start_symbol=False), make)
        assert value(reward, make, z, y) == pytest.approx(scores[f"rouge-{n}"].f1, abs=1e-6)
    assert value(main_reward(RougeLSettings(), make), make, z, y) == pytest.approx(scores["rouge-l"].f1, abs=1e-6)


@some
@given(makes, texts, references)
def test_bleu(make: str, z: str, y: str) -> None:
    pytest.importorskip("sacrebleu")
    metric = SacreBleu("bleu")
    expected = metric.per_example(metric.statistics([written(make, z)], [[written(make, y)]]))[0, 0] / 100
    found = value(main_reward(BleuSettings(start_symbol=False), make), make, z, y)
    assert found == pytest.approx(expected, abs=1e-6)


@some
@given(makes, texts, references)
def test_edits_and_exact_matches(make: str, z: str, y: str) -> None:
    wrong, edits, length = ErrorRates().statistics([written(make, z)], [[written(make, y)]])[0]
    distance = value(main_reward(EditDistanceSettings(), make), make, z, y)
    assert distance == pytest.approx(1 - edits / length, abs=1e-6)  # 0 for the empty text
    assert value(main_reward(ExactMatchSettings(), make), make, z, y) == 1 - wrong


@settings(derandomize=True, max_examples=10, deadline=None)
@given(makes, st.sampled_from(LINES), st.sampled_from(LINES))
def test_cider_d(make: str, z: str, y: str) -> None:
    """The evaluated set's document frequencies are those of training: the references are the same."""
    metric = CocoCaption()
    lines = [written(make, line) for line in LINES]
    given_to = [lines[LINES.index(z if line == y else line)] for line in LINES]
    scores = metric.per_example(metric.statistics(given_to, [[line] for line in lines]))
    expected = scores[LINES.index(y), metric.names.index("cider-d")]
    assert value(main_reward(CiderDSettings(), make), make, z, y) == pytest.approx(expected, abs=2e-5)


@some
@given(makes, st.lists(texts, min_size=1, max_size=4), texts, st.integers(0, 30))
def test_what_was_earned_before_a_token_is_the_reward_of_the_text_so_far(
    make: str, samples: list[str], y: str, cut: int
) -> None:
    """Of rows with different numbers of words, one of which is cut off: R telescopes."""
    reward = WordReward(RougeN(2), view_of(make))
    sequences = [reference(make, z) for z in samples]
    sequences[0] = sequences[0][: 1 + cut]
    state = reward.start(rows([reference(make, y)] * len(samples)))
    earned = read(state, rows(sequences))
    finals = state.loss_weight()
    for row, tokens in enumerate(sequences):
        alone = reward.start(rows([reference(make, y)]))
        steps = []
        for token in tokens:
            steps.append(alone.loss_weight().item())
            alone.advance(torch.tensor([token]))
        assert earned[row, : len(tokens)].tolist() == pytest.approx(steps, abs=1e-7)
        assert finals[row].item() == pytest.approx(alone.loss_weight().item(), abs=1e-7)


def test_several_references_and_rows_that_are_selected() -> None:
    reward = WordReward(RougeL(several="best"), view_of("byte-level"))
    y = [reference("byte-level", text) for text in ("read mail", "write tools", "light")]
    absent = (PAD,) * len(y[0])
    longest = max(map(len, y))
    pairs = y[:2], [y[2], absent]
    several = torch.tensor([[[*each, *[PAD] * (longest - len(each))] for each in pair] for pair in pairs])
    state = reward.start(several).select(torch.tensor([1, 0, 0]))
    for tokens in rows([y[2], y[1], y[0]]).unbind(1):
        state.advance(tokens)
    assert state.value().tolist() == [1.0, 1.0, 1.0]
    assert state.select(torch.tensor([False, True, False])).value().tolist() == [1.0]


def test_a_reference_without_words_earns_nothing() -> None:
    reward = WordReward(RougeN(1), view_of("byte-level"))
    state = reward.start(rows([reference("byte-level", "...")]))
    for token in encoded("byte-level", "light"):
        state.advance(torch.tensor([token]))
    assert state.value().item() == 0


def test_a_function_of_tokens_is_not_asked() -> None:
    state = WordReward(RougeN(1), view_of("byte-level")).start(rows([reference("byte-level", "light")]))
    with pytest.raises(InputError, match="pays whole words"):
        state.increments()
    with pytest.raises(InputError, match=r"reward.units must be \"tokens\" where unit"):
        EditDistanceSettings(unit="character", units="words")
    with pytest.raises(InputError, match="needs a tokenizer"):
        RougeLSettings(units="words").build(RewardInputs([], "", list))


def best(reward: WordReward, make: str, before: str, y: str) -> list[str]:
    state = reward.start(rows([reference(make, y)]))
    for token in encoded(make, before) if before else []:
        state.advance(torch.tensor([token]))
    ways = state.best_spellings([0])[0]
    return [f"{decoded(make)([list(way)])[0].strip()}{'.' if EOS in way else ''}" for way in ways]


@pytest.mark.parametrize("make", MAKES)
def test_the_best_words_as_the_reference_writes_them(make: str) -> None:
    reward = WordReward(RougeN(3), view_of(make))
    assert best(reward, make, "", "light-weight mail - tools") == ["light-weight"]
    assert best(reward, make, "Light weight", "light-weight mail - tools") == ["mail"]
    assert best(reward, make, "reading mail", "light-weight mail - tools") == ["- tools"]
    assert best(reward, make, "mail tools", "light-weight mail - tools") == ["."]
    plain = WordReward(RougeN(1), view_of(make))
    assert best(plain, make, "mail", "read mail tools") == ["read", "tools", "."]
