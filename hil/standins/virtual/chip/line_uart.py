"""Base of UARTs: bytes in both directions in virtual time.

Both directions are updated at register accesses and events, not for every byte. Bytes without a gap between them are
received together. A program polls the registers, so the time of the next change is kept: until then nothing is due.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.registers import Block

NEVER = 1 << 63
TOLERANCE = 0.03  # relative error of the baud rate with which the stop bit is still sampled inside it, 9.5 bits later


def wrong_rate(byte: int) -> int:
    """Return a byte as it is received at a wrong baud rate."""
    return byte * 0x9D & 0xFF


@dataclass(frozen=True)
class UartWiring:
    """What a chip connects to one of its UARTs.

    Attributes:
        kernel_hz: returns the frequency of the clock for the baud rate in Hz; may raise ModelFault.
        connected: returns whether the pins are routed to this UART: (transmit, receive).
        drive: called with the level of the interrupt line when it changes.
        send: called with each byte after its stop bit.
    """

    kernel_hz: Callable[[], int]
    connected: Callable[[], tuple[bool, bool]]
    drive: Callable[[bool], None]
    send: Callable[[int], None]


@dataclass(frozen=True)
class LineWiring(UartWiring):
    """What a chip connects to a UART whose line has a baud rate of its own.

    Attributes:
        line_baud: baud rate of the other end of the line.
        log: receives one line about a wrong baud rate.
    """

    line_baud: int
    log: Callable[[str], None]


class UartLine(Block):
    """A UART; the methods at the end of this class are for subclasses.

    Args:
        name, base: name and base address as in the manual.
        clock: virtual time.
        wiring: what the chip connects to it.
        line_byte_ps: time that an incoming byte takes [ps].
    """

    def __init__(self, name: str, base: int, clock: Clock, wiring: UartWiring, line_byte_ps: int = 1) -> None:
        super().__init__(name, base)
        self._clock = clock
        self._kernel_hz, self._connected = wiring.kernel_hz, wiring.connected
        self._drive, self._send = wiring.drive, wiring.send
        self._line_byte_ps = line_byte_ps
        self._incoming = bytearray()
        self._rx_end = 0  # time at which the first incoming byte is complete
        self._forget()

    def _forget(self) -> None:
        self._received: deque[int] = deque()
        self._queued: deque[int] = deque()
        self._byte_ps = 0
        self._shifting: int | None = None
        self._tx_end = 0  # time at which the byte in the shift register is sent
        self._silence_from: int | None = None  # end of the last received byte, until the idle line after it is detected
        self._high = False
        self._due = 0  # time of the next change in either direction; 0 after something else has changed

    def reset(self) -> None:
        super().reset()
        self._forget()
        self._drive(False)

    # the line

    def feed(self, data: bytes) -> None:
        """Put bytes on the receive line, after those that are not received yet."""
        if data and not self._incoming:
            self._rx_end = max(self._clock.now, self._rx_end) + self._line_byte_ps
            self._due = 0
        self._incoming += data

    @property
    def backlog(self) -> int:
        """Number of bytes on the receive line that are not received yet."""
        return len(self._incoming)

    @property
    def transmitting(self) -> bool:
        """Whether a byte is being sent, so that more output follows."""
        return self._shifting is not None

    def update(self, now: int) -> None:
        """Update both directions to the time `now`."""
        if now < self._due:
            return
        if self._incoming and now >= self._rx_end:
            self._receive_until(now)
        self._note_silence(now)
        while self._shifting is not None and now >= self._tx_end:
            self._shift_out()
        self._refresh()
        self._due = self._next_change()

    def _next_change(self) -> int:
        """Return the virtual time of the next change in either direction."""
        due = self._rx_end if self._incoming else NEVER
        if self._shifting is not None and self._tx_end < due:
            due = self._tx_end
        return due if self._silence_from is None else min(due, self._silence_at())

    def _receive_until(self, now: int) -> None:
        complete = min(len(self._incoming), (now - self._rx_end) // self._line_byte_ps + 1)
        self._note_silence(self._rx_end - self._line_byte_ps)
        data = bytes(self._incoming[:complete])
        del self._incoming[:complete]
        last = self._rx_end + (complete - 1) * self._line_byte_ps
        self._rx_end = last + self._line_byte_ps if self._incoming else last
        if self._listening:
            self._silence_from = last
            self._take(data)

    @property
    def _incoming_since(self) -> int:
        """Time of the start bit of the first incoming byte."""
        return self._rx_end - self._line_byte_ps

    def _next_silence(self) -> list[int]:
        """Return the time at which the idle line after the last byte is detected; empty if a byte comes before."""
        if self._silence_from is None or (self._incoming and self._silence_at() > self._incoming_since):
            return []
        return [self._silence_at()]

    def _note_silence(self, now: int) -> None:
        if self._silence_from is not None and now >= self._silence_at():
            self._silence_from = None
            self._on_silence()

    def _refresh(self) -> None:
        high = self._interrupt_level()
        if high != self._high:
            self._high = high
            self._drive(high)

    # hooks for subclasses

    @property
    def _listening(self) -> bool:
        """Whether the receiver is on."""
        raise NotImplementedError

    def _take(self, data: bytes) -> None:
        """Receive bytes that have no gap between them."""
        raise NotImplementedError

    def _silence_at(self) -> int:
        """Return the time at which the idle line that began at `_silence_from` is detected."""
        raise NotImplementedError

    def _on_silence(self) -> None:
        """Handle a detected idle line."""
        raise NotImplementedError

    def _shift_out(self) -> None:
        """Handle the end of the byte in the shift register."""
        raise NotImplementedError

    def _interrupt_level(self) -> bool:
        """Return the level of the interrupt line."""
        raise NotImplementedError


class LineUart(UartLine):
    """A UART on a line with a baud rate of its own.

    Args:
        name, base, clock: see UartLine.
        wiring: what the chip connects to it.
    """

    def __init__(self, name: str, base: int, clock: Clock, wiring: LineWiring) -> None:
        self._line_baud, self._log = wiring.line_baud, wiring.log
        super().__init__(name, base, clock, wiring, 10 * PS_PER_S // wiring.line_baud)

    def _forget(self) -> None:
        super()._forget()
        self._wrong = ""  # the present speed, if it differs too much from that of the line

    def _is_wrong(self, baud: float) -> bool:
        return abs(baud / self._line_baud - 1) > TOLERANCE
