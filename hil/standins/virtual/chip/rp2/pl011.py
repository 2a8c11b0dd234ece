"""A PL011 UART of RP2040 and RP2350 (data sheets, 4.2 and 12.1; ARM DDI 0183G), in virtual time.

As on silicon, the interrupts of the FIFOs come when a level is crossed, not while it holds, and the divisors take
effect when LCR_H is written. If the baud rate differs too much from that of the line, bytes are damaged and framing
errors are flagged. Parity, break, IrDA, flow control and sending by DMA are not modelled. The DMA is much faster than
the line: a byte that it moves never appears in the FIFO.
"""

from __future__ import annotations

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.line_uart import LineUart, LineWiring, wrong_rate
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock
from hil.standins.virtual.chip.rp2.dma import RpDma

FIFO = 32
_EIGHTHS = (1, 2, 4, 6, 7)
_TIMEOUT_BITS = 32
RX, TX, RT, FE, OE = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 10  # in RIS, MIS, IMSC, ICR
UARTEN, TXE, RXE = 1, 1 << 8, 1 << 9  # in CR
FEN = 1 << 4  # in LCR_H
RXFE, TXFF, RXFF, TXFE, BUSY = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 3  # in FR
RXDMAE = 1  # in DMACR
DR_FE, DR_OE = 1 << 8, 1 << 11
_SOURCES = "RI:0{0} CTS:1{0} DCD:2{0} DSR:3{0} RX:4{0} TX:5{0} RT:6{0} FE:7{0} PE:8{0} BE:9{0} OE:10{0}"
_IDS = {0xFE0: 0x11, 0xFE4: 0x10, 0xFE8: 0x34, 0xFEC: 0x00, 0xFF0: 0x0D, 0xFF4: 0xF0, 0xFF8: 0x05, 0xFFC: 0xB1}

_REGISTERS = (
    Register("DR", 0x000, "DATA:0-7/w FE:8/r PE:9/r BE:10/r OE:11/r"),
    Register("RSR", 0x004, "FE:0/c PE:1/c BE:2/c OE:3/c"),
    Register("FR", 0x018, "CTS:0/r DSR:1/r DCD:2/r BUSY:3/r RXFE:4/r TXFF:5/r RXFF:6/r TXFE:7/r RI:8/r", 0x90),
    Register("ILPR", 0x020, "ILPDVSR:0-7/x"),
    Register("IBRD", 0x024, "BAUD_DIVINT:0-15"),
    Register("FBRD", 0x028, "BAUD_DIVFRAC:0-5"),
    Register("LCR_H", 0x02C, "BRK:0/x PEN:1/x EPS:2 STP2:3 FEN:4 WLEN:5-6 SPS:7/x"),
    Register("CR", 0x030, "UARTEN:0 SIREN:1/x SIRLP:2/x LBE:7/x TXE:8 RXE:9 DTR:10 RTS:11 OUT1:12 OUT2:13 RTSEN:14/x "
             "CTSEN:15/x",
             0x300),
    Register("IFLS", 0x034, "TXIFLSEL:0-2 RXIFLSEL:3-5", 0x12),
    Register("IMSC", 0x038, _SOURCES.format("")),
    Register("RIS", 0x03C, _SOURCES.format("/r")),
    Register("MIS", 0x040, _SOURCES.format("/r")),
    Register("ICR", 0x044, _SOURCES.format("/w")),
    Register("DMACR", 0x048, "RXDMAE:0 TXDMAE:1/x DMAONERR:2/x"),
    *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value) for offset, value in _IDS.items()),
)  # fmt: skip


