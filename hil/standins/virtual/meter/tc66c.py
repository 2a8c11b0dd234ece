"""A virtual TC66C: answers `getva` with an encrypted record of its readings (sigrok.org/wiki/RDTech_TC66C)."""

from __future__ import annotations

import struct

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.aes import Aes
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.truth import Truth

MOST_A = 6.5
ANSWER_PS = 5 * PS_PER_S // 1000  # from the poll to the end of the record; assumed
LATE_PS = 1200 * PS_PER_S // 1000
POLL = b"getva"
SERIAL, RUNS, DEGREES, BELOW_ZERO = 48724, 40, 27, 0
_KEY = (
    0x58, 0x21, 0xFA, 0x56, 0x01, 0xB2, 0xF0, 0x26, 0x87, 0xFF, 0x12, 0x04, 0x62, 0x2A, 0x4F, 0xB0,
    0x86, 0xF4, 0x02, 0x60, 0x81, 0x6F, 0x9A, 0x0B, 0xA7, 0xF1, 0x06, 0x61, 0x9A, 0xB8, 0x72, 0x88,
)  # fmt: skip


def _shifted_out(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0xA001 if byte & 1 else 0)
    return byte


_CRC = [_shifted_out(byte) for byte in range(256)]


class VirtualTc66c:
    """A TC66C.

    Args:
        truth: true supply.
        errors: errors of the instrument; every reading has the noise of an aperture of 1 s.
        rng: generator of its noise.
        name: model name, four letters.

    Attributes:
        silent: number of the next polls that get no answer.
        late: number of the next answers that come LATE_PS after their poll.
        damaged: number of the next records that are damaged.
    """

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, name: str = "TC66") -> None:
        self._truth, self._errors, self._rng, self._name = truth, errors, rng, name
        self._cipher = Aes(_KEY)
        self._typed = b""
        self._due: list[int] = []
        self.silent = self.late = self.damaged = 0

    def take(self, data: bytes) -> bytes:
        self._typed += data
        while POLL in self._typed:
            self._typed = self._typed.partition(POLL)[2]
            if self.silent:
                self.silent -= 1
                continue
            self._due.append(self._truth.now() + (LATE_PS if self.late else ANSWER_PS))
            self.late = max(0, self.late - 1)
        return self.due()

    def due(self) -> bytes:
        now = self._truth.now()
        ready = sorted(when for when in self._due if when <= now)
        self._due = [when for when in self._due if when > now]
        return b"".join(self._record(when - ANSWER_PS // 2) for when in ready)

    def _record(self, when: int) -> bytes:
        instant = np.array([when])
        amps = self._errors.current(self._truth.current(instant), 1.0, instant / PS_PER_S, self._rng)[0]
        volts = self._errors.voltage(self._truth.volt(), 1, 1.0, self._rng)[0]
        a, v = round(min(max(amps, 0.0), MOST_A) * 1e5), round(max(volts, 0.0) * 1e4)
        head = struct.pack("<4s4s4s", b"pac1", self._name.encode("ascii"), b"1.18")
        first = head + struct.pack("<12I", SERIAL, *[0] * 7, RUNS, v, a, a * v // 100_000)
        second = b"pac2" + struct.pack("<7I", v // a if a else 0, 0, 0, 0, 0, BELOW_ZERO, DEGREES)
        record = bytearray(self._cipher.encrypt(b"".join(_sealed(packet) for packet in (first, second, b"pac3"))))
        if self.damaged:
            self.damaged -= 1
            record[50] ^= 0x10
        return bytes(record)


def _sealed(packet: bytes) -> bytes:
    """Pad a packet to 60 bytes and append its checksum, the CRC-16 of Modbus."""
    packet = packet.ljust(60, b"\0")
    crc = 0xFFFF
    for byte in packet:
        crc = _CRC[(crc ^ byte) & 0xFF] ^ crc >> 8
    return packet + struct.pack("<I", crc)
