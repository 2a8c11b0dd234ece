"""Runs faults, several at a time."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from .carry import Bench
from .fault import Fault, Measured

_bench: Bench | None = None  # of a process of the pool


def results(faults: Sequence[tuple[int, Fault]], measured: Measured, out: Path, jobs: int) -> Iterator[dict[str, Any]]:
    """Yield the row of each fault as it ends. Each process keeps its desk, which ends with it."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, context, _begin, (out, measured)) as pool:
        for done in as_completed([pool.submit(_row, number, fault) for number, fault in faults]):
            yield done.result()
        for ended in [pool.submit(_end) for _ in range(jobs)]:
            ended.result()


def _begin(out: Path, measured: Measured) -> None:
    global _bench
    _bench = Bench(out, measured)


def _row(number: int, fault: Fault) -> dict[str, Any]:
    assert _bench is not None
    return _bench.row(number, fault)


def _end() -> None:
    """Ends one desk; a process that takes two of these leaves another's, which ends with its own process."""
    assert _bench is not None
    _bench.close()
    time.sleep(0.2)
