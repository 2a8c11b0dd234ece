"""Address space that is kept free, so that a session without memory can still record what it knows, and end."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Generator

import pytest

RESERVE = 256 << 20  # bytes; never touched, so it is no memory of the computer
LEAST = 8 << 20  # bytes that the report of a test may take: libraries are imported late
NO_MEMORY = "no memory is left on this computer: end other programs, or use fewer workers (-n)."


class Reserve:
    """Holds address space until there is no other left; looks before pytest reports what it has collected or run."""

    def __init__(self) -> None:
        self._held: mmap.mmap | None = None
        with contextlib.suppress(OSError, ValueError, MemoryError):
            self._held = mmap.mmap(-1, RESERVE, access=mmap.ACCESS_COPY)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self) -> None:
        """Give the reserve back if there is no memory."""
        self.look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self) -> None:
        """As `pytest_collection_finish`."""
        self.look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """As `pytest_collection_finish`."""
        self.look()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """As `pytest_collection_finish`; and report a file for which pytest had no memory to say that it had none."""
        try:
            report = yield
        except MemoryError:
            self.look()
            return pytest.CollectReport(collector.nodeid, "failed", NO_MEMORY, [])
        self.look()
        return report

    def look(self) -> None:
        """Give the reserve back if LEAST bytes cannot be had without it."""
        if self._held is None:
            return
        try:
            mmap.mmap(-1, LEAST, access=mmap.ACCESS_COPY).close()
        except (OSError, MemoryError):
            self._held.close()
            self._held = None
