"""Run a command whose standard input and output are a serial port, as `python command_runner.py`.

The command gets a pseudo-terminal without echo and without any change of bytes: the C library then writes out every
line at once, which it does not for a pipe. Its bytes go through this process to and from a second pseudo-terminal,
which the rig opens as a serial port. What the command prints while nobody reads is kept, up to `MOST`.

Requests are JSON, one a line, on standard input: `{"start": {"words", "folder", "env"}}` ends a former start, and
`{"stop": null}`. Announcements are JSON lines on standard output:

    {"port": PATH}                     once
    {"started": NUMBER}                a start, counted from 1
    {"refused": NUMBER, "why": TEXT}   the system could not start it
    {"ended": NUMBER, "status": N}     as `subprocess` has it: minus the number of a signal
    {"drained": NUMBER}                all that it has printed is in the port
    {"stopped": NUMBER}                it was ended by `stop`; its output is discarded

The command leads a process group of its own. The whole group is killed when the command ends, at `stop`, and when
standard input closes, which the system does if the rig is killed. The standard error of the command is that of this
process.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import termios
import tty
from typing import Any

MOST = 4 << 20  # bytes that are kept for a reader that is away; after that the command waits, as it does at a pipe
PIECE = 1 << 16
TERM_S = 1.0  # from SIGTERM to SIGKILL
LOOK_S = 0.02  # how often the end of the command is looked for
PR_SET_PDEATHSIG = 1  # prctl(2)


def say(**announcement: Any) -> None:
    """Write one line to standard output."""
    os.write(1, (json.dumps(announcement) + "\n").encode())


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent ends (Linux only)."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def open_raw() -> tuple[int, int]:
    """Return both ends of a pseudo-terminal that changes no byte; the first does not block.

    Nothing of the output is changed either if a program turns its processing on (OPOST), as QEMU does.
    """
    master, slave = os.openpty()
    tty.setraw(slave)
    attributes = termios.tcgetattr(slave)
    attributes[1] = 0  # c_oflag: not only OPOST
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    os.set_blocking(master, False)
    return master, slave


class Runner:
    """The port, and the command if one runs."""

    def __init__(self) -> None:
        self.port, self._port_end = open_raw()  # the second stays open: the port is there without a reader
        self.number = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.end: int | None = None  # that of the pseudo-terminal of the command; None when all of it is read
        self.to_rig, self.to_command = b"", b""
        self.drained = True

    def start(self, words: list[str], folder: str, env: dict[str, str]) -> None:
        """Start the command anew."""
        self.stop()
        self.number += 1
        self.end, own = open_raw()
        try:
            self.process = subprocess.Popen(
                words, stdin=own, stdout=own, cwd=folder, env=os.environ | env, start_new_session=True,
                preexec_fn=die_with_parent,
            )  # fmt: skip
        except OSError as error:
            self._close_end()
            say(refused=self.number, why=error.strerror or str(error))
            return
        finally:
            os.close(own)
        self.drained = False
        say(started=self.number)

    def stop(self) -> None:
        """Kill the command and discard what it has printed."""
        if self.process is not None:
            self._kill_group(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(TERM_S)
            self._kill_group(signal.SIGKILL)
            self.process.wait()
            self.process = None
        self._close_end()
        self.to_rig, self.to_command, self.drained = b"", b"", True
        termios.tcflush(self._port_end, termios.TCIOFLUSH)

    def _kill_group(self, number: int) -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def _close_end(self) -> None:
        if self.end is not None:
            os.close(self.end)
            self.end = None

    def look(self) -> None:
        """Move bytes once, for a moment at most."""
        reads = [0] + ([self.port] if len(self.to_command) < MOST else [])
        reads += [self.end] if self.end is not None and len(self.to_rig) < MOST else []
        writes = ([self.port] if self.to_rig else []) + ([self.end] if self.end is not None and self.to_command else [])
        ready, free, _ = select.select(reads, writes, [], LOOK_S)
        if self.port in ready:
            self.to_command += _read(self.port) or b""
        if self.end is None:
            self.to_command = b""  # nobody is there
        elif self.end in ready:
            came = _read(self.end)
            self.to_rig += came or b""
            if came is None:
                self._close_end()  # no process has the other end
        if self.port in free:
            self.to_rig = self.to_rig[_write(self.port, self.to_rig) :]
        if self.end is not None and self.end in free:
            self.to_command = self.to_command[_write(self.end, self.to_command) :]
        self._look_at_command()

    def _look_at_command(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            self._kill_group(signal.SIGKILL)  # what it has left behind would keep the terminal open
            say(ended=self.number, status=self.process.returncode)
            self.process = None
        if self.process is None and self.end is None and not self.to_rig and not self.drained:
            self.drained = True
            say(drained=self.number)


def _read(end: int) -> bytes | None:
    """Return what can be read, None if the other end is closed."""
    try:
        return os.read(end, PIECE) or None
    except BlockingIOError:
        return b""
    except OSError:  # EIO (pty(7))
        return None


def _write(end: int, data: bytes) -> int:
    try:
        return os.write(end, data[:PIECE])
    except BlockingIOError:
        return 0
    except OSError:
        return len(data)


def main() -> int:
    """Serve until standard input closes."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the parent may ignore it: then no exit code is known
    runner, pending = Runner(), b""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    os.set_blocking(0, False)
    say(port=os.ttyname(runner._port_end))
    try:
        while True:
            runner.look()
            came = _read(0)
            if came is None:
                return 0
            *lines, pending = (pending + came).split(b"\n")
            for line in lines:
                request = json.loads(line)
                if "start" in request:
                    runner.start(**request["start"])
                else:
                    runner.stop()
                    say(stopped=runner.number)
    finally:
        runner.stop()


if __name__ == "__main__":
    sys.exit(main())
