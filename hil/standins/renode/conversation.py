"""What is said to Renode, in which order; to its robot server or to its monitor."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from hil.boards import Board, Image
from hil.errors import Blocked
from hil.standins.renode.platform import Platform


class Console(Protocol):
    """A Renode that takes commands; every call raises `Blocked` where Renode refuses or does not answer within `deadline_s`."""

    deadline_s: float

    def execute(self, command: str) -> str:
        """Execute one monitor command and return what it prints."""
        ...

    def reset(self) -> None:
        """Forget every machine."""
        ...

    def start(self) -> None:
        """Let the virtual time run."""
        ...

    def quit(self) -> None:
        """Ask Renode to end."""
        ...


def boot(console: Console, board: Board, platform: Platform, image: Image, repl: Path, serial: Path) -> None:
    """Build the machine, bring the firmware to where it waits for its first byte, and let it run.

    Args:
        console: a Renode that has just started.
        board, platform: what to build.
        image: the firmware.
        repl: file that holds the platform's description.
        serial: where the link to the pseudo-terminal shall be.

    Raises:
        Blocked: Renode refuses a command, or the firmware is not in memory after it has been loaded.
    """
    vectors = image.symbols["__vectors"]
    console.reset()
    for command in (
        "emulation SetGlobalAdvanceImmediately true",
        'emulation SetGlobalQuantum "0.001"',
        f'mach create "{board.name}"',
        f"machine LoadPlatformDescription {quoted(repl)}",
        f"sysbus LoadELF {quoted(image.path)}",
        f"cpu VectorTableOffset 0x{vectors:08X}",
        *platform.commands,
        *(_write(address, value) for address, value in platform.values),
        f'emulation CreateUartPtyTerminal "term" "{serial}" true',
        f"connector Connect sysbus.{platform.uart} term",
    ):
        console.execute(command)
    _check_loaded(console, image, vectors)
    for stage in platform.boot:
        console.execute(f'emulation RunFor "{stage.run_s:.6f}"')
        for address, value in stage.write:
            console.execute(_write(address, value))
    console.start()


def instructions(console: Console) -> int:
    """Return how many instructions the core has executed (counted by Renode)."""
    return number(console.execute("cpu ExecutedInstructions"))


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


def _check_loaded(console: Console, image: Image, vectors: int) -> None:
    """LoadELF reports success for segments that fell into no memory: an address that nobody answers reads 0 without a fault."""
    base, data = next((start, data) for start, data in image.segments if start <= vectors < start + len(data))
    for address in (vectors, vectors + 4):
        wanted = int.from_bytes(data[address - base : address - base + 4], "little")
        found = number(console.execute(f"sysbus ReadDoubleWord 0x{address:08X}"))
        if found != wanted:
            raise Blocked(
                "bench",
                f"Renode holds 0x{found:08X} at 0x{address:08X} where {image.path.name} has 0x{wanted:08X}: the board's memories in "
                "the catalogue do not hold the image.",
            )
