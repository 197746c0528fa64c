"""Ending in good order on Ctrl-C or SIGTERM: after the current step. A second signal ends at once."""

import signal
import threading
from types import FrameType


class StopRequest:
    """A context in which the first SIGINT or SIGTERM only sets `made`; the next one has its usual effect."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.made = False

    def __enter__(self) -> "StopRequest":
        # Python gives signals to the main thread alone; in another (as under Ray) whoever started it must stop it
        watched = self.SIGNALS if threading.current_thread() is threading.main_thread() else ()
        self.before = {number: signal.getsignal(number) for number in watched}
        for number in watched:
            signal.signal(number, self.note)
        return self

    def note(self, number: int, frame: FrameType | None) -> None:
        self.made = True
        self.restore()

    def restore(self) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def __exit__(self, *_: object) -> None:
        self.restore()
