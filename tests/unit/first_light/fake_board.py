"""A board of plain numbers in the place of a device under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hil import boards
from hil.boards import Board
from hil.first_light import BringUp
from hil.first_light.facts import facts_of
from hil.targets.core_sample import Sample
from hil.targets.probe_about import ProbeAbout


@dataclass
class FakeProbe:
    """Memory by words; what is in no memory and not in `words` does not answer.

    `change` may alter what is kept of bytes that are written: (address, bytes) -> bytes.
    """

    board: Board
    words: dict[int, int] = field(default_factory=dict)
    change: Callable[[int, bytes], bytes] = lambda _, data: data
    written: list[tuple[int, bytes]] = field(default_factory=list)
    halted: bool = True
    unique_id: str = "fake"
    no_counter: str | None = None

    def __post_init__(self) -> None:
        self.ram = {memory.name: bytearray(memory.size) for memory in self.board.memory if memory.kind == "ram"}

    def _place(self, address: int, size: int) -> tuple[bytearray, int] | None:
        for memory in self.board.memory:
            if memory.kind == "ram" and address in memory and address + size <= memory.start + memory.size:
                return self.ram[memory.name], address - memory.start
        return None

    def read_ram(self, address: int, size: int) -> bytes | None:
        place = self._place(address, size)
        if place is not None:
            data, at = place
            return bytes(data[at : at + size])
        return self.words[address].to_bytes(4, "little") if address in self.words else None

    def write_ram(self, address: int, data: bytes) -> bool:
        self.written.append((address, data))
        place = self._place(address, len(data))
        if place is not None:
            memory, at = place
            memory[at : at + len(data)] = self.change(address, data)
        elif address in self.words:
            self.words[address] = int.from_bytes(data, "little")
        return place is not None or address in self.words

    def read(self, address: int, size: int) -> bytes:
        return self.read_ram(address, size) or b""

    def look(self) -> Sample:
        return Sample((0,) * 16, 0, False, False, b"")

    def halt_at_reset(self) -> None: ...

    def halt(self) -> None: ...

    def is_halted(self) -> bool:
        return self.halted


def brought_up(
    name: str, folder: Path, words: dict[int, int] | None = None, connect: Callable[[], None] = lambda: None, **dut: Any
) -> BringUp:
    """Return a board of the catalogue whose probe is a `FakeProbe`; `dut` are more attributes of the device."""
    board = boards.load(name)
    probe = FakeProbe(board, dict(words or {}))
    device = {
        "board": board, "probe": probe, "has_probe": True, "has_port": True, "has_meter": False, "reality": "hardware",
        "endpoints": SimpleNamespace(probe="fake", gdb=None), "connect": connect,
        "about_probe": lambda: ProbeAbout("Acme", "Probe", "V2J40"),
    }  # fmt: skip
    return BringUp(SimpleNamespace(**{**device, **dut}), facts_of(name), folder)  # type: ignore[arg-type]
