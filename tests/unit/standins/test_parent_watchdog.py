"""A program that the watchdog runs ends with whoever started it, and with the watchdog itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from hil.standins import parent_watchdog
from tests.ended_process import ended

PROGRAM = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"


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
