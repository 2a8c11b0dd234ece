"""The models of Renode 1.16.1 that the platforms use, by what docs/renode.md says of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

Send = Callable[[bytes], None]


class Memory(Protocol):
    """What a model with a DMA of its own reaches."""

    def store(self, address: int, data: bytes) -> None: ...

    def fetch(self, address: int, n: int) -> bytes: ...


class ArrayMemory:
    """Registers that hold what is written."""

    def __init__(self, size: int) -> None:
        self.words = bytearray(size)

    def read(self, offset: int) -> int:
        return int.from_bytes(self.words[offset : offset + 4], "little")

    def write(self, offset: int, value: int, size: int) -> None:
        self.words[offset : offset + size] = value.to_bytes(size, "little")


class Stm32F7Usart:
    """No FIFO bits and no idle interrupt: RXNE, and TXE that is always set; bytes are dropped unless UE and RE."""

    SIZE = 0x400
    UE, RE, TE, RXNEIE = 1 << 0, 1 << 2, 1 << 3, 1 << 5

    def __init__(self, send: Send, memory: Memory) -> None:
        self.send, self.received = send, deque[int]()
        self.cr1 = 0

    @property
    def interrupt(self) -> bool:
        return bool(self.received) and self.cr1 & self.RXNEIE != 0

    def receive(self, data: bytes) -> None:
        if self.cr1 & (self.UE | self.RE) == self.UE | self.RE:
            self.received.extend(data)

    def read(self, offset: int) -> int:
        if offset == 0x00:
            return self.cr1
        if offset == 0x1C:
            acknowledged = (1 << 21 if self.cr1 & self.TE else 0) | (1 << 22 if self.cr1 & self.RE else 0)
            return 0x200000C0 | acknowledged | (1 << 5 if self.received else 0)
        return self.received.popleft() if offset == 0x24 and self.received else 0

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == 0x00:
            self.cr1 = value & ~(0x7 << 29)  # reserved bits of this model, FIFOEN among them
        if offset == 0x28 and self.cr1 & (self.UE | self.TE) == self.UE | self.TE:
            self.send(bytes([value & 0xFF]))


class Pl011:
    """A FIFO of one byte, full with one: no time-out; bytes are dropped unless UARTEN and RXE; raw TX is set with UARTEN."""

    SIZE = 0x400
    RX, TX = 1 << 4, 1 << 5
    UARTEN, TXE, RXE = 1 << 0, 1 << 8, 1 << 9

    def __init__(self, send: Send, memory: Memory) -> None:
        self.send, self.received = send, deque[int]()
        self.cr = self.imsc = self.raw_tx = 0

    @property
    def masked(self) -> int:
        return ((self.RX if self.received else 0) | self.raw_tx) & self.imsc

    @property
    def interrupt(self) -> bool:
        return self.masked != 0

    def receive(self, data: bytes) -> None:
        if self.cr & (self.UARTEN | self.RXE) == self.UARTEN | self.RXE:
            self.received.extend(data)

    def read(self, offset: int) -> int:
        if offset == 0x00:
            return self.received.popleft() if self.received else 0
        flags = 1 << 7 | (1 << 6 if self.received else 1 << 4)
        return {0x18: flags, 0x30: self.cr, 0x40: self.masked}.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == 0x00 and self.cr & (self.UARTEN | self.TXE) == self.UARTEN | self.TXE:
            self.send(bytes([value & 0xFF]))
            self.raw_tx = self.TX
        elif offset == 0x30:
            self.cr = value
            self.raw_tx |= self.TX if value & self.UARTEN else 0
        elif offset == 0x38:
            self.imsc = value
        elif offset == 0x44:
            self.raw_tx &= ~value


class Nrf52840Uarte:
    """EasyDMA without SHORTS: a reception that has ended holds what comes until the next STARTRX, which takes one byte of it."""

    SIZE = 0x1000
    STARTRX, STARTTX, RXDRDY, ENDRX, ENDTX, RXSTARTED = 0x000, 0x008, 0x108, 0x110, 0x120, 0x14C
    BITS = ((RXDRDY, 2), (ENDRX, 4), (ENDTX, 8), (RXSTARTED, 19))
    INTENSET, ENABLE, RXD_PTR, RXD_MAXCNT, TXD_PTR, TXD_MAXCNT = 0x304, 0x500, 0x534, 0x538, 0x544, 0x548

    def __init__(self, send: Send, memory: Memory) -> None:
        self.send, self.memory, self.waiting = send, memory, deque[int]()
        self.words = dict.fromkeys(
            (
                self.ENABLE,
                self.RXD_PTR,
                self.RXD_MAXCNT,
                self.TXD_PTR,
                self.TXD_MAXCNT,
                *(event for event, _ in self.BITS),
            ),
            0,
        )
        self.enabled = self.amount = self.to = 0
        self.started = False

    @property
    def interrupt(self) -> bool:
        return any(self.words[event] and self.enabled >> bit & 1 for event, bit in self.BITS)

    def receive(self, data: bytes) -> None:
        for byte in data:
            if self.words[self.ENABLE] and self.started:
                self.waiting.append(byte)
                self._take()

    def _take(self) -> None:
        if self.words[self.ENDRX]:
            return
        self.memory.store(self.to, bytes([self.waiting.popleft()]))
        self.to, self.amount = self.to + 1, self.amount + 1
        self.words[self.ENDRX] = int(self.amount == self.words[self.RXD_MAXCNT])
        self.words[self.RXDRDY] = 1

    def read(self, offset: int) -> int:
        return self.enabled if offset == self.INTENSET else self.words.get(offset, 0)

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == self.STARTRX and value:
            self.words[self.RXSTARTED], self.started = 1, True
            self.to, self.amount = self.words[self.RXD_PTR], 0
            if self.waiting:
                self._take()
        elif offset == self.STARTTX and value:
            self.words[self.ENDTX] = 1
            self.send(self.memory.fetch(self.words[self.TXD_PTR], self.words[self.TXD_MAXCNT]))
        elif offset == self.INTENSET:
            self.enabled |= value
        elif offset in self.words:
            self.words[offset] = value


class NxpLpuart:
    """No idle line: RDRF with a byte in the FIFO, TDRE always."""

    SIZE = 0x800
    TE, RIE = 1 << 19, 1 << 21
    STAT, CTRL, DATA = 0x14, 0x18, 0x1C

    def __init__(self, send: Send, memory: Memory) -> None:
        self.send, self.received = send, deque[int]()
        self.ctrl = 0

    @property
    def interrupt(self) -> bool:
        return bool(self.received) and self.ctrl & self.RIE != 0

    def receive(self, data: bytes) -> None:
        self.received.extend(data)

    def read(self, offset: int) -> int:
        if offset == self.STAT:
            return 1 << 23 | 1 << 22 | (1 << 21 if self.received else 0)
        if offset == self.DATA:
            return self.received.popleft() if self.received else 0
        return self.ctrl if offset == self.CTRL else 0

    def write(self, offset: int, value: int, size: int) -> None:
        if offset == self.CTRL:
            self.ctrl = value
        elif offset == self.DATA and self.ctrl & self.TE:
            self.send(bytes([value & 0xFF]))


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

    def write(self, offset: int, value: int, size: int) -> None:
        self.words[offset] = value


MODELS = {
    "UART.STM32F7_USART": Stm32F7Usart,
    "UART.PL011": Pl011,
    "UART.NRF52840_UART": Nrf52840Uarte,
    "UART.NXP_LPUART": NxpLpuart,
}
