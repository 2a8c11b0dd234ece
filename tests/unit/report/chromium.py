"""A real Chromium, spoken to over its DevTools pipe: two file descriptors and JSON, no package beside the browser itself."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress

NAMES = ("chromium", "chromium-browser", "google-chrome")
DEADLINE_S = 120
# The browser reads commands from descriptor 3 and writes to 4.
LAUNCHER = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
)
SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)


def find():
    """Where a Chromium is, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """One browser. Use it as a context manager."""

    def __init__(self, profile):
        ours, theirs = os.pipe(), os.pipe()
        self._write, self._read = ours[1], theirs[0]
        given = [fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (ours[0], theirs[1])]
        command = [sys.executable, "-c", LAUNCHER, *map(str, given), find(), *SWITCHES, f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            command, pass_fds=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        for number in (*given, ours[0], theirs[1]):
            os.close(number)
        self._held, self._number, self.events = b"", 0, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with suppress(BrokenPipeError, EOFError, AssertionError):
            self.ask("Browser.close")
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, method, session=None, **parameters):
        """Send a command and return its result; what happens meanwhile is kept in `events`."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == number:
                assert "error" not in found, (method, found["error"])
                return found["result"]
            self.events.append(found)

    def _next(self):
        deadline = time.monotonic() + DEADLINE_S
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise EOFError("the browser has ended")
            self._held += piece
        message, _, self._held = self._held.partition(b"\0")
        return json.loads(message)

    def open(self, path, width, scheme="light", height=900):
        """Open a page and wait until it has loaded."""
        return Page(self, path, width, scheme, height)


class Page:
    """One tab. `faults`: what its console says; `requests`: every address that it asked for."""

    def __init__(self, browser, path, width, scheme, height):
        self._browser = browser
        self._target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.ask("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self.evaluate(
            "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', () => done()))"
        )

    def ask(self, method, **parameters):
        return self._browser.ask(method, self._session, **parameters)

    def evaluate(self, expression):
        """Return the value of an expression; a promise is waited for."""
        found = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression):
        """Wait until an expression is true."""
        deadline = time.monotonic() + DEADLINE_S
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, expression
            time.sleep(0.05)

    def press(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode={"Tab": 9, "Enter": 13}[key],
            )

    def _events(self, method):
        return [
            event["params"]
            for event in self._browser.events
            if event.get("sessionId") == self._session and event.get("method") == method
        ]

    @property
    def faults(self):
        self.evaluate("1")  # what was said before has come by then
        said = [
            call for call in self._events("Runtime.consoleAPICalled") if call["type"] in ("error", "warning", "assert")
        ]
        logged = [
            entry["entry"]
            for entry in self._events("Log.entryAdded")
            if entry["entry"]["level"] in ("error", "warning")
        ]
        return self._events("Runtime.exceptionThrown") + said + logged

    @property
    def requests(self):
        return [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]

    def picture(self, path):
        """Write a PNG of the whole page."""
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True, format="png")["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self._browser.ask("Target.closeTarget", targetId=self._target)
