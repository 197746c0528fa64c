"""The one exception that means "what you gave me is wrong", as opposed to a defect in the program."""


class InputError(ValueError):
    """Bad input from a person: a file, a line, an option.

    The message is one line that names the place and, where there is one, the way out. The command line prints it
    without a traceback and exits with code 2.
    """


class ReportedElsewhereError(InputError):
    """An InputError that another process of the same run has met and will print."""
