"""LPUART of i.MX RT1062 with its FIFOs of four words and its DMA requests (IMXRT1060RM, LPUART), in virtual time.

If the baud rate differs too much from that of the line, bytes are damaged and framing errors are flagged. Parity, 9 and
10 bits, matching, breaks, flow control and infrared are not modelled.
"""

from __future__ import annotations

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062 import lpuart_registers as u
from hil.standins.virtual.chip.imxrt1062.requests import EdmaRequests
from hil.standins.virtual.chip.line_uart import LineUart
from hil.standins.virtual.chip.uart_wiring import LineWiring

DEPTH = 4
_DATA = 0x1C


class Lpuart(LineUart):
    """An LPUART in asynchronous mode.

    Args:
        name, base, clock, wiring: see LineUart.
        dma: DMA requests for received bytes and for bytes to send.
    """

    SIZES = (1, 2, 4)
    REGISTERS = u.REGISTERS

    def __init__(self, name: str, base: int, clock: Clock, wiring: LineWiring, dma: EdmaRequests) -> None:
        self._dma = dma
        super().__init__(name, base, clock, wiring)
        self.on_write("BAUD", then=self.requests_changed, held=self._running, bits=~(u.RDMAE | u.TDMAE))
        self.on_write("WATER", then=self._refresh, held=self._running)

    # the line

    def next_event(self) -> int | None:
        """Return the virtual time of the next event that software or the other end can notice, or None."""
        times = []
        if self._incoming and self._listening:
            times.append(self._rx_end + (self._bytes_until_interrupt() - 1) * self._line_byte_ps)
        if self.value["CTRL"] & u.ILIE:
            times += self._next_silence()
        if self._shifting is not None:
            ahead = len(self._queued)
            if self.value["BAUD"] & u.TDMAE:
                ahead = max(0, self._dma.left() - 1) if self._dma.left() else ahead
            elif self.value["CTRL"] & u.TIE:
                ahead = max(0, ahead - self.field("WATER", "TXWATER") - 1)
            times.append(self._tx_end + ahead * self._byte_ps)
        return min(times, default=None)

    @property
    def _listening(self) -> bool:
        return bool(self.value["CTRL"] & u.RE) and self.clocked and self._connected()[1]

    def _bytes_until_interrupt(self) -> int:
        """Return the number of received bytes until an interrupt may change, at most all incoming bytes."""
        wanted = len(self._incoming)
        if self.value["BAUD"] & u.RDMAE:
            return min(wanted, self._dma.until_interrupt() or wanted)
        if self.value["CTRL"] & u.RIE:
            wanted = min(wanted, max(1, self.field("WATER", "RXWATER") + 1 - len(self._received)))
        return wanted

    def _take(self, data: bytes) -> None:
        if self._wrong:
            data = bytes((byte << 1 | 1) & 0xFF for byte in data)
            self.value["STAT"] |= u.FE
        if self.value["BAUD"] & u.RDMAE:
            if self._received:
                raise ModelFault(f"{self.name}: DMA requests are enabled while bytes wait in the FIFO; flush it first")
            data = data[self._dma.receive(data, self.base + _DATA) :]
        room = (DEPTH if self.value["FIFO"] & u.RXFE else 1) - len(self._received)
        if self.value["STAT"] & u.OR:
            return  # after an overrun nothing is stored until the flag is cleared
        if len(data) > room:
            self.value["STAT"] |= u.OR
        self._received.extend(data[:room])

    def _silence_at(self) -> int:
        return (self._silence_from or 0) + (1 << self.field("CTRL", "IDLECFG")) * self._line_byte_ps

    def _on_silence(self) -> None:
        self.value["STAT"] |= u.IDLE

    def _shift_out(self) -> None:
        if self._shifting is not None and self._connected()[0]:
            self._send(self._shifting ^ 0xFF if self._wrong else self._shifting)
        self._shifting = None
        if not self._queued:
            self._refill()  # one that comes now begins now
        if self._queued:
            self._shifting = self._queued.popleft()
            self._tx_end += self._byte_ps
            self._refill()

    def _refill(self) -> None:
        """Fetch bytes through the DMA while the FIFO requests them."""
        while self.value["BAUD"] & u.TDMAE and len(self._queued) <= self.field("WATER", "TXWATER"):
            byte = self._dma.fetch(self.base + _DATA)
            if byte is None:
                return
            self._queue(byte)

    def _queue(self, byte: int) -> None:
        if self._shifting is None and not self._queued:
            self._shifting = byte
            self._tx_end = self._clock.now + self._byte_ps
            self._due = min(self._due, self._tx_end)
        else:
            self._queued.append(byte)

    def requests_changed(self) -> None:
        """Update the transmitter: the DMA may take requests now."""
        if self.value["CTRL"] & u.TE:
            self.update(self._clock.now)
            self._refill()
            self._refresh()

    # flags and the interrupt

    def _status(self) -> int:
        flags = self.value["STAT"] & ~(u.TDRE | u.TC)
        if len(self._received) > self.field("WATER", "RXWATER"):
            flags |= u.RDRF
        if len(self._queued) <= (self.field("WATER", "TXWATER") if self.value["FIFO"] & u.TXFE else 0):
            flags |= u.TDRE
        return flags if self._shifting is not None else flags | u.TC

    def _interrupt_level(self) -> bool:
        control, flags = self.value["CTRL"], self._status()
        return any(flags & flag and control & enable for flag, enable in u.INTERRUPTS)

    # registers

    def write(self, offset: int, size: int, value: int) -> None:
        if self.value["GLOBAL"] & u.RST and offset != 0x08:
            raise self._fault(
                self._register(offset, size, "write"), "write", "the block is held in reset; clear GLOBAL.RST first"
            )
        super().write(offset, size, value)

    def write_global(self, _old: int, new: int, _acting: int) -> None:
        if new & u.RST:
            self.reset()
        self.value["GLOBAL"] = new

    def _running(self) -> str:
        on = self.value["CTRL"] & (u.RE | u.TE)
        return "transmitter or receiver are on; clear CTRL.TE and CTRL.RE first" if on else ""

    def write_fifo(self, old: int, new: int, acting: int) -> None:
        if (old ^ new) & (u.RXFE | u.TXFE) and self._running():
            raise ModelFault(f"{self.name}_FIFO changes while {self._running()}")
        self.value["FIFO"] = new
        if acting & u.RXFLUSH:
            self._received.clear()
        if acting & u.TXFLUSH:
            self._queued.clear()
        self._refresh()

    def write_ctrl(self, old: int, new: int, _acting: int) -> None:
        self.value["CTRL"] = new
        if new & ~old & (u.RE | u.TE):
            self._set_speed()
        if not new & u.RE:
            self._received.clear()
            self._silence_from = None
        self._due = 0
        self.requests_changed()
        self._refresh()

    def _set_speed(self) -> None:
        try:
            baud = u.speed(self.value["BAUD"], self._kernel_hz())
        except ValueError as why:
            raise ModelFault(f"{self.name}_BAUD is 0x{self.value['BAUD']:08X} when it is enabled: {why}") from why
        self._byte_ps = int((10 + self.field("BAUD", "SBNS")) * PS_PER_S / baud)
        self._wrong = f"{baud:.0f}" if self._is_wrong(baud) else ""
        self._due = 0
        if self._wrong:
            self._log(f"{self.name} runs at {self._wrong} baud, the line at {self._line_baud}: bytes are damaged")

    def clock_changed(self) -> None:
        """Update the baud rate: the root clock may have changed."""
        if self.clocked and self.value["CTRL"] & (u.RE | u.TE):
            self._set_speed()

    def read_stat(self, _value: int) -> int:
        self.update(self._clock.now)
        busy = self._incoming and self._clock.now >= self._incoming_since
        return self._status() | (u.RAF if busy else 0)

    def write_stat(self, old: int, new: int, _acting: int) -> None:
        self.update(self._clock.now)
        self.value["STAT"] &= ~(old & ~new)  # the flags that were written as 1
        self._refresh()

    def read_fifo(self, value: int) -> int:
        self.update(self._clock.now)
        return value & ~(u.RXEMPT | u.TXEMPT) | (0 if self._received else u.RXEMPT) | (0 if self._queued else u.TXEMPT)

    def read_water(self, value: int) -> int:
        self.update(self._clock.now)
        return value | len(self._queued) << 8 | len(self._received) << 24

    def read_data(self, _value: int) -> int:
        self.update(self._clock.now)
        value = self._received.popleft() if self._received else 1 << 12  # RXEMPT
        self._refresh()
        return value

    def write_data(self, _old: int, _new: int, acting: int) -> None:
        self.update(self._clock.now)
        if not self.value["CTRL"] & u.TE:
            raise ModelFault(f"{self.name}_DATA is written while the transmitter is off")
        if len(self._queued) < (DEPTH if self.value["FIFO"] & u.TXFE else 1):
            self._queue(acting & 0xFF)
        self._refresh()
