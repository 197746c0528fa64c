"""The first signal is noted, the second has its usual effect; outside the main thread signals are left alone."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from bangbang.training.stopping import StopRequest


@pytest.mark.parametrize("number", StopRequest.SIGNALS)
def test_the_first_is_noted_and_the_second_ends_at_once(number: signal.Signals) -> None:
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), StopRequest() as stop:
            os.kill(os.getpid(), number)
            assert stop.made
            os.kill(os.getpid(), number)
            raise AssertionError("the second signal had no effect")
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_another_thread_can_train() -> None:
    entered = []

    def work() -> None:
        with StopRequest() as stop:
            entered.append(stop.made)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [False]


WATCHED = """
import os, time
from bangbang.training.stopping import StopRequest, end_with_parent
with StopRequest() as stop:
    end_with_parent(os.getppid(), seconds=0.05)
    time.sleep(0.2)
    print(stop.made, flush=True)
    while not stop.made:
        time.sleep(0.01)
print("ended in good order", flush=True)
"""


def test_a_process_ends_when_its_parent_was_killed() -> None:
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WATCHED!r}])"
    with subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == "False\n", "it stays with a parent that lives"
        parent.kill()
        assert parent.stdout.read() == "ended in good order\n"
