"""A board that a command of rig.toml flashes: what nothing has verified is said on figure, record and page."""

from __future__ import annotations

import os
import tty
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hil.images import image_of
from hil.report import render_single

BOARD = "mps2-an386"
MINE = """
def test_it(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    hil_figure("answer", 42, provenance="counted", budget="at most 50")
"""
FLASH = """#!/bin/sh
printf 'Programming Started\\n'
printf 'ready' > "$1"
"""


@pytest.fixture
def port() -> Iterator[tuple[int, str]]:
    """A port with nobody behind it but what the flash command lets it say."""
    master, slave = os.openpty()
    tty.setraw(slave)
    tty.setraw(master)
    yield master, os.ttyname(slave)
    os.close(master)
    os.close(slave)


def test_without_a_check_it_is_said_everywhere(
    strange: Callable, tmp_path: Path, port: tuple[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    master, slave = port
    pipe = tmp_path / "uart"  # the other end of the wire, which the command writes to
    os.mkfifo(pipe)
    wire = os.fork()
    if wire == 0:
        with pipe.open("rb") as end:
            os.write(master, end.read())
        os._exit(0)
    (tmp_path / "flash.sh").write_text(FLASH)
    (tmp_path / "flash.sh").chmod(0o755)
    (tmp_path / "rig.toml").write_text(
        f'[[board]]\nname = "{BOARD}"\nserial = "{slave}"\nflash = ["./flash.sh", "{pipe}"]\nverify = "none"\n'
    )
    found = strange(tmp_path, MINE, f"--board={BOARD}")
    os.waitpid(wire, 0)
    assert found.verdict("test_it") == ("pass", ""), found.out
    entry = found.entry("test_it")
    assert (entry.reality, entry.flash, entry.verified, entry.flash_cycles) == ("hardware", "programmed", "none", 1)
    said = f"nothing has verified that {image_of(BOARD).path.name} is on the board."
    assert said in entry.warnings
    assert entry.figures[0]["note"] == "nothing has verified that the image is on the board"
    page = render_single(found.run).read_text(encoding="utf-8")
    assert said in page and "programmed, verified by nothing" in page and "Programming Started" in page
