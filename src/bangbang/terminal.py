"""The terminal: all that prints through rich takes the console from here."""

import rich.console


class Console(rich.console.Console):
    """A console to which a text is a text: `[bold]` or `:bug:` in a name or a line of data mean nothing."""

    def __init__(self, *, stderr: bool = False, quiet: bool = False, soft_wrap: bool = False) -> None:
        super().__init__(stderr=stderr, quiet=quiet, soft_wrap=soft_wrap, markup=False, emoji=False)
