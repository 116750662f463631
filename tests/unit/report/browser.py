"""A headless Chromium that tells what a page did: errors, requests, how wide it is."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_TIMEOUT_S = 120.0


class Browser:
    """One page of one browser, led over two pipes (the DevTools protocol)."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._numbers = itertools.count(1)
        self._rest = b""
        self._session: str | None = None
        self.errors: list[str] = []
        """What the page or its policy complained of."""
        self.requests: list[str] = []
        """Addresses that were asked for."""

    def open(self, address: str) -> None:
        """Open a page and wait until it is there; what others did before is forgotten."""
        self._session = None
        self.errors.clear()
        self.requests.clear()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=address)
        while self.evaluate("document.readyState") != "complete":
            time.sleep(0.05)

    def show(self, width: int, scheme: str = "light", height: int = 800) -> None:
        """Give the page a window of so many pixels and a colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        return told["result"].get("value")

    def picture(self, file: Path) -> None:
        """Write the whole page as PNG."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))

    def paper(self) -> bytes:
        """Return the page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF")["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; notes what happens meanwhile."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == number:
                assert "result" in told, told
                return told["result"]  # type: ignore[no-any-return]
            self._note(told)

    def _note(self, told: dict[str, Any]) -> None:
        about = told.get("params", {})
        if told.get("method") == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif told.get("method") == "Log.entryAdded":
            self.errors.append(about["entry"]["text"])
        elif told.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
            self.errors.append(json.dumps(about))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert select.select([self._answers], [], [], _TIMEOUT_S)[0], "the browser is silent"
            read = os.read(self._answers, 1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        told, _, self._rest = self._rest.partition(b"\0")
        return json.loads(told)  # type: ignore[no-any-return]


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start Chromium with a fresh profile; end it afterwards."""
    their_commands, commands = os.pipe()
    answers, their_answers = os.pipe()
    options = (
        "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
        f"--remote-debugging-pipe --user-data-dir={profile}"
    )
    start = f'exec "$0" {options} 3<&{their_commands} 4>&{their_answers}'
    started = subprocess.Popen(
        ["bash", "-c", start, str(CHROMIUM)],
        pass_fds=(their_commands, their_answers),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(their_commands)
    os.close(their_answers)
    try:
        yield Browser(commands, answers)
    finally:
        os.close(commands)
        os.close(answers)
        started.kill()
        started.wait()
