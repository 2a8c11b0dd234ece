"""The line between the host's serial port and the chip's UART, with flow control to the chip and injected faults."""

from __future__ import annotations

from collections import deque

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.machine import Uart
from hil.standins.virtual.inject import Injection, LineFaults
from hil.standins.virtual.uart import SerialPort

_BATCH = 256
_ENOUGH = 8192  # bytes queued for the chip before the rest stays in the terminal


class VirtualSerialLine:
    """Serial line; an event source in virtual time (machine.Source), attached before the UART that it feeds.

    Args:
        port: serial port of the host.
        injections: faults of both directions, and `close_serial_after`.
    """

    def __init__(self, port: SerialPort, injections: list[Injection]) -> None:
        self._port = port
        self._to_chip = LineFaults(injections, "uart_rx")
        self._to_host = LineFaults(injections, "uart_tx")
        self._limit = next((int(i.arguments[0]) for i in injections if i.kind == "close_serial_after"), None)
        self._inbound: deque[bytes | float] = deque()
        self._outbound: deque[bytes | float] = deque()
        self._free_in = self._free_out = 0  # virtual times until which an injected delay blocks each direction
        self._sent = 0
        self._collected = bytearray()
        self._uart: Uart | None = None
        self._clock: Clock | None = None

    def connect(self, uart: Uart, clock: Clock) -> None:
        self._uart, self._clock = uart, clock

    def drop_unreceived(self) -> None:
        """Drop all bytes from the host that the chip has not received: it had no power."""
        self._port.received.clear()
        self._inbound.clear()

    def take(self, byte: int) -> None:
        """Take a byte that the chip has sent."""
        self._collected.append(byte)

    def update(self, now: int) -> None:
        """Move bytes that are due in both directions."""
        assert self._uart is not None
        while self._port.received and self._uart.backlog < _ENOUGH:
            self._inbound.extend(self._to_chip.apply(self._port.received.popleft()))
        while self._inbound and now >= self._free_in:
            item = self._inbound.popleft()
            if isinstance(item, bytes):
                self._uart.feed(item)
            else:
                self._free_in = now + int(item * PS_PER_S)
        while self._outbound and now >= self._free_out:
            item = self._outbound.popleft()
            if isinstance(item, bytes):
                self._port.send(item)
            else:
                self._free_out = now + int(item * PS_PER_S)
        self._port.accept_more(self._uart.backlog < _ENOUGH)

    def next_event(self) -> int | None:
        times = [self._free_in] if self._inbound else []
        return min(times + ([self._free_out] if self._outbound else []), default=None)

    def flush(self) -> None:
        """Send the collected bytes of the chip to the host: at least `_BATCH`, or all after its transmission ends."""
        if not self._collected or self._clock is None or self._uart is None:
            return
        if len(self._collected) < _BATCH and self._uart.transmitting:
            return
        data = bytes(self._collected)
        self._collected.clear()
        if self._limit is not None and self._sent + len(data) >= self._limit:
            self._port.send(data[: self._limit - self._sent])
            self._limit = None
            self._port.disconnect()
            return
        self._sent += len(data)
        self._outbound.extend(self._to_host.apply(data))
        self.update(self._clock.now)
