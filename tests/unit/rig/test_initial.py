"""The first rig.toml: what it says is read back as a bench, and what it cannot know stays a comment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hil.errors import RigError
from hil.rig.discover import AttachedDevice
from hil.rig.initial_config import tables, write_initial
from hil.rig_toml import read_bench

PROBE = AttachedDevice("probe", "STMicroelectronics STLINK-V3", "0672FF30", "1-2", target="stm32h7b3lihxq")
PORT = AttachedDevice("port", "STMicroelectronics STLINK-V3", "0672FF30", "1-2:1.2", "/dev/ttyACM0")
J_LINK = AttachedDevice("probe", "SEGGER J-Link", "683123456", "1-6")
J_LINK_PORTS = [
    AttachedDevice("port", "SEGGER J-Link", "000683123456", f"1-6:1.{n}", f"/dev/ttyACM{n}") for n in (1, 2)
]
LONELY = AttachedDevice("port", "FTDI", "A50285BI", "1-7", "/dev/ttyUSB0")


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    return tmp_path / "rig.toml"


def test_a_probe_that_tells_its_chip_is_named_with_the_port_of_its_own(rig: Path) -> None:
    write_initial(rig, tables([PROBE, PORT, LONELY]))
    bench = read_bench(rig)
    assert [(entry.name, entry.probe, entry.serial) for entry in bench.board] == [("stm32h7b3", "0672FF30", "0672FF30")]
    assert "#   port: FTDI, A50285BI, /dev/ttyUSB0 at 1-7" in rig.read_text()


PICO = AttachedDevice("port", "trainrig trainrig agent", "E6614103E7452A2F", "1-8:1.0", "/dev/ttyACM4", board="rp2040")
PICO_2 = AttachedDevice(
    "port", "trainrig trainrig agent", "E6614103E7000001", "1-9:1.0", "/dev/ttyACM5", board="rp2040"
)


def test_a_board_on_its_own_usb_is_named_without_a_probe(rig: Path) -> None:
    write_initial(rig, tables([PROBE, PORT, PICO, LONELY]))
    entries = [(entry.name, entry.probe, entry.serial) for entry in read_bench(rig).board]
    assert entries == [("stm32h7b3", "0672FF30", "0672FF30"), ("rp2040", None, "E6614103E7452A2F")]
    assert rig.read_text().count("E6614103E7452A2F") == 2


def test_two_of_a_kind_on_their_own_usb_have_words_of_their_own(rig: Path) -> None:
    write_initial(rig, tables([PICO, PICO_2]))
    assert [entry.id for entry in read_bench(rig).board] == ["rp2040-452A2F", "rp2040-000001"]


def test_what_cannot_be_known_is_left_to_the_reader(rig: Path) -> None:
    write_initial(rig, tables([J_LINK, *J_LINK_PORTS]))
    assert read_bench(rig).board == []
    text = rig.read_text()
    assert '# probe = "683123456"' in text
    assert text.count("one of 2 ports of this probe: choose") == 2
    assert "rp2040" in text and "Also attached" not in text


def test_the_comments_become_a_bench_when_the_reader_has_chosen(rig: Path) -> None:
    write_initial(rig, tables([J_LINK, *J_LINK_PORTS[:1]]))
    lines = [line.removeprefix("# ") for line in rig.read_text().split("J-Link, 683123456 at 1-6\n")[1].splitlines()]
    rig.write_text("\n".join('name = "rp2040"' if line.startswith("name") else line for line in lines))
    assert read_bench(rig).find("rp2040").serial == "000683123456"


def test_nothing_attached_gives_the_empty_bench(rig: Path) -> None:
    write_initial(rig, tables([]))
    assert read_bench(rig).board == []


def test_an_empty_bench_is_filled_in_and_its_comments_stay(rig: Path) -> None:
    committed = (Path(__file__).parents[3] / "rig.toml").read_text()
    rig.write_text(committed)
    assert "is filled in" in write_initial(rig, tables([PROBE, PORT]))
    assert rig.read_text().startswith(committed)
    assert [(entry.name, entry.probe) for entry in read_bench(rig).board] == [("stm32h7b3", "0672FF30")]


def test_what_is_only_a_comment_is_added_once(rig: Path) -> None:
    rig.write_text("# mine")
    write_initial(rig, tables([J_LINK, *J_LINK_PORTS]))
    once = rig.read_text()
    assert once.startswith("# mine\n") and '# probe = "683123456"' in once
    assert "is unchanged" in write_initial(rig, tables([J_LINK, *J_LINK_PORTS]))
    assert rig.read_text() == once


def test_a_bench_that_names_boards_is_kept(rig: Path) -> None:
    text = '[[board]]\nname = "rp2040"\nserial = "E66164"\n'
    rig.write_text(text)
    with pytest.raises(
        RigError,
        match=r"names rp2040 already: add other boards to it by hand .*, or write another file with --rig=FILE",
    ):
        write_initial(rig, tables([PROBE]))
    assert rig.read_text() == text


@pytest.mark.parametrize("text", ["[[board\n", "board = 3\n"])
def test_what_is_no_bench_is_kept(rig: Path, text: str) -> None:
    rig.write_text(text)
    with pytest.raises(RigError, match=r"rig\.toml"):
        write_initial(rig, tables([PROBE]))
    assert rig.read_text() == text


def test_the_command_fills_in_the_committed_file(rig: Path) -> None:
    rig.write_text((Path(__file__).parents[3] / "rig.toml").read_text())
    ended = subprocess.run(
        [sys.executable, "-m", "hil.commands.main", "init"], cwd=rig.parent, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert "rig.toml" in ended.stdout and ended.stderr == ""
