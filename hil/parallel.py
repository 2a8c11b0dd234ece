"""Which worker of pytest-xdist runs which trial, and how a worker ends when its run is gone."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from hil.threads import start

LOOK_S = 0.5


def end_with_parent() -> None:
    """Have this worker interrupted, as by Ctrl-C, when the process that has started it is gone: pytest-xdist would let it go on for five seconds."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_S)
        os.kill(os.getpid(), signal.SIGINT)

    start(threading.Thread(target=watch, daemon=True))


class ByBoard(LoadScopeScheduling):  # type: ignore[misc]
    """Keeps the trials of a board together that exists once; every other test goes to whichever worker is free.

    Args:
        config, log: as pytest-xdist hands them to `pytest_xdist_make_scheduler`.
        attached: names of the boards that exist once.
    """

    def __init__(self, config: pytest.Config, log: Any, attached: Sequence[str]) -> None:
        super().__init__(config, log)
        self._attached = attached

    def _split_scope(self, nodeid: str) -> str:
        """Return what tests have in common that must stay with one worker: the board, the first parameter of a bench test."""
        for name in self._attached:
            if f"[{name}]" in nodeid or f"[{name}-" in nodeid:
                return name
        return nodeid

    def remove_node(self, node: Any) -> str | None:
        """Take a worker that is gone out; return the test that it was at, which is not run again: it would end the next worker too."""
        unit, test = next(
            ((unit, test) for unit in self.assigned_work[node].values() for test, completed in unit.items() if not completed), (None, None)
        )
        if unit is not None:
            unit[test] = True
        super().remove_node(node)
        return test
