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
ENDS = """
import os, pty, signal, sys, tty
master, slave = pty.openpty()
tty.setraw(slave)
os.write(master, b"ready\\n")
print(os.ttyname(slave), flush=True)
while True:
    for byte in os.read(master, 100):
        if byte == ord("4"):
            sys.exit(4)
        if byte == ord("0"):
            sys.exit(0)
        if byte == ord("k"):
            os.kill(os.getpid(), signal.SIGSEGV)
"""
ENDING = """
import time

def sends(dut, byte):
    dut.serial.expect("ready", timeout=10)
    dut.serial.write(byte)
    time.sleep(1)

def test_exits_after_the_last_words(hil_dut):
    sends(hil_dut, b"4")

def test_ends_well(hil_dut):
    sends(hil_dut, b"0")

def test_crashes(hil_dut):
    sends(hil_dut, b"k")
    hil_dut.serial.expect("more", timeout=5)

def test_crashes_before_a_reset(hil_dut):
    sends(hil_dut, b"k")
    hil_dut.reset()

def test_cannot_be_reset(hil_dut):
    hil_dut.reset()
"""
GONE = "the stand-in acme-sim of the plugin early-rig 1.0 in early-rig ended with status"
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


def ran(folder: Path, plugin: str, simulator: str, tests: str) -> tuple[int, list[dict], str]:
    """Return the exit code, the device tests of the record, and the output of tests on the stand-in of a plugin."""
    package = folder / "early-rig"
    (package / "early").mkdir(parents=True)
    (package / "pyproject.toml").write_text(PROJECT)
    (package / "early/__init__.py").write_text(plugin)
    (package / "early/simulator.py").write_text(simulator)
    (package / "early/acme-m4.toml").write_text(BOARD.read_text())
    (folder / "rig.toml").write_text('plugins = ["early-rig"]\n')
    header = struct.pack("<HHIIIIIHHHHHH", 2, 40, 1, 1, 52, 0, 0x05000000, 52, 32, 1, 40, 0, 0)
    (folder / "mine.elf").write_bytes(
        b"\x7fELF\x01\x01\x01".ljust(16, b"\0") + header + struct.pack("<8I", 1, 84, 0, 0, 8, 8, 5, 4) + bytes(8)
    )
    (folder / "test_mine.py").write_text(tests)
    options = one_process("--board=acme-m4", "--elf=mine.elf")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options], cwd=folder, capture_output=True,
        text=True, timeout=300, env={key: value for key, value in os.environ.items() if key != VARIABLE}, check=False,
    )  # fmt: skip
    (run,) = (path for path in (folder / "reports").glob("2*") if path.is_dir())
    entries = json.loads((run / "results.json").read_text())["device_tests"]
    return done.returncode, entries, done.stdout + done.stderr


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(("route", "first"), [("None", "boot 1\n"), ("Isp(flashing.port())", "boot 1\nready\n")])
def test_the_first_test_reads_them_and_no_later_one(tmp_path: Path, route: str, first: str, kept: bool) -> None:
    ready_after = kept and route != "None"  # the route programs it again, which prints again
    tests = TESTS.replace("FIRST", repr(first)).replace("KEPT", str(kept and not ready_after))
    plugin = PLUGIN.replace("ROUTE", route).replace("KEPT", str(kept))
    code, entries, said_all = ran(tmp_path, plugin, SIMULATOR, tests)
    assert code == 0, said_all
    assert [each["verdict"] for each in entries] == ["pass", "pass"]
    said = "the flash route acme-isp gave nothing for the stand-in acme-sim, so nothing was flashed"
    for each in entries:
        assert each["flash"] == ("loaded" if route == "None" else "programmed")
        unverified = "nothing has verified that mine.elf is on the board."
        assert [sentence.partition(":")[0] for sentence in each["warnings"]] == [
            said if route == "None" else unverified
        ]


def test_a_stand_in_that_ends_badly_is_named_with_its_plugin_signal_and_log(tmp_path: Path) -> None:
    plugin = PLUGIN.replace("ROUTE", "None").replace("KEPT", "False")
    _, entries, said = ran(tmp_path, plugin, ENDS, ENDING)
    reasons = [each["reason"] for each in entries]
    assert [each["verdict"] for each in entries] == ["blocked", "pass", "blocked", "blocked", "blocked"], said
    assert f"{GONE} 4: look at its log reports/" in reasons[0] and "/bench.log, and correct it." in reasons[0]
    assert f"{GONE} -11 (SIGSEGV): look at its log" in reasons[2] and f"{GONE} -11 (SIGSEGV)" in reasons[3]
    assert "the stand-in acme-sim of acme-m4 cannot be reset: let its class have `reset`" in reasons[4]
