"""A server of the small runs, in this process, on a real socket."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bangbang.features import open_encoder
from bangbang.serving import Desk, ServedRun, Server
from bangbang.training import Run


@pytest.fixture(scope="session")
def desk(tiny_run: Path, shapes_run: Path) -> Desk:
    texts, shapes = Run.open(tiny_run), Run.open(shapes_run)
    encoder = str((shapes.image_features or {})["encoder"])
    runs = [ServedRun.of("texts", texts), ServedRun.of("shapes", shapes, encoder=encoder)]
    return Desk(runs, {encoder: open_encoder(encoder)})


@pytest.fixture(scope="session")
def server(desk: Desk) -> Iterator[Server]:
    with Server("127.0.0.1", 0) as made:
        made.open(desk)
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()
