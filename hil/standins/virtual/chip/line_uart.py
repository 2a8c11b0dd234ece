"""What the UARTs have in common whose other end has a speed of its own: bytes on their way in both directions, in virtual time.

Both directions are worked out when somebody looks or when an event is due, not byte by byte. What follows without a gap is received together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.registers import Block

TOLERANCE = 0.03  # of the baud rate: the middle of the stop bit, 9.5 bits on, must still be inside it


class LineUart(Block):
    """A subclass forgets its state in `_forget`, takes bytes in `_take`, and says in the other hooks what it hears, notices, sends and asks for.

    Args:
        name, base: as in the manual.
        clock: virtual time.
        kernel_hz: returns the clock that the baud rate is made of; may raise ModelFault.
        connected: whether the pins are routed to this UART: (transmit, receive).
        drive: called with the level of the interrupt line when it changes.
        send: takes each byte when its stop bit has left.
        line_baud: what the other end of the line is set to.
        log: receives one line about a wrong baud rate.
    """

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
        self._received: deque[int] = deque()
        self._queued: deque[int] = deque()
        self._byte_ps = 0
        self._wrong = ""  # the present speed, if the line's differs too much
        self._shifting: int | None = None
        self._tx_end = 0  # when the byte in the shift register will have left
        self._silence_from: int | None = None  # end of the last received byte, until the silence behind it is noticed
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
        if self._incoming and now >= self._rx_end:
            self._receive_until(now)
        self._note_silence(now)
        while self._shifting is not None and now >= self._tx_end:
            self._shift_out()
        self._refresh()

    def _receive_until(self, now: int) -> None:
        complete = min(len(self._incoming), (now - self._rx_end) // self._line_byte_ps + 1)
        self._note_silence(self._incoming_since)
        data = bytes(self._incoming.popleft() for _ in range(complete))
        last = self._rx_end + (complete - 1) * self._line_byte_ps
        self._rx_end = last + self._line_byte_ps if self._incoming else last
        if self._listening:
            self._silence_from = last
            self._take(data)

    @property
    def _incoming_since(self) -> int:
        """When the start bit of the first incoming byte came."""
        return self._rx_end - self._line_byte_ps

    def _next_silence(self) -> list[int]:
        """Return when the silence behind the last byte will be noticed, where no byte ends it before."""
        if self._silence_from is None or (self._incoming and self._silence_at() > self._incoming_since):
            return []
        return [self._silence_at()]

    def _note_silence(self, now: int) -> None:
        if self._silence_from is not None and now >= self._silence_at():
            self._silence_from = None
            self._silent()

    def _refresh(self) -> None:
        high = self._asking()
        if high != self._high:
            self._high = high
            self._drive(high)

    def _is_wrong(self, baud: float) -> bool:
        return abs(baud / self._line_baud - 1) > TOLERANCE

    # what a subclass says

    @property
    def _listening(self) -> bool:
        """Whether the receiver is on."""
        raise NotImplementedError

    def _take(self, data: bytes) -> None:
        """Receive bytes that came without a gap."""
        raise NotImplementedError

    def _silence_at(self) -> int:
        """Return when the silence that began at `_silence_from` is noticed."""
        raise NotImplementedError

    def _silent(self) -> None:
        """Notice a silence."""
        raise NotImplementedError

    def _shift_out(self) -> None:
        """The byte in the shift register has left."""
        raise NotImplementedError

    def _asking(self) -> bool:
        """Return the level of the interrupt line."""
        raise NotImplementedError
