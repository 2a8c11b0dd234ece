"""A PL011 UART of the RP2040 (data sheet, 4.2; ARM DDI 0183G), in virtual time.

The interrupts of the FIFOs come when a level is crossed, not while it holds, and the divisors are taken when LCR_H is written:
both as on silicon. At a baud rate too far from the line's, bytes are damaged and framing errors flagged. Parity, break, IrDA,
flow control and DMA are not modelled.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.rp2040 import pl011_registers as u
from hil.standins.virtual.chip.rp2040.apb import ApbBlock

FIFO = 32
_EIGHTHS = (1, 2, 4, 6, 7)
TOLERANCE = 0.03  # of the baud rate: the middle of the stop bit, 9.5 bits on, must still be inside it
_TIMEOUT_BITS = 32
_NEVER = 1 << 63


class Pl011(ApbBlock):
    """Args:
        name, base: as in the data sheet.
        clock: virtual time.
        kernel_hz: returns clk_peri, 0 while it is off.
        connected: whether the pins are routed to this UART: (transmit, receive).
        drive: called with the level of the interrupt line when it changes.
        send: takes each byte when its stop bit has left.
        line_baud: what the other end of the line is set to.
        log: receives one line about a wrong baud rate.
    """

    REGISTERS = u.REGISTERS

    def __init__(
        self, name: str, base: int, clock: Clock, kernel_hz: Callable[[], int], connected: Callable[[], tuple[bool, bool]],
        drive: Callable[[bool], None], send: Callable[[int], None], line_baud: int, log: Callable[[str], None],
    ) -> None:  # fmt: skip
        super().__init__(name, base)
        self._clock = clock
        self._kernel_hz = kernel_hz
        self._connected = connected
        self._drive = drive
        self._send = send
        self._line_baud = line_baud
        self._log = log
        self._line_byte_ps = 10 * PS_PER_S // line_baud
        self._incoming: deque[int] = deque()
        self._rx_end = 0  # when the first incoming byte will have been received
        self._forget()

    def _forget(self) -> None:
        self._raw = 0
        self._overrun = False
        self._received: deque[int] = deque()
        self._queued: deque[int] = deque()
        self._divisor = 0
        self._bit_ps = self._byte_ps = 0
        self._wrong = ""  # the present speed, if the line's differs too much
        self._told = False
        self._shifting: int | None = None
        self._tx_end = 0
        self._silence_from: int | None = None
        self._high = False

    def reset(self) -> None:
        super().reset()
        self._forget()
        self._drive(False)

    # the line

    def feed(self, data: bytes) -> None:
        """Put bytes on the receive line, behind those that are still on their way."""
        if data and not self._incoming:
            self._rx_end = max(self._clock.now, self._rx_end) + self._line_byte_ps
        self._incoming.extend(data)

    @property
    def backlog(self) -> int:
        """Bytes that are still on their way to the receiver."""
        return len(self._incoming)

    @property
    def transmitting(self) -> bool:
        """Whether a byte is leaving: more output is about to come."""
        return self._shifting is not None

    def update(self, now: int) -> None:
        """Bring both directions up to `now`."""
        while self._incoming and now >= self._rx_end:
            self._note_silence(self._rx_end - self._line_byte_ps)
            self._take(self._incoming.popleft())
            self._rx_end += self._line_byte_ps if self._incoming else 0
        self._note_silence(now)
        while self._shifting is not None and now >= self._tx_end:
            self._shift_out()
        self._refresh()

    def next_event(self) -> int | None:
        """Return the virtual time of the next thing that software or the other end would notice, or None."""
        times = []
        listening = self._listening
        if self._incoming and listening:
            times.append(self._rx_end + (self._bytes_until_interrupt() - 1) * self._line_byte_ps)
        if self._silence_from is not None and self.value["IMSC"] & u.RT:
            start = self._rx_end - self._line_byte_ps if self._incoming else _NEVER
            times += [self._timeout_at()] if self._timeout_at() <= start else []
        if self._shifting is not None:
            ahead = len(self._queued)
            if self.value["IMSC"] & u.TX:
                ahead = max(0, ahead - self._tx_trigger)
            times.append(self._tx_end + ahead * self._byte_ps)
        return min(times, default=None)

    @property
    def _listening(self) -> bool:
        return self.value["CR"] & (u.UARTEN | u.RXE) == u.UARTEN | u.RXE and self.clocked and self._connected()[1]

    def _bytes_until_interrupt(self) -> int:
        """Return how many more bytes change what the interrupts see; the last one on its way at the latest."""
        level, wanted = len(self._received), len(self._incoming)
        if self.value["IMSC"] & u.RX and level < self._rx_trigger:
            wanted = min(wanted, self._rx_trigger - level)
        if self.value["IMSC"] & u.OE:
            wanted = min(wanted, max(1, self._depth + 1 - level))
        return wanted

    @property
    def _depth(self) -> int:
        return FIFO if self.value["LCR_H"] & u.FEN else 1

    @property
    def _rx_trigger(self) -> int:
        return self._depth * _EIGHTHS[min(self.field("IFLS", "RXIFLSEL"), 4)] // 8 or 1

    @property
    def _tx_trigger(self) -> int:
        return self._depth * _EIGHTHS[min(self.field("IFLS", "TXIFLSEL"), 4)] // 8

    def _take(self, byte: int) -> None:
        if not self._listening:
            return
        if self._wrong:
            byte = self._damage(byte) | u.DR_FE
            self._raw |= u.FE
        if len(self._received) >= self._depth:
            self._raw |= u.OE
            self._overrun = True
            return
        self._received.append(byte | (u.DR_OE if self._overrun else 0))
        self._overrun = False
        if len(self._received) == self._rx_trigger:
            self._raw |= u.RX
        self._silence_from = self._rx_end

    def _timeout_at(self) -> int:
        return (self._silence_from or 0) + _TIMEOUT_BITS * self._bit_ps

    def _note_silence(self, now: int) -> None:
        if self._silence_from is not None and now >= self._timeout_at():
            self._silence_from = None
            if self._received:
                self._raw |= u.RT

    def _shift_out(self) -> None:
        if self._shifting is not None and self._connected()[0]:
            self._send(self._damage(self._shifting) if self._wrong else self._shifting)
        self._shifting = None
        if self._queued:
            self._shifting = self._queued.popleft()
            self._tx_end += self._byte_ps
            if len(self._queued) == self._tx_trigger:
                self._raw |= u.TX

    def _refresh(self) -> None:
        high = bool(self._raw & self.value["IMSC"]) and bool(self.value["CR"] & u.UARTEN)
        if high != self._high:
            self._high = high
            self._drive(high)

    # registers

    def write_lcr_h(self, _old: int, new: int, _acting: int) -> None:
        if self.value["CR"] & u.UARTEN and (new ^ self.value["LCR_H"]) & ~u.FEN:
            raise ModelFault(f"{self.name}_LCR_H changes the frame while the UART is enabled; clear UARTEN first")
        self.value["LCR_H"] = new
        self._divisor = self.value["IBRD"] << 6 | self.value["FBRD"]
        if not new & u.FEN:
            self._received.clear()
            self._queued.clear()

    def write_cr(self, old: int, new: int, _acting: int) -> None:
        self.value["CR"] = new
        if new & ~old & u.UARTEN:
            self._set_speed()
        self._refresh()

    def _set_speed(self) -> None:
        hz = self._kernel_hz()
        if not hz:
            raise ModelFault(f"{self.name} is enabled while clk_peri is off; set CLK_PERI_CTRL.ENABLE first")
        if self._divisor < 1 << 6 or self._divisor > 0xFFFF << 6:
            raise ModelFault(f"{self.name} is enabled with a divisor of {self._divisor / 64}; write IBRD, FBRD, then LCR_H")
        if self.field("LCR_H", "WLEN") != 3:
            raise ModelFault(f"{self.name} is enabled with words of {5 + self.field('LCR_H', 'WLEN')} bits; the line has 8")
        baud = 4 * hz / self._divisor
        self._bit_ps = self._divisor * PS_PER_S // (4 * hz)
        self._byte_ps = (11 if self.field("LCR_H", "STP2") else 10) * self._bit_ps
        self._wrong = f"{baud:.0f} baud" if abs(baud / self._line_baud - 1) > TOLERANCE else ""

    def _damage(self, byte: int) -> int:
        """Return what becomes of a byte between two ends of different speed."""
        if not self._told:
            self._told = True
            self._log(f"{self.name} runs at {self._wrong}, the line at {self._line_baud}: bytes are damaged")
        return byte * 0x9D & 0xFF

    def clock_changed(self) -> None:
        """clk_peri may have changed under a running UART; while it stands, so does the UART."""
        if self.value["CR"] & u.UARTEN and self.clocked and self._kernel_hz():
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
        flags = (0 if received else u.RXFE) | (u.RXFF if received >= self._depth else 0)
        flags |= (0 if queued else u.TXFE) | (u.TXFF if queued >= self._depth else 0)
        return flags | (u.BUSY if self._shifting is not None else 0)

    def read_dr(self, _value: int) -> int:
        self.update(self._clock.now)
        word = self._received.popleft() if self._received else 0
        if len(self._received) < self._rx_trigger:
            self._raw &= ~u.RX
        if not self._received:
            self._raw &= ~u.RT
        self._refresh()
        return word

    def write_dr(self, _old: int, _new: int, acting: int) -> None:
        now = self._clock.now
        self.update(now)
        if self.value["CR"] & (u.UARTEN | u.TXE) != u.UARTEN | u.TXE:
            raise ModelFault(f"{self.name}_DR is written while the transmitter is off")
        if not self._kernel_hz():
            raise ModelFault(f"{self.name}_DR is written while clk_peri is off; set CLK_PERI_CTRL.ENABLE first")
        if self._shifting is None:
            self._shifting = acting & 0xFF
            self._tx_end = now + self._byte_ps
        elif len(self._queued) < self._depth:
            self._queued.append(acting & 0xFF)
        else:
            raise ModelFault(f"{self.name}_DR is written while the transmit FIFO is full: the byte is lost; wait for FR.TXFF")
        if len(self._queued) > self._tx_trigger:
            self._raw &= ~u.TX
        self._refresh()
