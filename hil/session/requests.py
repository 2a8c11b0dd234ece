"""Requests for trials: those that a test waits for, and those that come when or where no trial can be run any more."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from hil.errors import RigError, printable
from hil.record.sums import REFUSED_REQUESTS

JOIN = "wait for it in the test (`join`, or `result` of a future), so that the test has the verdict of what it does."
HERE = "call it in the process that runs the test: the board is there, and the verdict."


class Requests:
    """The requests of one test, of all its threads. They are run one at a time, because they share a rig.

    Args:
        folder: of the run.
        test: name of the test in the record.

    Attributes:
        refused: how many refusals of the test, in all its attempts, `new_refusals` has returned or were there before.
    """

    def __init__(self, folder: Path, test: str) -> None:
        self._folder, self._test, self._process = folder, test, os.getpid()
        self._changed, self._turn = threading.Condition(), threading.Lock()
        self._waiting, self._closed, self._interrupted = 0, False, False
        self.refused = len(refused_requests(folder).get(test, []))

    @contextlib.contextmanager
    def take_turn(self) -> Iterator[None]:
        """Wait until no other request runs, and hold that for a `with` block.

        Raises:
            RigError: the test has ended, or this is another process. The record says so, even if nobody looks.
        """
        if not self.is_here():
            raise self._refused(f"hil_trial was called in process {os.getpid()}, a copy of the test's own: {HERE}")
        with self._changed:
            if self._closed:
                name = threading.current_thread().name
                raise self._refused(f"hil_trial was called in thread {name!r} after its test had ended: {JOIN}")
            self._waiting += 1
        try:
            with self._turn:
                yield
        finally:
            with self._changed:
                self._waiting -= 1
                self._changed.notify_all()

    def wait(self) -> None:
        """Wait until all requests have ended that were made so far."""
        with self._changed:
            while self._waiting and not self._interrupted:
                self._changed.wait()

    def interrupt(self) -> None:
        """Wait for no request any more: the session ends, and the rig with it."""
        self._interrupted = True

    def close(self) -> None:
        """Wait for all requests, and refuse later ones."""
        with self._changed:
            while self._waiting and not self._interrupted:
                self._changed.wait()
            self._closed = True

    def refuse(self, sentence: str) -> bool:
        """Write a refusal where the process that keeps the record finds it, even if this one ends before its test.

        Returns:
            False if the disk did not take it.
        """
        line = json.dumps({"test": self._test, "reason": printable(sentence)}) + "\n"
        try:
            file = os.open(self._folder / REFUSED_REQUESTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                os.write(file, line.encode())  # one short write: lines of several processes do not mix
            finally:
                os.close(file)
        except OSError:
            return False
        return True

    def is_here(self) -> bool:
        """Return whether this is the process of the test."""
        return os.getpid() == self._process

    def new_refusals(self) -> list[str]:
        """Return the sentences of requests that were refused since the last call, in any process."""
        before, found = self.refused, refused_requests(self._folder).get(self._test, [])
        self.refused = len(found)
        return found[before:]

    def _refused(self, sentence: str) -> RigError:
        self.refuse(sentence)
        return RigError(sentence)


def refused_requests(folder: Path) -> dict[str, list[str]]:
    """Return, by test, why requests were refused, in any process and also after their test had ended."""
    try:
        lines = (folder / REFUSED_REQUESTS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for entry in map(json.loads, lines):
        found.setdefault(entry["test"], []).append(entry["reason"])
    return found
