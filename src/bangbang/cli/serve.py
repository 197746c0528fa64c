"""Open a page on this machine where one types a text, or drops a picture, and sees what runs write for it.

examples:
  bangbang serve runs/debian
  bangbang serve runs/mle runs/spg --port 8080
  bangbang serve runs/flickr8k --encoder hf:google/vit-base-patch16-224
  bangbang serve runs/debian --port 0                     a free port; the address is the last line that is printed

The page shows each run's outputs by greedy, beam and minimum Bayes risk, and the probability of every token. With a
reference it shows what each token earned and who would have chosen it in training. Ctrl-C ends it.
Other machines cannot reach the page unless --host says so. There is no password then.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bangbang.cli.numbers import whole

if TYPE_CHECKING:
    from bangbang.serving import Desk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="a run folder")
    parser.add_argument("--port", type=whole(0, 65535), default=8000, metavar="N", help="8000; 0 picks a free one")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default 127.0.0.1)")
    parser.add_argument("--checkpoint", default="best", metavar="C", help="best (default), last, or a step number")
    parser.add_argument(
        "--encoder", metavar="NAME", help="what makes pictures' features, if a run's own do not say, or need leave"
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FOLDER", help="where to make a run's corpus again, if its rewards need one"
    )


def run(arguments: argparse.Namespace) -> int:
    from bangbang.serving import Server

    with Server(arguments.host, arguments.port) as server:  # a port that is taken is told before anything is loaded
        if not server.address.is_local:
            note = "whoever can reach this machine can use the page; there is no password"
            print(f"bangbang: --host {arguments.host}: {note}", file=sys.stderr)
        server.open(desk(arguments))
        print(f"Ctrl-C ends it. The page:\n{server.url}", flush=True)
        server.serve_forever()
    return 0


def desk(arguments: argparse.Namespace) -> "Desk":
    """All runs in memory, and what they see pictures by."""
    from bangbang.cli.pictures import encoder_name, names
    from bangbang.features import open_encoder
    from bangbang.serving import Desk, ServedRun
    from bangbang.training import Run

    opened = [Run.open(folder, arguments.cache) for folder in arguments.runs]
    encoders = ["" if each.image_features is None else encoder_name(each, arguments.encoder) for each in opened]
    served = [
        ServedRun.of(name, each, arguments.checkpoint, encoder)
        for name, each, encoder in zip(names(opened), opened, encoders, strict=True)
    ]
    return Desk(served, {name: open_encoder(name) for name in sorted({*encoders} - {""})})
