"""Run a program that ends with whoever has started this one, however that ends: `python leash.py PROGRAM ARGUMENTS...`.

Standard input is a pipe that the owner never writes to and that the operating system closes with it. A program of our own watches the pipe
itself; this is for one that does not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

KILLED_AFTER_S = 2.0  # less than a stand-in's owner waits for this program


def main(command: list[str]) -> int:
    """Run the command to its end, or to the end of standard input; end as it has ended."""
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: _end(program))
    threading.Thread(target=_watch, args=(program,), daemon=True).start()
    status = program.wait()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _watch(program: subprocess.Popen[bytes]) -> None:
    os.read(0, 1)
    _end(program)


def _end(program: subprocess.Popen[bytes]) -> None:
    program.terminate()
    late = threading.Timer(KILLED_AFTER_S, program.kill)
    late.daemon = True
    late.start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
