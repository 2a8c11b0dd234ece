"""A program that the watchdog runs ends with whoever started it, and with the watchdog itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hil.standins import parent_watchdog

PROGRAM = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


def ended(pid: int) -> bool:
    """Return whether a process is gone or a zombie, within seconds of a busy computer."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a program with its parent")
@pytest.mark.parametrize("how", ["closed", signal.SIGTERM, signal.SIGKILL])
def test_the_program_ends(how: str | signal.Signals) -> None:
    command = [sys.executable, parent_watchdog.__file__, sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as watchdog:
        assert watchdog.stdin is not None and watchdog.stdout is not None
        pid = int(watchdog.stdout.readline())
        try:
            if isinstance(how, str):
                watchdog.stdin.close()
            else:
                watchdog.send_signal(how)
            assert ended(pid)
        finally:
            if not ended(pid):
                os.kill(pid, signal.SIGKILL)
