"""What is said to Renode, in which order."""

from __future__ import annotations

import socket
from pathlib import Path

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.standins.renode.line import Line
from hil.standins.renode.platform import Platform
from hil.standins.renode.robot import Robot

TERMINAL_TRIES = 5  # a port that was free may be taken before Renode listens on it
TAKEN = "Unable to create"  # Renode's word for a socket that it cannot open


def boot(robot: Robot, board: Board, platform: Platform, image: Image, repl: Path, line: Line) -> None:
    """Build the machine in the place of the one before, bring the firmware to where it waits for its first byte, and let it run.

    Args:
        robot: a Renode.
        board, platform: what to build.
        image: the firmware.
        repl: file that holds the platform's description.
        line: is connected to the board's UART.

    Raises:
        Blocked: Renode refuses a command, or the firmware is not in memory after it has been loaded.
    """
    vectors = image.symbols["__vectors"]
    line.disconnect()
    robot.reset()
    for command in (
        "emulation SetGlobalAdvanceImmediately true",
        'emulation SetGlobalQuantum "0.001"',
        f'mach create "{board.name}"',
        f"machine LoadPlatformDescription {quoted(repl)}",
        f"sysbus LoadELF {quoted(image.path)}",
        f"cpu VectorTableOffset 0x{vectors:08X}",
        *platform.commands,
        *(_write(address, value) for address, value in platform.values),
    ):
        robot.execute(command)
    line.connect(_terminal(robot))
    robot.execute(f"connector Connect sysbus.{platform.uart} term")
    _check_loaded(robot, image, vectors)
    for stage in platform.boot:
        robot.execute(f'emulation RunFor "{stage.run_s:.6f}"')
        for address, value in stage.write:
            robot.execute(_write(address, value))
    robot.start()


def _terminal(robot: Robot) -> int:
    """Have Renode listen with a terminal for raw bytes; return its port."""
    for tries in range(TERMINAL_TRIES, 0, -1):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        try:
            robot.execute(f'emulation CreateServerSocketTerminal {port} "term" false')
            return port
        except Blocked as blocked:
            if TAKEN not in blocked.reason or tries == 1:
                raise
    raise AssertionError("the last try returns or raises")


def instructions(robot: Robot) -> int:
    """Return how many instructions the core has executed (counted by Renode)."""
    return number(robot.execute("cpu ExecutedInstructions"))


def number(text: str) -> int:
    """Read the hexadecimal number that a command has printed."""
    try:
        return int(text.strip(), 16)
    except ValueError as error:
        raise Blocked(
            "bench",
            f"Renode answered {text.strip()[:60]!r} where a number was due: run again with a version that docs/renode.md names.",
        ) from error


def quoted(path: Path) -> str:
    """Return a path as Renode's monitor takes it."""
    return "@" + str(path.resolve()).replace(" ", "\\ ")


def _write(address: int, value: int) -> str:
    return f"sysbus WriteDoubleWord 0x{address:08X} 0x{value:08X}"


def _check_loaded(robot: Robot, image: Image, vectors: int) -> None:
    """LoadELF reports success for segments that fell into no memory: an address that nobody answers reads 0 without a fault."""
    base, data = next((start, data) for start, data in image.segments if start <= vectors < start + len(data))
    for address in (vectors, vectors + 4):
        wanted = int.from_bytes(data[address - base : address - base + 4], "little")
        found = number(robot.execute(f"sysbus ReadDoubleWord 0x{address:08X}"))
        if found != wanted:
            raise Blocked(
                "bench",
                f"Renode holds 0x{found:08X} at 0x{address:08X} where {image.path.name} has 0x{wanted:08X}: the board's memories in "
                "the catalogue do not hold the image.",
            )
