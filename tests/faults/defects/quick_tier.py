"""The bench tests of one board, run again and again with other images, in one pytest session of a process of its own.

What runs is what a user runs: the tests of `pytest --board=NAME --elf=IMAGE`, by the plugin and its fixtures. The
session does not end between two images, so that imports, pyOCD's process and the virtual board's are paid for once.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from hil.session.run_state import TRACKER, WRITER
from hil.session.tracker import Tracker
from hil.session.xdist import end_with_parent
from hil.training.session.plugin import SUITE

HANGS_S = 1800.0  # a test that takes so long is ended: it counts as blocked
BLOCKED = "blocked"


@dataclass(frozen=True)
class Ended:
    """What a test said of an image.

    Attributes:
        test: its name, such as `hil/suite/test_graphs.py::test_x[stm32h7b3-mezo]`.
        verdict: of the test.
        said: the reason, empty if it passed.
        names: the wrong figures, and the layer or value of the first difference.
        seconds: of the computer's clock.
        folders: of its trials, if they were asked for.
    """

    test: str
    verdict: str
    said: str
    names: tuple[str, ...] = ()
    seconds: float = 0.0
    folders: tuple[Path, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class _Request:
    test: str
    keep: bool  # the folders of its trials


class _Session:
    """A pytest plugin that takes requests where pytest would run each test once."""

    def __init__(self, requests: Connection) -> None:
        self._requests = requests

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Answer requests until there are no more."""
        # its record would grow with every image
        session.config.pluginmanager.unregister(name="trainrig-recorder")
        items = {item.stash[TRACKER].entry.test: item for item in session.items}
        self._requests.send(tuple(items))
        while (request := self._requests.recv()) is not None:
            self._requests.send(_run(items[request.test], session, request.keep))
        return True


def _run(item: pytest.Item, session: pytest.Session, keep: bool) -> Ended:
    began = time.monotonic()
    planned = item.stash[TRACKER]
    item.stash[TRACKER] = tracker = Tracker(planned.entry, uses_rig=True, folder=planned.folder)
    item._initrequest()  # type: ignore[attr-defined]  # as plugins do that repeat tests
    # The next test is not known: tear down all but the session.
    runtestprotocol(item, log=False, nextitem=session)  # type: ignore[arg-type]
    test = tracker.judge()
    names = [name for trial in tracker.trials for name in _named(trial)]
    folders = tuple(session.config.stash[WRITER].folder / str(trial.folder) for trial in tracker.trials)
    if not keep:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
    seconds = round(time.monotonic() - began, 2)
    said = test.reason if test.verdict != "pass" else ""
    return Ended(test.test, test.verdict or BLOCKED, said, tuple(names), seconds, folders if keep else ())


def _named(trial: Any) -> list[str]:
    """Return what the record of a trial names."""
    difference = trial.first_difference
    return [*trial.wrong_figures, *([difference["layer"]] if difference is not None else [])]


def _serve(requests: Connection, arguments: Sequence[str], folder: Path) -> None:
    """Run pytest in this process; what it prints goes to a file."""
    os.setsid()
    end_with_parent()
    with (folder / "pytest.log").open("wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.chdir(folder)
    pytest.main([*arguments, f"--report-dir={folder / 'runs'}"], plugins=[_Session(requests)])


class QuickTier:
    """The tests of one board in a process of their own, which is started again if it ends.

    Args:
        board: of the catalogue.
        folder: takes records and logs; must exist.
        elf: an image of the board, with which the session begins.
        tier: of the tests.
        paths: of the tests; default: the rig's bench tests.
    """

    def __init__(
        self, board: str, folder: Path, elf: Path, tier: str = "quick", paths: Sequence[Path] = (SUITE,)
    ) -> None:
        # One path for all images: the virtual board stays, and is programmed with the next one.
        self._image = Path(shutil.copy(elf, folder / "image.elf"))
        self._arguments = (
            *map(str, paths), f"--board={board}", f"--elf={self._image}", f"--tier={tier}", "--reality=virtual", "-n0",
            "-p", "no:cacheprovider", "-q",
        )  # fmt: skip
        self._folder = folder
        self._process: Any = None
        self._requests: Connection
        self.tests: tuple[str, ...] = ()

    def start(self) -> None:
        """Start the process, and wait until it has collected the tests.

        Raises:
            RuntimeError: it ended before.
        """
        context = multiprocessing.get_context("spawn")
        self._requests, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self._arguments, self._folder))
        self._process.start()
        theirs.close()
        try:
            self.tests = self._requests.recv()
        except EOFError:
            log = (self._folder / "pytest.log").read_text(errors="replace")
            raise RuntimeError(f"pytest ended before it had collected the tests: {log[-2000:]}") from None

    def run(self, elf: Path, tests: Sequence[str], keep: bool = False) -> Iterator[Ended]:
        """Run tests with an image, and yield what each said as it ends; a generator that is closed ends them.

        Args:
            elf: the image.
            tests: names.
            keep: the folders of their trials, which are removed otherwise.
        """
        shutil.copy(elf, self._image)
        for test in tests:
            if self._process is None:
                self.start()
            try:
                self._requests.send(_Request(test, keep))
                if not self._requests.poll(HANGS_S):
                    raise TimeoutError(f"it did not end within {HANGS_S:.0f} s")
                yield self._requests.recv()
            except (EOFError, OSError) as error:
                self.stop()
                yield Ended(test, BLOCKED, f"the process of the tests ended ({error!r})")

    def again(self, elf: Path, ended: Ended, times: int) -> Ended:
        """Repeat a test that was blocked, at most so many times; the seconds are those of all."""
        seconds = ended.seconds
        while ended.verdict == BLOCKED and times > 0:
            ended = next(self.run(elf, [ended.test]))
            seconds, times = seconds + ended.seconds, times - 1
        return replace(ended, seconds=round(seconds, 2))

    def stop(self) -> None:
        """End the process and what it started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            self._requests.send(None)
        process.join(10)
        if process.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.join()
        self._requests.close()
