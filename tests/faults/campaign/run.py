"""Runs faults, several at a time.

Not on the workers of `hil.cluster`: each trial is a fork of a process without threads, which has loaded everything and
keeps a desk from one fault to the next, and whose files stay in one folder. A worker of Dask has threads, so a fork of
it may hang by itself, and what the campaign would then call a hang of the rig is its own. A program of its own for
each of 2,000 faults would load everything again each time.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from hil.standins.parent_watchdog import die_with_parent

from .carry import FaultRunner
from .fault import Fault, Measured

_runner: FaultRunner | None = None  # of a process of the pool


def results(faults: Sequence[tuple[int, Fault]], measured: Measured, out: Path, jobs: int) -> Iterator[dict[str, Any]]:
    """Yield the row of each fault as it ends. Each process keeps its desk, which ends with it."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, context, _begin, (out, measured)) as pool:
        for done in as_completed([pool.submit(_row, number, fault) for number, fault in faults]):
            yield done.result()


def _begin(out: Path, measured: Measured) -> None:
    global _runner
    _runner = FaultRunner(out, measured)
    Finalize(_runner, _runner.close, exitpriority=1)
    die_with_parent(signal.SIGTERM)  # the pool's processes would wait for a campaign that was killed


def _row(number: int, fault: Fault) -> dict[str, Any]:
    assert _runner is not None
    return _runner.row(number, fault)
