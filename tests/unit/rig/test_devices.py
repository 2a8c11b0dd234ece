"""`hil devices`: what is attached, and how often each board that rig.toml names has been programmed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hil.commands import devices
from hil.commands.main import main
from hil.rig.discover import AttachedDevice
from hil.targets import flash_cycles

RIG = """
[[board]]
name = "stm32h7b3"
probe = "0671FF"
serial = "0671FF"

[[board]]
name = "rp2040"
serial = "/dev/ttyACM7"

[[board]]
name = "imxrt1062"
serial = "A50285BI"
loader = "0012AB34"
"""
COUNTED = {
    "stm32h7b3 at 0671FF": 3,
    "rp2040 at /dev/ttyACM7": 1,
    "imxrt1062 at 0012AB34": 12,
    "rp2040 at /dev/ttyACM8": 40,
}


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rig.toml none of whose boards is attached, and counts of this computer."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "trainrig"
    folder.mkdir()
    (folder / flash_cycles.FILE).write_text(json.dumps(COUNTED))
    monkeypatch.setattr(
        devices, "attached", lambda: [AttachedDevice("port", "FTDI adapter", "A50285BI", "1-2", "/dev/ttyUSB0")]
    )
    (tmp_path / "rig.toml").write_text(RIG)
    return tmp_path / "rig.toml"


def test_each_named_board_has_its_count(rig: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", f"--rig={rig}"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["port", "FTDI", "adapter", "A50285BI", "/dev/ttyUSB0", "1-2"] in lines
    assert lines[-3:] == [["stm32h7b3", "3"], ["rp2040", "1"], ["imxrt1062", "12"]]


def test_json_has_them_behind_the_devices(rig: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json", f"--rig={rig}"]) == 0
    port, *boards = json.loads(capsys.readouterr().out)
    assert (port["kind"], port["device"]) == ("port", "/dev/ttyUSB0")
    assert boards == [
        {"kind": "board", "name": name, "flash_cycles": count}
        for name, count in (("stm32h7b3", 3), ("rp2040", 1), ("imxrt1062", 12))
    ]


def test_without_a_rig_it_lists_what_is_attached(rig: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", f"--rig={rig.with_name('none.toml')}"]) == 0
    assert "flash cycles" not in capsys.readouterr().out


def test_it_does_not_wait_for_libraries_of_meters() -> None:
    """It is to answer within 2 s on a small computer: pandas alone takes a third of that."""
    program = "import sys, hil.commands.devices; print([name for name in ('pandas', 'pyvisa', 'pyocd') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
