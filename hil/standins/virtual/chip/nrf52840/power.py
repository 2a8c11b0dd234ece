"""POWER, CLOCK, APPROTECT and WDT (Product Specification, chapters of these names).

The first three share addresses and an interrupt.

The core always runs at 64 MHz, from the RC oscillator or, after it has started, from the crystal. Low-frequency clocks,
System OFF, power failure warnings and the switching of RAM sections are not modelled.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.nrf52840.events import (
    EventBlock,
    Fire,
    Times,
    event,
    interrupt_set_and_clear,
    task,
    unsupported_task,
)
from hil.standins.virtual.chip.registers import WORD, Block, Register

CORE_HZ = 64_000_000
# Typical start-up time of a 32 MHz crystal (CLOCK: electrical specification), from memory: `unverified`.
CRYSTAL_PS = 360_000_000
SW_DISABLE = 0x5A
RESETPIN, DOG, SREQ = 1, 2, 4
_INTERRUPTS = (
    "HFCLKSTARTED:0 LFCLKSTARTED:1 POFWARN:2 DONE:3 CTTO:4 SLEEPENTER:5 SLEEPEXIT:6 USBDETECTED:7 USBREMOVED:8 "
    "USBPWRRDY:9 CTSTARTED:10 CTSTOPPED:11"
)
_SECTIONS = " ".join(f"S{i}POWER:{i}{{0}} S{i}RETENTION:{16 + i}{{0}}" for i in range(16))


class PowerClock(EventBlock):
    """POWER, CLOCK and APPROTECT.

    Args:
        clock: virtual time.
        drive, fire, now: see EventBlock.
        disable_protection: called with the value written to APPROTECT.DISABLE.
    """

    REGISTERS = (
        task("HFCLKSTART", 0x000), task("HFCLKSTOP", 0x004), unsupported_task("LFCLKSTART", 0x008),
        unsupported_task("LFCLKSTOP", 0x00C),
        unsupported_task("CAL", 0x010), unsupported_task("CTSTART", 0x014), unsupported_task("CTSTOP", 0x018),
        unsupported_task("CONSTLAT", 0x078), task("LOWPWR", 0x07C),
        *(event(name, offset) for name, offset in (
            ("HFCLKSTARTED", 0x100), ("LFCLKSTARTED", 0x104), ("POFWARN", 0x108), ("DONE", 0x10C), ("CTTO", 0x110),
            ("SLEEPENTER", 0x114), ("SLEEPEXIT", 0x118), ("USBDETECTED", 0x11C), ("USBREMOVED", 0x120),
            ("USBPWRRDY", 0x124),
            ("CTSTARTED", 0x128), ("CTSTOPPED", 0x12C))),
        *interrupt_set_and_clear(_INTERRUPTS),
        Register("RESETREAS", 0x400, "RESETPIN:0/c DOG:1/c SREQ:2/c LOCKUP:3/c OFF:16/c LPCOMP:17/c DIF:18/c NFC:19/c "
                 "VBUS:20/c"),
        Register("HFCLKRUN", 0x408, "STATUS:0/r"), Register("HFCLKSTAT", 0x40C, "SRC:0/r STATE:16/r"),
        Register("LFCLKRUN", 0x414, "STATUS:0/r"), Register("LFCLKSTAT", 0x418, "SRC:0-1/r STATE:16/r"),
        Register("LFCLKSRCCOPY", 0x41C, "SRC:0-1/r"),
        Register("RAMSTATUS", 0x428, " ".join(f"RAMBLOCK{i}:{i}/r" for i in range(4))),
        Register("USBREGSTATUS", 0x438, "VBUSDETECT:0/r OUTPUTRDY:1/r"), Register("SYSTEMOFF", 0x500, "SYSTEMOFF:0/x"),
        Register("POFCON", 0x510, "POF:0/x THRESHOLD:1-4 THRESHOLDVDDH:8-11"),
        Register("LFCLKSRC", 0x518, "SRC:0-1/x BYPASS:16/x EXTERNAL:17/x"),
        Register("GPREGRET", 0x51C, "GPREGRET:0-7"), Register("GPREGRET2", 0x520, "GPREGRET:0-7"),
        Register("HFXODEBOUNCE", 0x528, "HFXODEBOUNCE:0-7", 0x10), Register("CTIV", 0x538, "CTIV:0-6/x"),
        # Not in the SVD file, which is older than build code F. Source: Nordic's MDK, nrf52840_bitfields.h.
        Register("APPROTECT_FORCEPROTECT", 0x550, "FORCEPROTECT:0-7/x"),
        Register("APPROTECT_DISABLE", 0x558, "DISABLE:0-7"),
        Register("TRACECONFIG", 0x55C, "TRACEPORTSPEED:0-1/x TRACEMUX:16-17/x"), Register("DCDCEN", 0x578, "DCDCEN:0"),
        Register("DCDCEN0", 0x580, "DCDCEN:0"), Register("LFRCMODE", 0x5B4, "MODE:0/x STATUS:16/x"),
        Register("MAINREGSTATUS", 0x640, "MAINREGSTATUS:0/r"),
        *(Register(f"RAM{i}_POWER", 0x900 + 16 * i, _SECTIONS.format("/x"), 0xFFFF) for i in range(9)),
        *(Register(f"RAM{i}_POWERSET", 0x904 + 16 * i, _SECTIONS.format("/w"), 0xFFFF) for i in range(9)),
        *(Register(f"RAM{i}_POWERCLR", 0x908 + 16 * i, _SECTIONS.format("/x"), 0xFFFF) for i in range(9)),
    )  # fmt: skip

    def __init__(
        self, clock: Clock, drive: Callable[[bool], None], fire: Fire, now: Callable[[], int],
        disable_protection: Callable[[int], None],
    ) -> None:  # fmt: skip
        self._clock = clock
        self._disable_protection = disable_protection
        self._crystal_at: int | None = None  # time at which the crystal is running, past or future
        self._started = True
        super().__init__("POWER", 0x40000000, drive, fire, now)

    def reset(self) -> None:
        """Reset other than power-on: RESETREAS and GPREGRET keep their values."""
        kept = {name: self.value[name] for name in ("RESETREAS", "GPREGRET", "GPREGRET2")}
        super().reset()
        self.value.update(kept)
        self._crystal_at, self._started = None, True

    def note_reset(self, reason: int) -> None:
        """Add a reason to RESETREAS, which keeps all reasons until software clears them."""
        self.value["RESETREAS"] |= reason

    def crystal(self) -> bool:
        """Return whether HFCLK comes from the crystal."""
        return self._crystal_at is not None and self._clock.now >= self._crystal_at

    def update(self, now: int) -> None:
        if self._crystal_at is not None and not self._started and now >= self._crystal_at:
            self._started = True
            self.emit("HFCLKSTARTED", Times.once(self._crystal_at))

    def next_event(self) -> int | None:
        return None if self._started else self._crystal_at

    def task_hfclkstart(self, times: Times) -> None:
        if self._crystal_at is None:
            self._crystal_at = times.last + CRYSTAL_PS
        self._started = False

    def task_hfclkstop(self, _times: Times) -> None:
        self._crystal_at, self._started = None, True

    def task_lowpwr(self, _times: Times) -> None:
        """Do nothing: low power is the mode after reset."""

    def read_hfclkrun(self, _value: int) -> int:
        return int(self._crystal_at is not None)

    def read_hfclkstat(self, _value: int) -> int:
        self._now()
        return int(self.crystal()) | 1 << 16

    def write_approtect_disable(self, _old: int, new: int, _acting: int) -> None:
        self.value["APPROTECT_DISABLE"] = new
        self._disable_protection(new)


class Nrf52840Watchdog(Block):
    """Registers after reset. A program that starts the watchdog faults."""

    REGISTERS = (
        unsupported_task("START", 0x000), Register("EVENTS_TIMEOUT", 0x100, "EVENTS_TIMEOUT:0/x"),
        *(Register(name, offset, "TIMEOUT:0/x") for name, offset in (("INTENSET", 0x304), ("INTENCLR", 0x308))),
        Register("RUNSTATUS", 0x400, "RUNSTATUS:0/r"),
        Register("REQSTATUS", 0x404, " ".join(f"RR{i}:{i}/r" for i in range(8)), 1),
        Register("CRV", 0x504, "CRV:0-31", WORD), Register("RREN", 0x508, " ".join(f"RR{i}:{i}" for i in range(8)), 1),
        Register("CONFIG", 0x50C, "SLEEP:0 HALT:3", 1),
        *(Register(f"RR{i}", 0x600 + 4 * i, "RR:0-31/w") for i in range(8)),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("WDT", 0x40010000)
