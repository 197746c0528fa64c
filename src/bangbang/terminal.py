"""The terminal: all that prints through rich takes the console from here."""

from collections.abc import Iterable

import rich.console
from rich.segment import Segment

from bangbang.control_characters import visible


class Console(rich.console.Console):
    """A console to which a text is a text.

    `[bold]`, `:bug:` or the terminal's own control characters in a name or a line of data mean nothing.
    """

    def __init__(self, *, stderr: bool = False, quiet: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, quiet=quiet, soft_wrap=soft_wrap, markup=False, emoji=False)

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
