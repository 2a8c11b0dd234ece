"""The commands that build a machine in Renode and start its firmware."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hil.errors import Blocked
from hil.images import Image
from hil.standins.renode.line import RenodeLine
from hil.standins.renode.platform import Platform
from hil.standins.renode.robot import Robot

Cargo = Sequence[tuple[int, Path]]  # (address, file)
WORD = 4
WRITTEN_STEP_S, WRITTEN_STEPS = 0.0001, 200  # of virtual time; within 20 ms every port has started its clocks
TERMINAL_TRIES = 5  # another program may take a free port before Renode listens on it
TAKEN = "Unable to create"  # Renode's message about a socket that it cannot open


@dataclass(frozen=True)
class RenodeMachine:
    """A board as Renode builds it: its name, its platform, and the file that contains the platform's description."""

    name: str
    platform: Platform
    repl: Path


def boot(robot: Robot, machine: RenodeMachine, image: Image, line: RenodeLine, cargo: Cargo = ()) -> None:
    """Replace the previous machine by a new one, run its firmware until it waits for its first byte, and let it run on.

    Args:
        robot: connection to Renode.
        machine: what to build.
        image: firmware to load.
        line: serial line to connect to the board's UART.
        cargo: what lies beside the image in flash.

    Raises:
        Blocked: Renode refused a command, or the firmware is not in memory after loading.
    """
    platform, vectors = machine.platform, image.symbols["__vectors"]
    line.disconnect()
    robot.reset()
    for command in (
        "emulation SetGlobalAdvanceImmediately true",
        'emulation SetGlobalQuantum "0.001"',
        f'mach create "{machine.name}"',
        f"machine LoadPlatformDescription {quoted(machine.repl)}",
        f"sysbus LoadELF {quoted(image.path)}",
        *(f"sysbus LoadBinary {quoted(file)} 0x{address:08X}" for address, file in cargo),
        f"cpu VectorTableOffset 0x{vectors:08X}",
        *platform.commands,
        *(_write(address, value) for address, value in platform.values),
    ):
        robot.execute(command)
    line.connect(_terminal(robot))
    robot.execute(f"connector Connect sysbus.{platform.uart} term")
    _check_loaded(robot, image, vectors)
    for address, file in cargo:
        with file.open("rb") as data:
            _check_word(robot, address, data.read(WORD), file.name)
    for stage in platform.boot:
        if stage.after is not None and not _written(robot, stage.after):
            continue
        robot.execute(_run_for(stage.run_s))
        for address, value in stage.write:
            robot.execute(_write(address, value))
    robot.start()


def _terminal(robot: Robot) -> int:
    """Make Renode listen on a TCP port with a terminal for raw bytes; return the port."""
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
    """Return the number of instructions that the core has executed, counted by Renode."""
    return number(robot.execute("cpu ExecutedInstructions"))


def number(text: str) -> int:
    """Parse the hexadecimal number that a command printed; raise `Blocked` if it printed something else."""
    try:
        return int(text.strip(), 16)
    except ValueError as error:
        raise Blocked(
            "bench",
            f"Renode answered {text.strip()[:60]!r} instead of a number: "
            "run again with a version that docs/renode.md names.",
        ) from error


def quoted(path: Path) -> str:
    """Return a path in the syntax of Renode's monitor."""
    return "@" + str(path.resolve()).replace(" ", "\\ ")


def _write(address: int, value: int) -> str:
    return f"sysbus WriteDoubleWord 0x{address:08X} 0x{value:08X}"


def _run_for(seconds: float) -> str:
    return f'emulation RunFor "{seconds:.6f}"'


def _written(robot: Robot, address: int) -> bool:
    """Run until the firmware has written a word; return whether it has, within WRITTEN_STEPS."""
    for _ in range(WRITTEN_STEPS):
        if number(robot.execute(f"sysbus ReadDoubleWord 0x{address:08X}")):
            return True
        robot.execute(_run_for(WRITTEN_STEP_S))
    return False


def _check_loaded(robot: Robot, image: Image, vectors: int) -> None:
    """Raise `Blocked` if the first two words of the vector table are not in memory.

    LoadELF reports success for segments outside of any memory. An address without memory reads 0 and causes no fault.
    """
    base, data = next((start, data) for start, data in image.segments if start <= vectors < start + len(data))
    for address in (vectors, vectors + WORD):
        _check_word(robot, address, data[address - base : address - base + WORD], image.path.name)


def _check_word(robot: Robot, address: int, data: bytes, name: str) -> None:
    wanted = int.from_bytes(data, "little")
    found = number(robot.execute(f"sysbus ReadDoubleWord 0x{address:08X}"))
    if found != wanted:
        raise Blocked(
            "bench",
            f"Renode holds 0x{found:08X} at 0x{address:08X} where {name} has 0x{wanted:08X}: "
            "the board's memories in the catalogue do not hold the image.",
        )
