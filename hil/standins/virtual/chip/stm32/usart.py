"""A USART of STM32H7A3/7B3 in asynchronous mode: flags, interrupt and registers (RM0455, USART registers)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.line_uart import UartWiring
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.stm32 import usart_registers as u
from hil.standins.virtual.chip.stm32.dma import DmaStream
from hil.standins.virtual.chip.stm32.usart_line import FIFO, UsartLine

_EIGHTHS = (2, 4, 8, 12, 14, 16)  # thresholds of RXFTCFG and TXFTCFG in bytes
_PRESCALER = (1, 2, 4, 6, 8, 10, 12, 16, 32, 64, 128, 256)
_STOP_HALF_BITS = (2, 1, 4, 3)


class Usart(UsartLine):
    """A USART. Args: see UsartLine."""

    SIZES = (1, 2, 4)
    REGISTERS: tuple[Register, ...] = u.REGISTERS

    # flags and the interrupt

    def _set_thresholds(self) -> None:
        self._rx_threshold = _EIGHTHS[min(self.field("CR3", "RXFTCFG"), 5)]
        self._tx_threshold = _EIGHTHS[min(self.field("CR3", "TXFTCFG"), 5)]

    def _status(self) -> int:
        """Return ISR without BUSY."""
        control = self.value["CR1"]
        flags = self._flags
        received, queued = len(self._received), len(self._queued)
        if received:
            flags |= u.RXNE
        if control & u.UE:
            flags |= (u.TEACK if control & u.TE else 0) | (u.REACK if control & u.RE else 0)
        if not control & u.FIFOEN:
            return flags if queued else flags | u.TXE
        if queued < FIFO:
            flags |= u.TXE
        if not queued:
            flags |= u.TXFE
        if received > FIFO:
            flags |= u.RXFF
        if received >= self._rx_threshold:
            flags |= u.RXFT
        if FIFO - queued >= self._tx_threshold:
            flags |= u.TXFT
        return flags

    def _refresh(self) -> None:
        control, control3, flags = self.value["CR1"], self.value["CR3"], self._status()
        asking = (
            (flags & u.IDLE and control & u.IDLEIE)
            or (flags & (u.RXNE | u.ORE) and control & u.RXNEIE)
            or (flags & u.TC and control & u.TCIE)
            or (flags & u.TXE and control & u.TXEIE)
            or (flags & u.RTOF and control & u.RTOIE)
            or (flags & u.TXFE and control & u.TXFEIE)
            or (flags & u.RXFF and control & u.RXFFIE)
            or (flags & u.RXFT and control3 & u.RXFTIE)
            or (flags & u.TXFT and control3 & u.TXFTIE)
            or (flags & (u.ORE | u.FE | u.NE) and control3 & u.EIE)
        )
        high = bool(asking) and bool(control & u.UE)
        if high != self._high:
            self._high = high
            self._drive(high)
        self._due = self._next_change()

    # registers

    def write_cr1(self, old: int, new: int, _acting: int) -> None:
        if old & u.UE and new & u.UE and (old ^ new) & u.ONLY_WHEN_DISABLED:
            raise ModelFault(f"{self.name}_CR1: FIFOEN, M or OVER8 changes while the USART is enabled")
        self.value["CR1"] = new
        if new & u.UE and not old & u.UE:
            self._set_speed()
        if old & u.UE and not new & u.UE:
            self._flags = u.TC
            self._received.clear()
            self._queued.clear()
            self._shifting = self._silence_from = self._idle_from = None
        self._refresh()

    def _set_speed(self) -> None:
        divider = self.value["BRR"]
        over8 = self.value["CR1"] & u.OVER8
        if over8:
            divider = divider & 0xFFF0 | (divider & 7) << 1
        if divider < 16:
            raise ModelFault(f"{self.name}_BRR is 0x{self.value['BRR']:X} when UE is set; it must be at least 16")
        clock = self._kernel_hz() // self._prescaler() * (2 if over8 else 1)
        self._bit_ps = divider * PS_PER_S // clock
        data_bits = {0: 8, 1: 9, 2: 7}.get(self.field("CR1", "M1") << 1 | self.field("CR1", "M0"), 8)
        half_bits = 2 * (1 + data_bits) + _STOP_HALF_BITS[self.field("CR2", "STOP")]
        self._byte_ps = self._line_byte_ps = half_bits * self._bit_ps // 2
        self._set_timeout()
        if self._incoming:
            self._rx_end = self._clock.now + self._byte_ps

    def _prescaler(self) -> int:
        return _PRESCALER[min(self.field("PRESC", "PRESCALER"), 11)]

    def _set_timeout(self) -> None:
        self._timeout_ps = self.field("RTOR", "RTO") * self._bit_ps

    def write_rtor(self, _old: int, new: int, _acting: int) -> None:
        self.value["RTOR"] = new
        self._set_timeout()
        self._refresh()

    def _only_disabled(self, register: str, old: int, new: int, mask: int) -> None:
        if self.value["CR1"] & u.UE and (old ^ new) & mask:
            raise ModelFault(f"{self.name}_{register} changes while the USART is enabled; clear UE first")
        self.value[register] = new

    def write_brr(self, old: int, new: int, _acting: int) -> None:
        self._only_disabled("BRR", old, new, 0xFFFF)

    def write_presc(self, old: int, new: int, _acting: int) -> None:
        self._only_disabled("PRESC", old, new, 0xF)

    def write_cr2(self, old: int, new: int, _acting: int) -> None:
        self._only_disabled("CR2", old, new, 0x3000)
        self._refresh()

    def write_cr3(self, _old: int, new: int, _acting: int) -> None:
        self.value["CR3"] = new
        self._set_thresholds()
        self._refresh()

    def write_icr(self, _old: int, _new: int, acting: int) -> None:
        self.update(self._clock.now)
        self._flags &= ~(acting & (u.PE | u.FE | u.NE | u.ORE | u.IDLE | u.TC | u.RTOF))
        self._refresh()

    def write_rqr(self, _old: int, _new: int, acting: int) -> None:
        if acting & 8:
            self._received.clear()
        if acting & 16:
            self._queued.clear()
        self._refresh()

    def read_isr(self, _value: int) -> int:
        now = self._clock.now
        self.update(now)
        busy = self._incoming and now >= self._rx_end - self._byte_ps
        return self._status() | u.BUSY if busy else self._status()

    def read_rdr(self, _value: int) -> int:
        self.update(self._clock.now)
        byte = self._received.popleft() if self._received else 0
        if self._high:  # reading a byte can only lower the interrupt line
            self._refresh()
        return byte

    def write_tdr(self, _old: int, _new: int, acting: int) -> None:
        now = self._clock.now
        self.update(now)
        if self.value["CR1"] & (u.UE | u.TE) != u.UE | u.TE:
            raise ModelFault(f"{self.name}_TDR is written while the transmitter is off")
        self._give(acting & 0xFF)
        if self._high:  # writing a byte can only lower the interrupt line
            self._refresh()
        elif self._tx_end < self._due:
            self._due = self._tx_end

    def _give(self, byte: int) -> None:
        """Queue a byte to send; it is lost if the queue is full."""
        self._flags &= ~u.TC
        if self._shifting is None:
            self._shifting = byte
            self._tx_end = self._clock.now + self._byte_ps
        elif len(self._queued) < (FIFO if self.value["CR1"] & u.FIFOEN else 1):
            self._queued.append(byte)


DMAR, DMAT = 1 << 6, 1 << 7


class DmaUsart(Usart):
    """A USART with DMA requests.

    Args:
        name, base, clock, wiring: see Usart.
        stream: returns the DMA stream that serves `NAME_RX` or `NAME_TX` and has bytes left, or None.
    """

    def __init__(
        self, name: str, base: int, clock: Clock, wiring: UartWiring, stream: Callable[[str], DmaStream | None]
    ) -> None:
        self._stream = stream
        super().__init__(name, base, clock, wiring)

    def serve(self) -> None:
        """Move received bytes and bytes to send by the DMA."""
        receiver = self._receiver()
        while receiver is not None and self._received and receiver.left:
            receiver.put(bytes([self._received.popleft()]))
        self._fill()
        self._refresh()

    def _receiver(self) -> DmaStream | None:
        return self._stream(f"{self.name}_RX") if self.value["CR3"] & DMAR else None

    def _sender(self) -> DmaStream | None:
        ready = self.value["CR3"] & DMAT and self.value["CR1"] & (u.UE | u.TE) == u.UE | u.TE
        return self._stream(f"{self.name}_TX") if ready else None

    def _fill(self) -> None:
        sender = self._sender()
        room = FIFO if self.value["CR1"] & u.FIFOEN else 1
        while sender is not None and sender.left and len(self._queued) < room:
            self._give(sender.get())

    # the lines

    def _take(self, data: bytes) -> None:
        self._idle_from = self._silence_from
        receiver = self._receiver()
        taken = receiver.put(data) if receiver is not None else 0
        if taken < len(data):
            super()._take(data[taken:])

    def _shift_out(self) -> None:
        super()._shift_out()
        self._fill()

    def _bytes_until_interrupt(self) -> int:
        receiver = self._receiver()
        wanted = super()._bytes_until_interrupt()
        return wanted if receiver is None else min(wanted, receiver.until_interrupt())

    def _bytes_until_sent(self) -> int:
        sender = self._sender()
        if sender is None:
            return super()._bytes_until_sent()
        # The queue is full while a byte is sent; the DMA writes another byte whenever one moves to the shift register.
        return min(len(self._queued) + sender.left, sender.until_interrupt() - 1)

    # registers

    def write_cr1(self, old: int, new: int, acting: int) -> None:
        super().write_cr1(old, new, acting)
        self.serve()

    def write_cr3(self, old: int, new: int, acting: int) -> None:
        super().write_cr3(old, new, acting)
        self.serve()
