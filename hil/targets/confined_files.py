"""The files of a firmware with semihosting through a probe: those of one folder, and no others.

Source: Arm, "Semihosting for AArch32 and AArch64", the requests SYS_OPEN to SYS_RENAME. Handles 0 to 2 are input,
output and errors of the console (the file `:tt`), which the agent serves (hil/targets/semihost_agent.py).
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyocd.debug.semihost import STDERR_FD, STDIN_FD, STDOUT_FD, SemihostIOHandler

if TYPE_CHECKING:
    from hil.targets.semihost_agent import Agent

CONSOLE = ":tt"
CONSOLE_HANDLES = {"r": STDIN_FD, "w": STDOUT_FD, "a": STDERR_FD}  # by the first letter of the mode
FEATURES = ":semihosting-features"
EXIT_EXTENDED, STDOUT_STDERR = 1, 2  # bits of its byte 0
FEATURE_BYTES = b"SHFB" + bytes([EXIT_EXTENDED | STDOUT_STDERR])
LONGEST_NAME = 4096  # PATH_MAX of Linux
MOST_FILES = 256  # open at once
FAILED = -1


class ConfinedFiles(SemihostIOHandler):  # type: ignore[misc]
    """Files below a folder. A name that leads out of it, also by a symbolic link, gives -1 and EACCES.

    Args:
        folder: it exists.
    """

    agent: Agent

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = Path(os.path.realpath(folder))
        self._files: dict[int, Any] = {}

    def cleanup(self) -> None:
        """Close all files."""
        while self._files:
            with contextlib.suppress(OSError):
                self._files.popitem()[1].close()

    def open(self, fnptr: int, fnlen: int, mode: str) -> int:
        """Open a file and return its handle; -1 if that fails."""
        return self._attempt(lambda: self._open(self._name(fnptr, fnlen), mode))

    def _open(self, name: str, mode: str) -> int:
        if name == CONSOLE:
            handle: int = CONSOLE_HANDLES[mode[0]]
            return handle
        if len(self._files) >= MOST_FILES:
            raise OSError(errno.EMFILE, name)
        if name == FEATURES:
            if mode not in ("r", "rb"):
                raise PermissionError(errno.EACCES, name)
            opened: Any = io.BytesIO(FEATURE_BYTES)
        else:
            opened = _open_regular(self._inside(name), mode.replace("b", "") + "b")
        handle = next(number for number in range(STDERR_FD + 1, MOST_FILES + 4) if number not in self._files)
        self._files[handle] = opened
        return handle

    def close(self, fd: int) -> int:
        """Close a file."""
        if fd <= STDERR_FD:
            return 0
        return self._attempt(lambda: self._files.pop(self._known(fd)).close() or 0)

    def write(self, fd: int, ptr: int, length: int) -> int:
        """Write memory to a file; return how many bytes were not written."""
        unwritten = self._attempt(lambda: length - self._file(fd).write(self.agent.get_data(ptr, length)))
        return unwritten if unwritten >= 0 else length

    def read(self, fd: int, ptr: int, length: int) -> int:
        """Read a file into memory; return how many bytes were not filled."""

        def unfilled() -> int:
            data = self._file(fd).read(self.agent.limited(length))
            self.agent.put_data(ptr, data)
            return length - len(data)

        found = self._attempt(unfilled)
        return found if found >= 0 else length

    def istty(self, fd: int) -> int:
        """Return 1 of the console, 0 of a file."""
        return 1 if fd <= STDERR_FD else self._attempt(lambda: self._known(fd) * 0)

    def seek(self, fd: int, pos: int) -> int:
        """Go to a byte of a file."""
        return self._attempt(lambda: self._file(fd).seek(pos) * 0)

    def flen(self, fd: int) -> int:
        """Return the length of a file."""

        def length() -> int:
            file = self._file(fd)
            at = file.tell()
            end = int(file.seek(0, os.SEEK_END))
            file.seek(at)
            return end

        return self._attempt(length)

    def remove(self, ptr: int, length: int) -> int:
        """Remove a file."""

        def removed() -> int:
            self._entry(self._name(ptr, length)).unlink()
            return 0

        return self._attempt(removed)

    def rename(self, oldptr: int, oldlength: int, newptr: int, newlength: int) -> int:
        """Rename a file."""

        def renamed() -> int:
            self._entry(self._name(oldptr, oldlength)).rename(self._entry(self._name(newptr, newlength)))
            return 0

        return self._attempt(renamed)

    def _attempt(self, action: Callable[[], int]) -> int:
        """Return what an action returns; -1 after an error of the system, which SYS_ERRNO then has."""
        try:
            return action()
        except OSError as error:
            self._errno = error.errno or errno.EBADF
            return FAILED

    def _name(self, pointer: int, length: int) -> str:
        if length > LONGEST_NAME:
            raise OSError(errno.ENAMETOOLONG, "")
        name = self.agent.get_data(pointer, length)
        if not name or b"\0" in name:
            raise OSError(errno.EINVAL, "")
        return os.fsdecode(name)

    def _inside(self, name: str) -> Path:
        """Return the path of a name, without symbolic links. Raises PermissionError if it is not below the folder."""
        path = Path(os.path.realpath(self._folder / name))  # Path.resolve raises RuntimeError of a loop of links
        if not path.is_relative_to(self._folder):
            raise PermissionError(errno.EACCES, name)
        return path

    def _entry(self, name: str) -> Path:
        """Return the path of a name whose last part may be a symbolic link: the link itself is meant."""
        folder, last = os.path.split(name)
        if last in ("", ".", ".."):
            raise OSError(errno.EINVAL, name)
        return self._inside(folder) / last

    def _known(self, handle: int) -> int:
        if handle not in self._files:
            raise OSError(errno.EBADF, "")
        return handle

    def _file(self, handle: int) -> Any:
        return self._files[self._known(handle)]


def _open_regular(path: Path, mode: str) -> io.FileIO:
    """Open a regular file without a buffer: a device or a pipe would block this process."""
    return io.FileIO(path, mode, opener=_opener)


def _opener(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, path)
