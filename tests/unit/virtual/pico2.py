"""An RP2350 with a small program in flash, without a virtual board around it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.rp2350.chip import Rp2350

from . import rp2350_programs as programs

XIP, BLOCK, CODE, BEHIND_START = 0x10000000, 0x110, 0x200, 0x140
STACK = 0x20002000
HARD_FAULT, SVCALL, SYSTICK, TIMER0_0, UART0 = 3, 11, 15, 16, 49
ARM_SECURE = 0x1021  # IMAGE_TYPE: executable, Secure, Arm, RP2350


def item(kind: int, *words: int, half: int = 0) -> bytes:
    """Return an item of a block, of a kind whose size has one byte."""
    return struct.pack("<BBH", kind, 1 + len(words), half) + struct.pack(f"<{len(words)}I", *words)


def block(*items: bytes, next_block: int = 0) -> bytes:
    """Return a block with the offset of the next one; 0 is a loop of this block alone."""
    body = b"".join(items)
    return b"\xd3\xde\xff\xff" + body + struct.pack("<BHBiI", 0xFF, len(body) // 4, 0, next_block, 0xAB123579)


def image_def(*items: bytes, kind: int = ARM_SECURE, next_block: int = 0) -> bytes:
    """Return a block with an IMAGE_DEF and further items."""
    return block(item(0x42, half=kind), *items, next_block=next_block)


def image(program: bytes, handlers: dict[int, int] | None = None, blocks: bytes | None = None) -> bytes:
    """Return what stands in flash: vector table, block, program (exception number -> offset in it)."""
    table = [STACK, XIP + CODE | 1] + [0] * 66
    for number, offset in (handlers or {}).items():
        table[number] = XIP + CODE + offset | 1
    head = struct.pack("<68I", *table) + (image_def() if blocks is None else blocks)
    assert len(head) <= CODE
    return head.ljust(CODE, b"\0") + program


def behind_start(program: bytes) -> bytes:
    """Return a program that sets the clocks up first."""
    return programs.START.ljust(BEHIND_START, b"\0") + program


@dataclass
class Pico2:
    """An emulated chip and what it did."""

    sent: bytearray = field(default_factory=bytearray)
    edges: list[tuple[str, int, int, int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chip = Rp2350(
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


def started(program: bytes = b"\x30\xbf\xfd\xe7") -> Pico2:
    """Return a chip that has started a program, which by default sleeps."""
    pico = Pico2()
    pico.load(image(behind_start(program)))
    pico.run()
    return pico