class Pl011(LineUart, ApbBlock):
    """A PL011 UART.

    Args:
        name, base, clock: see LineUart.
        wiring: what the chip connects to it; its `kernel_hz` returns clk_peri in Hz, 0 while it is off.
        dma: DMA for received bytes.
        request: number of the receive request.
    """

    REGISTERS = _REGISTERS

    def __init__(self, name: str, base: int, clock: Clock, wiring: LineWiring, dma: RpDma, request: int) -> None:
        self._dma, self._request = dma, request
        super().__init__(name, base, clock, wiring)
        self.on_write("IFLS", then=self._set_triggers)

    def _forget(self) -> None:
        super()._forget()
        self._raw = 0
        self._overrun = False
        self._divisor = self._bit_ps = self._hz = 0
        self._damage_logged = False
        self._set_triggers()

    # the line

    def next_event(self) -> int | None:
        """Return the virtual time of the next event that software or the other end can notice, or None."""
        times = []
        if self._incoming and self._listening:
            times.append(self._rx_end + (self._bytes_until_interrupt() - 1) * self._line_byte_ps)
        if self.value["IMSC"] & RT:
            times += self._next_silence()
        if self._shifting is not None:
            ahead = len(self._queued)
            if self.value["IMSC"] & TX:
                ahead = max(0, ahead - self._tx_trigger)
            times.append(self._tx_end + ahead * self._byte_ps)
        return min(times, default=None)

    @property
    def _listening(self) -> bool:
        return self.value["CR"] & (UARTEN | RXE) == UARTEN | RXE and self.clocked and self._connected()[1]

    def _bytes_until_interrupt(self) -> int:
        """Return the number of received bytes until an interrupt may change, at most all incoming bytes."""
        level, wanted = len(self._received), len(self._incoming)
        fetched = self._dma.left(self._request) if self._fetching else 0  # these bytes bypass the FIFO
        if fetched:
            wanted = min(wanted, self._dma.until_interrupt(self._request) or wanted)
        if self.value["IMSC"] & RX and level < self._rx_trigger:
            wanted = min(wanted, fetched + self._rx_trigger - level)
        if self.value["IMSC"] & OE:
            wanted = min(wanted, fetched + max(1, self._depth + 1 - level))
        return wanted

    @property
    def _fetching(self) -> bool:
        return bool(self.value["DMACR"] & RXDMAE)

    def _set_triggers(self) -> None:
        """Set the depth of the FIFOs and the levels of their interrupts, after a change of LCR_H or IFLS."""
        self._depth = FIFO if self.value["LCR_H"] & FEN else 1
        self._rx_trigger = self._depth * _EIGHTHS[min(self.field("IFLS", "RXIFLSEL"), 4)] // 8 or 1
        self._tx_trigger = self._depth * _EIGHTHS[min(self.field("IFLS", "TXIFLSEL"), 4)] // 8

    def _take(self, data: bytes) -> None:
        if self._wrong:
            data = bytes(self._damage(byte) for byte in data)
            self._raw |= FE
        rest = data[self._dma.receive(self._request, data) :] if self._fetching else data
        before, room = len(self._received), self._depth - len(self._received)
        flags = DR_FE if self._wrong else 0
        for byte in rest[:room]:
            self._received.append(byte | flags | (DR_OE if self._overrun else 0))
            self._overrun = False
        if len(rest) > room:
            self._raw |= OE
            self._overrun = True
        if before < self._rx_trigger <= len(self._received):
            self._raw |= RX

    def _silence_at(self) -> int:
        return (self._silence_from or 0) + _TIMEOUT_BITS * self._bit_ps

    def _on_silence(self) -> None:
        if self._received:
            self._raw |= RT

    def offer(self) -> None:
        """Move bytes from the FIFO by the DMA."""
        if self._fetching and self._received:
            for _ in range(self._dma.receive(self._request, bytes(word & 0xFF for word in self._received))):
                self._received.popleft()
            self._drained()

    def _drained(self) -> None:
        """Update the interrupts after bytes were removed from the FIFO."""
        if len(self._received) < self._rx_trigger:
            self._raw &= ~RX
        if not self._received:
            self._raw &= ~RT
        self._refresh()

    def _shift_out(self) -> None:
        if self._shifting is not None and self._connected()[0]:
            self._send(self._damage(self._shifting) if self._wrong else self._shifting)
        self._shifting = None
        if self._queued:
            self._shifting = self._queued.popleft()
            self._tx_end += self._byte_ps
            if len(self._queued) == self._tx_trigger:
                self._raw |= TX

    def _interrupt_level(self) -> bool:
        return bool(self._raw & self.value["IMSC"]) and bool(self.value["CR"] & UARTEN)

    # registers

    def write_lcr_h(self, _old: int, new: int, _acting: int) -> None:
        if self.value["CR"] & UARTEN and (new ^ self.value["LCR_H"]) & ~FEN:
            raise ModelFault(f"{self.name}_LCR_H changes the frame while the UART is enabled; clear UARTEN first")
        self.value["LCR_H"] = new
        self._divisor = self.value["IBRD"] << 6 | self.value["FBRD"]
        if not new & FEN:
            self._received.clear()
            self._queued.clear()
        self._set_triggers()

    def write_cr(self, old: int, new: int, _acting: int) -> None:
        self.value["CR"] = new
        if new & ~old & UARTEN:
            self._set_speed()
        self._refresh()

    def _set_speed(self) -> None:
        self._hz = hz = self._kernel_hz()
        if not hz:
            raise ModelFault(f"{self.name} is enabled while clk_peri is off; set CLK_PERI_CTRL.ENABLE first")
        if self._divisor < 1 << 6 or self._divisor > 0xFFFF << 6:
            raise ModelFault(f"{self.name} is enabled with a divisor of {self._divisor / 64}; write IBRD, FBRD, LCR_H")
        if self.field("LCR_H", "WLEN") != 3:
            raise ModelFault(f"{self.name} is enabled with words of {5 + self.field('LCR_H', 'WLEN')} bits, not 8")
        baud = 4 * hz / self._divisor
        self._bit_ps = self._divisor * PS_PER_S // (4 * hz)
        self._byte_ps = (11 if self.field("LCR_H", "STP2") else 10) * self._bit_ps
        self._wrong = f"{baud:.0f} baud" if self._is_wrong(baud) else ""
        self._due = 0

    def _damage(self, byte: int) -> int:
        """Return a byte as it is received at a wrong baud rate."""
        if not self._damage_logged:
            self._damage_logged = True
            self._log(f"{self.name} runs at {self._wrong}, the line at {self._line_baud}: bytes are damaged")
        return wrong_rate(byte)

    def clock_changed(self) -> None:
        """Update the baud rate after clk_peri has changed; while clk_peri is off, the UART is stopped."""
        self._hz = self._kernel_hz()
        if self.value["CR"] & UARTEN and self.clocked and self._hz:
            self._set_speed()

    def write_imsc(self, _old: int, new: int, _acting: int) -> None:
        self.update(self._clock.now)
        self.value["IMSC"] = new
        self._refresh()

    def write_icr(self, _old: int, _new: int, acting: int) -> None:
        self.update(self._clock.now)
        self._raw &= ~acting
        self._refresh()

    def read_ris(self, _value: int) -> int:
        self.update(self._clock.now)
        return self._raw

    def read_mis(self, _value: int) -> int:
        self.update(self._clock.now)
        return self._raw & self.value["IMSC"]

    def read_fr(self, _value: int) -> int:
        self.update(self._clock.now)
        received, queued = len(self._received), len(self._queued)
        flags = (0 if received else RXFE) | (RXFF if received >= self._depth else 0)
        flags |= (0 if queued else TXFE) | (TXFF if queued >= self._depth else 0)
        return flags | (BUSY if self._shifting is not None else 0)

    def read_dr(self, _value: int) -> int:
        self.update(self._clock.now)
        if self._fetching and self._dma.left(self._request):
            raise ModelFault(
                f"{self.name}_DR is read while a DMA channel serves it, which breaks the handshake of the two (2.5.3.2)"
            )
        word = self._received.popleft() if self._received else 0
        self._drained()
        return word

    def write_dmacr(self, _old: int, new: int, _acting: int) -> None:
        self.update(self._clock.now)
        self.value["DMACR"] = new
        self.offer()

    def write_dr(self, _old: int, _new: int, acting: int) -> None:
        now = self._clock.now
        self.update(now)
        if self.value["CR"] & (UARTEN | TXE) != UARTEN | TXE:
            raise ModelFault(f"{self.name}_DR is written while the transmitter is off")
        if not self._hz:
            raise ModelFault(f"{self.name}_DR is written while clk_peri is off; set CLK_PERI_CTRL.ENABLE first")
        if self._shifting is None:
            self._shifting = acting & 0xFF
            self._tx_end = now + self._byte_ps
            self._due = min(self._due, self._tx_end)
        elif len(self._queued) < self._depth:
            self._queued.append(acting & 0xFF)
        else:
            raise ModelFault(f"{self.name}_DR is written while the transmit FIFO is full; wait for FR.TXFF")
        if len(self._queued) > self._tx_trigger:
            self._raw &= ~TX
        self._refresh()
