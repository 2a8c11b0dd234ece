"""LPUART of i.MX RT1062 with its FIFOs of four words and its DMA requests (IMXRT1060RM, LPUART), in virtual time.

If the baud rate differs too much from that of the line, bytes are damaged and framing errors are flagged. Parity, 9 and
10 bits, matching, breaks, flow control and infrared are not modelled.
"""

from __future__ import annotations

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062.edma import EdmaRequests
from hil.standins.virtual.chip.line_uart import LineUart, LineWiring
from hil.standins.virtual.chip.registers import Register

DEPTH = 4
_DATA = 0x1C
RST = 1 << 1
RDMAE, TDMAE = 1 << 21, 1 << 23
PF, FE, NF, OR, IDLE, RDRF, TC, TDRE, RAF = (1 << i for i in range(16, 25))
ILT = 1 << 2
RE, TE, ILIE, RIE, TCIE, TIE, PEIE, FEIE, NEIE, ORIE = (1 << i for i in range(18, 28))
RXFE, TXFE, RXFLUSH, TXFLUSH = 1 << 3, 1 << 7, 1 << 14, 1 << 15
RXEMPT, TXEMPT = 1 << 22, 1 << 23
# Flags of STAT and the bits of CTRL that enable their interrupts.
INTERRUPTS = (IDLE, ILIE), (RDRF, RIE), (TC, TCIE), (TDRE, TIE), (OR, ORIE), (NF, NEIE), (FE, FEIE), (PF, PEIE)

_REGISTERS = (
    Register("VERID", 0x00, "FEATURE:0-15/r MINOR:16-23/r MAJOR:24-31/r", 0x04010003),
    Register("PARAM", 0x04, "TXFIFO:0-7/r RXFIFO:8-15/r", 0x0202),
    Register("GLOBAL", 0x08, "RST:1"),
    Register("PINCFG", 0x0C, "TRGSEL:0-1/x"),
    Register("BAUD", 0x10, "SBR:0-12 SBNS:13 RXEDGIE:14/x LBKDIE:15/x RESYNCDIS:16 BOTHEDGE:17 MATCFG:18-19/x "
             "RIDMAE:20/x RDMAE:21 TDMAE:23 OSR:24-28 M10:29/x MAEN2:30/x MAEN1:31/x", 0x0F000004),
    Register("STAT", 0x14, "MA2F:14/c MA1F:15/c PF:16/c FE:17/c NF:18/c OR:19/c IDLE:20/c RDRF:21/r TC:22/r TDRE:23/r "
             "RAF:24/r LBKDE:25/x BRK13:26/x RWUID:27/x RXINV:28/x MSBF:29/x RXEDGIF:30/c LBKDIF:31/c", 0x00C00000),
    Register("CTRL", 0x18, "PT:0 PE:1/x ILT:2 WAKE:3/x M:4/x RSRC:5/x DOZEEN:6/x LOOPS:7/x IDLECFG:8-10 M7:11/x "
             "MA2IE:14/x MA1IE:15/x SBK:16/x RWU:17/x RE:18 TE:19 ILIE:20 RIE:21 TCIE:22 TIE:23 PEIE:24 FEIE:25 "
             "NEIE:26 ORIE:27 TXINV:28/x TXDIR:29/x R9T8:30/x R8T9:31/x"),
    Register("DATA", 0x1C, "DATA:0-7/w T8:8/w T9:9/w IDLINE:11/r RXEMPT:12/r FRETSC:13/w PARITYE:14/r "
             "NOISY:15/r", 0x1000),
    Register("MATCH", 0x20, "MA1:0-9 MA2:16-25"),
    Register("MODIR", 0x24, "TXCTSE:0/x TXRTSE:1/x TXRTSPOL:2/x RXRTSE:3/x TXCTSC:4/x TXCTSSRC:5/x RTSWATER:8-9/x "
             "TNP:16-17/x IREN:18/x"),
    Register("FIFO", 0x28, "RXFIFOSIZE:0-2/r RXFE:3 TXFIFOSIZE:4-6/r TXFE:7 RXUFE:8/x TXOFE:9/x RXIDEN:10-12/x "
             "RXFLUSH:14/w TXFLUSH:15/w RXUF:16/c TXOF:17/c RXEMPT:22/r TXEMPT:23/r", 0x00C00011),
    Register("WATER", 0x2C, "TXWATER:0-1 TXCOUNT:8-10/r RXWATER:16-17 RXCOUNT:24-26/r"),
)  # fmt: skip


