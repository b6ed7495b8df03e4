"""A headless Chromium, spoken to over pipes: the Chrome DevTools Protocol, without a library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from base64 import b64decode
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHROMIUM = shutil.which("chromium")
"""``apt-get install chromium``; None if it is not installed."""
LONGEST = 60
"""Seconds for one test's browser."""
_PROBLEMS = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")


class Tab:
    """The one tab of a browser."""

    def __init__(self, commands: IO[bytes], answers: IO[bytes]) -> None:
        self._commands = commands
        self._answers = answers
        self._number = 0
        self._session: str | None = None
        self.problems: list[Any] = []
        """All that is in the console."""
        self.requested: list[str] = []
        """URLs that the page asked for, its own included."""
        target = self("Target.createTarget", url="about:blank")["targetId"]
        attached = self("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command. Raises RuntimeError if the browser refuses it."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        self._commands.write(json.dumps(command).encode() + b"\0")
        self._commands.flush()
        while (message := self._next()).get("id") != self._number:
            pass
        if "error" in message:
            raise RuntimeError(message["error"])
        return dict(message["result"])

    def _next(self) -> dict[str, Any]:
        read = bytearray()
        while (octet := self._answers.read(1)) != b"\0":
            if not octet:
                raise RuntimeError("the browser ended")
            read += octet
        message: dict[str, Any] = json.loads(read)
        if message.get("method") in _PROBLEMS:
            self.problems.append(message["params"])
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(message["params"]["request"]["url"])
        return message

    def looks(self, width: int, scheme: str = "light") -> None:
        """The size of the window in CSS pixels, and ``light`` or ``dark``."""
        size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
        self("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path: Path) -> None:
        """Loads a page, and waits until it is whole."""
        self("Page.navigate", url=path.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, script: str) -> Any:
        """The value of an expression."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def picture(self, **clip: float) -> bytes:
        """A PNG of the page, or of a part of it."""
        options = {"clip": {**clip, "scale": 1}} if clip else {}
        answer = self("Page.captureScreenshot", captureBeyondViewport=True, **options)
        return b64decode(answer["data"])

    def printed(self) -> bytes:
        """A PDF of the page, as most people print it: without backgrounds."""
        return b64decode(self("Page.printToPDF", printBackground=False)["data"])


@contextmanager
def chromium() -> Iterator[Tab]:
    """A browser of its own, gone afterwards."""
    (theirs, commands), (answers, ours) = os.pipe(), os.pipe()
    with TemporaryDirectory() as profile:
        # The protocol is spoken on the descriptors 3 and 4.
        script = f'exec 3<&{theirs} 4>&{ours}; exec timeout {LONGEST} "$0" "$@"'
        options = ["--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu"]
        command = ["bash", "-c", script, str(CHROMIUM), *options, f"--user-data-dir={profile}"]
        with (
            os.fdopen(commands, "wb") as to,
            os.fdopen(answers, "rb") as back,
            subprocess.Popen(
                command,
                pass_fds=(theirs, ours),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            ) as process,
        ):
            os.close(theirs)
            os.close(ours)
            try:
                tab = Tab(to, back)
                yield tab
                tab._session = None
                tab("Browser.close")
            finally:
                process.terminate()
                process.wait(LONGEST)
