"""A progress bar on stderr for each stage of making a corpus."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from bangbang.terminal import Console


class ProgressBars:
    """Bars that are shown on a terminal, if wanted."""

    def __init__(self, shown: bool) -> None:
        console = Console(stderr=True, quiet=not shown, soft_wrap=True)
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not (shown and console.is_terminal),
        )

    def __enter__(self) -> "ProgressBars":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def say(self, message: str) -> None:
        self._bars.console.print(message, highlight=False, markup=False)

    @contextmanager
    def task(self, description: str) -> Iterator[Callable[[int, int], None]]:
        """A bar for one stage; the callable moves it to (done, total)."""
        task = self._bars.add_task(description, total=None)
        yield lambda done, total: self._bars.update(task, completed=done, total=total)
        self._bars.remove_task(task)
