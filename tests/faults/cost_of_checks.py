"""pytest plugin: the share of a run's trials that the checks of reported figures take.

    pytest --board=stm32h7b3 -p tests.faults.cost_of_checks

prints one line at the end. Both times are of the same run, so that a noisy machine slows both. The share is an upper
bound: requests that a trial made before there were checks of them (laps, profile, costs of a reading) are counted with
the check that makes them. docs/reported-figures.md has the figures.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import hil.training.session.run_trial
import hil.training.trial.energy
import hil.training.trial.lockstep
from hil.training.trial.second_sources.checks import Checks, Timed
from hil.training.trial.second_sources.memory import MemoryCheck, UnclaimedRam

CHECKS = (
    (Checks, ("__init__", "step", "first_step", "bookings", "run", "stretches", "sleep", "readings")),
    (MemoryCheck, ("after_step", "stack_before", "compare")),
    (UnclaimedRam, ("fill", "begin", "compare")),
    (hil.training.trial.lockstep, ("check_alone", "check_layers")),
    (hil.training.trial.energy, ("check_sleep",)),
)
KEY = "cost_of_checks"


class Cost:
    """Adds up seconds, of the checks and of the trials; a check within a check counts once."""

    def __init__(self) -> None:
        self.checks_s = self.trials_s = 0.0
        self.trials = self.calls = 0
        self._depth = 0

    @contextmanager
    def _adding(self) -> Iterator[None]:
        began, outermost = time.perf_counter(), self._depth == 0
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if outermost:
                self.calls += 1
                self.checks_s += time.perf_counter() - began

    def check(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a check that is timed."""

        @functools.wraps(function)
        def timed(*args: Any, **named: Any) -> Any:
            with self._adding():
                return function(*args, **named)

        return timed

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `Timed.__call__`, of which what it does beside the request is timed: settling the line, two readings."""

        @functools.wraps(function)
        def timed(held: Timed, call: Callable[[], Any]) -> Any:
            request_s = 0.0

            def request() -> Any:
                nonlocal request_s
                began = time.perf_counter()
                try:
                    return call()
                finally:
                    request_s = time.perf_counter() - began

            with self._adding():
                result = function(held, request)
            if self._depth == 0:  # else the check around it has the request, too
                self.checks_s -= request_s
            return result

        return timed

    def trial(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `run_trial`, which is timed."""

        @functools.wraps(function)
        def timed(*args: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*args, **named)
            finally:
                self.trials += 1
                self.trials_s += time.perf_counter() - began

        return timed

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Time the checks and the trials of this process."""
        for place, names in CHECKS:
            for name in names:
                patch.setattr(place, name, self.check(getattr(place, name)))
        patch.setattr(Timed, "__call__", self.around(Timed.__call__))
        patch.setattr(hil.training.session.run_trial, "run_trial", self.trial(hil.training.session.run_trial.run_trial))


class CostOfChecks:
    """The plugin, in a worker of pytest-xdist or in the process that began the run."""

    def __init__(self) -> None:
        self._cost, self._patch = Cost(), pytest.MonkeyPatch()
        self._sums = [0.0, 0.0, 0, 0]
        self._cost.install(self._patch)

    def _add(self, values: list[Any]) -> None:
        self._sums = [one + other for one, other in zip(self._sums, values, strict=True)]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand the seconds of a worker on."""
        cost = self._cost
        values = [cost.checks_s, cost.trials_s, cost.calls, cost.trials]
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[KEY] = values
        else:
            self._add(values)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the seconds of a worker."""
        output = getattr(node, "workeroutput", {})
        if KEY in output:  # else the worker ended before its session did
            self._add(output[KEY])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the line."""
        checks_s, trials_s, calls, trials = self._sums
        if trials:
            share = f"{100 * checks_s / (trials_s - checks_s):.1f} % more than without them"
            line = f"checks of reported figures: {checks_s:.2f} s of {trials_s:.1f} s in {trials} trials, {share} ({calls} checks)"
            terminalreporter.write_line(line)

    def pytest_unconfigure(self) -> None:
        """Put everything back."""
        self._patch.undo()


def pytest_configure(config: pytest.Config) -> None:
    """Begin to measure."""
    config.pluginmanager.register(CostOfChecks(), KEY)
