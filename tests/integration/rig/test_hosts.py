"""What a host does not have must not be needed: modules of POSIX on Windows, those of the extra `virtual` where boards are attached."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hil import boards
from hil.images import image_of
from hil.standins import start_virtual

POSIX = ("fcntl", "termios", "tty", "pty", "grp", "pwd", "resource")
VIRTUAL = ("unicorn", "llvmlite")
LOADED = (
    "hil.plugin", "hil.session.rig_session", "hil.commands.main", "hil.training.trial", "hil.commands.devices", "hil.commands.doctor", "hil.rig.initial_config", "hil.targets.halfkay", "hil.targets.uf2",
    "hil.report", "hil.record",
)  # fmt: skip


def test_the_rig_loads_without_what_windows_and_a_raspberry_pi_lack() -> None:
    """A module that is None in sys.modules cannot be imported; pyserial, whose Windows half needs Windows, is loaded before, and pexpect as it loads there."""
    program = f"""
import importlib, sys
import serial.tools.list_ports
here, sys.platform = sys.platform, "win32"
import pexpect
sys.platform = here
sys.modules.update(dict.fromkeys({POSIX + VIRTUAL!r}))
for name in {LOADED!r}:
    importlib.import_module(name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


HEAVY = ("plotly", "pandas", "pyarrow", "llvmlite", "unicorn", "scipy", "torch")


def test_what_only_the_report_or_a_virtual_board_needs_is_not_loaded_before_a_trial() -> None:
    program = f"import sys, hil.session.rig_session, hil.training.trial, hil.training.trial.run; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.tier("nightly")  # a whole trial
def test_a_trial_on_an_attached_board_runs_without_them(tmp_path: Path) -> None:
    """The board is a virtual one, in a process of its own, that rig.toml names as if it were attached; pandas and pyarrow write the record."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    board = boards.load("stm32h7b3")
    stand_in = start_virtual(board, image_of(board.name), tmp_path / "bench.log")
    ends = stand_in.endpoints
    (tmp_path / "rig.toml").write_text(
        f'[[board]]\nname = "{board.name}"\nprobe = "{ends.probe}"\nserial = "{ends.serial}"\n'
    )
    program = f"""
import sys
from pathlib import Path
sys.modules.update(dict.fromkeys(("plotly", "llvmlite", "unicorn", "scipy")))
from hil.rig import Rig
from hil.rig_toml import read_bench
from hil.record.run_writer import RunWriter
from hil.trial import TrialSpec, run_trial
from hil.training.trial.recording import steps_table, trial_record
with Rig(read_bench(Path({str(tmp_path / "rig.toml")!r}))) as rig:
    outcome = run_trial(TrialSpec("{board.name}", "cls1", steps=1, evaluate=0), rig, Path({str(tmp_path)!r}))
assert outcome.verdict == "pass", outcome.reason
writer = RunWriter.begin(Path({str(tmp_path / "reports")!r}))
writer.write_trial(trial_record(outcome), steps_table(outcome), writer.trial_folder(outcome.spec.name))
"""
    try:
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=900)
    finally:
        stand_in.stop()
    assert done.returncode == 0, done.stderr
