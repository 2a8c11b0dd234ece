"""A file lock of the operating system, which ends with the process that holds it.

The lock is only safe if the next session opens the same file. So the folder must be one in which only root and this
user can move or remove the file: it belongs to one of them and, if others can write to it, has the sticky bit, like the
system's temporary folder. The file itself must belong to root or to this user, because the owner of a file may move it
away, and a second session would then lock a new file. Each session creates its file and removes it when it releases the
lock.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

from hil.steady_clock import steady_s

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

POLL_S = 0.05
FILE_MODE = 0o644  # other users read who holds the lock, and try to lock the file
FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
FAR = 1 << 20  # offset of the locked byte on Windows, past the note, because a locked byte cannot be read
MOST_NOTE = 4096  # bytes
LOCKS = Path("/proc/locks")
MOST_MOVES = 100  # how often the file may disappear between being opened and being locked


class LockHeld(Exception):
    """Another process holds the lock; `note` is the content of the file, `user` the numeric id of its owner."""

    def __init__(self, note: bytes, user: int) -> None:
        super().__init__()
        self.note, self.user = note, user


class UnsafeLock(Exception):
    """The lock would not be safe. The message has two parts: the reason, a colon, the cure."""


class LockFile:
    """A lock on a file that exists while the lock is held."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self, wait_s: float, note: bytes) -> None:
        """Take the lock; wait `wait_s` seconds for another holder. `note` tells others who holds the lock.

        Raises:
            LockHeld: it was not released in time.
            UnsafeLock: another user could move the folder or the file.
            OSError: the file cannot be created, or is a symbolic link.
        """
        check_folder(self.path.parent)
        end = steady_s() + wait_s
        for _ in range(MOST_MOVES):
            descriptor = self._wait_for(end)
            try:
                if _is_at(descriptor, self.path) and self._is_ours(descriptor):
                    _write(descriptor, note)
                    self._descriptor = descriptor
                    return
            finally:
                if self._descriptor is None:
                    os.close(descriptor)
        raise UnsafeLock(f"another program keeps moving {self.path} away: find and stop it")

    def release(self) -> None:
        """Release the lock if it is held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):  # Windows cannot remove an open file; the next session reuses it
                if _is_at(descriptor, self.path):
                    self.path.unlink()
            os.close(descriptor)

    def _wait_for(self, end: float) -> int:
        """Return the descriptor of the locked file; raise LockHeld at time `end`."""
        while True:
            descriptor = _open(self.path)
            try:
                _lock(descriptor)
            except (BlockingIOError, PermissionError):
                note, user = (
                    os.pread(descriptor, MOST_NOTE, 0) if hasattr(os, "pread") else b"",
                    os.fstat(descriptor).st_uid,
                )
                os.close(descriptor)
                if steady_s() >= end:
                    raise LockHeld(note, user) from None
                time.sleep(POLL_S)
            else:
                return descriptor

    def _is_ours(self, descriptor: int) -> bool:
        """Return True if a locked file belongs to root or this user; as root, remove another user's and return False.

        Raises:
            UnsafeLock: it belongs to another user, or is not a regular file.
        """
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise UnsafeLock(f"{self.path} is not a regular file with one name: remove it")
        if not hasattr(os, "geteuid") or found.st_uid in (0, os.geteuid()):
            return True
        if os.geteuid() == 0:
            self.path.unlink()
            return False
        raise UnsafeLock(
            f"{self.path} was left by {user_name(found.st_uid)}, who could move it: let that user or root remove it"
        )


def held_by(path: Path) -> LockHeld | None:
    """Return the note and the owner of a lock that some process holds, None if none does; it takes no lock.

    A lock that is taken for a moment to see whether it is free would block a session that does not wait for it. So this
    reads the kernel's list (proc(5), /proc/locks). Where there is none, a file counts as locked.
    """
    try:
        descriptor = os.open(path, FLAGS & ~os.O_RDWR | os.O_RDONLY)
    except OSError:  # nobody has it
        return None
    try:
        found = os.fstat(descriptor)
        try:
            locks = LOCKS.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            locks = [f"FLOCK :{found.st_ino} "]
        if not any("FLOCK" in line and "->" not in line and f":{found.st_ino} " in line for line in locks):
            return None
        return LockHeld(os.pread(descriptor, MOST_NOTE, 0), found.st_uid)
    finally:
        os.close(descriptor)


def check_folder(folder: Path) -> None:
    """Check that only root and this user can move or remove this user's files in a folder. Create a missing folder.

    Raises:
        UnsafeLock: other users can.
        OSError: it cannot be created, or is not a folder.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if not hasattr(os, "geteuid"):
        return  # Windows: the temporary folder is the user's own
    if found.st_uid not in (0, os.geteuid()):
        raise UnsafeLock(
            f"the folder {folder} belongs to {user_name(found.st_uid)}, who could move it: "
            "set TMPDIR to a folder that belongs to root or to you"
        )
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        raise UnsafeLock(
            f"others may move files in the folder {folder}: "
            "set its sticky bit (chmod +t), or remove their write permission (chmod go-w)"
        )


def user_name(number: int) -> str:
    """Return `the user NAME`, with the numeric id if the user has no name."""
    try:
        import pwd

        return f"the user {pwd.getpwuid(number).pw_name}"
    except (ImportError, KeyError):
        return f"the user {number}"


def _open(path: Path) -> int:
    """Open or create the file. Another user's file is opened for reading only, which is enough to lock it."""
    while True:
        with contextlib.suppress(FileExistsError):
            return os.open(path, FLAGS | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with contextlib.suppress(FileNotFoundError):  # removed meanwhile
            try:
                return os.open(path, FLAGS)
            except PermissionError:
                return os.open(path, FLAGS & ~os.O_RDWR | os.O_RDONLY)


def _lock(descriptor: int) -> None:
    """Lock an open file. Raises OSError at once if it is locked already."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file is the one that the path names now."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


def _write(descriptor: int, note: bytes) -> None:
    with contextlib.suppress(OSError):  # a file of root or a full disk: the lock holds without a note
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, note)
