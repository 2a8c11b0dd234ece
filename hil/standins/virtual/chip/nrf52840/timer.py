"""TIMER: counts time or events, compares and captures (Product Specification, TIMER)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.nrf52840.events import EventBlock, Fire, Times, event, interrupt_set_and_clear, task
from hil.standins.virtual.chip.registers import Register

HZ = 16_000_000  # frequency before the prescaler
_WIDTH = (16, 8, 24, 32)  # bits of the counter by BITMODE


class Nrf52840Timer(EventBlock):
    """A timer/counter.

    Args:
        number: number of the instance; 0 to 2 have four CC registers, 3 and 4 have six.
        clock: virtual time.
        drive, fire, now: see EventBlock.
        cleared_until: returns the time of the last known event that will clear this timer, or 0 if there is none.
    """

    def __init__(
        self, number: int, clock: Clock, drive: Callable[[bool], None], fire: Fire, now: Callable[[], int],
        cleared_until: Callable[[], int] = lambda: 0,
    ) -> None:  # fmt: skip
        n = self._n = 6 if number >= 3 else 4
        self.REGISTERS = (
            task("START", 0x000), task("STOP", 0x004), task("COUNT", 0x008), task("CLEAR", 0x00C),
            task("SHUTDOWN", 0x010),
            *(task(f"CAPTURE{i}", 0x040 + 4 * i) for i in range(n)),
            *(event(f"COMPARE{i}", 0x140 + 4 * i) for i in range(n)),
            Register("SHORTS", 0x200, " ".join(f"COMPARE{i}_CLEAR:{i} COMPARE{i}_STOP:{8 + i}" for i in range(n))),
            *interrupt_set_and_clear(" ".join(f"COMPARE{i}:{16 + i}" for i in range(n))),
            Register("MODE", 0x504, "MODE:0-1"), Register("BITMODE", 0x508, "BITMODE:0-1"),
            Register("PRESCALER", 0x510, "PRESCALER:0-3", 4),
            *(Register(f"CC{i}", 0x540 + 4 * i, "CC:0-31") for i in range(n)),
        )  # fmt: skip
        self._clock = clock
        self._cleared_until = cleared_until
        self._running = False
        self._value = 0
        self._since = 0  # virtual time at which a running timer had this value
        super().__init__(
            f"TIMER{number}", 0x40008000 + 0x1000 * number if number < 3 else 0x40017000 + 0x1000 * number, drive, fire,
            now,
        )  # fmt: skip
        self.on_write("BITMODE", held=lambda: "the timer runs; stop it first" if self._running else "")
        for i in range(n):
            setattr(self, f"task_capture{i}", lambda times, i=i: self._capture(i, times))
            self._writers[f"CC{i}"] = lambda _old, new, _acting, i=i: self._set_compare(i, new)

    def reset(self) -> None:
        super().reset()
        self._running, self._value = False, 0

    @property
    def _counts_time(self) -> bool:
        return self.value["MODE"] == 0

    @property
    def _mask(self) -> int:
        return (1 << _WIDTH[self.value["BITMODE"]]) - 1

    def _ps(self, ticks: int) -> int:
        return (ticks << min(self.value["PRESCALER"], 9)) * PS_PER_S // HZ

    # time

    def update(self, now: int) -> None:
        """Update the timer to the time `now`, one compare event after the other."""
        while self._running and self._counts_time:
            due = self._due()
            if due is None or due[0] > now:
                break
            at, i = due
            self._value, self._since = self.value[f"CC{i}"], at
            self._compare(i, Times.once(at))
        if self._running and self._counts_time and now > self._since:
            # Count whole ticks only; the fraction stays in `_since`.
            ticks = (now - self._since) * HZ // (PS_PER_S << min(self.value["PRESCALER"], 9))
            self._value = self._value + ticks & self._mask
            self._since += self._ps(ticks)

    def _due(self) -> tuple[int, int] | None:
        """Return time and number of the next compare event, or None."""
        waits = [
            ((self.value[f"CC{i}"] - self._value & self._mask) or self._mask + 1, i)
            for i in range(self._n)
            if self._noticed(i)
        ]
        ticks, i = min(waits, default=(0, -1))
        return (self._since + self._ps(ticks), i) if waits else None

    def _noticed(self, i: int) -> bool:
        """Return whether software, a shortcut or the PPI can notice a compare event."""
        return self.value[f"CC{i}"] <= self._mask and (self.value[f"CC{i}"] != 0 or self.enabled(f"COMPARE{i}"))

    def next_event(self) -> int | None:
        if not self._running or not self._counts_time:
            return None
        due = self._due()
        if due is None:
            return None
        # While events keep clearing the timer, it does not reach the compare value.
        until = self._cleared_until()
        return max(due[0], until + self._shortest()) if until else due[0]

    def _shortest(self) -> int:
        """Return the time from a clear to the first compare event in picoseconds."""
        return self._ps(min((self.value[f"CC{i}"] for i in range(self._n) if self._noticed(i)), default=self._mask + 1))

    def _compare(self, i: int, times: Times) -> None:
        if self.field("SHORTS", f"COMPARE{i}_CLEAR"):
            self._value = 0
        if self.field("SHORTS", f"COMPARE{i}_STOP"):
            self._running = False
        self.emit(f"COMPARE{i}", times)

    # tasks

    def task_start(self, times: Times) -> None:
        self.update(times.first)
        if not self._running:
            self._running, self._since = True, times.last

    def task_stop(self, times: Times) -> None:
        self.update(times.last)
        self._running = False

    def task_shutdown(self, times: Times) -> None:
        self.task_stop(times)
        self._value = 0

    def task_count(self, times: Times) -> None:
        if self._counts_time or not self._running:
            return
        before = self._value
        self._value = before + times.count & self._mask
        for i in range(self._n):
            if 0 < (self.value[f"CC{i}"] - before & self._mask) <= times.count:
                self.emit(f"COMPARE{i}", times)

    def task_clear(self, times: Times) -> None:
        self.update(times.first)
        if times.count > 1 and self._running and self._counts_time:
            distance = (times.last - times.first) // (times.count - 1)
            if self._shortest() <= distance:
                raise ModelFault(f"{self.name} is cleared every {distance} ps and compares earlier: not modelled")
        self._value, self._since = 0, times.last

    def _capture(self, i: int, times: Times) -> None:
        self.update(times.last)
        self.value[f"CC{i}"] = self._value

    # registers

    def _set_compare(self, i: int, new: int) -> None:
        self._now()
        self.value[f"CC{i}"] = new

    def _while_stopped(self, register: str, old: int, new: int) -> None:
        if self._running and old != new:
            raise ModelFault(f"{self.name}_{register} changes while the timer runs; stop it first")
        self.value[register] = new

    def write_mode(self, old: int, new: int, _acting: int) -> None:
        if new > 2:
            raise ModelFault(f"{self.name}_MODE is written with {new}, which is not a mode")
        self._while_stopped("MODE", old, new)

    def write_prescaler(self, old: int, new: int, _acting: int) -> None:
        if new > 9:
            raise ModelFault(f"{self.name}_PRESCALER is written with {new}; the maximum is 9")
        self._while_stopped("PRESCALER", old, new)
