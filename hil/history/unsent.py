"""The runs that the history may not know wholly: a file for each in `history-unsent`, beside the folders of the runs.

A run makes its file when it begins and removes it when the history has everything. So a run that was killed, or whose
history could not be reached, is found and sent later. A run that goes on holds a lock, and is left to its own process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

FOLDER = "history-unsent"
LOCK = ".lock"


class Unsent:
    """The file of one run; its lock is held from `begin` on until the process ends, or `done`."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.file = run.parent / FOLDER / run.name
        self._lock = FileLock(self.file.with_name(run.name + LOCK), timeout=0)

    def begin(self) -> bool:
        """Make the file and take the lock; return False if another process has it.

        Raises:
            OSError: the disk is full or not writable.
        """
        self.file.parent.mkdir(exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            return False
        self.file.touch()
        return True

    def done(self) -> None:
        """Remove the file: the history has the whole run."""
        self.file.unlink(missing_ok=True)
        self.release()

    def release(self) -> None:
        """Release the lock; the file stays for the next process, unless it was removed."""
        lock = Path(self._lock.lock_file)
        self._lock.release()
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # others are in it
            self.file.parent.rmdir()


def waiting(reports: Path) -> list[Path]:
    """Return the folders of the runs that have a file, oldest name first."""
    try:
        names = sorted(path.name for path in (reports / FOLDER).iterdir() if not path.name.endswith(LOCK))
    except OSError:
        return []
    return [reports / name for name in names]


@contextlib.contextmanager
def held(run: Path) -> Iterator[Unsent | None]:
    """Yield the file of a run that waits, with its lock; None if the run goes on, or another process sends it."""
    unsent = Unsent(run)
    try:
        taken = unsent.begin()
    except OSError:
        taken = False
    try:
        yield unsent if taken else None
    finally:
        if taken:
            unsent.release()
