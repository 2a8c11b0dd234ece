"""The live line of a run whose trials run in workers: what each of them does now, below what pytest writes."""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hil.errors import RigError, printable
from hil.record.running import RunningTrial, running_trials
from hil.threads import start

EVERY_S = 1.0
# ECMA-48: to the next line and erase it; back up, to a column.
BELOW, BACK = "\n\x1b[2K", "\x1b[1A\x1b[{}G"


class WorkersLine:
    """A plugin object of the process that prints. Files in the folder of the run tell it what the workers do.

    Args:
        folder: of the run.
        reporter: of pytest, which writes to a terminal.
    """

    def __init__(self, folder: Path, reporter: Any) -> None:
        self._folder, self._writer = folder, reporter._tw
        self._ended = threading.Event()
        self._lock = threading.Lock()  # held while pytest writes
        self._thread: threading.Thread | None = None
        self._shown = False

    def _follow(self) -> None:
        while not self._ended.wait(EVERY_S):
            with suppress(RigError):
                text = line_of(running_trials(self._folder), self._writer.fullwidth - 1)
                with self._lock:
                    if not self._ended.is_set():
                        self._show(text)

    def _show(self, text: str) -> None:
        self._writer._file.write(BELOW + text + BACK.format(self._writer.width_of_current_line + 1))
        self._writer.flush()
        self._shown = bool(text)

    def _while_pytest_writes(self) -> Generator[None, Any, Any]:
        with self._lock:
            if self._shown:
                self._show("")
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, Any, Any]:
        """Begin with the first test."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._follow, daemon=True)
            start(self._thread)
        return (yield from self._while_pytest_writes())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self) -> Generator[None, Any, Any]:
        """Make room for the report of a test."""
        return (yield from self._while_pytest_writes())

    @pytest.hookimpl(wrapper=True, tryfirst=True, optionalhook=True)
    def pytest_testnodedown(self) -> Generator[None, Any, Any]:
        """Make room for the message that a worker has ended."""
        return (yield from self._while_pytest_writes())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, Any, Any]:
        """End with the last test."""
        self._ended.set()
        return (yield from self._while_pytest_writes())


def line_of(trials: Sequence[RunningTrial], width: int) -> str:
    """Return what trials do now, in one line of at most `width` characters."""
    text = printable(" | ".join(map(_state_of, trials)))
    return text if len(text) <= width else text[: width - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _state_of(trial: RunningTrial) -> str:
    state, name = trial.progress, f"{trial.board} {trial.variant}"
    if state is None:
        return f"{name}: begins"
    count = f" {state.done:,}/{state.of:,}" if state.of else ""
    left = "" if state.left_s is None else f", {timedelta(seconds=round(state.left_s))} left"
    return f"{name}: {state.stage}{count}{left}"
