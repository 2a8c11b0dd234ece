"""What is said to Renode and what is made of its answers: over both of its servers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hil import boards
from hil.errors import Blocked
from hil.standins.renode import process
from hil.standins.renode.conversation import Console, boot, instructions, number
from hil.standins.renode.monitor import Monitor
from hil.standins.renode.platform import description, load_platform
from hil.standins.renode.process import RenodeProcess, private_environment
from hil.standins.renode.robot import Robot

pytest.importorskip("unicorn")
BOARD = boards.load("stm32h7b3")
IMAGE = boards.image_of(BOARD.name)
Install = Callable[..., Path]


@pytest.fixture
def connected(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Console]]:
    running: list[tuple[RenodeProcess, Console]] = []

    def connected(**script: object) -> Console:
        monkeypatch.setattr(process, "ROBOT_DEADLINE_S", 10.0 if script.get("robot", True) else 0.5)
        install(**script)
        renode = RenodeProcess(str(tmp_path / "bin/renode"), private_environment(tmp_path), sys.__stderr__.buffer)
        try:
            console = renode.connect()
        except BaseException:
            renode.close(None)
            raise
        running.append((renode, console))
        return console

    yield connected
    for renode, console in running:
        renode.close(console)


def boot_board(console: Console, folder: Path, board: boards.Board = BOARD) -> None:
    platform = load_platform(board)
    repl = folder / "a board.repl"  # with a space
    repl.write_text(description(board, platform))
    boot(console, board, platform, IMAGE, repl, folder / "serial")


SERVERS = [
    pytest.param({}, Robot, id="robot"),
    pytest.param({"robot": False, "version": "1.15.3"}, Monitor, id="monitor of 1.15"),
    pytest.param({"robot": False, "version": "1.16.1"}, Monitor, id="monitor of 1.16"),
]


@pytest.mark.parametrize(("script", "kind"), SERVERS)
def test_the_whole_conversation(
    connected: Callable[..., Console], tmp_path: Path, script: dict[str, object], kind: type
) -> None:
    console = connected(**script)
    assert type(console) is kind
    boot_board(console, tmp_path)
    assert instructions(console) == 0x12D687
    text = tmp_path.as_posix()
    escaped = str(tmp_path.resolve()).replace(" ", "\\ ")
    assert (tmp_path / "commands").read_text().splitlines() == [
        "Clear",
        "emulation SetGlobalAdvanceImmediately true",
        'emulation SetGlobalQuantum "0.001"',
        'mach create "stm32h7b3"',
        f"machine LoadPlatformDescription @{escaped}/a\\ board.repl",
        f"sysbus LoadELF @{IMAGE.path}",
        "cpu VectorTableOffset 0x08000000",
        "cpu MPURegionNumber 7",
        "cpu MPURegionBaseAddress 0xE0000000",
        "cpu MPURegionAttributeAndSize 0x13000039",
        "sysbus WriteDoubleWord 0x58024804 0x00002000",
        "sysbus WriteDoubleWord 0x58024818 0x00002000",
        "sysbus WriteDoubleWord 0x58024400 0x02000000",
        "sysbus WriteDoubleWord 0x58024410 0x00000018",
        f'emulation CreateUartPtyTerminal "term" "{text}/serial" true',
        "connector Connect sysbus.usart1 term",
        "sysbus ReadDoubleWord 0x08000000",
        "sysbus ReadDoubleWord 0x08000004",
        'emulation RunFor "0.010000"',
        "start",
        "cpu ExecutedInstructions",
    ]
    assert (tmp_path / "serial").readlink().parent == Path("/dev/pts")


@pytest.mark.parametrize(("script", "kind"), SERVERS)
def test_a_refused_command_is_named_with_what_renode_says(
    connected: Callable[..., Console], tmp_path: Path, script: dict[str, object], kind: type
) -> None:
    console = connected(**script, refuse="cpu MPURegionNumber")
    with pytest.raises(
        Blocked, match=r"Renode refused .*cpu MPURegionNumber 7 \(.*There was an error executing command .*Error E04: scripted"
    ) as blocked:
        boot_board(console, tmp_path)
    assert len(str(blocked.value).splitlines()) == 1


@pytest.mark.parametrize(("script", "kind"), SERVERS)
def test_a_command_that_renode_does_not_know(
    connected: Callable[..., Console], script: dict[str, object], kind: type
) -> None:
    with pytest.raises(Blocked, match="Renode refused .*frobnicate now .*No such command or device: frobnicate"):
        connected(**script).execute("frobnicate now")


@pytest.mark.parametrize(("script", "kind"), SERVERS)
def test_a_command_that_hangs_ends_at_its_deadline(
    connected: Callable[..., Console], script: dict[str, object], kind: type
) -> None:
    console = connected(**script, hang="cpu ExecutedInstructions")
    console.deadline_s = 0.3
    with pytest.raises(Blocked, match=r"did not answer .*cpu ExecutedInstructions \(.*timed out\)"):
        instructions(console)


@pytest.mark.parametrize(("script", "kind"), SERVERS)
def test_a_renode_that_dies_at_a_command(
    connected: Callable[..., Console], script: dict[str, object], kind: type
) -> None:
    with pytest.raises(Blocked, match="cpu ExecutedInstructions"):
        instructions(connected(**script, die="cpu"))


def test_junk_in_the_place_of_a_reply(connected: Callable[..., Console], tmp_path: Path) -> None:
    with pytest.raises(Blocked, match=r"Renode refused ExecuteCommand mach create .*\(\*\*\* junk\)"):
        boot_board(connected(junk="mach create"), tmp_path)


def test_an_image_that_falls_into_no_memory(connected: Callable[..., Console], tmp_path: Path) -> None:
    without = replace(BOARD, memory=tuple(region for region in BOARD.memory if region.name != "flash"))
    with pytest.raises(Blocked, match=r"Renode holds 0x00000000 at 0x08000000 where stm32h7b3.elf has 0x20004000"):
        boot_board(connected(), tmp_path, without)


def test_neither_server_comes_up(connected: Callable[..., Console], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "UP_DEADLINE_S", 1.0)
    with pytest.raises(Blocked, match="neither its robot server nor its monitor within 1 s"):
        connected(robot=False, monitor=False)


def test_what_is_no_number() -> None:
    assert number("0x000000000012D687\n") == 0x12D687
    with pytest.raises(Blocked, match="answered 'nothing' where a number was due"):
        number("nothing\n")
