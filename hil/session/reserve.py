"""Address space that is kept free, so that a session without memory can still record what it knows, and end."""

from __future__ import annotations

import contextlib
import mmap

import pytest

RESERVE = 64 << 20  # bytes; never touched, so it is no memory of the computer
LEAST = 8 << 20  # bytes that the report of a test may take: libraries are imported late


class Reserve:
    """Holds address space until there is no other left; looks before each report of a test and before the last one."""

    def __init__(self) -> None:
        self._held: mmap.mmap | None = None
        with contextlib.suppress(OSError, ValueError, MemoryError):
            self._held = mmap.mmap(-1, RESERVE, access=mmap.ACCESS_COPY)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self) -> None:
        """Give the reserve back if there is no memory."""
        self.look()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """As before the report of a test."""
        self.look()

    def look(self) -> None:
        """Give the reserve back if LEAST bytes cannot be had without it."""
        if self._held is None:
            return
        try:
            mmap.mmap(-1, LEAST, access=mmap.ACCESS_COPY).close()
        except (OSError, MemoryError):
            self._held.close()
            self._held = None
