"""An RP2040 with a small program in flash, without a virtual board around it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.rp2040.chip import Rp2040

from . import rp2040_programs as programs

XIP, CODE, BEHIND_START = 0x10000000, 0x200, 0x140
STACK = 0x20002000
HARD_FAULT, SVCALL, SYSTICK, TIMER_0 = 3, 11, 15, 16


def crc32(data: bytes) -> int:
    """CRC-32 by polynomial division of the whole message, most significant bit first, with the first 32 bits inverted."""
    message = int.from_bytes(data, "big") << 32 ^ 0xFFFFFFFF << 8 * len(data)
    for bit in range(8 * len(data) + 31, 31, -1):
        if message >> bit & 1:
            message ^= 0x104C11DB7 << bit - 32
    return message


def image(program: bytes, handlers: dict[int, int] | None = None, boot2: bytes = programs.BOOT2) -> bytes:
    """Return what stands in flash: second stage with its CRC, vector table, program (exception number -> offset in it)."""
    stage = boot2.ljust(252, b"\0")
    table = [STACK, XIP + CODE | 1] + [0] * 62
    for number, offset in (handlers or {}).items():
        table[number] = XIP + CODE + offset | 1
    return stage + struct.pack("<I", crc32(stage)) + struct.pack("<64I", *table) + program


def behind_start(program: bytes) -> bytes:
    """Return a program that sets the clocks up first."""
    return programs.START.ljust(BEHIND_START, b"\0") + program


@dataclass
class Pico:
    """An emulated chip and what it did."""

    sent: bytearray = field(default_factory=bytearray)
    edges: list[tuple[str, int, int, int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chip = Rp2040(
            np.random.default_rng(1), self.sent.append, lambda *edge: self.edges.append(edge), self.log.append, 921600
        )

    def load(self, data: bytes) -> None:
        """Put an image into flash and power the chip on."""
        self.chip.flash.array[:] = 0xFF
        self.chip.flash.array[: len(data)] = np.frombuffer(data, np.uint8)
        self.chip.core.code_changed()
        self.chip.power_on()

    def run(self, slices: int = 3000) -> None:
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
        """Let virtual time pass."""
        self.chip.clock.wait_until(self.chip.clock.now + ps)

    def r(self, number: int) -> int:
        return self.chip.core.get(c.R[number])
