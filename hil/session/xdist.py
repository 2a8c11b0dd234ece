"""Distribute trials over the workers of pytest-xdist, and end a worker whose parent process is gone."""

from __future__ import annotations

import os
import shlex
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from hil.child_process import interpreter
from hil.threads import start

POLL_S = 0.5
LOCAL = "popen"  # execnet's word for a worker on this computer


def safe_workers(specifications: list[str]) -> list[str]:
    """Return execnet's specifications of workers; those on this computer import nothing from the working folder."""
    safe = f"{LOCAL}//python={shlex.join(interpreter())}"
    return [safe if each == LOCAL else each for each in specifications]


def end_with_parent() -> None:
    """Interrupt this worker, as Ctrl-C does, when its parent is gone; pytest-xdist would let it run five seconds."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_S)
        os.kill(os.getpid(), signal.SIGINT)

    start(threading.Thread(target=watch, daemon=True))


class ByBoard(LoadScopeScheduling):  # type: ignore[misc]
    """Gives all trials of an attached board to one worker, and every other test to any free worker.

    Args:
        config, log: of pytest.
        attached: how many there are of each attached board: its trials go to as many workers at most, in turn.
    """

    def __init__(self, config: pytest.Config, log: Any, attached: Mapping[str, int]) -> None:
        super().__init__(config, log)
        self._attached = attached
        self._tests: dict[str, dict[str, int]] = {name: {} for name in attached}  # numbers of the tests of each board

    def _split_scope(self, nodeid: str) -> str:
        """Return the scope of a test: its board (the first parameter) if attached, else the test itself."""
        for name, count in self._attached.items():
            if f"[{name}]" in nodeid or f"[{name}-" in nodeid:
                tests = self._tests[name]
                return f"{name} {tests.setdefault(nodeid, len(tests)) % count}" if count > 1 else name
        return nodeid

    def remove_node(self, node: Any) -> str | None:
        """Remove a dead worker and return its current test, which is not run again: it may kill another worker."""
        units = self.assigned_work[node].values()
        open_tests = ((unit, test) for unit in units for test, completed in unit.items() if not completed)
        unit, test = next(open_tests, (None, None))
        if unit is not None:
            unit[test] = True
        super().remove_node(node)
        return test
