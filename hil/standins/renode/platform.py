"""A board as Renode is told of it: memories and clock from the catalogue, the rest from the board's table in `platforms/`."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hil.boards import Board
from hil.errors import Blocked

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PLATFORMS = Path(__file__).parent / "platforms"


@dataclass(frozen=True)
class Stage:
    """A stretch of virtual time [s], and the words that the hardware would have put into registers at its end (address, value)."""

    run_s: float
    write: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Platform:
    """One board's table.

    Attributes:
        cpu: Renode's name of the core.
        uart: name of the UART in `peripherals`.
        peripherals: Renode's own models that the port needs, in the language of .repl files.
        registers: (name, start, size): registers that only hold what is written into them.
        values: (address, value) of registers before the start.
        commands: monitor commands before the start.
        boot: what happens before the serial line is offered.
    """

    cpu: str
    uart: str
    peripherals: str
    registers: tuple[tuple[str, int, int], ...]
    values: tuple[tuple[int, int], ...]
    commands: tuple[str, ...]
    boot: tuple[Stage, ...]


def why_not(board: str) -> str | None:
    """Return why Renode cannot stand in for a board, or None where it can: a table may hold a reason and nothing else."""
    file = PLATFORMS / f"{board}.toml"
    reason = _table(file).get("cannot") if file.is_file() else "nobody has written its platform"
    return None if reason is None else str(reason)


@cache
def _table(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def load_platform(board: Board) -> Platform:
    """Return the table of a board.

    Raises:
        Blocked: there is none, or it says why Renode cannot model the board.
    """
    reason = why_not(board.name)
    if reason is not None:
        raise Blocked("bench", f"Renode cannot stand in for {board.name} ({reason}): use --reality={board.stand_in}.")
    raw = _table(PLATFORMS / f"{board.name}.toml")
    return Platform(
        raw["cpu"],
        raw["uart"],
        raw["peripherals"],
        tuple((name, start, size) for name, (start, size) in raw["registers"].items()),
        _pairs(raw["values"]),
        tuple(raw.get("commands", ())),
        tuple(Stage(stage["run_s"], _pairs(stage["write"])) for stage in raw["boot"]),
    )


def _pairs(rows: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((address, value) for address, value in rows)


def description(board: Board, platform: Platform) -> str:
    """Return the platform in the language of Renode's .repl files; it needs no file of Renode's own and no download.

    One instruction is one cycle: with as many million instructions a second as the clock has megahertz, DWT and SysTick
    count instructions (docs/renode.md).
    """
    lines = [
        "cpu: CPU.CortexM @ sysbus",
        f'    cpuType: "{platform.cpu}"',
        "    nvic: nvic",
        f"    PerformanceInMips: {board.clock_hz // 1_000_000}",
        "",
        "nvic: IRQControllers.NVIC @ sysbus 0xE000E000",
        f"    systickFrequency: {board.clock_hz}",
        "    -> cpu@0",
    ]
    if board.counter == "dwt":
        lines += ["", "dwt: Miscellaneous.DWT @ sysbus 0xE0001000", f"    frequency: {board.clock_hz}"]
    for region in board.memory:
        lines += [
            "",
            f"{region.name}: Memory.MappedMemory @ sysbus 0x{region.start:08X}",
            f"    size: 0x{region.size:X}",
        ]
    for name, start, size in platform.registers:
        lines += ["", f"{name}: Memory.ArrayMemory @ sysbus 0x{start:08X}", f"    size: 0x{size:X}"]
    return "\n".join(lines) + "\n\n" + platform.peripherals.strip() + "\n"
