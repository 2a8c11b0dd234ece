"""NVIC: pending, active and enabled exceptions of Armv7-M and their priorities (ARM DDI 0403E.e, B1.5 and B3.4)."""

from __future__ import annotations

RESET, NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT, SVCALL = 1, 2, 3, 4, 5, 6, 11
SECURE_FAULT = 7  # of Armv8-M
DEBUG_MONITOR, PEND_SV, SYSTICK, FIRST_IRQ = 12, 14, 15, 16
IDLE_PRIORITY = 0x100
_FIXED = {RESET: -3, NMI: -2, HARD_FAULT: -1}
_ALWAYS = 1 << NMI | 1 << HARD_FAULT | 1 << SVCALL | 1 << PEND_SV | 1 << SYSTICK

# Offsets of the interrupt registers from 0xE000E100 (B3.4.3), in arrays of 32-bit words.
_ISER, _ICER, _ISPR, _ICPR, _IABR, _IPR = 0x000, 0x080, 0x100, 0x180, 0x200, 0x300
_WORDS = 16
_IPR_BYTES = 496


class Nvic:
    """The interrupt controller: pending, active and enabled exceptions and their priorities.

    Args:
        interrupts: number of external interrupts.
        priority_bits: number of implemented bits of a priority, which are the highest bits of its byte.
    """

    name = "NVIC"
    base = 0xE000E100

    def __init__(self, interrupts: int, priority_bits: int) -> None:
        self.interrupts = interrupts
        self.priority_mask = 0xFF << 8 - priority_bits & 0xFF
        self.reset()

    def reset(self) -> None:
        self.pending = 0
        self.lines = 0
        self.active: list[int] = []
        self.fell = 0  # exception whose line fell last; the machine clears it
        self.enabled = _ALWAYS
        self.priority = bytearray(FIRST_IRQ + self.interrupts)
        self.group_mask = 0xFF

    # interface to the rest of the chip

    def pend(self, number: int) -> None:
        self.pending |= 1 << number

    def unpend(self, number: int) -> None:
        self.pending &= ~(1 << number)

    def set_line(self, irq: int, high: bool) -> None:
        """Set the interrupt line of a peripheral; a line that stays high pends again after its handler."""
        bit = 1 << FIRST_IRQ + irq
        if not high and self.lines & bit:
            self.fell = FIRST_IRQ + irq
        self.lines = self.lines | bit if high else self.lines & ~bit

    def enable_fault(self, number: int, on: bool) -> None:
        self.enabled = self.enabled | 1 << number if on else self.enabled & ~(1 << number)

    def set_priority_group(self, prigroup: int) -> None:
        """Set PRIGROUP of AIRCR: bits [7:prigroup+1] of a priority pre-empt (B1.5.4)."""
        self.group_mask = 0xFF << prigroup + 1 & 0xFF

    def waiting(self) -> int:
        """Return the pending bits including interrupt lines, enabled or not."""
        if not self.lines or not self.active:
            return self.pending | self.lines
        return self.pending | self.lines & ~sum(1 << n for n in self.active)

    def group(self, number: int) -> int:
        """Return the group priority of an exception; lower values have higher priority."""
        return _FIXED[number] if number in _FIXED else self.priority[number] & self.group_mask

    def execution_priority(self, primask: int = 0, basepri: int = 0, faultmask: int = 0) -> int:
        """Return the current priority (B1.5.4)."""
        current = min([self.group(n) for n in self.active]) if self.active else IDLE_PRIORITY
        if basepri & self.group_mask:
            current = min(current, basepri & self.group_mask)
        if primask:
            current = min(current, 0)
        if faultmask:
            current = min(current, -1)
        return current

    def best(self) -> int | None:
        """Return the pending and enabled exception with the highest priority, or None."""
        ready = self.waiting() & self.enabled
        if not ready:
            return None
        if not ready & ready - 1:
            return ready.bit_length() - 1
        numbers = [n for n in range(ready.bit_length()) if ready >> n & 1]
        return min(numbers, key=lambda n: (self.group(n), self.priority[n], n))

    def enter(self, number: int) -> None:
        self.unpend(number)
        self.active.append(number)

    def leave(self, number: int) -> bool:
        """Deactivate an exception; return False if it was not active."""
        if number not in self.active:
            return False
        self.active.remove(number)
        return True

    # registers

    def read(self, offset: int, size: int) -> int:
        if _IPR <= offset < _IPR + _IPR_BYTES:
            first = FIRST_IRQ + offset - _IPR
            return int.from_bytes(self.priority[first : first + size], "little")  # those that do not exist read as 0
        array, word = offset & ~0x7F, (offset & 0x7F) >> 2
        source = {
            _ISER: self.enabled,
            _ICER: self.enabled,
            _ISPR: self.waiting(),
            _ICPR: self.waiting(),
            _IABR: sum(1 << n for n in self.active),
        }.get(array, 0)
        return source >> FIRST_IRQ + 32 * word & 0xFFFFFFFF if word < _WORDS else 0

    def write(self, offset: int, size: int, value: int) -> None:
        if _IPR <= offset < _IPR + _IPR_BYTES:
            for i in range(size):
                number = FIRST_IRQ + offset - _IPR + i
                if number < len(self.priority):
                    self.priority[number] = value >> 8 * i & self.priority_mask
            return
        array, word = offset & ~0x7F, (offset & 0x7F) >> 2
        implemented = (1 << self.interrupts) - 1
        bits = (value << 32 * word & implemented) << FIRST_IRQ
        if array == _ISER:
            self.enabled |= bits
        elif array == _ICER:
            self.enabled &= ~bits
        elif array == _ISPR:
            self.pending |= bits
        elif array == _ICPR:
            self.pending &= ~bits
