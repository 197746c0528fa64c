"""How many targets come back exactly as they were written, once they were cut to words in lower case.

What is learnt from the training targets of a prepared corpus writes those of another split. A target with a word that
the vocabulary does not know cannot come back; `known` is the share of the others, `restored` how many of them do,
`but_capitals` how many of them but for capitals.

examples:
  bangbang bench spelling corpora/docstrings-f831d8a9ac26
  bangbang bench spelling corpora/docstrings-f831d8a9ac26 --split test --json
"""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang.cli.numbers import whole
from bangbang.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

HELP = "targets that come back as they were written"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", metavar="FOLDER", type=Path, help="a prepared corpus, as `bangbang data` makes it")
    parser.add_argument("--split", default="valid", choices=("train", "valid", "test"))
    parser.add_argument("--differing", type=whole(), default=5, metavar="N", help="show so many that differ (5)")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    from bangbang.data import Corpus
    from bangbang.symbols import UNK

    corpus = Corpus.open(arguments.corpus)
    begun = time.process_time()
    spelling = corpus.learn_spelling()
    seconds = time.process_time() - begun
    if spelling is None:
        raise InputError(f"{corpus.folder}: its tokens are pieces of words, which come back exactly")
    vocabulary = corpus.vocabulary
    texts = [text for row in corpus.split(arguments.split).references(slice(None)) for text in row]
    encoded = zip(texts, vocabulary.encode_batch(texts), strict=True)
    known = [(text, spelling.written(vocabulary.decode(ids))) for text, ids in encoded if UNK not in ids]
    different = [pair for pair in known if pair[0] != pair[1]]
    return {
        "targets": len(texts),
        "known": len(known) / len(texts),
        "restored": 1 - len(different) / max(1, len(known)),
        "but_capitals": sum(one.lower() == two.lower() for one, two in known) / max(1, len(known)),
        "seconds": seconds,
        "examples": different[: max(0, arguments.differing)],
    }


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=f"{result['targets']:,} targets", title_justify="left")
    for name in ("known words only", "restored", "but for capitals", "CPU seconds to learn"):
        grid.add_column(name, justify="right")
    shares = (f"{result[name]:.1%}" for name in ("known", "restored", "but_capitals"))
    grid.add_row(*shares, f"{result['seconds']:.1f}")
    differing = [Text(f"\nwritten   {one}\nrestored  {two}") for one, two in result["examples"]]
    return Group(grid, *differing)
