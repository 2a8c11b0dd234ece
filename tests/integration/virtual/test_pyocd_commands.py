"""pyOCD's own commands work on every virtual board with a probe, by the target that `hil bench-server` announces."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")

from board_process import VirtualBoard

from hil import boards
from hil.images import image_of

NIGHTLY = pytest.mark.tier("nightly")
BOARDS = [
    "stm32h7b3",
    *(
        pytest.param(name, marks=NIGHTLY)
        for name in boards.names()
        if boards.load(name).stand_in == "virtual" and name != "stm32h7b3"
    ),
]


@pytest.fixture(params=BOARDS)
def board(request: pytest.FixtureRequest) -> Iterator[VirtualBoard]:
    board = VirtualBoard(board=request.param)
    yield board
    board.stop()


def pyocd(board: VirtualBoard, folder: Path, *words: str) -> str:
    command = [
        sys.executable,
        "-m",
        "pyocd",
        words[0],
        "-t",
        board.said["target"],
        "-u",
        board.said["probe"],
        *words[1:],
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_flash_read_reset_and_erase(board: VirtualBoard, tmp_path: Path) -> None:
    assert "trainrig" in [point.name for point in entry_points(group="pyocd.probe")], (
        "install the package again: pip install -e ."
    )
    image = image_of(board.said["board"])
    address, data = image.segments[0]
    wanted = " ".join(f"{int.from_bytes(data[at : at + 4], 'little'):08x}" for at in range(0, 16, 4))
    pyocd(board, tmp_path, "flash", str(image.path))
    assert wanted in pyocd(board, tmp_path, "cmd", "-c", f"read32 0x{address:08x} 16")
    pyocd(board, tmp_path, "reset")
    with board.port() as port:  # the firmware runs: a frame in no session is answered by a nak
        port.timeout = 20
        port.write(b"\0" + b"\1\1\0" * 8)
        assert port.read(1)
    pyocd(board, tmp_path, "erase", "--sector", f"0x{address:08x}")
    assert "ffffffff ffffffff" in pyocd(board, tmp_path, "cmd", "-c", f"read32 0x{address:08x} 16")
