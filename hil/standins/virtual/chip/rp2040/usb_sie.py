"""Transactions of the RP2040's USB device controller (data sheet, 4.1.2.6).

What the data sheet leaves open: an OUT packet with the wrong DATA PID is acknowledged and dropped, as USB 2.0, 8.6.3
asks of a device, and a bus reset changes neither ADDR_ENDP nor a buffer (programs of Raspberry Pi clear both):
`unverified`. A packet longer than the length of its buffer control would lose bytes, and is a fault.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.rp2040 import usb_ram as ram
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

SETUP_BYTES = 8
DATA_SEQ_ERROR, ACK_REC, RX_TIMEOUT = 1 << 31, 1 << 30, 1 << 27  # in SIE_STATUS
TRANS_COMPLETE, SETUP_REC = 1 << 18, 1 << 17


class SieRegisters(Protocol):
    """The registers that decide how the controller answers, and that it sets."""

    def listens(self, address: int) -> bool: ...

    def aborted(self, index: int) -> bool: ...

    def stall_armed(self, index: int) -> bool: ...

    def control_of_ep0(self) -> int: ...

    def take_setup(self) -> None: ...

    def flag(self, bits: int) -> None: ...

    def buffer_done(self) -> None: ...

    def refused(self, index: int) -> None: ...

    def ended(self) -> None: ...


@dataclass(frozen=True)
class _Transaction:
    kind: Token
    index: int
    half: int
    answer: Handshake | None  # after the data of an OUT; ACK: the data is taken


class Sie:
    """The serial interface engine: it answers tokens from the buffers in the memory.

    Args:
        memory: memory of the controller.
        registers: registers of the controller.
    """

    def __init__(self, memory: ram.UsbRam, registers: SieRegisters) -> None:
        self._memory, self._registers = memory, registers
        self.reset()

    def reset(self) -> None:
        self._select = [0] * (2 * ram.ENDPOINTS)
        self.done: list[deque[int]] = [deque() for _ in self._select]  # buffers whose BUFF_STATUS was not cleared yet
        self._filled = [0] * len(self._select)  # buffers since the last BUFF_STATUS, with one interrupt for two
        self._open: _Transaction | None = None
        self._memory.in_use = None

    @property
    def open_index(self) -> int | None:
        """Index of the endpoint whose transaction is on the bus."""
        return None if self._open is None else self._open.index

    def abandon(self) -> None:
        """End the transaction on the bus, if there is one, as a bus reset does."""
        self._open = self._memory.in_use = None
        self._registers.ended()

    def _control(self, index: int) -> int:
        return self._registers.control_of_ep0() if index < 2 else self._memory.control(index)

    def token(self, kind: Token, address: int, endpoint: int) -> Packet | Handshake | None:
        self._open = self._memory.in_use = None
        if not self._registers.listens(address):
            return None
        if kind is Token.SETUP:
            self._open = _Transaction(kind, 1, 0, Handshake.ACK) if endpoint == 0 else None
            return None
        index = 2 * endpoint + (kind is Token.OUT)
        control = self._control(index)
        if not control & ram.ENABLE:
            return None
        double = control & ram.DOUBLE
        if self._memory.half(index, 0) & ram.SELECT_FIRST:
            self._select[index] = 0
        half = self._select[index] if double else 0
        answer = self._decide(kind, index, half)
        if answer is not Handshake.ACK:
            self._refuse(index, control, answer)
        if kind is Token.IN and answer is not Handshake.ACK:
            return answer
        self._open = _Transaction(kind, index, half, answer)
        if answer is Handshake.ACK:
            self._memory.in_use = index, half
        return self._packet(index, half) if kind is Token.IN else None

    def _decide(self, kind: Token, index: int, half: int) -> Handshake:
        """Return STALL or NAK, or ACK if the transaction takes place."""
        bits = self._memory.half(index, half)
        if self._registers.aborted(index):
            return Handshake.NAK
        if self._memory.half(index, 0) & ram.STALL and (index > 1 or self._registers.stall_armed(index)):
            return Handshake.STALL
        wanted = ram.AVAILABLE | (ram.FULL if kind is Token.IN else 0)
        return Handshake.ACK if bits & (ram.AVAILABLE | ram.FULL) == wanted else Handshake.NAK

    def _refuse(self, index: int, control: int, answer: Handshake) -> None:
        if control & (ram.ON_STALL if answer is Handshake.STALL else ram.ON_NAK):
            self._registers.refused(index)

    def _packet(self, index: int, half: int) -> Packet:
        bits, place = self._memory.half(index, half), self._memory.place(index, half)
        length = bits & ram.LENGTH
        if length > ram.LINE:
            raise ModelFault(f"{ram.name_of(index)} sends {length} bytes, more than a packet of {ram.LINE}")
        return Packet(int(bool(bits & ram.DATA1)), bytes(self._memory.bytes[place : place + length]))

    def data(self, packet: Packet) -> Handshake | None:
        one, self._open = self._open, None
        if one is None:
            return None
        self._memory.in_use = None
        answer = self._setup(packet) if one.kind is Token.SETUP else self._take(one, packet)
        self._registers.ended()
        return answer

    def _setup(self, packet: Packet) -> Handshake | None:
        if packet.toggle or len(packet.data) != SETUP_BYTES:
            self._registers.flag(DATA_SEQ_ERROR)
            return None
        self._memory.bytes[:SETUP_BYTES] = packet.data
        self._registers.take_setup()
        return Handshake.ACK

    def _take(self, one: _Transaction, packet: Packet) -> Handshake | None:
        if one.answer is not Handshake.ACK:
            return one.answer
        bits, place = self._memory.half(one.index, one.half), self._memory.place(one.index, one.half)
        if packet.toggle != bool(bits & ram.DATA1):
            self._registers.flag(DATA_SEQ_ERROR)
            return Handshake.ACK
        if len(packet.data) > bits & ram.LENGTH:
            raise ModelFault(
                f"{ram.name_of(one.index)} receives {len(packet.data)} bytes, but its buffer control has a length of "
                f"{bits & ram.LENGTH}: bytes would be lost"
            )
        self._memory.bytes[place : place + len(packet.data)] = packet.data
        self._finish(one, bits & ~(ram.AVAILABLE | ram.LENGTH) | ram.FULL | len(packet.data))
        return Handshake.ACK

    def handshake(self, acked: bool) -> None:
        one, self._open = self._open, None
        if one is None:
            return
        self._memory.in_use = None
        self._registers.flag(ACK_REC if acked else RX_TIMEOUT)
        if acked:
            self._finish(one, self._memory.half(one.index, one.half) & ~(ram.AVAILABLE | ram.FULL))
        self._registers.ended()

    def _finish(self, one: _Transaction, bits: int) -> None:
        """Write the status of a buffer back, and go to the next one."""
        index, control = one.index, self._control(one.index)
        self._memory.put_half(index, one.half, bits)
        self._memory.clear_select(index)
        if bits & ram.LAST:
            self._registers.flag(TRANS_COMPLETE)
        if control & ram.DOUBLE:
            self._select[index] = 1 - one.half
        self._filled[index] += 1
        per_two = control & ram.PER_TWO and control & ram.DOUBLE and not control & ram.PER_BUFFER
        if control & (ram.PER_BUFFER | ram.PER_TWO) and self._filled[index] >= (2 if per_two else 1):
            self._filled[index] = 0
            if one.half not in self.done[index]:
                self.done[index].append(one.half)
            self._registers.buffer_done()
