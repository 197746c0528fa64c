"""A headless Chromium, spoken to over a pipe in its DevTools protocol: nothing but the standard library is needed."""

import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; .ci/chromium installs it")
# Chromium reads commands from descriptor 3 and writes answers to 4; ours may have these very numbers
START = """
import os, sys
ends = [os.dup2(int(end), 100 + place, inheritable=True) for place, end in enumerate(sys.argv[1:3])]
for place, end in zip((3, 4), ends):
    os.dup2(end, place, inheritable=True)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 60.0  # seconds until an answer must have come


class Browser:
    """One page at a time; `complaints` has what it wrote to the console and what it threw."""

    def __init__(self, profile: Path) -> None:
        theirs_in, self.outgoing = os.pipe()
        self.incoming, theirs_out = os.pipe()
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
        options += [f"--user-data-dir={profile}", "--disable-dev-shm-usage", "--no-first-run"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, str(theirs_in), str(theirs_out), str(CHROMIUM), *options],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.buffer, self.last, self.session = b"", 0, ""
        self.complaints: list[str] = []
        self.events: list[str] = []

    def __enter__(self) -> Self:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.wait(20)
        os.close(self.outgoing)
        os.close(self.incoming)

    def open(self, file: Path | str, width: int, height: int = 900, dark: bool = False) -> None:
        """Show a file, or an address, in a window of this width."""
        self.complaints.clear()
        self.events.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Page.navigate", url=file if isinstance(file, str) else file.as_uri())
        while "Page.loadEventFired" not in self.events:
            self.hear()
        self.run(
            "new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 60))"
        )

    def run(self, script: str) -> Any:
        """The value of an expression, or of the promise that it is."""
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.outgoing, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.hear()
            if answer.get("id") == self.last:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def hear(self) -> dict[str, Any]:
        """The next message; events are noted."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.incoming], [], [], max(0.0, until - time.monotonic()))
            assert ready, "Chromium does not answer"
            read = os.read(self.incoming, 1 << 20)
            assert read, "Chromium has gone"
            self.buffer += read
        line, self.buffer = self.buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        method = message.get("method", "")
        self.events.append(method)
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(message["params"])[:500])
        return message
