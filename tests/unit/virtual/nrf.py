"""An nRF52840 with a small program in flash, without a virtual board around it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.nrf52840.chip import Nrf52840

CODE, STACK, RAM = 0x400, 0x20004000, 0x20000000
BAUD = 1_000_000
US = 10**6  # picoseconds
SLEEP = b"\x30\xbf\xfd\xe7"  # 1: wfi; b 1b

POWER, UARTE, PPI, NVMC, P0, P1 = 0x40000000, 0x40002000, 0x4001F000, 0x4001E000, 0x50000000, 0x50000300
OUTSET, PIN_CNF = 0x508, 0x700


def timer(number: int) -> int:
    return (0x40008000 if number < 3 else 0x40017000) + 0x1000 * number


@dataclass
class Dk:
    """An emulated chip and what it did."""

    sent: bytearray = field(default_factory=bytearray)
    edges: list[tuple[str, int, int, int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chip = Nrf52840(
            np.random.default_rng(1), self.sent.append, lambda *edge: self.edges.append(edge), self.log.append, BAUD
        )

    def load(self, program: bytes, handlers: dict[int, int] | None = None) -> None:
        """Put a program at CODE with its vector table in front (exception number -> offset in the program), and reset."""
        self.chip.nvmc.array[: CODE + len(program)] = np.frombuffer(image(program, handlers), np.uint8)
        self.chip.core.code_changed()
        self.chip.reset()

    def run(self, slices: int = 2000) -> None:
        """Run until nothing happens any more."""
        for _ in range(slices):
            if self.chip.advance() is Pace.WAIT:
                return
        pytest.fail("the program does not come to rest")

    def write(self, address: int, value: int) -> None:
        self.chip.bus.write(address, 4, value)

    def read(self, address: int) -> int:
        return self.chip.bus.read(address, 4)

    def wait(self, ps: int) -> None:
        """Let virtual time pass, and the peripherals see it."""
        self.chip.clock.wait_until(self.chip.clock.now + ps)
        self.chip._now()

    def r(self, number: int) -> int:
        return self.chip.core.get(c.R[number])

    # what most tests begin with

    def start_crystal(self) -> None:
        self.write(POWER, 1)
        self.wait(400 * US)

    def start_uarte(self) -> None:
        """Crystal, pins, 1 Mbaud, on."""
        self.start_crystal()
        self.write(P0 + OUTSET, 1 << 6)
        self.write(P0 + PIN_CNF + 4 * 6, 3)
        self.write(P0 + PIN_CNF + 4 * 8, 3 << 2)
        self.write(UARTE + 0x50C, 0x7FFFFFC6)
        self.write(UARTE + 0x514, 0x7FFFFFC8)
        self.write(UARTE + 0x524, 0x10000000)
        self.write(UARTE + 0x500, 8)

    def receive_into(self, address: int, size: int) -> None:
        self.write(UARTE + 0x534, address)
        self.write(UARTE + 0x538, size)


def image(program: bytes, handlers: dict[int, int] | None = None) -> bytes:
    """Return vector table and program."""
    table = [STACK, CODE | 1] + [0] * (CODE // 4 - 2)
    for number, offset in (handlers or {}).items():
        table[number] = CODE + offset | 1
    return struct.pack(f"<{len(table)}I", *table) + program
