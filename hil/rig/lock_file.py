"""A lock on one file: the operating system's, so that it ends with its holder, and on the very file that the next comer will find.

The folder is one in which nobody but root and this user can move or remove the file: theirs, and with the sticky bit if others write to it, as the
system's temporary folder has. A lock is only held on a file that is root's or this user's own: whoever owns a file may move it away, and a second
session would lock another one in its place. So each session makes its file, and removes it when it gives the lock back.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

POLL_S = 0.05
FILE_MODE = 0o644  # others look who holds it, and lock it for a look
FLAGS = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
FAR = 1 << 20  # on Windows a locked byte cannot be read: one beyond the note
MOST_NOTE = 4096  # bytes
MOST_MOVES = 100  # how often a file may vanish between being opened and being locked


class Held(Exception):
    """Another process holds the lock; `note` is what it has left, `user` the number of the user whose file it is."""

    def __init__(self, note: bytes, user: int) -> None:
        super().__init__()
        self.note, self.user = note, user


class Untrusted(Exception):
    """The lock would not keep others out; the message says why and has the cure, as two parts of a sentence."""


class LockFile:
    """Args:
    path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def take(self, wait_s: float, note: bytes) -> None:
        """Take the lock.

        Args:
            wait_s: how long to wait for who has it; infinity waits as long as it takes.
            note: says who we are, to others.

        Raises:
            Held: it was not given back in time.
            Untrusted: folder or file belong to somebody who could let others in.
            OSError: the file cannot be made, or is a link.
        """
        check_folder(self.path.parent)
        end = time.monotonic() + wait_s
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
        raise Untrusted(f"{self.path} is moved away again and again: look who does it")

    def release(self) -> None:
        """Give the lock back, if it is held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):  # Windows removes no open file; there the next session takes it over
                if _is_at(descriptor, self.path):
                    self.path.unlink()
            os.close(descriptor)

    def _wait_for(self, end: float) -> int:
        """Return the locked file, whichever is at the path at the moment."""
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
                if time.monotonic() >= end:
                    raise Held(note, user) from None
                time.sleep(POLL_S)
            else:
                return descriptor

    def _is_ours(self, descriptor: int) -> bool:
        """Return whether a locked file is one to hold; one that somebody else has left is removed where we may, and another is made.

        Raises:
            Untrusted: it is not, and stays.
        """
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise Untrusted(f"{self.path} is no plain file with one name: remove it")
        if not hasattr(os, "geteuid") or found.st_uid in (0, os.geteuid()):
            return True
        if os.geteuid() == 0:
            self.path.unlink()
            return False
        raise Untrusted(
            f"{self.path} was left by {user_name(found.st_uid)}, who could move it: let that user or root remove it"
        )


def check_folder(folder: Path) -> None:
    """See that nobody but root and this user can move or remove files of this user in a folder; one that is missing is made.

    Raises:
        Untrusted: others can.
        OSError: it cannot be made, or is none.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if not hasattr(os, "geteuid"):
        return  # Windows: the temporary folder is the user's own
    if found.st_uid not in (0, os.geteuid()):
        raise Untrusted(
            f"the folder {folder} belongs to {user_name(found.st_uid)}, who could move it: set TMPDIR to a folder of root's or of your own"
        )
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        raise Untrusted(
            f"others may move files in the folder {folder}: set its sticky bit (chmod +t), or take their right to write (chmod go-w)"
        )


def user_name(number: int) -> str:
    """Return the name of a user, or the number where it has none."""
    try:
        import pwd

        return f"the user {pwd.getpwuid(number).pw_name}"
    except (ImportError, KeyError):
        return f"the user {number}"


def _open(path: Path) -> int:
    """Open the file, or make it. A file of another user's is opened for reading, which is enough to lock it."""
    while True:
        with contextlib.suppress(FileExistsError):
            return os.open(path, FLAGS | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with contextlib.suppress(FileNotFoundError):  # gone again
            try:
                return os.open(path, FLAGS)
            except PermissionError:
                return os.open(path, FLAGS & ~os.O_RDWR | os.O_RDONLY)


def _lock(descriptor: int) -> None:
    """Lock an open file, or raise OSError at once."""
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        import msvcrt

        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file is the one that a path leads to now."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


def _write(descriptor: int, note: bytes) -> None:
    with contextlib.suppress(OSError):  # root's file, or a full disk: the lock holds all the same
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, note)
