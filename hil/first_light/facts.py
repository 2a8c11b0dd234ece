"""What a first light knows of a board beside the catalogue: registers that it reads and writes, with their sources.

One file NAME.toml a board in `boards/`. A step is a row:

    ["set", address, bits]             read, set these bits, write back
    ["clear", address, bits]           the same, and clear them
    ["field", address, mask, value]    the same, for the bits of a mask; nothing is written if they have the value
    ["put", address, value]            write
    ["wait", address, mask, value]     read until the bits of the mask have the value
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from hil.bounded_read import packaged_toml

FOLDER = Path(__file__).parent / "boards"
Step: TypeAlias = "tuple[str, tuple[int, ...]]"  # verb, and its numbers
Store: TypeAlias = "tuple[int, int]"  # address and value of one store; of a level, address and mask


@dataclass(frozen=True)
class Revision:
    """Where the chip says its revision: the word at `address`, shifted right and masked.

    `names` are the known ones; with `letters` the word is four letters of ASCII.
    """

    address: int
    shift: int
    mask: int = 0xFFFF_FFFF
    names: dict[str, str] = field(default_factory=dict)
    letters: bool = False

    def of(self, word: int) -> str:
        """Return the revision in words, given the word."""
        value = word >> self.shift & self.mask
        if self.letters:
            return value.to_bytes(4, "big").decode("ascii", "replace")
        known = {int(key, 0): name for key, name in self.names.items()}
        return known.get(value, f"0x{value:X}" + (" (not in the manual that the rig's author had)" if known else ""))


@dataclass(frozen=True)
class Lock:
    """A protection of the chip, read only: it is open if the word at `address`, masked, is `open`."""

    register: str
    address: int
    mask: int
    open: int


@dataclass(frozen=True)
class ResetClock:
    """Frequency of the core's clock out of reset in Hz, and the share by which it may be off."""

    hz: int
    error: float


@dataclass(frozen=True)
class LineFacts:
    """The UART at the serial port: what kind it is, where, the clock of its baud rate, and how pins and clock are set.

    `kind` is one of `hil.first_light.lines.KINDS`. `core_hz` is the frequency of the core's clock after the steps, if
    they change it, and `core_error` the share by which it may be off.
    """

    kind: str
    base: int
    clock_hz: int
    steps: tuple[Step, ...]
    core_hz: int = 0
    core_error: float = 0.01  # of a crystal far less; of what a meter resolves, more


@dataclass(frozen=True)
class MarkerFacts:
    """The marker pin: how it becomes an output, the stores that raise and lower it, and where its level is read."""

    steps: tuple[Step, ...]
    on: Store
    off: Store
    level: Store | None = None


@dataclass(frozen=True)
class Facts:
    """What is known of a board; what is None or empty is not known, and its stages are not possible."""

    revision: Revision | None = None
    ram_at_reset: dict[str, int] = field(default_factory=dict)  # bytes, of memories that the program makes larger
    locks: tuple[Lock, ...] = ()
    supply: tuple[Step, ...] = ()
    sleep: tuple[Step, ...] = ()  # before WFI, where it would stop more than the core
    reset_clock: ResetClock | None = None
    line: LineFacts | None = None
    marker: MarkerFacts | None = None


def facts_of(board: str) -> Facts:
    """Return what is known of a board of the catalogue; empty facts if it has no file here."""
    path = FOLDER / f"{board}.toml"
    raw = packaged_toml(path) if path.is_file() else {}
    line, marker = raw.get("line"), raw.get("marker")
    return Facts(
        revision=Revision(**raw["revision"]) if "revision" in raw else None,
        ram_at_reset=raw.get("ram_at_reset", {}),
        locks=tuple(Lock(**lock) for lock in raw.get("lock", [])),
        supply=_steps(raw.get("supply", {}).get("steps", [])),
        sleep=_steps(raw.get("sleep", {}).get("steps", [])),
        reset_clock=ResetClock(**raw["reset_clock"]) if "reset_clock" in raw else None,
        line=LineFacts(**{**line, "steps": _steps(line["steps"])}) if line else None,
        marker=_marker(marker) if marker else None,
    )


def _marker(raw: dict[str, Any]) -> MarkerFacts:
    level = raw.get("level")
    return MarkerFacts(_steps(raw["steps"]), _store(raw["on"]), _store(raw["off"]), _store(level) if level else None)


def _steps(rows: Sequence[Sequence[Any]]) -> tuple[Step, ...]:
    return tuple((str(verb), tuple(map(int, numbers))) for verb, *numbers in rows)


def _store(pair: Sequence[int]) -> Store:
    address, value = pair
    return address, value
