"""Platform of a board for Renode: memories and clock from the catalogue, the rest from a table in `platforms/`."""

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
class PlatformStage:
    """One stage of the start: run for a time, then write registers.

    Attributes:
        after: address of a word that the firmware must have written (not 0) before the time of the stage begins. If it
            does not write it, the stage is left out.
        run_s: virtual time [s] to run.
        write: (address, value) of the words that the hardware would have set in registers at the end of the stage.
    """

    after: int | None
    run_s: float
    write: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Platform:
    """The table of one board.

    Attributes:
        cpu: Renode's name of the core.
        uart: name of the UART in `peripherals`.
        peripherals: Renode's own models that the port needs, in the language of .repl files.
        registers: (name, start, size [bytes]) of register blocks that only store what is written.
        values: (address, value) of registers before the start.
        commands: monitor commands before the start.
        boot: stages to run before the serial line is offered.
    """

    cpu: str
    uart: str
    peripherals: str
    registers: tuple[tuple[str, int, int], ...]
    values: tuple[tuple[int, int], ...]
    commands: tuple[str, ...]
    boot: tuple[PlatformStage, ...]


def why_not(board: str) -> str | None:
    """Return why Renode cannot stand in for a board, or None if it can.

    The reason is `cannot` of the board's table, or that the board has no table.
    """
    file = PLATFORMS / f"{board}.toml"
    reason = _table(file).get("cannot") if file.is_file() else "it has no platform file"
    return None if reason is None else str(reason)


@cache
def _table(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def load_platform(board: Board) -> Platform:
    """Return the table of a board.

    Raises:
        Blocked: Renode cannot stand in for the board (see `why_not`).
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
        tuple(PlatformStage(stage.get("after"), stage["run_s"], _pairs(stage["write"])) for stage in raw["boot"]),
    )


def _pairs(rows: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((address, value) for address, value in rows)


def description(board: Board, platform: Platform) -> str:
    """Return the platform as text of a .repl file, which needs no other file of Renode and no download.

    One instruction takes one cycle: PerformanceInMips is the clock in MHz, so DWT and SysTick count instructions
    (docs/renode.md).
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