def speed(baud: int, kernel_hz: int) -> float:
    """Return the baud rate for a value of BAUD and a root clock in Hz; raise ValueError if the value is not allowed."""
    samples, divider = (baud >> 24 & 0x1F) + 1, baud & 0x1FFF
    if samples < 4 or not divider:
        raise ValueError("OSR must be at least 3 and SBR not 0")
    if samples < 8 and not baud & 1 << 17:
        raise ValueError("OSR below 7 needs BOTHEDGE")
    return kernel_hz / (samples * divider)


class Lpuart(LineUart):
    """An LPUART in asynchronous mode.

    Args:
        name, base, clock, wiring: see LineUart.
        dma: DMA requests for received bytes and for bytes to send.
    """

    SIZES = (1, 2, 4)
    REGISTERS = _REGISTERS

    def __init__(self, name: str, base: int, clock: Clock, wiring: LineWiring, dma: EdmaRequests) -> None:
        self._dma = dma
        super().__init__(name, base, clock, wiring)
        self.on_write("BAUD", then=self.requests_changed, held=self._running, bits=~(RDMAE | TDMAE))
        self.on_write("WATER", then=self._refresh, held=self._running)

    # the line

    def next_event(self) -> int | None:
        """Return the virtual time of the next event that software or the other end can notice, or None."""
        times = []
        if self._incoming and self._listening:
            times.append(self._rx_end + (self._bytes_until_interrupt() - 1) * self._line_byte_ps)
        if self.value["CTRL"] & ILIE:
            times += self._next_silence()
        if self._shifting is not None:
            ahead = len(self._queued)
            if self.value["BAUD"] & TDMAE:
                ahead = max(0, self._dma.left() - 1) if self._dma.left() else ahead
            elif self.value["CTRL"] & TIE:
                ahead = max(0, ahead - self.field("WATER", "TXWATER") - 1)
            times.append(self._tx_end + ahead * self._byte_ps)
        return min(times, default=None)

    @property
    def _listening(self) -> bool:
        return bool(self.value["CTRL"] & RE) and self.clocked and self._connected()[1]

    def _bytes_until_interrupt(self) -> int:
        """Return the number of received bytes until an interrupt may change, at most all incoming bytes."""
        wanted = len(self._incoming)
        if self.value["BAUD"] & RDMAE:
            return min(wanted, self._dma.until_interrupt() or wanted)
        if self.value["CTRL"] & RIE:
            wanted = min(wanted, max(1, self.field("WATER", "RXWATER") + 1 - len(self._received)))
        return wanted

    def _take(self, data: bytes) -> None:
        if self._wrong:
            data = bytes((byte << 1 | 1) & 0xFF for byte in data)
            self.value["STAT"] |= FE
        if self.value["BAUD"] & RDMAE:
            if self._received:
                raise ModelFault(f"{self.name}: DMA requests are enabled while bytes wait in the FIFO; flush it first")
            data = data[self._dma.receive(data, self.base + _DATA) :]
        room = (DEPTH if self.value["FIFO"] & RXFE else 1) - len(self._received)
        if self.value["STAT"] & OR:
            return  # after an overrun nothing is stored until the flag is cleared
        if len(data) > room:
            self.value["STAT"] |= OR
        self._received.extend(data[:room])

    def _silence_at(self) -> int:
        return (self._silence_from or 0) + (1 << self.field("CTRL", "IDLECFG")) * self._line_byte_ps

    def _on_silence(self) -> None:
        self.value["STAT"] |= IDLE

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
        while self.value["BAUD"] & TDMAE and len(self._queued) <= self.field("WATER", "TXWATER"):
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
        if self.value["CTRL"] & TE:
            self.update(self._clock.now)
            self._refill()
            self._refresh()

    # flags and the interrupt

    def _status(self) -> int:
        flags = self.value["STAT"] & ~(TDRE | TC)
        if len(self._received) > self.field("WATER", "RXWATER"):
            flags |= RDRF
        if len(self._queued) <= (self.field("WATER", "TXWATER") if self.value["FIFO"] & TXFE else 0):
            flags |= TDRE
        return flags if self._shifting is not None else flags | TC

    def _interrupt_level(self) -> bool:
        control, flags = self.value["CTRL"], self._status()
        return any(flags & flag and control & enable for flag, enable in INTERRUPTS)

    # registers

    def write(self, offset: int, size: int, value: int) -> None:
        if self.value["GLOBAL"] & RST and offset != 0x08:
            raise self._fault(self._register(offset, size, "write"), "write", "it is held in reset; clear GLOBAL.RST")
        super().write(offset, size, value)

    def write_global(self, _old: int, new: int, _acting: int) -> None:
        if new & RST:
            self.reset()
        self.value["GLOBAL"] = new

    def _running(self) -> str:
        on = self.value["CTRL"] & (RE | TE)
        return "transmitter or receiver are on; clear CTRL.TE and CTRL.RE first" if on else ""

    def write_fifo(self, old: int, new: int, acting: int) -> None:
        if (old ^ new) & (RXFE | TXFE) and self._running():
            raise ModelFault(f"{self.name}_FIFO changes while {self._running()}")
        self.value["FIFO"] = new
        if acting & RXFLUSH:
            self._received.clear()
        if acting & TXFLUSH:
            self._queued.clear()
        self._refresh()

    def write_ctrl(self, old: int, new: int, _acting: int) -> None:
        self.value["CTRL"] = new
        if new & ~old & (RE | TE):
            self._set_speed()
        if not new & RE:
            self._received.clear()
            self._silence_from = None
        self._due = 0
        self.requests_changed()
        self._refresh()

    def _set_speed(self) -> None:
        try:
            baud = speed(self.value["BAUD"], self._kernel_hz())
        except ValueError as why:
            raise ModelFault(f"{self.name}_BAUD is 0x{self.value['BAUD']:08X} when it is enabled: {why}") from why
        self._byte_ps = int((10 + self.field("BAUD", "SBNS")) * PS_PER_S / baud)
        self._wrong = f"{baud:.0f}" if self._is_wrong(baud) else ""
        self._due = 0
        if self._wrong:
            self._log(f"{self.name} runs at {self._wrong} baud, the line at {self._line_baud}: bytes are damaged")

    def clock_changed(self) -> None:
        """Update the baud rate: the root clock may have changed."""
        if self.clocked and self.value["CTRL"] & (RE | TE):
            self._set_speed()

    def read_stat(self, _value: int) -> int:
        self.update(self._clock.now)
        busy = self._incoming and self._clock.now >= self._incoming_since
        return self._status() | (RAF if busy else 0)

    def write_stat(self, old: int, new: int, _acting: int) -> None:
        self.update(self._clock.now)
        self.value["STAT"] &= ~(old & ~new)  # the flags that were written as 1
        self._refresh()

    def read_fifo(self, value: int) -> int:
        self.update(self._clock.now)
        return value & ~(RXEMPT | TXEMPT) | (0 if self._received else RXEMPT) | (0 if self._queued else TXEMPT)

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
        if not self.value["CTRL"] & TE:
            raise ModelFault(f"{self.name}_DATA is written while the transmitter is off")
        if len(self._queued) < (DEPTH if self.value["FIFO"] & TXFE else 1):
            self._queue(acting & 0xFF)
        self._refresh()
