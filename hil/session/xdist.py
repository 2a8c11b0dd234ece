"""Distribute trials over the workers of pytest-xdist, and end a worker whose parent process is gone."""

from __future__ import annotations

import os
import signal
import threading
import time
import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from hil.threads import start

POLL_S = 0.5


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
        attached: how many there are of each attached board: its trials go to as many workers at most.
    """

    def __init__(self, config: pytest.Config, log: Any, attached: Mapping[str, int]) -> None:
        super().__init__(config, log)
        self._attached = attached

    def _split_scope(self, nodeid: str) -> str:
        """Return the scope of a test: its board (the first parameter) if attached, else the test itself."""
        for name, count in self._attached.items():
            if f"[{name}]" in nodeid or f"[{name}-" in nodeid:
                return f"{name} {zlib.crc32(nodeid.encode()) % count}" if count > 1 else name
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
