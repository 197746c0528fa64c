"""How long `bangbang serve` takes to answer when several ask at once.

The run is served in this process, on a free port. Its validation sources are asked for over real connections, first
one after the other, then by several clients that each ask again as soon as they are answered. `queueing` is the 95th
percentile of the latter over that of the former: what waiting for the others costs.

examples:
  bangbang bench serve --run runs/debian
  bangbang bench serve --run runs/debian --requests 1000 --clients 16 --methods beam --json
"""

import argparse
import http.client
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from bangbang.cli.numbers import whole
from bangbang.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from bangbang.training import Run

HELP = "answers of a served run while several ask"
ALONE = 20  # requests without others beside them
PATIENCE = 120.0  # seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", dest="trained", required=True, metavar="RUN", help="a run that reads texts")
    parser.add_argument("--requests", type=whole(1), default=200)
    parser.add_argument("--clients", type=whole(1), default=8, help="that ask at once; a served run lets 16 wait")
    parser.add_argument("--methods", nargs="+", default=["greedy"], choices=("greedy", "beam", "mbr"))


class Reply(NamedTuple):
    status: int
    seconds: float


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    from bangbang.training import Run

    run = Run.open(arguments.trained)
    bodies = questions(run, arguments)
    with served(run) as port:
        for body in bodies[:2]:  # the first products are slower
            ask(port, body)
        alone = [ask(port, body) for body in bodies[:ALONE]]
        begun = time.perf_counter()
        with ThreadPoolExecutor(arguments.clients) as clients:
            together = list(clients.map(lambda body: ask(port, body), bodies))
        seconds = time.perf_counter() - begun
    found = {"alone": summary(alone), "together": summary(together)}
    return {
        **found,
        "queueing": found["together"]["p95"] / found["alone"]["p95"],
        "errors": sum(reply.status != HTTPStatus.OK for reply in (*alone, *together)),
        "requests_per_second": len(together) / seconds,
        "requests": arguments.requests,
        "clients": arguments.clients,
        "methods": arguments.methods,
        "run": str(arguments.trained),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def questions(run: "Run", arguments: argparse.Namespace) -> list[bytes]:
    """The bodies of the requests: validation sources, again from the first one if there are too few."""
    if run.task.reads != "tokens":
        raise InputError(f"{run.folder}: reads images; name a run that reads texts")
    split = run.corpus().split("valid")
    sources = split.sources(slice(0, min(arguments.requests, len(split))))
    texts = islice(cycle(sources), arguments.requests)
    return [json.dumps({"text": text, "methods": arguments.methods}).encode() for text in texts]


@contextmanager
def served(run: "Run") -> "Iterator[int]":
    """The port where a run is served."""
    from bangbang.serving import Desk, ServedRun, Server

    with Server("127.0.0.1", 0) as server:
        server.open(Desk([ServedRun.of("run", run)], {}))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.port
        finally:
            server.shutdown()
            thread.join()


def ask(port: int, body: bytes) -> Reply:
    begun = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("POST", "/api/write", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return Reply(answer.status, time.perf_counter() - begun)


def summary(replies: "Sequence[Reply]") -> dict[str, float]:
    """Seconds: the median, the 95th percentile (nearest rank) and the longest."""
    ordered = sorted(reply.seconds for reply in replies)
    rank = -(-95 * len(ordered) // 100)
    return {"median": ordered[len(ordered) // 2], "p95": ordered[rank - 1], "longest": ordered[-1]}


def table(result: dict[str, Any]) -> "RenderableType":
    from rich.table import Table

    clients, errors = result["clients"], result["errors"]
    title = f"{result['requests']:,} requests, {', '.join(result['methods'])}: {errors} errors"
    grid = Table(title=title, title_justify="left")
    for name in ("", "median", "p95", "longest"):
        grid.add_column(name, justify="right" if name else "left")
    for name, label in (("alone", "one at a time"), ("together", f"{clients} clients at once")):
        grid.add_row(label, *(f"{1000 * seconds:.0f} ms" for seconds in result[name].values()))
    grid.caption = f"queueing {result['queueing']:.1f}, {result['threads']} threads"
    return grid
