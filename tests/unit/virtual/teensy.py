"""An i.MX RT1062 with a program in flash, without a virtual board around it, and the headers that its boot ROM wants."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault as ModelFault
from hil.standins.virtual.chip.imxrt1062.chip import Imxrt1062
from hil.standins.virtual.chip.machine import Pace

FLASH, IVT, BOOT_DATA, ENTRY, CODE = 0x60000000, 0x60001000, 0x60001020, 0x6000102C, 0x60002000
STACK = 0x20002000
BAUD = 921_600

# From what the boot ROM leaves to sleep with an empty mind: RTWDOG stopped, WFI that stops the core alone.
#     ldr r0, =0x400BC000 ; ldr r1, =0xD928C520 ; str r1, [r0, #4]
#     movw r1, #0xFFFF ; str r1, [r0, #8]
#     ldr r1, [r0] ; bic r1, #0x80 ; orr r1, #0x20 ; str r1, [r0]
#     ldr r0, =0x400FC054 ; movs r1, #0x78 ; str r1, [r0]
#     1: wfi ; b 1b
REST = bytes.fromhex("0848094941604ff6ff718160016821f0800141f02001016004487821016030bffde7000000c00b4020c528d954c00f40")


def config(**changes: int) -> bytes:
    """Return a FlexSPI configuration block: EBh on four lines at 100 MHz. `changes` names words (`x080`) or bytes (`b046`) by offset."""
    out = bytearray(512)
    struct.pack_into("<2I", out, 0, 0x42464346, 0x56010000)
    out[0x44:0x47] = bytes((1, 4, 6))
    struct.pack_into("<I", out, 0x50, 2 << 20)
    struct.pack_into("<3I", out, 0x80, 0x0A1804EB, 0x32041EFF, 0x00002604)
    for place, value in changes.items():
        struct.pack_into("<B" if place[0] == "b" else "<I", out, int(place[1:], 16), value)
    return bytes(out)


def image(program: bytes, header: bytes | None = None, **changes: int) -> bytes:
    """Return an image: configuration block, image vector table, boot data, entry, program. `changes` are of the words from the table on."""
    words = {
        0x00: 0x412000D1,
        0x04: ENTRY,
        0x10: BOOT_DATA,
        0x14: IVT,
        0x20: FLASH,
        0x24: 0x2000 + len(program),
        0x2C: STACK,
        0x30: CODE | 1,
    }
    words |= {int(place[1:], 16): value for place, value in changes.items()}
    table = bytearray(0x1000)
    for at, value in words.items():
        struct.pack_into("<I", table, at, value)
    return (header if header is not None else config()).ljust(0x1000, b"\xff") + bytes(table) + program


@dataclass
class Teensy:
    """An emulated chip and what it did."""

    sent: bytearray = field(default_factory=bytearray)
    edges: list[tuple[str, int, int, int]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chip = Imxrt1062(
            np.random.default_rng(1), self.sent.append, lambda *edge: self.edges.append(edge), self.log.append, BAUD
        )

    def load(self, data: bytes) -> None:
        """Put an image into flash and reset the chip."""
        self.chip.flash.array[:] = 0xFF
        self.chip.flash.array[: len(data)] = np.frombuffer(data, np.uint8)
        self.chip.core.code_changed()
        self.log.clear()
        self.chip.reset()

    def run(self, slices: int = 3000) -> None:
        """Run until nothing happens any more."""
        for _ in range(slices):
            if self.chip.advance() is Pace.WAIT:
                return
        pytest.fail("the program does not come to rest")

    def write(self, address: int, value: int, size: int = 4) -> None:
        self.chip.bus.write(address, size, value)

    def read(self, address: int, size: int = 4) -> int:
        return self.chip.bus.read(address, size)

    def modify(self, address: int, clear: int, value: int) -> None:
        self.write(address, self.read(address) & ~clear | value)

    def pass_time(self, ps: int) -> None:
        """Let virtual time pass."""
        self.chip.clock.wait_until(self.chip.clock.now + ps)
        self.chip._update()

    @property
    def pc(self) -> int:
        return self.chip.core.get(c.PC)


def booted() -> Teensy:
    """Return a chip whose program sleeps; a test goes on by writing registers as a program would."""
    one = Teensy()
    one.load(image(REST))
    one.run()
    assert one.chip.asleep and one.chip.fault is None
    return one
