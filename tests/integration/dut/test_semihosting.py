"""A firmware that asks this computer for files, output and an end, on QEMU.

Expected values are those of Arm's "Semihosting for AArch32 and AArch64": SYS_READ and SYS_WRITE return the bytes that
they left, SYS_OPEN -1 for a file that it cannot open; SYS_EXIT with ADP_Stopped_ApplicationExit is success and with
another reason is none; SYS_EXIT_EXTENDED has a code.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.dut import CommandEnded, Dut, Unexpected, opened
from hil.errors import DeviceFault, RigError
from hil.rig import Bench, Rig
from hil.standins import confined
from tests.foreign import SEMIHOSTING, build

BOARDS = ("mps2-an386", "mps2-an505")
pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")
needs_landlock = pytest.mark.skipif(not confined.version(), reason="this kernel has no Landlock")


@pytest.fixture(params=BOARDS)
def board(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def dut(board: str, tmp_path: Path) -> Iterator[Dut]:
    elf = build(tmp_path, board, f'-DOUTSIDE="{tmp_path}/outside"', source=SEMIHOSTING)
    with Rig(Bench()) as rig, opened(rig, board, elf, tmp_path / "log", semihosting=True) as one:
        one.flash()
        one.serial.expect("ready\r\n")
        yield one


def test_files_output_and_an_exit_code(dut: Dut, board: str) -> None:
    given = bytes(range(200))
    (dut.folder / "input.bin").write_bytes(given)
    dut.serial.write(b"r\x01")
    dut.serial.expect(r"unread \+0\nunwritten \+0\n1\r\n")  # of semihosting and of the UART, in order
    assert (dut.folder / "output.bin").read_bytes() == given[::-1]
    assert dut.exit_code is None and dut.read("requests") == 2 and dut.backtrace()[-1].function.startswith("Reset")
    dut.serial.write(b"7")
    dut.serial.expect("bye\n")  # what it prints before its end is there
    assert dut.wait() == dut.exit_code == dut.record.exit_code == 7 and dut.failed() is None
    assert dut.fault_at_end() is None  # nobody can look any more
    with pytest.raises(CommandEnded, match="the firmware ended with exit code 7"):
        dut.read("requests")
    dut.reset()
    dut.serial.expect("ready\r\n")
    assert dut.read("requests") == 0 and dut.exit_code is None and dut.fault() is None
    assert json.loads(json.dumps(dut.record.to_json()))["probe"] == "GDB stub of qemu"


def test_other_ends(dut: Dut) -> None:
    dut.serial.write(b"q")
    assert dut.wait() == 0
    dut.reset()
    dut.serial.expect("ready\r\n")
    dut.serial.write(b"e")
    with pytest.raises(CommandEnded, match="the firmware ended with exit code 1 and did not print 'step'"):
        dut.serial.expect("step")
    assert isinstance(dut.failed(), DeviceFault)  # the test has not asked


@needs_landlock
@pytest.mark.parametrize("board", BOARDS[:1], indirect=True)
def test_nothing_outside_its_folder_is_written_and_no_command_is_executed(dut: Dut, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    dut.serial.write(b"ous")
    dut.serial.expect("outside -1\noutside -1\nsystem -1\n")
    assert sorted(tmp_path.rglob("*")) == before and dut.record.warnings == []


@pytest.mark.parametrize("board", BOARDS[:1], indirect=True)
def test_without_landlock_it_is_said(board: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confined, "version", lambda: 0)
    elf = build(tmp_path, board, source=SEMIHOSTING)
    with Rig(Bench()) as rig, opened(rig, board, elf, tmp_path / "log", semihosting=True) as one:
        assert any("nothing confines the files that the firmware names" in each for each in one.record.warnings)


@pytest.mark.parametrize("board", BOARDS[:1], indirect=True)
def test_without_the_option_it_is_a_fault_as_on_a_chip(board: str, tmp_path: Path) -> None:
    """BKPT without a debugger is a HardFault (ARM DDI 0403E.e, C1.6.3)."""
    with Rig(Bench()) as rig, opened(rig, board, build(tmp_path, board, source=SEMIHOSTING), tmp_path / "log") as one:
        one.flash()
        one.serial.expect("ready")
        one.serial.write(b"q")
        with pytest.raises(Unexpected, match=r"the processor faulted: HardFault.* at pc 0x\w+ in ask\+"):
            one.serial.expect("never", timeout=1)
        with pytest.raises(RigError, match="only a board with `run` in rig.toml, or on QEMU or at a debug probe with"):
            _ = one.exit_code
