"""TIMER of RP2040 and RP2350: a 64-bit counter of a tick, with four alarms (data sheets, 4.6 and 12.8)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.registers import WORD, Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock

ALARMS = 4
_EACH = " ".join(f"ALARM_{i}:{i}" for i in range(ALARMS))
_TIME = "TIME:0-31"


def timer_registers(interrupts: int, *others: Register) -> tuple[Register, ...]:
    """Return the registers of a timer: INTR is at the offset `interrupts`, and `others` stand before it."""
    return (
        Register("TIMEHW", 0x00, _TIME + "/w"), Register("TIMELW", 0x04, _TIME + "/w"),
        Register("TIMEHR", 0x08, _TIME + "/r"), Register("TIMELR", 0x0C, _TIME + "/r"),
        *(Register(f"ALARM{i}", 0x10 + 4 * i, _TIME) for i in range(ALARMS)),
        Register("ARMED", 0x20, "ARMED:0-3/c"),
        Register("TIMERAWH", 0x24, _TIME + "/r"), Register("TIMERAWL", 0x28, _TIME + "/r"),
        Register("DBGPAUSE", 0x2C, "RESERVED:0 DBG0:1 DBG1:2", 0x7), Register("PAUSE", 0x30, "PAUSE:0"), *others,
        Register("INTR", interrupts, _EACH.replace(" ", "/c ") + "/c"), Register("INTE", interrupts + 4, _EACH),
        Register("INTF", interrupts + 8, _EACH), Register("INTS", interrupts + 12, _EACH.replace(" ", "/r ") + "/r"),
    )  # fmt: skip


class RpTimer(ApbBlock):
    """The 64-bit timer with four alarms; a chip's subclass has its registers.

    Args:
        name, base: name and base address as in the data sheet.
        clock: virtual time.
        tick_hz: returns the frequency of the tick in Hz, 0 while it is stopped.
        drive: called with (alarm, level) when an interrupt line changes.
    """

    def __init__(
        self, name: str, base: int, clock: Clock, tick_hz: Callable[[], int], drive: Callable[[int, bool], None]
    ) -> None:
        super().__init__(name, base)
        self._clock = clock
        self._tick_hz = tick_hz
        self._drive = drive
        for i in range(ALARMS):
            self._writers[f"ALARM{i}"] = lambda _old, new, _acting, i=i: self._arm(i, new)
        self.on_write("PAUSE", then=self.rate_changed)
        self.on_write("INTR", "INTE", "INTF", then=self._refresh)
        self._forget()

    def _forget(self) -> None:
        self._base, self._base_ps, self._hz = 0, self._clock.now, self._rate()
        self._latched_high = self._low_written = 0
        self._driven = 0
        self._due: dict[int, int] = {}  # alarm -> 64-bit time at which it fires

    def reset(self) -> None:
        super().reset()
        self._forget()
        for i in range(ALARMS):
            self._drive(i, False)

    def _rate(self) -> int:
        return 0 if self.value["PAUSE"] else self._tick_hz()

    def time(self) -> int:
        """Return the 64-bit time in ticks."""
        return self._base + (self._clock.now - self._base_ps) * self._hz // PS_PER_S

    def rate_changed(self) -> None:
        """Apply a change of the tick's frequency."""
        if self._rate() != self._hz:
            self._base, self._base_ps, self._hz = self.time(), self._clock.now, self._rate()

    def update(self, now: int) -> None:
        if not self._due or (now - self._base_ps) * self._hz < (min(self._due.values()) - self._base) * PS_PER_S:
            return
        time = self.time()
        for i in [i for i, due in self._due.items() if time >= due]:
            del self._due[i]
            self.value["ARMED"] &= ~(1 << i)
            self.value["INTR"] |= 1 << i
        self._refresh()

    def next_event(self) -> int | None:
        due = [at for i, at in self._due.items() if self.value["INTE"] >> i & 1]
        if not due or not self._hz:
            return None
        return self._base_ps - (-(min(due) - self._base) * PS_PER_S // self._hz)

    def _refresh(self) -> None:
        asking = self.value["INTR"] & self.value["INTE"] | self.value["INTF"]
        for i in range(ALARMS):
            if (asking ^ self._driven) >> i & 1:
                self._drive(i, bool(asking >> i & 1))
        self._driven = asking

    # registers

    def _arm(self, alarm: int, value: int) -> None:
        self.value[f"ALARM{alarm}"] = value
        self.value["ARMED"] |= 1 << alarm
        time = self.time()
        # It fires when the low words are equal: for a time that has just passed that is after 71 minutes (4.6.3).
        self._due[alarm] = time + (value - time & WORD)

    def write_armed(self, old: int, new: int, _acting: int) -> None:
        self.value["ARMED"] = new
        for i in range(ALARMS):
            if (old & ~new) >> i & 1:
                self._due.pop(i, None)

    def write_timelw(self, _old: int, _new: int, acting: int) -> None:
        self._low_written = acting

    def write_timehw(self, _old: int, _new: int, acting: int) -> None:
        self._base, self._base_ps = acting << 32 | self._low_written, self._clock.now
        for i in self._due:
            self._arm(i, self.value[f"ALARM{i}"])

    def read_timelr(self, _value: int) -> int:
        time = self.time()
        self._latched_high = time >> 32
        return time & WORD

    def read_timehr(self, _value: int) -> int:
        return self._latched_high

    def read_timerawl(self, _value: int) -> int:
        return self.time() & WORD

    def read_timerawh(self, _value: int) -> int:
        return self.time() >> 32

    def read_intr(self, value: int) -> int:
        self.update(self._clock.now)
        return self.value["INTR"]

    def read_ints(self, _value: int) -> int:
        self.update(self._clock.now)
        return self.value["INTR"] & self.value["INTE"] | self.value["INTF"]
