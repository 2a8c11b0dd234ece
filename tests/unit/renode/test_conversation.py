"""What is said to Renode and what is made of its answers."""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hil import boards
from hil.errors import Blocked
from hil.images import image_of
from hil.standins.renode import process
from hil.standins.renode.conversation import RenodeMachine, boot, instructions, number
from hil.standins.renode.line import RenodeLine
from hil.standins.renode.platform import description, load_platform
from hil.standins.renode.process import RenodeProcess, private_environment
from hil.standins.renode.robot import Robot

pytest.importorskip("unicorn")
BOARD = boards.load("stm32h7b3")
IMAGE = image_of(BOARD.name)
Install = Callable[..., Path]
Connect = Callable[..., Robot]


@pytest.fixture
def connected(install: Install, tmp_path: Path) -> Iterator[Connect]:
    running: list[tuple[RenodeProcess, Robot]] = []

    def connected(**script: object) -> Robot:
        install(**script)
        renode = RenodeProcess(str(tmp_path / "bin/renode"), private_environment(tmp_path), sys.__stderr__.buffer)
        try:
            robot = renode.connect()
        except BaseException:
            renode.close(None)
            raise
        running.append((renode, robot))
        return robot

    yield connected
    for renode, robot in running:
        renode.close(robot)


@pytest.fixture
def line() -> Iterator[RenodeLine]:
    line = RenodeLine()
    yield line
    line.close()


def boot_board(robot: Robot, folder: Path, line: RenodeLine, name: str = BOARD.name) -> None:
    board = boards.load(name)
    platform = load_platform(board)
    repl = folder / "a board.repl"  # with a space
    repl.write_text(description(board, platform))
    boot(robot, RenodeMachine(board.name, platform, repl), image_of(name), line)


