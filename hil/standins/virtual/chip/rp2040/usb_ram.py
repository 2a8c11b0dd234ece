"""DPSRAM of the RP2040's USB controller: endpoint control, buffer control and packet buffers (data sheet, 4.1.2.5).

What the data sheet forbids to a program is a fault here: a buffer that is set AVAILABLE together with its other bits or
too soon after them (4.1.2.5.3 and "Concurrent access"), a buffer or its control that changes while the controller has
it, a buffer that is not aligned or outside the memory.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.fault import ModelFault

BASE, SIZE = 0x50100000, 0x1000
ENDPOINTS = 16
CONTROL, BUFFERS, EP0_BUFFER = 0x08, 0x80, 0x100  # usb_device_dpram.h of pico-sdk
LINE = 64  # bytes of a buffer's granule; bits 0 to 5 of its address are ignored (4.1.2.5.2)

ENABLE, DOUBLE, PER_BUFFER, PER_TWO = 1 << 31, 1 << 30, 1 << 29, 1 << 28
TYPE_LOW, ON_STALL, ON_NAK, ADDRESS = 26, 1 << 17, 1 << 16, 0xFFFF
CONTROL_BITS = 0xFC03FFFF
_ROUNDING = 2  # ps; virtual time is an integer
ISOCHRONOUS = 1
FULL, LAST, DATA1, SELECT_FIRST, STALL, AVAILABLE, LENGTH = 1 << 15, 1 << 14, 1 << 13, 1 << 12, 1 << 11, 1 << 10, 0x3FF


def name_of(index: int) -> str:
    """Return the name of an endpoint and direction, given their index in the buffer controls."""
    return f"EP{index >> 1} {'OUT' if index & 1 else 'IN'}"


class UsbRam:
    """The memory that the processor and the controller share.

    Args:
        held: returns why the memory is out of reach now, or an empty text.
        now: returns the virtual time of the present store to an address [ps]: (address, whether the latest that it can
            be).
        settle: returns the time that must be between the other bits of a buffer and its AVAILABLE bit [ps].
        changed: called after a write of the processor that the controller may notice.
    """

    name, base = "USBCTRL_DPRAM", BASE

    def __init__(
        self, held: Callable[[], str], now: Callable[[int, bool], int], settle: Callable[[], int],
        changed: Callable[[], None],
    ) -> None:  # fmt: skip
        self.bytes = bytearray(SIZE)
        self.in_use: tuple[int, int] | None = None  # index and half of the buffer that is on the bus
        self._held, self._now, self._settle, self._changed = held, now, settle, changed
        self._written_at: dict[tuple[int, int], int] = {}  # when the other bits of a half were last changed
        self._given: dict[int, str] = {}  # granules of IN buffers that the controller has
        self._granules: dict[tuple[int, int], int] = {}  # the same by index and half

    # the processor

    def read(self, offset: int, size: int) -> int:
        self._check("read", offset, size)
        return int.from_bytes(self.bytes[offset : offset + size], "little")

    def write(self, offset: int, size: int, value: int) -> None:
        self._check("write", offset, size)
        data = value.to_bytes(size, "little")
        if offset >= EP0_BUFFER:
            owner = self._given.get(offset // LINE)
            if owner is not None:
                raise self._fault(offset, f"the buffer of {owner} is written while it is AVAILABLE to the controller")
            self.bytes[offset : offset + size] = data
            return
        at = offset & ~3
        word = bytearray(self.bytes[at : at + 4])
        word[offset - at : offset - at + size] = data
        new = int.from_bytes(word, "little")
        if at >= BUFFERS:
            for half in (0, 1):
                self._check_half(offset, half, self.word(at) >> 16 * half & 0xFFFF, new >> 16 * half & 0xFFFF)
        elif at >= CONTROL:
            self._check_control(at, new)
        self.bytes[at : at + 4] = word
        if at >= CONTROL:
            self._note_given((at - BUFFERS) // 4 if at >= BUFFERS else (at - CONTROL) // 4 + 2)
        self._changed()

    def _check(self, access: str, offset: int, size: int) -> None:
        if why := self._held():
            raise self._fault(offset, f"{access} of the USB controller's memory: {why}")
        if offset % size:
            raise self._fault(offset, f"an access of {size} bytes is not aligned")

    def _fault(self, offset: int, why: str) -> ModelFault:
        address = BASE + offset
        return ModelFault(f"USB, 0x{address:08X}: {why}", address, "write")

    def _check_control(self, at: int, new: int) -> None:
        name = name_of((at - CONTROL) // 4 + 2)
        address = new & ADDRESS
        if new & ~CONTROL_BITS:
            raise self._fault(at, f"the control of {name} changes reserved bits 0x{new & ~CONTROL_BITS:08X}")
        if not new & ENABLE:
            return
        if new >> TYPE_LOW & 3 == ISOCHRONOUS:
            raise self._fault(at, f"{name} is isochronous, which this model does not have")
        if address % LINE:
            raise self._fault(at, f"the buffer of {name} is at 0x{address:X}, which is no multiple of {LINE}")
        if not EP0_BUFFER < address <= SIZE - LINE * (2 if new & DOUBLE else 1):
            raise self._fault(at, f"the buffer of {name} at 0x{address:X} is not in the memory behind that of EP0")

    def _check_half(self, offset: int, half: int, old: int, new: int) -> None:
        index = (offset - BUFFERS) // 4
        name = f"buffer {half} of {name_of(index)}"
        if self.in_use == (index, half) and old != new:
            raise self._fault(
                offset, f"{name} changes while its packet is on the bus; set its bit in EP_ABORT and wait for "
                "EP_ABORT_DONE first",
            )  # fmt: skip
        others = (old ^ new) & ~AVAILABLE
        if new & ~old & AVAILABLE:
            needed, now = self._settle(), self._now(BASE + offset, True)
            since = 0 if others else now - self._written_at.get((index, half), now - needed)
            if since + _ROUNDING < needed:
                raise self._fault(
                    offset, f"{name} becomes AVAILABLE {since / 1000:.0f} ns after its other bits, so that the "
                    f"controller may take old ones; write them first, and AVAILABLE {needed / 1000:.0f} ns later, by a "
                    "store of its own (RP2040 data sheet, 4.1.2.5.3)",
                )  # fmt: skip
        if others:
            self._written_at[index, half] = self._now(BASE + offset, False)

    def _note_given(self, index: int) -> None:
        """Note which buffers of an endpoint that sends the controller has now."""
        if index & 1:
            return
        for half in (0, 1):
            old, bits = self._granules.pop((index, half), None), self.half(index, half)
            if old is not None:
                self._given.pop(old, None)
            if bits & AVAILABLE and bits & LENGTH and (half == 0 or self.is_double(index)):
                self._granules[index, half] = granule = self.place(index, half) // LINE
                self._given[granule] = name_of(index)

    # the controller

    def word(self, at: int) -> int:
        return int.from_bytes(self.bytes[at : at + 4], "little")

    def control(self, index: int) -> int:
        """Return the control word of an endpoint other than 0."""
        return self.word(CONTROL + 4 * (index - 2))

    def is_double(self, index: int) -> bool:
        """Return whether an endpoint other than 0 has two buffers."""
        return index > 1 and bool(self.control(index) & DOUBLE)

    def half(self, index: int, half: int) -> int:
        """Return the 16 bits of one buffer's control."""
        return self.word(BUFFERS + 4 * index) >> 16 * half & 0xFFFF

    def put_half(self, index: int, half: int, bits: int) -> None:
        """Write back the status of one buffer."""
        at = BUFFERS + 4 * index + 2 * half
        self.bytes[at : at + 2] = bits.to_bytes(2, "little")
        self._note_given(index)

    def clear_select(self, index: int) -> None:
        """Clear the bit that resets the buffer select: it is cleared at the end of a transfer (table 389)."""
        self.put_half(index, 0, self.half(index, 0) & ~SELECT_FIRST)

    def place(self, index: int, half: int) -> int:
        """Return where a buffer is."""
        return (EP0_BUFFER if index < 2 else self.control(index) & ADDRESS) + LINE * half
