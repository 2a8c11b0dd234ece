"""The processes of a session's probes: each serves one device at a time, because pyOCD's session is one chip's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hil.targets.probe_process import PYOCD, ProbeProcess


class ProbeProcesses:
    """Processes of probes, used again by later devices: pyOCD loads once in each.

    Args:
        session: of each, as that of `ProbeProcess`.
    """

    def __init__(self, session: str = PYOCD) -> None:
        self._session, self._free, self._used = session, list[ProbeProcess](), list[ProbeProcess]()

    @property
    def pids(self) -> list[int]:
        """Process ids of those that run, of devices in use first."""
        return [process.pid for process in (*self._used, *self._free) if process.pid is not None]

    @contextlib.contextmanager
    def one(self) -> Iterator[ProbeProcess]:
        """Give a process that no other device uses, until the end of the `with` block."""
        process = self._free.pop() if self._free else ProbeProcess(self._session)
        self._used.append(process)
        try:
            yield process
        finally:
            self._used.remove(process)
            self._free.append(process)

    def stop(self) -> None:
        """End the processes."""
        for process in (*self._used, *self._free):
            process.stop()
