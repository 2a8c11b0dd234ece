"""Firmware of one's own, spoken to by a test of one's own: a hang or a fault gets the diagnosis of a house trial."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from hil.dut import Dut, Hang, opened
from hil.errors import DeviceFault, RigError
from hil.images import Image, image_of
from hil.link.failures import Silent
from hil.rig import Rig
from hil.rig_toml import Bench
from tests.one_process import one_process

BOARD = "stm32h7b3"
ENDLESS, UNDEFINED = b"\xfe\xe7", b"\x00\xde"  # `b .` and UDF (ARM DDI 0403E.e, A7.7.12 and A7.7.194)
NIGHTLY = pytest.mark.tier("nightly")  # a hang keeps a core busy for as long as it is looked at
REQUEST = "checkpoints"  # needs nothing before it


@pytest.fixture(autouse=True)
def virtual() -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


def changed(folder: Path, **places: bytes) -> Image:
    """Return the board's image with these bytes at the first instruction of functions."""
    image = image_of(BOARD)
    data = bytearray(image.path.read_bytes())
    with image.path.open("rb") as file:
        segment = next(each for each in ELFFile(file).iter_segments("PT_LOAD") if each["p_filesz"])
    for name, instruction in places.items():
        at = segment["p_offset"] + image.symbols[name] - segment["p_paddr"]
        data[at : at + len(instruction)] = instruction
    path = folder / "mine.elf"
    path.write_bytes(data)
    return image_of(BOARD, path)


def ask(image: Image, folder: Path, before: Callable[[Dut], None] = lambda dut: None) -> str:
    """Ask the firmware, as a test of a user does; return the error of the session."""
    with Rig(Bench(), reality="virtual") as rig, opened(rig, BOARD, image, folder) as dut:
        dut.flash()
        session = dut.agent
        before(dut)
        with pytest.raises(DeviceFault) as fault:
            session.request(REQUEST, deadline_s=0.5)
    return str(fault.value)


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(lambda dut: None, id="open"),
        pytest.param(lambda dut: dut._close_probe(), id="closed", marks=NIGHTLY),
    ],
)
def test_a_hang_is_named_with_its_place(tmp_path: Path, before: Callable[[Dut], None]) -> None:
    """Also if no probe is open: it is attached again, without a halt or a reset."""
    found = ask(changed(tmp_path, request_checkpoints=ENDLESS), tmp_path, before)
    assert re.match(
        r"the firmware hangs: the agent did not answer 'checkpoints' within \d+\.\d s; 5 looks found the core in ",
        found,
    )
    assert re.search(
        r"at pc 0x[0-9A-F]{8} in request_checkpoints\+0x0 \(trainer/\w+\.c:\d+\), called from .* in main\+", found
    ), found


def test_a_fault_is_decoded(tmp_path: Path) -> None:
    found = ask(changed(tmp_path, request_checkpoints=UNDEFINED), tmp_path)
    assert re.match(
        r"the processor faulted: UsageFault \(CFSR 0x00010000: UNDEFINSTR\) at pc 0x[0-9A-F]{8} in request_checkpoints",
        found,
    ), found


def test_a_fault_that_its_handler_only_stops_is_decoded(tmp_path: Path) -> None:
    """As the start-up files of vendors do it: an endless loop."""
    found = ask(changed(tmp_path, request_checkpoints=UNDEFINED, fault_handler=ENDLESS), tmp_path)
    words = r"the processor faulted: UsageFault \(CFSR 0x00010000: UNDEFINSTR\) at pc 0x[0-9A-F]{8} in request_checkpoints\+0x0 .*, called from .*"
    assert re.match(words + r"; it stopped at pc 0x[0-9A-F]{8} in fault_handler\+0x0", found), found


TEST = """
def test_mine(hil_dut):
    hil_dut.agent.request("checkpoints", deadline_s=0.5)
"""


@NIGHTLY
def test_of_nested_blocks_the_outermost_explains(tmp_path: Path) -> None:
    image = changed(tmp_path, request_checkpoints=ENDLESS)
    with Rig(Bench(), reality="virtual") as rig, opened(rig, BOARD, image, tmp_path) as dut:
        dut.flash()
        session = dut.agent
        with pytest.raises(Hang, match="the firmware hangs: "), dut.explained():
            with pytest.raises(Silent) as silent:
                session.request(REQUEST, deadline_s=0.5)
            assert not silent.value.looked_at
            raise silent.value
        with pytest.raises(RigError, match="^mine$"), dut.explained():  # any other error stays as it is
            raise RigError("mine")


def test_the_test_of_a_user_fails_and_is_not_blocked(tmp_path: Path) -> None:
    changed(tmp_path, request_checkpoints=ENDLESS)
    (tmp_path / "test_mine.py").write_text(TEST)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *one_process(f"--board={BOARD}", "--reality=virtual", "--elf=mine.elf"),
    ]
    done = subprocess.run(
        [*command, "test_mine.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 1 and "fail: the firmware hangs: " in done.stdout, done.stdout
    assert "in request_checkpoints+0x0" in done.stdout and "check the serial port" not in done.stdout
