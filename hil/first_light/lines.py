"""The UART of a board without firmware: set up through the probe, and moved by the stub or by the chip's own DMA.

Sources: RM0385 and RM0455 (USART), ARM DDI 0183G (PL011), IMXRT1060RM (LPUART), nRF52840 Product Specification
(UARTE): registers, by name.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import NamedTuple

from hil.first_light.facts import LineFacts
from hil.first_light.registers import Registers
from hil.first_light.stub import BUFFER_AT, Command, Stub
from hil.steady_clock import steady_s
from hil.targets.core_probe import CoreProbe

CLOSEST = 0.025  # largest error of a rate that is tried: two ends of 8N1 may differ by 4 to 5 % in all
LOOK_S = 0.005
UARTE_RATES = {  # PS, UARTE: BAUDRATE, and the rate that it gives
    9_600: (0x0027_5000, 9_598), 115_200: (0x01D6_0000, 115_108), 230_400: (0x03B0_0000, 231_884),
    460_800: (0x0740_0000, 457_143), 921_600: (0x0F00_0000, 941_176), 1_000_000: (0x1000_0000, 1_000_000),
}  # fmt: skip
STARTRX, STOPRX, STARTTX, STOPTX = 0x000, 0x004, 0x008, 0x00C
ENDRX, ENDTX, RXTO, TXSTOPPED, ENABLE, BAUDRATE = 0x110, 0x120, 0x144, 0x158, 0x500, 0x524
RXD, TXD, AMOUNT, ENABLED = 0x534, 0x544, 8, 8
STOPS_S = 0.5


class Ready(NamedTuple):
    """When a stub may go on: ((word at `address` ^ flip) & mask) is not 0."""

    address: int
    mask: int
    flip: int = 0

    @property
    def fields(self) -> dict[str, int]:
        """Fields of the stub's parameters."""
        return {"status": self.address, "status_mask": self.mask, "status_flip": self.flip}


class Line(ABC):
    """A UART of a chip whose core runs the stub.

    Args:
        facts: of the board.
        probe, stub: at its core.
    """

    def __init__(self, facts: LineFacts, probe: CoreProbe, stub: Stub) -> None:
        self._facts, self._probe, self._stub, self._base = facts, probe, stub, facts.base
        self._registers = Registers(probe)

    def prepare(self) -> None:
        """Set clock and pins. Raises DeviceFault if the chip does not take that."""
        self._probe.halt()
        self._registers.do(self._facts.steps)

    @abstractmethod
    def rate(self, baud: int) -> float | None:
        """Return the rate that the UART makes of a wanted one in bits a second; None if it cannot come near."""

    @abstractmethod
    def open(self, baud: int) -> None:
        """Switch the UART on at a rate that `rate` has; the core stands still."""

    @abstractmethod
    def receive(self, size: int) -> None:
        """Begin to receive so many bytes."""

    @abstractmethod
    def received(self, size: int, seconds: float) -> bytes:
        """Wait for them until nothing has come for so many seconds, and return what came."""

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Begin to send bytes, at most 1,024."""

    @abstractmethod
    def pulse_fields(self) -> dict[str, int]:
        """Return the stub's parameters by which a pulse waits for a byte, and sends one at its end."""


class PolledLine(Line):
    """A UART with a register for a byte that was received and for one to send, which the stub polls."""

    data_in = data_out = 0  # offsets

    @property
    @abstractmethod
    def has_byte(self) -> Ready:
        """When a byte was received."""

    @property
    @abstractmethod
    def has_room(self) -> Ready:
        """When a byte may be written."""

    @abstractmethod
    def set_up(self, baud: int) -> list[tuple[int, int]]:
        """Return offsets and words that switch the UART off and on at a rate."""

    def open(self, baud: int) -> None:
        """Switch the UART on at a rate that `rate` has; the core stands still."""
        self._probe.halt()
        for offset, word in self.set_up(baud):
            self._registers.put(self._base + offset, word)

    def receive(self, size: int) -> None:
        """Begin to receive so many bytes."""
        self._stub.start(Command.RECEIVE, limit=size, data=self._base + self.data_in, **self.has_byte.fields)

    def received(self, size: int, seconds: float) -> bytes:
        """Wait for them until nothing has come for so many seconds, and return what came."""
        done = self._stub.until(lambda done: done.is_finished, seconds)
        return self._stub.buffer(min(done.count, size))

    def send(self, data: bytes) -> None:
        """Begin to send bytes, at most 1,024."""
        self._probe.halt()
        self._stub.write(BUFFER_AT, data)
        self._stub.start(Command.SEND, limit=len(data), data=self._base + self.data_out, **self.has_room.fields)

    def pulse_fields(self) -> dict[str, int]:
        """Return the stub's parameters by which a pulse waits for a byte, and sends one at its end."""
        return {**self.has_byte.fields, "done": self._base + self.data_out, "done_value": 0x2E}


class Usart(PolledLine):
    """USART of STM32F7 and H7."""

    data_in, data_out = 0x24, 0x28  # RDR, TDR

    @property
    def has_byte(self) -> Ready:
        """ISR.RXNE."""
        return Ready(self._base + 0x1C, 1 << 5)

    @property
    def has_room(self) -> Ready:
        """ISR.TXE."""
        return Ready(self._base + 0x1C, 1 << 7)

    def _divider(self, baud: int) -> int:
        return min(max(round(self._facts.clock_hz / baud), 16), 0xFFFF)

    def rate(self, baud: int) -> float | None:
        """Clock / BRR, of 16 bits and at least 16."""
        return _near(baud, self._facts.clock_hz / self._divider(baud))

    def set_up(self, baud: int) -> list[tuple[int, int]]:
        """CR1, BRR, ICR, CR1 with UE, RE and TE."""
        return [(0x00, 0), (0x0C, self._divider(baud)), (0x20, 0x1F), (0x00, 0xD)]


