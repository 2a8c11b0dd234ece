"""Runs faults, several at a time."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from hil.standins.parent_watchdog import die_with_parent

from .carry import Bench
from .fault import Fault, Measured

_bench: Bench | None = None  # of a process of the pool


def results(faults: Sequence[tuple[int, Fault]], measured: Measured, out: Path, jobs: int) -> Iterator[dict[str, Any]]:
    """Yield the row of each fault as it ends. Each process keeps its desk, which ends with it."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, context, _begin, (out, measured)) as pool:
        for done in as_completed([pool.submit(_row, number, fault) for number, fault in faults]):
            yield done.result()


def _begin(out: Path, measured: Measured) -> None:
    global _bench
    _bench = Bench(out, measured)
    Finalize(_bench, _bench.close, exitpriority=1)
    die_with_parent(signal.SIGTERM)  # the pool's processes would wait for a campaign that was killed


def _row(number: int, fault: Fault) -> dict[str, Any]:
    assert _bench is not None
    return _bench.row(number, fault)
