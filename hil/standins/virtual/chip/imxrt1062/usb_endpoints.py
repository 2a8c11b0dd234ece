"""Endpoints of the USB controller of i.MX RT1062: queue heads (dQH) and transfer descriptors (dTD) in memory.

The controller copies a descriptor into its queue head when the endpoint is primed, moves packets, and retires the
descriptor. It accesses memory past the data cache. It reads as early as it may, and tells as late as it may: queue
head, descriptor and the first packet when the prime bit is written, and each next packet behind the one before.

Source: UM10503, LPC43xx user manual, chapter "USB0 Host/Device/OTG controller" (23.9 and 23.10): the same controller,
whose description IMXRT1060RM has too. What a program must not do there is a fault here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Protocol

from hil.standins.virtual.chip.fault import ModelFault

HEAD = 64  # bytes of a queue head
_NEXT, _TOKEN, _SETUP = 0x08, 0x0C, 0x28
_PAGES, _PAGE = 5, 4096
TERMINATE = 1
ACTIVE, HALTED, BUFFER_ERROR, IOC = 1 << 7, 1 << 6, 1 << 5, 1 << 15
_UNUSED = 1 << 31 | 7 << 12 | 0xF << 8 | 1 << 4 | 7  # of a token, with MultO, which is for isochronous endpoints
_TOTAL = 0x7FFF
NO_TERMINATION = 1 << 29  # ZLT of a queue head


class UsbMemory(Protocol):
    """Memory behind the controller."""

    def dma_read(self, address: int, size: int) -> bytes: ...

    def dma_write(self, address: int, data: bytes) -> None: ...


@dataclass
class Transfer:
    """A descriptor that the controller has copied.

    Attributes:
        at: its address.
        token: its second word, with the bytes that are left.
        pages: its page pointers.
        moved: bytes moved since it began.
    """

    at: int
    token: int
    pages: tuple[int, ...]
    moved: int = 0

    @property
    def left(self) -> int:
        return self.token >> 16 & _TOTAL

    def count(self, size: int) -> None:
        """Note that some bytes were moved."""
        self.token -= size << 16
        self.moved += size

    def places(self, size: int) -> list[tuple[int, int]]:
        """Return where the next bytes are, as addresses and sizes."""
        out, at = [], (self.pages[0] & _PAGE - 1) + self.moved
        while size:
            part = min(size, _PAGE - at % _PAGE)
            out.append(((self.pages[at // _PAGE] & -_PAGE) + at % _PAGE, part))
            at, size = at + part, size - part
        return out


class Endpoint:
    """An endpoint in one direction.

    Args:
        index: number of its queue head: twice that of the endpoint, and 1 more to the host.
        memory: memory behind the controller.

    Attributes:
        toggle: of the next data packet.
        ready: whether it is primed: its bit of ENDPTSTAT.
        prime_ends: when its prime ends [ps], None if there is none: its bit of ENDPTPRIME.
    """

    def __init__(self, index: int, memory: UsbMemory) -> None:
        self.name = f"EP{index >> 1} {'IN' if index & 1 else 'OUT'}"
        self.bit = 1 << (index >> 1) + 16 * (index & 1)
        self.is_in = bool(index & 1)
        self._index, self._memory = index, memory
        self.reset()

    def reset(self) -> None:
        self.toggle, self.ready = 0, False
        self.prime_ends: int | None = None
        self._head = 0
        self._largest, self._terminates = 0, False
        self._transfer = Transfer(0, 0, ())
        self._told: bytes = b""  # next pointer and token of the queue head as this controller has written them
        self.packet = b""  # the next one to the host

    # queue head and descriptors

    def prime(self, heads: int, ends: int) -> None:
        """Begin with the descriptor that the queue head names.

        Args:
            heads: address of the first queue head.
            ends: when the endpoint is primed [ps].
        """
        if self.ready:
            raise ModelFault(
                f"{self.name} is primed while it is primed: add a descriptor to its list, and look at ENDPTSTAT with "
                "USBCMD.ATDTW (UM10503, 23.10.11.3)"
            )
        self._head = heads + HEAD * self._index
        capabilities, _, following, token = struct.unpack("<4I", self._memory.dma_read(self._head, 16))
        if token & (ACTIVE | HALTED):
            raise ModelFault(
                f"{self.name} is primed with status 0x{token & 0xFF:02X} in its queue head: clear Active and Halted "
                "first (UM10503, 23.10.10.1)"
            )
        self._largest, self._terminates = capabilities >> 16 & 0x7FF, not capabilities & NO_TERMINATION
        if not 0 < self._largest <= 1024 or capabilities >> 30:
            raise ModelFault(
                f"the queue head of {self.name} has packets of {self._largest} bytes and Mult {capabilities >> 30}: "
                "1 to 1,024, and 0 but for isochronous endpoints, which this model does not have"
            )
        self._begin(following, ends)

    def _begin(self, at: int, ends: int) -> None:
        if at & TERMINATE:
            raise ModelFault(f"{self.name} is primed, but its queue head has no descriptor: its Terminate bit is 1")
        if at & 0x1E:
            raise ModelFault(f"the descriptor of {self.name} at 0x{at:08X} is not aligned to 32 bytes")
        following, token, *pages = struct.unpack("<7I", self._memory.dma_read(at, 28))
        one = Transfer(at, token, tuple(pages))
        if not token & ACTIVE or token & (HALTED | BUFFER_ERROR | _UNUSED):
            raise ModelFault(
                f"the descriptor of {self.name} at 0x{at:08X} has 0x{token:08X} as its token in memory: its Active bit "
                "must be 1, errors and reserved bits 0; clean the data cache before the prime"
            )
        if (pages[0] & _PAGE - 1) + one.left > _PAGES * _PAGE:
            raise ModelFault(f"the descriptor of {self.name} has {one.left} bytes, more than its five pages hold")
        self._transfer = one
        self._memory.dma_write(self._head + 4, struct.pack("<3I5I", at, following, token, *pages))
        self._told = struct.pack("<2I", following, token)
        self.prime_ends = ends
        self._fill()

    def _fill(self) -> None:
        """Read the next packet to the host."""
        if self.is_in:
            places = self._transfer.places(min(self._largest, self._transfer.left))
            self.packet = b"".join(self._memory.dma_read(at, size) for at, size in places)

    def settle(self, now: int) -> None:
        """End a prime that is due."""
        if self.prime_ends is not None and now >= self.prime_ends:
            self.prime_ends, self.ready = None, True

    def flush(self) -> None:
        """Take the primed state away; the queue head keeps what it has."""
        self.ready, self.prime_ends = False, None

    # packets

    def check(self) -> None:
        """Fault if the queue head has changed while the endpoint is primed."""
        there = self._memory.dma_read(self._head + _NEXT, 8)
        if there != self._told:
            raise ModelFault(
                f"the queue head of {self.name} has changed while the endpoint is primed: {there.hex()}, not "
                f"{self._told.hex()} (UM10503, 23.10.10.1); an evicted line of the data cache does so too"
            )

    def fits(self, size: int) -> bool:
        """Return whether a packet from the host has room."""
        return size <= min(self._largest, self._transfer.left)

    def store(self, data: bytes) -> None:
        """Move a packet from the host into memory."""
        done = 0
        for at, size in self._transfer.places(len(data)):
            self._memory.dma_write(at, data[done : done + size])
            done += size

    def moved(self, size: int) -> bool:
        """Count a packet that was moved; return whether the descriptor is done (UM10503, 23.10.6, ZLT)."""
        self._transfer.count(size)
        self._write_token()
        full = size == self._largest
        if (self._transfer.left and (full or self.is_in)) or (full and self._terminates):
            self._fill()
            return False
        return True

    def fail(self) -> None:
        """Note a packet that was too long: the descriptor stays as it is, with an error."""
        self._transfer.token |= BUFFER_ERROR
        self._write_token()
        self._memory.dma_write(self._transfer.at + 4, struct.pack("<I", self._transfer.token))
        self.flush()

    def retire(self, ends: int) -> tuple[bool, bool]:
        """End the descriptor and go on with the next one.

        Args:
            ends: when the endpoint is primed with a next one [ps].

        Returns:
            Whether the descriptor asks for an interrupt, and whether bytes are left in it.
        """
        one = self._transfer
        one.token &= ~ACTIVE
        (following,) = struct.unpack("<I", self._memory.dma_read(one.at, 4))
        self._memory.dma_write(one.at + 4, struct.pack("<I", one.token))
        self._memory.dma_write(self._head + _NEXT, struct.pack("<2I", following, one.token))
        self.ready = False
        if not following & TERMINATE:
            self._begin(following, ends)
        return bool(one.token & IOC), one.left > 0

    def _write_token(self) -> None:
        self._told = self._told[:4] + struct.pack("<I", self._transfer.token)
        self._memory.dma_write(self._head + _TOKEN, self._told[4:])


def write_setup(memory: UsbMemory, heads: int, data: bytes) -> None:
    """Write a setup packet into the queue head of endpoint 0."""
    memory.dma_write(heads + _SETUP, data)