class Pl011(PolledLine):
    """PL011 of RP2040 and RP2350."""

    @property
    def has_byte(self) -> Ready:
        """FR.RXFE is 0."""
        return Ready(self._base + 0x18, 1 << 4, 1 << 4)

    @property
    def has_room(self) -> Ready:
        """FR.TXFF is 0."""
        return Ready(self._base + 0x18, 1 << 5, 1 << 5)

    def _divider(self, baud: int) -> int:
        return max(round(4 * self._facts.clock_hz / baud), 64)

    def rate(self, baud: int) -> float | None:
        """Clock / 16 / divider, which is in 64ths."""
        return _near(baud, 4 * self._facts.clock_hz / self._divider(baud))

    def set_up(self, baud: int) -> list[tuple[int, int]]:
        """CR, IBRD, FBRD, LCR_H with 8 bits and FIFOs, CR with UARTEN, TXE and RXE."""
        divider = self._divider(baud)
        return [(0x30, 0), (0x24, divider // 64), (0x28, divider % 64), (0x2C, 0x70), (0x30, 0x301)]


class Lpuart(PolledLine):
    """LPUART of i.MX RT1062."""

    data_in = data_out = 0x1C  # DATA

    @property
    def has_byte(self) -> Ready:
        """STAT.RDRF."""
        return Ready(self._base + 0x14, 1 << 21)

    @property
    def has_room(self) -> Ready:
        """STAT.TDRE."""
        return Ready(self._base + 0x14, 1 << 23)

    def _divider(self, baud: int) -> tuple[int, int]:
        """Return samples of a bit, of 8 to 32, and the divider."""
        clock = self._facts.clock_hz
        pairs = [(samples, min(max(round(clock / samples / baud), 1), 0x1FFF)) for samples in range(8, 33)]
        return min(pairs, key=lambda pair: abs(clock / pair[0] / pair[1] - baud))

    def rate(self, baud: int) -> float | None:
        """Clock / samples / divider."""
        samples, divider = self._divider(baud)
        return _near(baud, self._facts.clock_hz / samples / divider)

    def set_up(self, baud: int) -> list[tuple[int, int]]:
        """GLOBAL.RST, BAUD, FIFO, CTRL with TE and RE."""
        samples, divider = self._divider(baud)
        return [(0x08, 2), (0x08, 0), (0x10, (samples - 1) << 24 | divider), (0x28, 0x88), (0x18, 0xC_0000)]


class Uarte(Line):
    """UARTE of nRF52840: EasyDMA moves the bytes, between the line and the stub's buffer."""

    def rate(self, baud: int) -> float | None:
        """That of the table of the manual."""
        return float(UARTE_RATES[baud][1]) if baud in UARTE_RATES else None

    def _put(self, offset: int, word: int) -> None:
        self._registers.put(self._base + offset, word)

    def _await(self, event: int, seconds: float) -> bool:
        end = steady_s() + seconds
        while not self._registers.word(self._base + event):
            if steady_s() > end:
                return False
            time.sleep(LOOK_S)
        return True

    def open(self, baud: int) -> None:
        """Switch the UART on at a rate that `rate` has; the core runs the stub."""
        if self._registers.word(self._base + ENABLE) == ENABLED:
            for task, event in ((STOPTX, TXSTOPPED), (STOPRX, RXTO)):  # PS, UARTE: both stand before it is switched off
                self._put(event, 0)
                self._put(task, 1)
                self._await(event, STOPS_S)
        self._put(ENABLE, 0)
        self._put(BAUDRATE, UARTE_RATES[baud][0])
        self._put(ENABLE, ENABLED)
        self._stub.start(Command.SPIN)

    def receive(self, size: int) -> None:
        """Begin to receive so many bytes."""
        self._transfer(RXD, ENDRX, STARTRX, size)

    def _transfer(self, pointer: int, event: int, task: int, size: int) -> None:
        self._put(pointer, self._stub.place + BUFFER_AT)
        self._put(pointer + 4, size)
        self._put(event, 0)
        self._put(task, 1)

    def received(self, size: int, seconds: float) -> bytes:
        """Wait for them until nothing has come for so many seconds, and return what came."""
        if not self._await(ENDRX, seconds):
            self._put(STOPRX, 1)
            self._await(RXTO, STOPS_S)
        return self._stub.buffer(min(self._registers.word(self._base + RXD + AMOUNT), size))

    def send(self, data: bytes) -> None:
        """Begin to send bytes, at most 1,024."""
        self._stub.write(BUFFER_AT, data)
        self._transfer(TXD, ENDTX, STARTTX, len(data))

    def pulse_fields(self) -> dict[str, int]:
        """Return the stub's parameters by which a pulse waits for a byte, and sends one at its end."""
        self._put(TXD, self._stub.place + BUFFER_AT)
        self._put(TXD + 4, 1)
        self.receive(1)
        return {"status": self._base + ENDRX, "status_mask": 1, "done": self._base + STARTTX, "done_value": 1}


KINDS: dict[str, type[Line]] = {"usart": Usart, "pl011": Pl011, "lpuart": Lpuart, "uarte": Uarte}


def _near(wanted: int, made: float) -> float | None:
    return made if abs(made / wanted - 1) <= CLOSEST else None
