"""The lines of a USART of STM32 in asynchronous mode (RM0455, USART functional description).

A byte takes virtual time for start bit, data bits and stop bits at the programmed baud rate. Both directions are
updated at register accesses and events, not for every byte. The other end of the line is assumed to have the same speed
and format. A wrong baud rate, parity, break, LIN, smartcard and flow control are not modelled.
"""

from __future__ import annotations

from hil.standins.virtual.chip.line_uart import NEVER, UartLine
from hil.standins.virtual.chip.stm32 import usart_registers as u

FIFO = 16


class UsartLine(UartLine):
    """The receive and transmit lines of a USART. Args: see UartLine."""

    _rx_threshold: int
    _tx_threshold: int

    def _forget(self) -> None:
        super()._forget()
        self._flags = u.TC
        self._bit_ps = self._timeout_ps = self._rx_end = 0
        self._line_byte_ps = 1  # until the speed is set
        self._idle_from: int | None = None  # end of the last received byte, until the idle line after it is detected
        self._set_thresholds()

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

    def _next_change(self) -> int:
        """Return the virtual time of the next change in either direction."""
        due = self._rx_end if self._incoming else NEVER
        if self._shifting is not None and self._tx_end < due:
            due = self._tx_end
        if self._idle_from is not None:
            due = min(due, self._idle_from + self._byte_ps)
        if self._silence_from is not None and self.value["CR2"] & u.RTOEN:
            due = min(due, self._timeout_at())
        return due

    @property
    def _listening(self) -> bool:
        return self.value["CR1"] & (u.UE | u.RE) == u.UE | u.RE and self._connected()[1]

    def _take(self, data: bytes) -> None:
        # With FIFO: 16 in it and one in RDR (RM0455, USART_ISR.RXFF); the next complete one overruns.
        room = FIFO + 1 if self.value["CR1"] & u.FIFOEN else 1
        for byte in data:
            if len(self._received) < room:
                self._received.append(byte)
            elif self.value["CR3"] & u.OVRDIS:
                self._received[-1] = byte
            else:
                self._flags |= u.ORE

    def _note_silence(self, now: int) -> None:
        if self._silence_from is not None and self.value["CR2"] & u.RTOEN and now >= self._timeout_at():
            self._flags |= u.RTOF
            self._silence_from = None
        if self._idle_from is not None and now >= self._idle_from + self._byte_ps:
            self._flags |= u.IDLE
            self._idle_from = None

    def _timeout_at(self) -> int:
        return (self._silence_from or 0) + self._timeout_ps

    def _shift_out(self) -> None:
        if self._shifting is not None and self._connected()[0]:
            self._send(self._shifting)
        self._shifting = None
        if self._queued:
            self._shifting = self._queued.popleft()
            self._tx_end += self._byte_ps
        else:
            self._flags |= u.TC

    def next_event(self) -> int | None:
        """Return the virtual time of the next event that software or the other end can notice, or None."""
        times = []
        control = self.value["CR1"]
        if self._incoming and control & u.RE:
            times.append(self._rx_end + (self._bytes_until_interrupt() - 1) * self._byte_ps)
        start = self._rx_end - self._byte_ps if self._incoming else NEVER  # a byte before then ends the silence
        if self._silence_from is not None and control & u.RTOIE and self.value["CR2"] & u.RTOEN:
            times += [self._timeout_at()] if self._timeout_at() <= start else []
        if self._idle_from is not None and control & u.IDLEIE:
            times += [self._idle_from + self._byte_ps] if self._idle_from + self._byte_ps <= start else []
        if self._shifting is not None:
            times.append(self._tx_end + self._bytes_until_sent() * self._byte_ps)
        return min(times, default=None)

    def _bytes_until_sent(self) -> int:
        """Return the number of bytes after the present one until an interrupt or the end of transmission."""
        queued = len(self._queued)
        if self.value["CR3"] & u.TXFTIE:
            return min(queued, max(0, queued + self._tx_threshold - FIFO - 1))
        return 0 if self.value["CR1"] & u.TXEIE else queued

    def _bytes_until_interrupt(self) -> int:
        """Return the number of received bytes until an interrupt may change, at most all incoming bytes."""
        wanted = len(self._incoming)
        control = self.value["CR1"]
        if control & u.RXNEIE:
            return 1
        if self.value["CR3"] & u.RXFTIE:
            wanted = min(wanted, max(1, self._rx_threshold - len(self._received)))
        if self.value["CR3"] & u.EIE or control & u.RXFFIE:
            wanted = min(wanted, max(1, FIFO + 1 - len(self._received)))
        return wanted

    # hooks for subclasses

    def _set_thresholds(self) -> None:
        """Read the FIFO thresholds from CR3."""
        raise NotImplementedError
