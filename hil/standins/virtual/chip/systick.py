"""SysTick: the 24-bit down counter of Armv7-M (ARM DDI 0403E.e, B3.3), counting virtual time."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.nvic import SYSTICK, Nvic
from hil.standins.virtual.chip.registers import Block, Register


class SysTick(Block):
    """The SysTick timer.

    Args:
        clock: virtual time.
        nvic: interrupt controller in which it pends.

    Attributes:
        reference_hz: returns the frequency of the external reference clock, 0 while it is stopped; the chip may set it.
    """

    REGISTERS = (
        Register("CSR", 0x10, "ENABLE:0 TICKINT:1 CLKSOURCE:2 COUNTFLAG:16/r"),
        Register("RVR", 0x14, "RELOAD:0-23"),
        Register("CVR", 0x18, "CURRENT:0-31"),
        Register("CALIB", 0x1C, "TENMS:0-23/r SKEW:30/r NOREF:31/r"),
    )

    def __init__(self, clock: Clock, nvic: Nvic) -> None:
        super().__init__("SYST", 0xE000E000)
        self._clock = clock
        self._nvic = nvic
        self.reference_hz: Callable[[], int] = lambda: clock.hz // 8
        self._zero_at: int | None = None  # virtual time of the next 1 -> 0
        self._held = 0  # value of the counter while it is not enabled
        self._wrapped = False

    def reset(self) -> None:
        super().reset()
        self._zero_at, self._held = None, 0
        self._wrapped = False

    def _ticks(self, n: int) -> int:
        """Return the duration of n ticks in picoseconds."""
        return n * PS_PER_S // self._hz()

    def _hz(self) -> int:
        return self._clock.hz if self.value["CSR"] & 4 else self.reference_hz()

    def update(self, now: int) -> None:
        """Update the counter to the time `now`: set the flag and pend for passes through zero."""
        while self._zero_at is not None and now >= self._zero_at:
            self._wrapped = True
            if self.value["CSR"] & 2:
                self._nvic.pend(SYSTICK)
            period = self._ticks(self.value["RVR"] + 1)
            # The flag and the pending bit are single bits: several missed passes count as one.
            missed = (now - self._zero_at) // period
            self._zero_at = self._zero_at + (missed + 1) * period if self.value["RVR"] else None

    def stand_still(self, duration: int) -> None:
        """Do not count in the next `duration` picoseconds: the core is halted (B3.3.1; ARM DDI 0419E, B3.3.1)."""
        if self._zero_at is not None:
            self.update(self._clock.now)
        if self._zero_at is not None:
            self._zero_at += duration

    def next_event(self) -> int | None:
        return self._zero_at if self.value["CSR"] & 3 == 3 else None

    def frequency_changed(self) -> None:
        """Restart the current period with the new clock; silicon would finish it at the new speed."""
        if self._zero_at is not None:
            self._restart()

    def _restart(self, left: int = 0) -> None:
        """Continue to count from `left` ticks, or from the reload value if `left` is 0."""
        self._held = left
        running = self.value["CSR"] & 1 and self.value["RVR"] and self._hz()
        self._zero_at = self._clock.now + self._ticks(left or self.value["RVR"] + 1) if running else None

    def read_csr(self, value: int) -> int:
        self.update(self._clock.now)
        flag, self._wrapped = self._wrapped, False
        return value | flag << 16

    def write_csr(self, old: int, new: int, _acting: int) -> None:
        """When enabled, the counter counts down from the value in CVR (B3.3.1), which it keeps while disabled."""
        left = self.read_cvr(0)
        self.value["CSR"] = new
        if (old ^ new) & 5:
            self._restart(left)

    def write_cvr(self, _old: int, _new: int, _acting: int) -> None:
        self._wrapped = False
        self._restart()

    def read_cvr(self, _value: int) -> int:
        self.update(self._clock.now)
        if self._zero_at is None:
            return self._held
        return (self._zero_at - self._clock.now) // max(1, self._ticks(1)) & 0xFFFFFF
