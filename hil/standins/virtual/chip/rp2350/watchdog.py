"""WATCHDOG of the RP2350: countdown, forced reset and scratch registers (data sheet, 12.9)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock

TIMER, FORCE = 1, 2  # REASON
SCRATCH = tuple(f"SCRATCH{i}" for i in range(8))
_ENABLE = 1 << 30


class Rp2350Watchdog(ApbBlock):
    """The watchdog. Its PAUSE bits have no effect: a halted core's countdown goes on.

    Args:
        clock: virtual time.
        tick_hz: returns the frequency of its tick in Hz, 0 while it is stopped.
        trigger: called when it resets the chip.
    """

    REGISTERS = (
        Register("CTRL", 0x00, "TIME:0-23/r PAUSE_JTAG:24 PAUSE_DBG0:25 PAUSE_DBG1:26 ENABLE:30 TRIGGER:31/w",
                 0x07000000),
        Register("LOAD", 0x04, "LOAD:0-23/w"),
        Register("REASON", 0x08, "TIMER:0/r FORCE:1/r"),
        *(Register(name, 0x0C + 4 * i, "SCRATCH:0-31") for i, name in enumerate(SCRATCH)),
    )  # fmt: skip

    def __init__(self, clock: Clock, tick_hz: Callable[[], int], trigger: Callable[[], None]) -> None:
        super().__init__("WATCHDOG", 0x400D8000)
        self._clock = clock
        self._tick_hz = tick_hz
        self._trigger = trigger
        self._left = 0  # ticks at `_since`
        self._since = 0
        self._hz = 0

    def reset(self) -> None:
        """Reset all but the scratch registers and the reason, which only power-on clears (12.9.7)."""
        kept = {name: self.value[name] for name in ("REASON", *SCRATCH)}
        super().reset()
        self.value.update(kept)
        self._left = 0
        self.rate_changed()

    def power_on(self) -> None:
        """Clear the scratch registers and the reason."""
        for name in ("REASON", *SCRATCH):
            self.value[name] = 0

    def _now_left(self) -> int:
        return max(0, self._left - (self._clock.now - self._since) * self._hz // PS_PER_S)

    def rate_changed(self) -> None:
        """Apply a change of the tick's frequency, or of ENABLE."""
        self._left, self._since = self._now_left(), self._clock.now
        self._hz = self._tick_hz() if self.value["CTRL"] & _ENABLE else 0

    def update(self, now: int) -> None:
        event = self.next_event()
        if event is not None and now >= event:
            self._bite(TIMER)

    def next_event(self) -> int | None:
        """Return the virtual time at which the countdown ends, or None while it does not run."""
        return self._since - (-self._left * PS_PER_S // self._hz) if self._hz else None

    def _bite(self, reason: int) -> None:
        self.value["REASON"] = reason
        self.value["CTRL"] &= ~_ENABLE
        self._hz = 0
        self._trigger()

    def read_ctrl(self, value: int) -> int:
        return value | self._now_left()

    def write_ctrl(self, _old: int, new: int, acting: int) -> None:
        self.value["CTRL"] = new
        self.rate_changed()
        if acting >> 31:
            self._bite(FORCE)

    def write_load(self, _old: int, _new: int, acting: int) -> None:
        self._left, self._since = acting, self._clock.now
