"""A USART of STM32H7A3/7B3 in asynchronous mode (RM0455, USART functional description).

Bytes take their time on the line in virtual time: start bit, data bits and stop bits at the programmed baud rate. Both
directions are worked out when somebody looks or when an event is due, not byte by byte. The other end of the line is taken to
have the same speed and format: a wrong baud rate is not modelled, nor are parity, break, LIN, smartcard and flow control.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hil.standins.virtual.chip import usart_registers as u
from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block

FIFO = 16
_EIGHTHS = (2, 4, 8, 12, 14, 16)  # thresholds of RXFTCFG and TXFTCFG in bytes
_PRESCALER = (1, 2, 4, 6, 8, 10, 12, 16, 32, 64, 128, 256)
_NEVER = 1 << 63
_STOP_HALF_BITS = (2, 1, 4, 3)


class Usart(Block):
    """Args:
    name, base: as in the manual.
    clock: virtual time.
    kernel_hz: returns the kernel clock's frequency; may raise ModelFault.
    connected: whether the pins are routed to this USART: (transmit, receive).
    drive: called with the level of the interrupt line when it changes.
    send: takes each byte when its stop bit has left.
    """

    SIZES = (1, 2, 4)
    REGISTERS = u.REGISTERS

    def __init__(
        self, name: str, base: int, clock: Clock, kernel_hz: Callable[[], int], connected: Callable[[], tuple[bool, bool]],
        drive: Callable[[bool], None], send: Callable[[int], None],
    ) -> None:  # fmt: skip
        super().__init__(name, base)
        self._clock = clock
        self._kernel_hz = kernel_hz
        self._connected = connected
        self._drive = drive
        self._send = send
        self._incoming: deque[int] = deque()
        self._forget()

    def _forget(self) -> None:
        self._flags = u.TC
        self._received: deque[int] = deque()
        self._queued: deque[int] = deque()
        self._byte_ps = self._bit_ps = self._timeout_ps = 0
        self._rx_end = 0  # when the first incoming byte will have been received
        self._tx_end = 0  # when the byte in the shift register will have left
        self._shifting: int | None = None
        self._silence_from: int | None = (
            None  # end of the last received byte, until a time-out or idle line is reported
        )
        self._idle_from: int | None = None
        self._due = 0
        self._high = False
        self._set_thresholds()

    def reset(self) -> None:
        super().reset()
        self._forget()
        self._drive(False)

    # the line

    def feed(self, data: bytes) -> None:
        """Put bytes on the receive line, behind those that are still on their way."""
        if not data:
            return
        if not self._incoming:
            self._rx_end = max(self._clock.now, self._rx_end) + self._byte_ps
        self._incoming.extend(data)
        self._due = self._next_change()

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
        if now < self._due:
            return
        if self._incoming and now >= self._rx_end:
            self._receive_until(now)
        self._note_silence(now)
        while self._shifting is not None and now >= self._tx_end:
            self._shift_out()
        self._refresh()

    def _next_change(self) -> int:
        """Return the virtual time before which neither direction changes anything."""
        due = self._rx_end if self._incoming else _NEVER
        if self._shifting is not None and self._tx_end < due:
            due = self._tx_end
        if self._idle_from is not None:
            due = min(due, self._idle_from + self._byte_ps)
        if self._silence_from is not None and self.value["CR2"] & u.RTOEN:
            due = min(due, self._timeout_at())
        return due

    def _receive_until(self, now: int) -> None:
        control = self.value["CR1"]
        listening = control & (u.UE | u.RE) == u.UE | u.RE and self._connected()[1]
        byte_ps = max(self._byte_ps, 1)
        complete = min(len(self._incoming), (now - self._rx_end) // byte_ps + 1)
        self._note_silence(self._rx_end - self._byte_ps)  # the others follow the first without a gap
        arrived = bytes(self._incoming.popleft() for _ in range(complete))
        if listening:
            self._take(arrived)
        last = self._rx_end + (complete - 1) * byte_ps
        if listening:
            self._silence_from = self._idle_from = last
        self._rx_end = last + byte_ps if self._incoming else last

    def _take(self, arrived: bytes) -> None:
        # With FIFO: 16 in it and one in RDR (RM0455, USART_ISR.RXFF); the next complete one overruns.
        room = FIFO + 1 if self.value["CR1"] & u.FIFOEN else 1
        for byte in arrived:
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
        """Return the virtual time of the next thing that software or the other end would notice, or None."""
        times = []
        control = self.value["CR1"]
        if self._incoming and control & u.RE:
            times.append(self._rx_end + (self._bytes_until_interrupt() - 1) * self._byte_ps)
        start = self._rx_end - self._byte_ps if self._incoming else _NEVER  # a byte before then ends the silence
        if self._silence_from is not None and control & u.RTOIE and self.value["CR2"] & u.RTOEN:
            times += [self._timeout_at()] if self._timeout_at() <= start else []
        if self._idle_from is not None and control & u.IDLEIE:
            times += [self._idle_from + self._byte_ps] if self._idle_from + self._byte_ps <= start else []
        if self._shifting is not None:
            times.append(self._tx_end + self._bytes_until_sent() * self._byte_ps)
        return min(times, default=None)

    def _bytes_until_sent(self) -> int:
        """Return how many bytes leave behind the present one until the interrupts or the other end see a difference."""
        queued = len(self._queued)
        if self.value["CR3"] & u.TXFTIE:
            return min(queued, max(0, queued + self._tx_threshold - FIFO - 1))
        return 0 if self.value["CR1"] & u.TXEIE else queued

    def _bytes_until_interrupt(self) -> int:
        """Return how many more bytes change what the interrupts see; the last one on its way at the latest."""
        wanted = len(self._incoming)
        control = self.value["CR1"]
        if control & u.RXNEIE:
            return 1
        if self.value["CR3"] & u.RXFTIE:
            wanted = min(wanted, max(1, self._rx_threshold - len(self._received)))
        if self.value["CR3"] & u.EIE or control & u.RXFFIE:
            wanted = min(wanted, max(1, FIFO + 1 - len(self._received)))
        return wanted

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
            raise ModelFault(
                f"{self.name}_BRR is 0x{self.value['BRR']:X} when UE is set; the divider must be at least 16"
            )
        clock = self._kernel_hz() // self._prescaler() * (2 if over8 else 1)
        self._bit_ps = divider * PS_PER_S // clock
        data_bits = {0: 8, 1: 9, 2: 7}.get(self.field("CR1", "M1") << 1 | self.field("CR1", "M0"), 8)
        half_bits = 2 * (1 + data_bits) + _STOP_HALF_BITS[self.field("CR2", "STOP")]
        self._byte_ps = half_bits * self._bit_ps // 2
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
        if self._high:  # taking a byte can only lower the interrupt line
            self._refresh()
        return byte

    def write_tdr(self, _old: int, _new: int, acting: int) -> None:
        now = self._clock.now
        self.update(now)
        if self.value["CR1"] & (u.UE | u.TE) != u.UE | u.TE:
            raise ModelFault(f"{self.name}_TDR is written while the transmitter is off")
        self._give(acting & 0xFF)
        if self._high:  # and so can giving one
            self._refresh()
        elif self._tx_end < self._due:
            self._due = self._tx_end

    def _give(self, byte: int) -> None:
        """Take a byte to send; one that finds no room is lost."""
        self._flags &= ~u.TC
        if self._shifting is None:
            self._shifting = byte
            self._tx_end = self._clock.now + self._byte_ps
        elif len(self._queued) < (FIFO if self.value["CR1"] & u.FIFOEN else 1):
            self._queued.append(byte)
