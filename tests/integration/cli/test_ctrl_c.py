"""Ctrl-C ends a command that runs a virtual board."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HIL = [sys.executable, "-m", "hil.commands.main"]
ROOT = Path(__file__).parents[3]
HANG_S = 120


def heed_ctrl_c() -> None:
    """A job that a script has put in the background ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("line", ["mlperf-tiny --board stm32h7b3", "bench-server --board stm32h7b3"])
def test_ctrl_c_ends_a_command_without_a_word(line: str) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    process = subprocess.Popen(
        [*HIL, *line.split()],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=heed_ctrl_c,
    )
    assert process.stdout is not None
    try:
        process.stdout.readline()  # it is up
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    assert process.returncode in (0, 130), stderr
    assert "Traceback" not in stderr
