"""Make a corpus of (text, short text) pairs, or look into one. What was made is found again: a second call is instant.

CORPUS is `docstrings` or `debian` (built in), a folder or file of pairs, the name of a `datasets` data set, or a config
file, whose [data] and [vocabulary] tables are used.

examples:
  bangbang data docstrings --show 5
  bangbang data debian --set vocabulary.size=10000
  bangbang data debian --path Translation-en.xz
  bangbang data gigaword/ --set vocabulary.split=whitespace --json
  bangbang data pairs.jsonl --set data.source_field=article --set data.target_field=title
  bangbang data configs/headlines-docstrings.toml
"""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bangbang import config, consent
from bangbang.cli.changes import add_changes
from bangbang.cli.numbers import whole
from bangbang.cli.streams import print_json

if TYPE_CHECKING:
    from rich.table import Table

    from bangbang.data import Corpus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", metavar="CORPUS", help="built-in corpus, folder, file, datasets name, or config file")
    parser.add_argument("--path", help="for the built-in corpora: read this file or folder instead of the machine's")
    add_changes(parser, "change an option")
    parser.add_argument("--out", metavar="FOLDER", help="keep the prepared corpus in this folder (data.cache)")
    parser.add_argument("--show", type=whole(), default=0, metavar="N", help="print N training pairs")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(arguments: argparse.Namespace) -> int:
    options = chosen(arguments)
    from bangbang.data import prepare

    named = [*arguments.set, *(["data.cache="] if arguments.out else []), *(["data.path="] if arguments.path else [])]
    allowed = consent.for_config(Path(arguments.corpus), named)
    corpus = prepare(options.data, options.vocabulary, options.source_vocabulary, consent=allowed)
    pairs = examples(corpus, arguments.show) if arguments.show > 0 else []
    if arguments.json:
        shown = {"examples": pairs} if arguments.show > 0 else {}
        print_json({"folder": str(corpus.folder), **corpus.manifest, **shown}, indent=1)
        return 0
    from bangbang.terminal import Console

    console = Console()
    console.print(table(corpus))
    for line in remarks(corpus.manifest):
        console.print(line, soft_wrap=True, highlight=False)
    for pair in pairs:
        console.print("\n" + pair["source"], style="dim", soft_wrap=True, highlight=False)
        for target in pair["targets"]:
            console.print("→ " + target, soft_wrap=True, highlight=False)
    return 0


def chosen(arguments: argparse.Namespace) -> config.Config:
    """The options that the command line names."""
    changes = {"path": arguments.path, "cache": arguments.out}
    given = [
        f"data.{key}={json.dumps(value, ensure_ascii=False)}" for key, value in changes.items() if value is not None
    ]
    if arguments.corpus.endswith(".toml"):
        return config.read(arguments.corpus, [*arguments.set, *given])
    corpus = f"data.corpus={json.dumps(arguments.corpus, ensure_ascii=False)}"
    return config.override(config.Config(), [corpus, *arguments.set, *given])


def examples(corpus: "Corpus", count: int) -> list[dict[str, Any]]:
    """Pairs from all over the training split."""
    split = corpus.split("train")
    rows = split.spread(count)
    texts = zip(split.sources(rows), split.references(rows), strict=True)
    return [{"source": source, "targets": targets} for source, targets in texts]


def table(corpus: "Corpus") -> "Table":
    from rich.table import Table
    from rich.text import Text

    view = Table(title=Text(str(corpus.folder), "table.title"), title_justify="left", caption_justify="left")
    view.add_column("split")
    for heading in ("pairs", "examples", "side", "mean tokens", "unknown", "truncated"):
        view.add_column(heading, justify="right")
    for name, counts in corpus.manifest["splits"].items():
        sides = [side for side in ("source", "target") if side in counts]  # images have no tokens
        for side in sides:
            report = counts[side]
            leading = (name, f"{counts['rows']:,}", f"{counts['examples']:,}") if side == sides[0] else ("", "", "")
            shares = (f"{report[share]:.1%}" for share in ("unknown_share", "truncated_share"))
            view.add_row(*leading, side, f"{report['mean_tokens']:.1f}", *shares)
    return view


def remarks(manifest: dict[str, Any]) -> list[str]:
    """What else there is to say of a corpus, a line each."""
    from bangbang.data.corpus import caveat

    lines = [f"vocabulary: {manifest['vocabulary_size']:,} types"]
    if manifest.get("source_vocabulary_size"):
        lines.append(f"vocabulary of the sources: {manifest['source_vocabulary_size']:,} types")
    if manifest.get("features"):
        facts = manifest["features"]
        lines.append(
            f"images: {facts['size']} features each by {facts['encoder'] or 'an unnamed encoder'}, {facts['folder']}"
        )
    if caveat(manifest):
        lines.append(caveat(manifest))
    if manifest["carved"]:
        families = manifest["families"]
        lines.append(
            f"{' and '.join(manifest['carved'])} carved from train by family: {families['count']:,} families, "
            f"the largest of {families['largest']:,} pairs"
        )
    for split, count in manifest["sources_also_in_train"].items():
        if count:
            lines.append(f"{count:,} of the sources in {split} are in train too")
    if manifest["drops"]:
        lines.append("dropped: " + ", ".join(f"{reason} {count:,}" for reason, count in manifest["drops"].items()))
    return lines
