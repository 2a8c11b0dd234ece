"""The UART models of Renode that the platforms use, by what is written of them in docs/renode.md."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Send = Callable[[int], None]


class ArrayMemory:
    """Registers that hold what is written."""

    def __init__(self, size: int) -> None:
        self.words = bytearray(size)

    def read(self, offset: int) -> int:
        return int.from_bytes(self.words[offset : offset + 4], "little")

    def write(self, offset: int, value: int) -> None:
        self.words[offset : offset + 4] = value.to_bytes(4, "little")


class Stm32F7Usart:
    """No FIFO bits: RXNE and TXE, and an interrupt by RXNEIE alone (the receiver time-out is left out: not every version has it)."""

    def __init__(self, send: Send) -> None:
        self.send, self.received = send, deque[int]()
        self.cr1 = 0

    @property
    def interrupt(self) -> bool:
        return bool(self.received) and self.cr1 & 1 << 5 != 0

    def read(self, offset: int) -> int:
        if offset == 0x00:
            return self.cr1
        if offset == 0x1C:
            return 0x200000C0 | (1 << 5 if self.received else 0)
        return self.received.popleft() if offset == 0x24 and self.received else 0

    def write(self, offset: int, value: int) -> None:
        if offset == 0x00:
            self.cr1 = value & ~(0x7 << 29)  # reserved bits of this model, FIFOEN among them
        if offset == 0x28 and self.cr1 & 0x9 == 0x9:
            self.send(value & 0xFF)


class Pl011:
    """A FIFO of one byte: the receive interrupt with every byte, no time-out; the transmit interrupt after every write."""

    RX, TX = 1 << 4, 1 << 5

    def __init__(self, send: Send) -> None:
        self.send, self.received = send, deque[int]()
        self.cr = self.imsc = self.raw_tx = 0

    @property
    def masked(self) -> int:
        return ((self.RX if self.received else 0) | self.raw_tx) & self.imsc

    @property
    def interrupt(self) -> bool:
        return self.masked != 0

    def read(self, offset: int) -> int:
        if offset == 0x00:
            return self.received.popleft() if self.received else 0
        return {0x18: 1 << 7 | (0 if self.received else 1 << 4), 0x30: self.cr, 0x40: self.masked}.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        if offset == 0x00 and self.cr & 0x101 == 0x101:
            self.send(value & 0xFF)
            self.raw_tx = self.TX
        elif offset == 0x30:
            self.cr = value
        elif offset == 0x38:
            self.imsc = value
        elif offset == 0x44:
            self.raw_tx &= ~value


class Counters:
    """The system space: what is written, but for a DWT or SysTick that counts on with every reading."""

    CYCCNT, CVR = 0x1004, 0xE018

    def __init__(self) -> None:
        self.words: dict[int, int] = {}
        self.count = 0

    def read(self, offset: int) -> int:
        self.count += 100
        if offset == self.CYCCNT:
            return self.count & 0xFFFFFFFF
        return -self.count & 0xFFFFFF if offset == self.CVR else self.words.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        self.words[offset] = value


MODELS = {"UART.STM32F7_USART": Stm32F7Usart, "UART.PL011": Pl011}
