"""Values of whole sequences against the public packages, where they define the same quantity."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.rewards import Bleu, CiderD, DocumentFrequency, Gleu, RougeL, RougeN
from bangbang.rewards.state import BaseReward
from bangbang.symbols import EOS, SYMBOLS
from tests.rewards.cases import batch

WORDS = ["the", "cat", "sat", "on", "mat", "dog"]
TEXTS = [*SYMBOLS, *WORDS]
sentence = st.lists(st.integers(4, len(TEXTS) - 1), min_size=1, max_size=9)
several = st.lists(sentence, min_size=1, max_size=3)
some = settings(derandomize=True, max_examples=60, deadline=None)


def written(tokens: list[int]) -> str:
    return " ".join(TEXTS[token] for token in [*tokens, EOS])


def value(reward: BaseReward, z: list[int], references: list[list[int]]) -> float:
    state = reward.start(batch([references]), dtype=torch.float64)
    for token in [*z, EOS]:
        state.advance(torch.tensor([token]))
    return state.value().item()


@some
@given(z=sentence, y=sentence)
def test_rouge_score(z: list[int], y: list[int]) -> None:
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")

    class Words:
        def tokenize(self, text: str) -> list[str]:
            return text.split()

    scores = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rouge3", "rougeL"], tokenizer=Words()).score(
        written(y), written(z)
    )
    for n in (1, 2, 3):
        for measure, expected in zip(("precision", "recall", "f1"), scores[f"rouge{n}"], strict=True):
            reward = RougeN(orders=(n,), measure=measure, start_symbol=False)
            assert value(reward, z, [y]) == pytest.approx(expected, abs=1e-9), (n, measure)
    assert value(RougeL(), z, [y]) == pytest.approx(scores["rougeL"].fmeasure, abs=1e-9)


@some
@given(z=sentence, references=several)
def test_sacrebleu(z: list[int], references: list[list[int]]) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    expected = sacrebleu.sentence_bleu(written(z), [written(y) for y in references], tokenize="none").score / 100
    assert value(Bleu(start_symbol=False), z, references) == pytest.approx(expected, abs=1e-9)


@some
@given(z=sentence, references=several)
def test_nltk_gleu(z: list[int], references: list[list[int]]) -> None:
    gleu_score = pytest.importorskip("nltk.translate.gleu_score")
    expected = gleu_score.sentence_gleu([written(y).split() for y in references], written(z).split())
    assert value(Gleu(start_symbol=False), z, references) == pytest.approx(expected, abs=1e-9)


@some
@given(examples=st.lists(st.tuples(sentence, several), min_size=2, max_size=4))
def test_pycocoevalcap_cider(examples: list[tuple[list[int], list[list[int]]]]) -> None:
    cider_scorer = pytest.importorskip("pycocoevalcap.cider.cider_scorer")
    scorer = cider_scorer.CiderScorer()
    for z, references in examples:
        scorer += (written(z), [written(y) for y in references])
    _, expected = scorer.compute_score()
    documents = [[written(y).split()[:-1] for y in references] for _, references in examples]
    reward = CiderD(DocumentFrequency.count(documents), TEXTS)
    scores = [value(reward, z, references) for z, references in examples]
    assert scores == pytest.approx(list(expected), abs=1e-6)


@some
@given(z=sentence, y=sentence)
def test_pycocoevalcap_rouge_l_of_one_reference(z: list[int], y: list[int]) -> None:
    rouge = pytest.importorskip("pycocoevalcap.rouge.rouge")
    expected = rouge.Rouge().calc_score([written(z)], [written(y)])
    assert value(RougeL(1.2), z, [y]) == pytest.approx(expected, abs=1e-9)
