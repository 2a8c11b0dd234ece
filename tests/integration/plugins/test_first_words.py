"""What a stand-in of a plugin prints before its port is open is the test's, and what it printed for a test before is not."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from hil.plugins.folders import VARIABLE
from tests.one_process import one_process

BOARD = Path(__file__).parent / "acme/acme_rig/acme-m4.toml"
PROJECT = """
[project]
name = "early-rig"
version = "1.0"
[project.entry-points."trainrig.boards"]
acme-m4 = "early:FOLDER"
[project.entry-points."trainrig.flash_routes"]
acme-isp = "early:route"
[project.entry-points."trainrig.stand_ins"]
acme-sim = "early:KIND"
"""
PLUGIN = """
import sys
from pathlib import Path

from hil.endpoints import Endpoints
from hil.standins import StandIn, StandInKind

API = 1
FOLDER = Path(__file__).parent


class Kept(StandIn):
    def serves(self, board, image):
        return True


def start(board, image, log):
    command = [sys.executable, "-I", str(FOLDER / "simulator.py")]
    return Kept(command, lambda line: Endpoints(board.name, "", serial=line), log, "acme-sim")


class Isp:
    name = "acme-isp"

    def __init__(self, port):
        self._port = port

    def program(self, image, always=False):
        self._port.write(b"P")
        return True


def route(flashing):
    return ROUTE


KIND = StandInKind(start, kept=KEPT)
"""
SIMULATOR = """
import os, pty, tty
master, slave = pty.openpty()
tty.setraw(slave)
os.write(master, b"boot 1\\n")
print(os.ttyname(slave), flush=True)
while True:
    for byte in os.read(master, 100):
        os.write(master, {80: b"ready\\n", 63: b"answer\\n"}[byte])
"""
TESTS = """
def test_first(hil_dut):
    hil_dut.serial.expect(FIRST, timeout=10)
    hil_dut.serial.write(b"??")
    hil_dut.serial.expect("answer", timeout=10)  # the second one stays unread


def test_second(hil_dut):
    hil_dut.serial.write(b"?")
    hil_dut.serial.expect("answer", timeout=10)
    assert (hil_dut.serial.before == b"") == KEPT, hil_dut.serial.before
    assert b"answer" not in hil_dut.serial.before
"""


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(("route", "first"), [("None", "boot 1\n"), ("Isp(flashing.port())", "boot 1\nready\n")])
def test_the_first_test_reads_them_and_no_later_one(tmp_path: Path, route: str, first: str, kept: bool) -> None:
    plugin = tmp_path / "early-rig"
    plugin.mkdir()
    (plugin / "pyproject.toml").write_text(PROJECT)
    (plugin / "early").mkdir()
    (plugin / "early/__init__.py").write_text(PLUGIN.replace("ROUTE", route).replace("KEPT", str(kept)))
    (plugin / "early/simulator.py").write_text(SIMULATOR)
    (plugin / "early/acme-m4.toml").write_text(BOARD.read_text())
    (tmp_path / "rig.toml").write_text('plugins = ["early-rig"]\n')
    header = struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 1, 52, 0, 0x05000000, 52, 32, 1, 40, 0, 0)
    (tmp_path / "mine.elf").write_bytes(
        b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + header + struct.pack("<8I", 1, 84, 0, 0, 8, 8, 5, 4) + bytes(8)
    )
    ready_after = kept and route != "None"  # the route programs it again, which prints again
    tests = TESTS.replace("FIRST", repr(first)).replace("KEPT", str(kept and not ready_after))
    (tmp_path / "test_mine.py").write_text(tests)
    options = one_process("--board=acme-m4", "--elf=mine.elf")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options], cwd=tmp_path, capture_output=True,
        text=True, timeout=300, env={key: value for key, value in os.environ.items() if key != VARIABLE}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (path for path in (tmp_path / "reports").glob("2*") if path.is_dir())
    entries = json.loads((run / "results.json").read_text())["device_tests"]
    assert [each["verdict"] for each in entries] == ["pass", "pass"]
    said = "the flash route acme-isp gave nothing for the stand-in acme-sim, so nothing was flashed"
    for each in entries:
        assert each["flash"] == ("loaded" if route == "None" else "programmed")
        unverified = "nothing has verified that mine.elf is on the board."
        assert [sentence.partition(":")[0] for sentence in each["warnings"]] == [
            said if route == "None" else unverified
        ]
