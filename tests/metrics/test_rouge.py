"""ROUGE against worked examples of our own, and against its slow literal restatement on random texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bangbang.errors import InputError
from bangbang.metrics import Rouge
from bangbang.metrics.rouge import COUNTING
from tests.oracles import rouge155_literal as literal

EVERY = tuple(COUNTING)
WORDS = st.sampled_from(["a", "b", "c", "runs", "running", "the", "é", "X-ray", "42"])
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from([" ", " ", "\n", "  ", ", "])), max_size=14).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)
OPTIONS = st.fixed_dictionaries({"stem": st.booleans(), "max_bytes": st.sampled_from([None, 7, 20])})

# candidate, reference, metric, (reference units, candidate units, hits): counted by hand
WORKED = [
    ("the cat sat", "the cat sat down", "rouge-1", (4, 3, 3)),
    ("the cat sat", "the cat sat down", "rouge-2", (3, 2, 2)),
    ("the the the", "the cat", "rouge-1", (2, 3, 1)),
    ("down sat cat", "cat sat down", "rouge-l", (3, 3, 1)),
    ("sat down\nthe cat", "the cat sat down", "rouge-l", (4, 4, 4)),  # the union of two candidate sentences
    ("the cat", "the dog\nthe cat", "rouge-l", (4, 2, 2)),  # "the" hits once: the candidate has one
    ("a b", "a b c", "rouge-s", (3, 1, 1)),
    ("a b", "a b c", "rouge-su", (5, 2, 2)),  # the last word of each text is no unit
    ("co-op's", "co op s", "rouge-1", (3, 3, 3)),
    ("naïve", "na ve", "rouge-1", (2, 2, 2)),  # each byte of ï separates
    ("\u212a", "k", "rouge-1", (1, 0, 0)),  # the Kelvin sign is not the letter k
    ("c d\u2028a b", "a b c d", "rouge-l", (4, 4, 2)),  # only a line feed breaks sentences
    ("", "a b", "rouge-1", (2, 0, 0)),
    ("!?", "...", "rouge-l", (0, 0, 0)),
]


@pytest.mark.parametrize(("candidate", "reference", "metric", "counts"), WORKED)
def test_counts_worked_by_hand(candidate, reference, metric, counts):
    score = Rouge(metrics=(metric,)).score(candidate, [reference])[metric]
    assert score[3:] == counts
    assert all(isinstance(count, int) for count in score[3:])


def test_stems_match_words_of_one_family():
    assert Rouge(stem=True).score("accidents happened", ["accidentally occurring"])["rouge-1"].f1 == 0.5
    assert Rouge(stem=True).score("the oxen went", ["the ox goes"])["rouge-1"].hits == 3  # irregular forms


def test_rouge_w_weighs_a_run_of_four_by_its_power():
    score = Rouge(metrics=("rouge-w-1.2",)).score("a b c d", ["a b c d"])["rouge-w-1.2"]
    assert score.recall == pytest.approx(4 / 4**1.2)  # the script weighs the reference twice
    assert score.precision == 1.0


def test_several_references_are_summed_or_the_best_is_taken():
    references = ["a b c d", "a x"]
    averaged = Rouge(metrics=("rouge-1",)).score("a b", references)["rouge-1"]
    assert averaged[3:] == (6, 4, 3)
    best = Rouge(metrics=("rouge-1",), multi="best").score("a b", references)["rouge-1"]
    assert best[3:] == (4, 2, 2)  # equal recall: the first
    later = Rouge(metrics=("rouge-1",), multi="best").score("a b", ["a x", "b a", "c"])["rouge-1"]
    assert later[3:] == (2, 2, 2)


def test_bytes_cut_the_whole_text_for_n_grams_but_each_sentence_for_the_lcs():
    text = "aaaa bbbb\ncccc dddd"
    scores = Rouge(max_bytes=12, metrics=("rouge-1", "rouge-l")).score(text, [text])
    assert scores["rouge-1"][3:] == (3, 3, 3)  # aaaa bbbb ccc
    assert scores["rouge-l"][3:] == (4, 3, 2)  # "cccc" is a word of the sentence, but not of the cut text


@settings(max_examples=150, derandomize=True, deadline=None)
@given(TEXTS, TEXTS, OPTIONS)
def test_counts_equal_the_literal_restatement(candidate, reference, options):
    scores = Rouge(metrics=EVERY, **options).score(candidate, [reference])
    for metric in EVERY:
        assert scores[metric][3:] == pytest.approx(literal.counts(metric, candidate, reference, **options)), metric


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=60), min_size=1, max_size=3), OPTIONS)
def test_any_unicode_scores_between_0_and_1(candidate, references, options):
    for multi in ("average", "best"):
        for score in Rouge(metrics=EVERY, multi=multi, **options).score(candidate, references).values():
            assert all(0 <= value <= 1 for value in score[:3])


def test_lone_surrogates_separate_words():
    assert Rouge().score("a\ud800b", ["a b"])["rouge-1"].f1 == 1.0


def test_a_text_of_100_000_words_finishes():
    lines = "\n".join(" ".join(f"w{(7 * i + j * j) % 997}" for j in range(20)) for i in range(5000))
    one_line = " ".join(f"w{(i * i) % 1009}" for i in range(100_000))
    rouge = Rouge(metrics=("rouge-1", "rouge-2", "rouge-l"))
    for candidate, reference in ((lines, lines[::-1]), (one_line, one_line[::-1])):
        assert all(0 <= score.f1 <= 1 for score in rouge.score(candidate, [reference]).values())
    assert rouge.score(one_line, [one_line])["rouge-l"].hits == 100_000


def test_long_skip_bigrams_equal_short_ones():
    words = [f"w{(i * i) % 37}" for i in range(450)]
    ours, theirs = " ".join(words), " ".join(words[100:] + words[:50])
    for metric in ("rouge-s", "rouge-su"):
        score = Rouge(metrics=(metric,)).score(ours, [theirs])[metric]
        assert score[3:] == literal.counts(metric, ours, theirs)


@pytest.mark.parametrize(
    "options", [{"metrics": ()}, {"metrics": ("rouge-9",)}, {"multi": "worst"}, {"max_bytes": 0}], ids=str
)
def test_wrong_options_are_refused(options):
    with pytest.raises(InputError):
        Rouge(**options)


@pytest.mark.parametrize(("candidates", "references"), [(["a"], []), ([], []), (["a"], [[]]), (["a"], ["b"])])
def test_corpora_that_do_not_go_together_are_refused(candidates, references):
    with pytest.raises(InputError):
        Rouge().corpus(candidates, references)


def test_the_signature_states_every_option():
    signature = Rouge(stem=True, max_bytes=75, multi="best", metrics=("rouge-2",)).signature
    assert "stem:porter-wordnet|bytes:75|multi:best" in signature
    assert "metrics:rouge-2" in signature
