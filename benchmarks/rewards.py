"""Time what the next tokens' rewards cost, on one core.

A step is `increments` and `advance` of a whole batch; half of the tokens followed are of the references, half of the
whole vocabulary. Times are medians over rollouts, and the two vocabularies take turns. rouge-score is called for some
candidates only and its time scaled to all tokens of the smaller vocabulary, for every row.

examples:
  bangbang bench rewards
  bangbang bench rewards --json
"""

import argparse
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole

if TYPE_CHECKING:
    from rich.table import Table
    from torch import Tensor

    from bangbang.rewards import Reward

HELP = "increments of every reward per step, with large and small vocabularies, beside rouge-score"
VOCABULARIES = (1_000, 220_000)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch-size", type=whole(1), default=200, help="rows (default 200)")
    parser.add_argument("--length", type=whole(1), default=15, help="reference tokens, </s> included (default 15)")
    parser.add_argument("--rollouts", type=whole(1), default=40, help="rollouts per median (default 40)")
    parser.add_argument(
        "--rouge-score-calls", type=whole(1), default=2_000, help="calls of rouge-score timed (default 2000)"
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return measured(arguments.batch_size, arguments.length, arguments.rollouts, arguments.rouge_score_calls)
    finally:
        torch.set_num_threads(threads)


def measured(batch_size: int, length: int, rollouts: int, calls: int) -> dict[str, Any]:
    from rich.console import Console
    from rich.progress import track

    from bangbang.rewards import Dup, Eos, RougeN, Sum

    main = Sum(RougeN(3), Dup(), Eos())
    small, large = (Rollout(batch_size, length, size) for size in VOCABULARIES)
    console = Console(stderr=True)
    times: tuple[list[float], list[float]] = ([], [])
    for rollout in (small, large):
        rollout.milliseconds_per_step(main)  # the first one warms up
    for _ in track(range(rollouts), "rouge-3 + dup + eos", console=console):
        for rollout, taken in zip((small, large), times, strict=True):
            taken.append(rollout.milliseconds_per_step(main))
    result: dict[str, Any] = {
        "batch_size": batch_size,
        "length": length,
        "rouge3_dup_eos": {"ms_per_step": median(times[1]), "best_ms_per_step": min(times[1])},
        "vocabulary_ratio": median(times[1]) / median(times[0]),
        **against_rouge_score(small, calls, median(times[0])),
        "others": {},
    }
    for name, reward in track(list(other_rewards().items()), "other rewards", console=console):
        reward_times = [small.milliseconds_per_step(reward) for _ in range(max(3, rollouts // 8))]
        result["others"][name] = {"ms_per_step": median(reward_times)}
    return result


class Rollout:
    """Random references and the tokens to follow, of one vocabulary."""

    def __init__(self, batch_size: int, length: int, vocabulary_size: int) -> None:
        import torch

        from bangbang.symbols import EOS, UNK

        generator = torch.Generator().manual_seed(1)
        self.vocabulary_size = vocabulary_size
        self.references = torch.randint(UNK + 1, vocabulary_size, (batch_size, length), generator=generator)
        self.references[:, -1] = EOS
        junk = torch.randint(UNK + 1, vocabulary_size, (batch_size, length), generator=generator)
        chosen = torch.rand(batch_size, length, generator=generator) < 0.5
        self.steps: list[Tensor] = list(self.references.where(chosen, junk)[:, :-1].unbind(1))

    def milliseconds_per_step(self, reward: "Reward") -> float:
        state = reward.start(self.references)
        begin = time.perf_counter()
        for tokens in self.steps:
            state.increments()
            state.advance(tokens)
        return (time.perf_counter() - begin) * 1000 / len(self.steps)


def against_rouge_score(rollout: Rollout, calls: int, milliseconds: float) -> dict[str, Any]:
    """rouge-score called once per row and token, a step's increments by brute force, against `milliseconds`."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        return {"speedup_over_rouge_score": None}

    class Words:
        def tokenize(self, text: str) -> list[str]:
            return text.split()

    scorer = RougeScorer(["rouge1", "rouge2", "rouge3"], tokenizer=Words())
    references = [" ".join(map(str, row)) for row in rollout.references.tolist()]
    prefixes = [" ".join(map(str, row[: len(row) // 2])) for row in rollout.references.tolist()]
    begin = time.perf_counter()
    for call in range(calls):
        row = call % len(references)
        scorer.score(references[row], f"{prefixes[row]} {call}")
    per_call = (time.perf_counter() - begin) * 1000 / calls
    needed = len(references) * rollout.vocabulary_size
    return {
        "speedup_over_rouge_score": per_call * needed / milliseconds,
        "rouge_score": {
            "vocabulary_size": rollout.vocabulary_size,
            "calls_measured": calls,
            "calls_of_a_step": needed,
            "ms_per_call": per_call,
        },
    }


def other_rewards() -> "dict[str, Reward]":
    """One of each, by name; the ids of a vocabulary are its words."""
    from bangbang.rewards import (
        Bleu,
        CiderD,
        DocumentFrequency,
        Dup,
        EditDistance,
        Eos,
        FunctionReward,
        Gleu,
        Length,
        RougeL,
        RougeN,
    )
    from bangbang.symbols import SYMBOLS

    texts = [*SYMBOLS, *(str(token) for token in range(len(SYMBOLS), VOCABULARIES[0]))]
    words = texts[len(SYMBOLS) :]
    frequency = DocumentFrequency.count([[words[i : i + 12]] for i in range(0, len(words), 4)])
    return {
        "rouge_3": RougeN(3),
        "rouge_l": RougeL(),
        "bleu": Bleu(),
        "gleu": Gleu(),
        "cider_d": CiderD(frequency, texts),
        "word_errors": EditDistance(),
        "character_errors": EditDistance("character", texts=texts),
        "dup": Dup(),
        "dup_unless_in_reference": Dup(unless_in_reference=True),
        "eos": Eos(),
        "length": Length(),
        "metric_of_shared_words": FunctionReward(shared_words, cache_size=5_000),  # no more than a step needs
    }


def shared_words(candidate: list[int], references: list[list[int]]) -> float:
    return len(set(candidate) & set(references[0])) / len(candidate)


def table(result: dict[str, Any]) -> "Table":
    from rich.table import Table

    rows = Table(title=f"rewards: batch {result['batch_size']}, {result['length']} tokens, one core")
    rows.add_column("reward")
    rows.add_column("ms per step", justify="right")
    rows.add_row("rouge-3 + dup + eos", f"{result['rouge3_dup_eos']['ms_per_step']:.2f}")
    for name, numbers in result["others"].items():
        rows.add_row(name.replace("_", " "), f"{numbers['ms_per_step']:.2f}")
    sizes = f"{VOCABULARIES[1]:,} tokens take {result['vocabulary_ratio']:.2f} times as long as {VOCABULARIES[0]:,}"
    speedup = result["speedup_over_rouge_score"]
    peer = "rouge-score is not installed" if speedup is None else f"{speedup:,.0f} times as fast as rouge-score"
    rows.caption = f"{sizes}; {peer}"
    return rows
