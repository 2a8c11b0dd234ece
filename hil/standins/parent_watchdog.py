"""End a process when its parent ends, also if the parent is killed.

A process of this project calls `die_with_parent`. Any other program is run as
`python parent_watchdog.py PROGRAM ARGUMENTS...`, which ends the program when standard input closes. Standard input is a
pipe that the parent never writes to; the operating system closes it when the parent ends. On Linux the program also
ends when this process is killed. The program's own standard input stays open, and is silent.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading

KILL_AFTER_S = 2.0  # from SIGTERM to SIGKILL; shorter than the time that StandIn waits for this process
PR_SET_PDEATHSIG = 1  # prctl(2)


def die_with_parent(number: int) -> None:
    """Ask the kernel to send this process a signal when the thread that started it ends (Linux only)."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def main(command: list[str]) -> int:
    """Run a command until it ends or standard input closes.

    Returns:
        The exit status of the command. If a signal ended it, this process ends by the same signal.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the parent may ignore it: then no exit status is known
    program = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        preexec_fn=lambda: die_with_parent(signal.SIGKILL) if sys.platform == "linux" else None,  # one thread so far
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _end(program))
    threading.Thread(target=_watch, args=(program,), daemon=True).start()
    status = program.wait()
    if status < 0:
        if -status != signal.SIGKILL:  # which cannot be caught, and so is not set
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _watch(program: subprocess.Popen[bytes]) -> None:
    os.read(0, 1)
    _end(program)


def _end(program: subprocess.Popen[bytes]) -> None:
    program.terminate()
    kill = threading.Timer(KILL_AFTER_S, program.kill)
    kill.daemon = True
    kill.start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