def test_the_whole_conversation(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    robot = connected()
    boot_board(robot, tmp_path, line)
    assert instructions(robot) == 0x12D687
    escaped = str(tmp_path.resolve()).replace(" ", "\\ ")
    said = (tmp_path / "commands").read_text().splitlines()
    terminal = next(index for index, command in enumerate(said) if "Terminal" in command)
    assert said.pop(terminal).startswith("emulation CreateServerSocketTerminal ")
    assert said == [
        "ResetEmulation",
        "emulation SetGlobalAdvanceImmediately true",
        'emulation SetGlobalQuantum "0.001"',
        'mach create "stm32h7b3"',
        f"machine LoadPlatformDescription @{escaped}/a\\ board.repl",
        f"sysbus LoadELF @{IMAGE.path}",
        "cpu VectorTableOffset 0x08000000",
        "sysbus WriteDoubleWord 0x58024804 0x00002000",
        "sysbus WriteDoubleWord 0x58024818 0x00002000",
        "sysbus WriteDoubleWord 0x58024400 0x02020000",
        "sysbus WriteDoubleWord 0x58024410 0x00000018",
        "connector Connect sysbus.usart1 term",
        "sysbus ReadDoubleWord 0x08000000",
        "sysbus ReadDoubleWord 0x08000004",
        'emulation RunFor "0.010000"',
        "StartEmulation",
        "cpu ExecutedInstructions",
    ]


def test_a_network_in_flash_is_loaded(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    robot = connected()
    network = tmp_path / "a network.bin"
    network.write_bytes(bytes(range(256)) * 300)
    room = BOARD.room_for_data
    assert room is not None
    platform, repl = load_platform(BOARD), tmp_path / "board.repl"
    repl.write_text(description(BOARD, platform))
    boot(robot, RenodeMachine(BOARD.name, platform, repl), IMAGE, line, ((room.start, network),))
    for offset in (0, 4, 0x10000, 299 * 256 + 252):
        word = int.from_bytes(network.read_bytes()[offset : offset + 4], "little")
        assert number(robot.execute(f"sysbus ReadDoubleWord 0x{room.start + offset:08X}")) == word


def test_a_network_that_falls_into_no_memory(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    robot = connected()
    network = tmp_path / "network.bin"
    network.write_bytes(b"HNET" * 100)
    platform, repl = load_platform(BOARD), tmp_path / "board.repl"
    repl.write_text(description(BOARD, platform))
    with pytest.raises(Blocked, match="Renode holds 0x00000000 at 0x70000000 where network.bin has 0x54454E48"):
        boot(robot, RenodeMachine(BOARD.name, platform, repl), IMAGE, line, ((0x70000000, network),))


def test_the_crystal_of_the_nrf52840_starts_after_its_task(
    connected: Connect, tmp_path: Path, line: RenodeLine
) -> None:
    """Product Specification, CLOCK: 0.36 ms from TASKS_HFCLKSTART to EVENTS_HFCLKSTARTED, which the port clears before."""
    robot = connected()
    boot_board(robot, tmp_path, line, "nrf52840")
    said = (tmp_path / "commands").read_text().splitlines()
    event = said.index("sysbus WriteDoubleWord 0x40000100 0x00000001")
    assert said[event - 1] == 'emulation RunFor "0.000360"'
    assert said[event - 2] == "sysbus ReadDoubleWord 0x40000000"
    before = said[: event - 2]
    assert "sysbus ReadDoubleWord 0x40000000" in before, "the task was not triggered before the first instruction"


def test_one_board_after_another(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    robot = connected()
    for name in ("stm32h7b3", "imxrt1062", "stm32h7b3"):
        boot_board(robot, tmp_path, line, name)


def test_a_port_of_the_terminal_that_was_taken_meanwhile(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    boot_board(connected(busy=2), tmp_path, line)


def test_a_terminal_that_never_finds_a_port(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    with pytest.raises(Blocked, match="Renode refused .*CreateServerSocketTerminal .*Address already in use"):
        boot_board(connected(busy=100), tmp_path, line)


def test_a_refused_command_is_named_with_what_renode_says(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    robot = connected(refuse="cpu VectorTableOffset")
    with pytest.raises(
        Blocked,
        match=r"Renode refused .*cpu VectorTableOffset 0x08000000 \(.*Error E04: scripted At board.repl:9:1: c: Foo.Bar",
    ) as blocked:
        boot_board(robot, tmp_path, line)
    assert len(str(blocked.value).splitlines()) == 1
    assert str(blocked.value).count("cpu VectorTableOffset") == 1, "Renode says the command twice again"


def test_a_command_that_renode_does_not_know(connected: Connect) -> None:
    with pytest.raises(Blocked, match=r"Renode refused .*frobnicate now \(No such command or device: frobnicate\)"):
        connected().execute("frobnicate now")


def test_a_command_that_hangs_ends_at_its_deadline(connected: Connect) -> None:
    robot = connected(hang="cpu ExecutedInstructions")
    robot.deadline_s = 0.3
    with pytest.raises(Blocked, match=r"did not answer .*cpu ExecutedInstructions \(.*timed out\)"):
        instructions(robot)


def test_a_renode_that_dies_at_a_command(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    with pytest.raises(Blocked, match="cpu VectorTableOffset"):
        boot_board(connected(die="cpu"), tmp_path, line)


def test_junk_in_the_place_of_a_reply(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    with pytest.raises(Blocked, match=r"Renode refused ExecuteCommand mach create .*\(\*\*\* junk\)"):
        boot_board(connected(junk="mach create"), tmp_path, line)


def test_an_image_that_falls_into_no_memory(connected: Connect, tmp_path: Path, line: RenodeLine) -> None:
    without = replace(BOARD, memory=tuple(region for region in BOARD.memory if region.name != "flash"))
    repl = tmp_path / "board.repl"
    repl.write_text(description(without, load_platform(BOARD)))
    with pytest.raises(Blocked, match=r"Renode holds 0x00000000 at 0x08000000 where stm32h7b3.elf has 0x20004000"):
        boot(connected(), RenodeMachine(without.name, load_platform(BOARD), repl), IMAGE, line)


def test_no_robot_server_comes_up(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "UP_DEADLINE_S", 1.0)
    with pytest.raises(Blocked, match="no robot server within 1 s"):
        connected(robot=False)


def test_what_is_no_number() -> None:
    assert number("0x000000000012D687\n\n") == 0x12D687
    with pytest.raises(Blocked, match="answered 'nothing' instead of a number"):
        number("nothing\n")


def carried(line: RenodeLine, until: Callable[[], bool]) -> None:
    quiet, other = socket.socketpair()
    end = time.monotonic() + 20
    while not until():
        assert time.monotonic() < end
        assert not line.carry(quiet.fileno(), 0.05)
    quiet.close()
    other.close()


def some(read: Callable[[int], bytes]) -> bytes:
    """Return what is there already."""
    try:
        return read(4096)
    except BlockingIOError:
        return b""


@pytest.fixture
def rig(line: RenodeLine) -> Iterator[int]:
    """The rig's end of the line."""
    opened = os.open(line.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    yield opened
    os.close(opened)


def test_the_line_carries_every_byte_both_ways(line: RenodeLine, rig: int) -> None:
    data = bytes(range(256)) * 400
    with socket.create_server(("127.0.0.1", 0)) as listening:
        line.connect(listening.getsockname()[1])
        board, _ = listening.accept()
    board.setblocking(False)
    there, back = bytearray(), bytearray()
    sent = 0

    def whole() -> bool:
        nonlocal sent
        if sent - len(back) < 3000:
            sent += os.write(rig, data[sent : sent + 1000]) if sent < len(data) else 0
        part = some(board.recv)
        there.extend(part)
        board.sendall(part)
        back.extend(some(lambda n: os.read(rig, n)))
        return len(back) == len(data)

    with board:
        carried(line, whole)
    assert bytes(there) == bytes(back) == data


def test_what_was_for_the_machine_before_is_dropped(line: RenodeLine, rig: int) -> None:
    os.write(rig, b"for nobody")
    select.select([line._master], [], [], 20)  # the kernel takes a moment to hand bytes to the other end
    with socket.create_server(("127.0.0.1", 0)) as listening:
        line.connect(listening.getsockname()[1])
        board, _ = listening.accept()
    board.setblocking(False)
    os.write(rig, b"for this one")
    received = bytearray()

    def there() -> bool:
        received.extend(some(board.recv))
        return len(received) >= 12

    with board:
        carried(line, there)
    assert bytes(received) == b"for this one"
