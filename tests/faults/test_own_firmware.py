"""Firmware of one's own, spoken to by a test of one's own: a hang or a fault gets the diagnosis of a house trial."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from hil import boards
from hil.errors import DeviceFault
from hil.images import Image, image_of
from hil.link.session import Session, fresh_nonce
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.targets import open_target
from tests.one_process import one_process

BOARD = "stm32h7b3"
ENDLESS, UNDEFINED = b"\xfe\xe7", b"\x00\xde"  # `b .` and UDF (ARM DDI 0403E.e, A7.7.12 and A7.7.194)
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


def ask(image: Image, folder: Path, closes: bool = True) -> str:
    """Ask the firmware, as a test of a user does; return the error that comes out of the rig."""
    board = boards.load(BOARD)
    with Rig(Bench(), reality="virtual") as rig, pytest.raises(DeviceFault) as fault:  # noqa: SIM117  it comes from `take`
        with rig.take(board, image, folder / "log") as taken, contextlib.ExitStack() as stack:
            target = open_target(board, taken.endpoints, taken.probe_process)
            if closes:
                stack.enter_context(contextlib.closing(target))
            target.flash(image)
            session = Session(target.port, fresh_nonce(), taken.alive)
            session.hello()
            session.request(REQUEST, deadline_s=3.0)
    return str(fault.value)


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "left open"])
def test_a_hang_is_named_with_its_place(tmp_path: Path, closes: bool) -> None:
    found = ask(changed(tmp_path, request_checkpoints=ENDLESS), tmp_path, closes)
    assert re.match(
        r"the firmware hangs: the agent did not answer 'checkpoints' within 3\.\d s; 5 looks found the core in ", found
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
import contextlib
from pathlib import Path
from hil import boards
from hil.images import image_of
from hil.link.session import Session, fresh_nonce
from hil.targets import open_target

def test_mine(hil_board, hil_rig, tmp_path, request):
    board, image = boards.load(hil_board), image_of(hil_board, request.config.getoption("elf"))
    with hil_rig.take(board, image, tmp_path / "log") as taken:
        with contextlib.closing(open_target(board, taken.endpoints, taken.probe_process)) as target:
            target.flash(image)
            session = Session(target.port, fresh_nonce(), taken.alive)
            session.hello()
            session.request("checkpoints", deadline_s=3.0)
"""


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
