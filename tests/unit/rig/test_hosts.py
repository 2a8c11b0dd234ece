"""What a host does not have must not be needed: modules of POSIX on Windows, those of the extra `virtual` where boards are attached."""

from __future__ import annotations

import subprocess
import sys

POSIX = ("fcntl", "termios", "tty", "pty", "grp", "pwd", "resource")
VIRTUAL = ("unicorn", "numba")
LOADED = (
    "hil.plugin", "hil.cli", "hil.trial", "hil.rig.command", "hil.rig.doctor", "hil.rig.initial", "hil.targets.halfkay", "hil.targets.uf2",
    "hil.report", "hil.record",
)  # fmt: skip


def test_the_rig_loads_without_what_windows_and_a_raspberry_pi_lack() -> None:
    """A module that is None in sys.modules cannot be imported; pyserial, whose Windows half needs Windows, is loaded before."""
    program = f"""
import importlib, sys
import serial.tools.list_ports
sys.modules.update(dict.fromkeys({POSIX + VIRTUAL!r}))
for name in {LOADED!r}:
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
