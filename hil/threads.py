"""Threads that start, or fail with MemoryError; and libraries without threads of their own.

`threading.Thread.start` waits forever if the new thread runs out of memory before it reports that it runs (CPython
issue 140746). So the rig starts a thread only if there is memory for one.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any, TypeVar

NEEDED = 16 << 20  # bytes of address space: 8 MB of stack, and a few blocks of 1 MB of Python's allocator
# Environment of a process whose libraries for products of matrices have no threads of their own.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)

T = TypeVar("T")


def start(thread: Thread) -> None:
    """Start a thread.

    Raises:
        MemoryError, RuntimeError: the system gives no memory, or no thread.
    """
    _ask_for_memory()
    thread.start()


class ThreadPool(ThreadPoolExecutor):
    """A pool whose threads start like those of `start`."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Schedule a call.

        Raises:
            MemoryError, RuntimeError: the system gives no memory, or no thread.
        """
        _ask_for_memory()
        return super().submit(fn, *args, **kwargs)


def _ask_for_memory() -> None:
    try:
        mmap.mmap(-1, NEEDED).close()
    except OSError as error:
        raise MemoryError("no memory for a thread") from error
