"""Base of nRF52 peripherals: tasks, events, shortcuts, interrupts (Product Specification, peripheral interface).

A task is a register that starts an action when 1 is written. An event is a register that the peripheral sets to 1 and
software clears by writing 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register


@dataclass(frozen=True)
class Times:
    """Virtual times of an event in picoseconds: it happened `count` times at equal intervals from `first` to `last`."""

    first: int
    last: int
    count: int = 1

    @classmethod
    def once(cls, now: int) -> Times:
        return cls(now, now)


Fire = Callable[[int, Times], None]


def task(name: str, offset: int) -> Register:
    """Return the register of a task."""
    return Register(f"TASKS_{name}", offset, f"TASKS_{name}:0/w")


def unsupported_task(name: str, offset: int) -> Register:
    """Return the register of a task that the chip has and the model does not have."""
    return Register(f"TASKS_{name}", offset, f"TASKS_{name}:0/x")


def event(name: str, offset: int) -> Register:
    """Return the register of an event."""
    return Register(f"EVENTS_{name}", offset, f"EVENTS_{name}:0")


def interrupt_set_and_clear(fields: str) -> tuple[Register, Register]:
    """Return INTENSET and INTENCLR at their usual offsets; `fields` is a list of NAME:bit."""
    return Register("INTENSET", 0x304, fields), Register("INTENCLR", 0x308, fields)


class EventBlock(Block):
    """A peripheral with tasks, events, shortcuts and an interrupt.

    A subclass defines `task_NAME(times)` for each task, with NAME in lower case, and `SHORTS_TO` as tuples (shortcut,
    event, task).

    Args:
        name, base: name and base address as in the Product Specification.
        drive: called with the level of the interrupt line when it changes.
        fire: called with the address of an event's register and its times when the event happens (the PPI).
        now: returns virtual time, after all peripherals are updated to it.
    """

    SHORTS_TO: tuple[tuple[str, str, str], ...] = ()

    def __init__(self, name: str, base: int, drive: Callable[[bool], None], fire: Fire, now: Callable[[], int]) -> None:
        super().__init__(name, base)
        self._drive_line = drive
        self._fire = fire
        self._now = now
        self._enabled = 0
        self._high = False
        fields = self._named["INTENSET"].by_name.values() if "INTENSET" in self._named else ()
        self._interrupt_of = {f"EVENTS_{f.name}": f.mask for f in fields}
        for register in self.REGISTERS:
            if register.name.startswith("TASKS_") and register.acting:
                self._writers[register.name] = lambda _old, _new, acting, r=register: self._trigger(r, acting)
            if register.name.startswith("EVENTS_"):
                self._writers[register.name] = lambda _old, new, _acting, r=register: self._clear(r, new)
                self._reader_at[register.offset] = register.name, lambda _value, r=register: self._read_event(r)
                self._readers[register.name] = self._reader_at[register.offset][1]

    def reset(self) -> None:
        super().reset()
        self._enabled = 0
        self._refresh()

    # tasks

    def trigger(self, offset: int, times: Times) -> None:
        """Do a task for the PPI; raise ModelFault if there is no task at the offset."""
        register = self._at.get(offset)
        if register is None or not register.acting or not register.name.startswith("TASKS_"):
            raise ModelFault(f"the PPI triggers 0x{self.base + offset:08X}: {self.name} has no task there")
        getattr(self, f"task_{register.name[6:].lower()}")(times)

    def _trigger(self, register: Register, acting: int) -> None:
        if acting:
            getattr(self, f"task_{register.name[6:].lower()}")(Times.once(self._now()))

    # events

    def emit(self, name: str, times: Times) -> None:
        """Signal an event: set its register and interrupt, trigger shortcuts and the PPI."""
        register = self._named[f"EVENTS_{name}"]
        self.value[register.name] = 1
        self._refresh()
        for shortcut, of, to in self.SHORTS_TO:
            if of == name and self.field("SHORTS", shortcut):
                getattr(self, f"task_{to.lower()}")(times)
        self._fire(self.base + register.offset, times)

    def _clear(self, register: Register, new: int) -> None:
        if new:
            raise ModelFault(f"{self.name}_{register.name} is set to 1: events are made by the peripheral; write 0")
        self.value[register.name] = 0
        self._refresh()

    def _read_event(self, register: Register) -> int:
        self._now()
        return self.value[register.name]

    # interrupts

    def enabled(self, name: str) -> bool:
        """Return whether the interrupt of an event is enabled."""
        return bool(self._enabled & self._interrupt_of.get(f"EVENTS_{name}", 0))

    def write_intenset(self, _old: int, new: int, _acting: int) -> None:
        self._enable(self._enabled | new)

    def write_intenclr(self, _old: int, new: int, _acting: int) -> None:
        self._enable(self._enabled & ~new)

    def write_inten(self, _old: int, new: int, _acting: int) -> None:
        self._enable(new)

    def _enable(self, mask: int) -> None:
        self._enabled = mask
        self._refresh()

    def read_intenset(self, _value: int) -> int:
        return self._enabled

    read_intenclr = read_inten = read_intenset

    def _refresh(self) -> None:
        high = bool(self._enabled) and any(self.value[n] and self._enabled & m for n, m in self._interrupt_of.items())
        if high != self._high:
            self._high = high
            self._drive_line(high)
