"""Scoring speed against the usual Python packages: ROUGE-1/2/L against rouge-score, CIDEr-D against pycocoevalcap.

Both sides score the same generated headline pairs in this one process, turn about, and the best of several rounds
counts. CPU seconds; one core.
"""

import argparse
import random
from collections.abc import Callable
from time import process_time
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole
from bangbang.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

HELP = "pairs per second of ROUGE and CIDEr-D, and the time of a bootstrap"
RESAMPLES = 1000
Work = Callable[[], object]
_SYLLABLES = (
    "ba",
    "co",
    "di",
    "fer",
    "gan",
    "hu",
    "in",
    "jo",
    "ker",
    "lu",
    "mo",
    "nal",
    "or",
    "pin",
    "ras",
    "tor",
    "ul",
)
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ation", "al", "ly")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--pairs", type=whole(1), default=10_000, metavar="N", help="headline pairs to score (10,000)")
    parser.add_argument("--rounds", type=whole(1), default=3, metavar="N", help="rounds, of which the best counts (3)")


def headline_pairs(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """References of 5 to 12 words with natural word frequencies, and candidates that keep about half of the words."""
    generator = random.Random(seed)
    words = ["".join(generator.choices(_SYLLABLES, k=generator.randint(1, 3))) for _ in range(5000)]
    words = [word + generator.choice(_ENDINGS) for word in words]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    references = [generator.choices(words, weights, k=generator.randint(5, 12)) for _ in range(count)]
    candidates = [
        [word if generator.random() < 0.5 else generator.choices(words, weights)[0] for word in reference]
        for reference in references
    ]
    return [" ".join(text) for text in candidates], [" ".join(text) for text in references]


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    candidates, texts = headline_pairs(arguments.pairs)
    references = [[text] for text in texts]

    def versus(ours: Work, theirs: Work, their_name: str) -> dict[str, float]:
        times = [(_seconds(ours), _seconds(theirs)) for _ in range(arguments.rounds)]
        our_time, their_time = (min(column) for column in zip(*times, strict=True))
        return {
            "pairs_per_second": arguments.pairs / our_time,
            f"{their_name}_pairs_per_second": arguments.pairs / their_time,
            f"over_{their_name}": their_time / our_time,
        }

    return {
        "pairs": arguments.pairs,
        "rouge": versus(*_rouge(candidates, references, stem=False), "rouge_score"),
        "rouge_stem": versus(*_rouge(candidates, references, stem=True), "rouge_score"),
        "cider_d": versus(*_cider_d(candidates, references), "pycocoevalcap"),
        "bootstrap_seconds": min(_bootstrap_seconds(candidates, references) for _ in range(arguments.rounds)),
    }


def _seconds(work: Work) -> float:
    start = process_time()
    work()
    return process_time() - start


def _rouge(candidates: list[str], references: list[list[str]], stem: bool) -> tuple[Work, Work]:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise InputError("this bench needs the package rouge-score: pip install bangbang[peers]") from error
    from bangbang.metrics import Rouge

    ours = Rouge(stem=stem, metrics=("rouge-1", "rouge-2", "rouge-l"))
    theirs = RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=stem)
    pairs = [(texts[0], candidate) for candidate, texts in zip(candidates, references, strict=True)]
    return (
        lambda: ours.corpus(candidates, references, resampling=None),
        lambda: [theirs.score(reference, candidate) for reference, candidate in pairs],
    )


def _cider_d(candidates: list[str], references: list[list[str]]) -> tuple[Work, Work]:
    try:
        from pycocoevalcap.cider.cider import Cider
    except ImportError as error:
        raise InputError("this bench needs the package pycocoevalcap: pip install bangbang[peers]") from error
    from bangbang.metrics.cider import Captions, cider_scores

    def ours() -> object:
        captions = Captions(candidates, references)
        return cider_scores(captions, list(captions.entries()))

    their_references = dict(enumerate(references))
    their_candidates = {index: [text] for index, text in enumerate(candidates)}
    return ours, lambda: Cider().compute_score(their_references, their_candidates)


def _bootstrap_seconds(candidates: list[str], references: list[list[str]]) -> float:
    """The time of resampling alone, for the nine scores of ROUGE-1/2/L."""
    from bangbang.metrics import Resampling, Rouge, estimates

    metric = Rouge(metrics=("rouge-1", "rouge-2", "rouge-l"))
    statistics = metric.statistics(candidates, references)
    return _seconds(lambda: estimates(metric, statistics, Resampling(RESAMPLES)))


def table(result: dict[str, Any]) -> "Table":
    from rich.table import Table

    shown = Table(title=f"{result['pairs']:,} headline pairs, one core", title_justify="left")
    shown.add_column("score")
    for heading in ("pairs/s", "peer", "peer pairs/s", "ratio"):
        shown.add_column(heading, justify="right")
    rows = (("rouge", "rouge_score"), ("rouge_stem", "rouge_score"), ("cider_d", "pycocoevalcap"))
    for name, peer in rows:
        part = result[name]
        speeds = (f"{part['pairs_per_second']:,.0f}", peer, f"{part[f'{peer}_pairs_per_second']:,.0f}")
        shown.add_row(name, *speeds, f"{part[f'over_{peer}']:.1f}x")
    shown.caption = f"{RESAMPLES:,} bootstrap resamples: {result['bootstrap_seconds']:.2f} s"
    return shown
