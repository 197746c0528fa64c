"""When a run ends: its budget is used up, or Ctrl-C or SIGTERM asks for it, which waits for the current step.

A second signal ends at once.
"""

import os
import signal
import threading
import time
from types import FrameType

from bangbang.config import Config
from bangbang.training.checkpoint import Progress


def is_done(config: Config, progress: Progress) -> bool:
    """Whether a run that stands here has used up its steps, its time or its patience."""
    limits = config.training
    out_of_time = 0 < limits.max_minutes * 60 <= progress.seconds
    out_of_patience = 0 < limits.patience <= progress.validations_since_best
    return progress.step >= config.max_steps or out_of_time or out_of_patience


def end_with_parent(pid: int, seconds: float = 1.0) -> None:
    """From now on: a SIGTERM to this process once `pid` is not its parent any more, as after a kill -9 of that one."""

    def watch() -> None:
        while os.getppid() == pid:
            time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


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
