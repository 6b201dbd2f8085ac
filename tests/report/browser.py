"""A real browser, driven through the pipe of its DevTools protocol: no package is needed for it."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--remote-debugging-pipe",
)
_PATIENCE = 60.0


def browser_path() -> str | None:
    """Where a browser is, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Tab:
    """One tab: what it requested and complained about, and what a script in it says."""

    commands: int
    answers: int
    session: str = ""
    requested: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    _number: int = 0
    _read: bytes = b""

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def wait_for(self, event: str) -> None:
        while (message := self._next()).get("method") != event:
            self._note(message)

    def evaluate(self, script: str) -> Any:
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._read:
            ready, _, _ = select.select([self.answers], [], [], deadline - time.monotonic())
            if not ready:
                raise TimeoutError("the browser does not answer")
            content = os.read(self.answers, 1 << 16)
            if not content:
                raise EOFError("the browser ended")
            self._read += content
        line, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(parameters["request"]["url"])
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning"):
                self.complaints.append(str(parameters["args"]))
            case "Runtime.exceptionThrown":
                self.complaints.append(str(parameters["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(parameters["entry"]["text"])


@contextmanager
def opened(page: Path, *, width: int) -> Iterator[Tab]:
    """A tab of this width that has loaded the page."""
    path = browser_path()
    if path is None:
        raise FileNotFoundError("no browser")
    read_commands, write_commands = os.pipe()
    read_answers, write_answers = os.pipe()
    # Helpers of the browser may write to its profile for a moment after it has ended.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The protocol uses the descriptors 3 and 4 of the browser.
        start = f'exec 3<&{read_commands} 4>&{write_answers}; exec "$@"'
        command = ["bash", "-c", start, "bash", path, *FLAGS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            command,
            pass_fds=(read_commands, write_answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        try:
            tab = Tab(write_commands, read_answers)
            target = tab.ask("Target.createTarget", url="about:blank")["targetId"]
            attached = tab.ask("Target.attachToTarget", targetId=target, flatten=True)
            tab.session = attached["sessionId"]
            for domain in ("Page", "Network", "Runtime", "Log"):
                tab.ask(f"{domain}.enable")
            tab.ask(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=900,
                deviceScaleFactor=1,
                mobile=width < 600,
            )
            tab.ask("Page.navigate", url=page.as_uri())
            tab.wait_for("Page.loadEventFired")
            yield tab
        finally:
            os.close(write_commands)
            os.close(read_answers)
            process.terminate()
            process.wait(_PATIENCE)
