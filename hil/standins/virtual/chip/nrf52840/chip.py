"""nRF52840: memories and peripherals wired together (Product Specification, memory and instantiation).

Accesses to peripherals without a model (radio, RTC, SPI, TWI, ADC, USB, QSPI, UARTE1, GPIOTE, ACL ...) fault. On
silicon SysTick stops while the core sleeps; here it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from unicorn.arm_const import UC_CPU_ARM_CORTEX_M4

from hil.standins.virtual.chip.core_spec import CoreSpec, EventSource
from hil.standins.virtual.chip.cortex_m4 import private_peripherals
from hil.standins.virtual.chip.machine import Chip
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.nrf52840.events import EventBlock
from hil.standins.virtual.chip.nrf52840.nvmc import FLASH_SIZE, Nvmc
from hil.standins.virtual.chip.nrf52840.pins import P0_PINS, P1_PINS, Pins, Port
from hil.standins.virtual.chip.nrf52840.power import CORE_HZ, RESETPIN, SREQ, Nrf52840Watchdog, PowerClock
from hil.standins.virtual.chip.nrf52840.ppi import Ppi
from hil.standins.virtual.chip.nrf52840.protection import HW_DISABLED, CtrlAp, Protection
from hil.standins.virtual.chip.nrf52840.timer import Nrf52840Timer
from hil.standins.virtual.chip.nrf52840.uarte import RAM_BASE, RAM_SIZE, Uarte, UarteWiring
from hil.standins.virtual.chip.nrf52840.uicr import SIZE as UICR_SIZE
from hil.standins.virtual.chip.nrf52840.uicr import Ficr, Uicr

# 48 interrupts and 3 bits of priority (CPU: configuration).
CORE = CoreSpec(
    cpu=UC_CPU_ARM_CORTEX_M4, interrupts=48, priority_bits=3, boot_address=0, reset_hz=CORE_HZ,
    private=private_peripherals,
)  # fmt: skip
FLASH = PhysicalMemory("flash", 0x00000000, FLASH_SIZE, writable=False)
PERIPHERALS = (0x10000000, 0x2000), (0x40000000, 0x40000), (0x50000000, 0x1000), (0xE0000000, 0x00100000)
VARIANT = "AAF0"
_TIMER_IRQS = (8, 9, 10, 26, 27)
_POWER_IRQ, _UARTE0_IRQ = 0, 2
_RXDRDY = 0x40002108


class Nrf52840(Chip):
    """An nRF52840 in the state after `nrfjprog --recover`.

    That is: everything is erased, the debug port is open, and UICR.APPROTECT keeps it open.

    Args:
        rng: generator of contents that are undefined after power-on (RAM), and of the unique id.
        send: called with each byte that UARTE0 has sent.
        on_pin: called with (port number, pin, level, virtual time in picoseconds) when an output pin changes.
        log: receives one line for each event.
        line_baud: baud rate of the line at UARTE0.
        variant: INFO.VARIANT of the chip; the last two letters are the build code.

    Attributes:
        RAM: RAM of the chip; a subclass for a related chip overrides it.
    """

    RAM = PhysicalMemory("ram", RAM_BASE, RAM_SIZE)

    def __init__(
        self, rng: np.random.Generator, send: Callable[[int], None], on_pin: Callable[[str, int, int, int], None],
        log: Callable[[str], None], line_baud: int, variant: str = VARIANT,
    ) -> None:  # fmt: skip
        super().__init__(CORE, (FLASH, self.RAM), PERIPHERALS, log)
        self.core.bytes["ram"][:] = rng.integers(0, 256, self.RAM.size, np.uint8)
        self.uicr = Uicr()
        self.nvmc = Nvmc(self.clock, self.core, self.uicr, self.flash_power, self.flash_cells, log)
        self.uicr.program = self.nvmc.write_word
        self.protection = Protection(self.uicr, variant[2:])
        self.ctrl_ap = CtrlAp(self.protection, self.nvmc.erase_all, super().hold_reset, log)
        self.ports = tuple(self._port(number, pins, on_pin) for number, pins in enumerate((P0_PINS, P1_PINS)))
        self.ppi = Ppi(self._settle_timers)
        self.power = PowerClock(self.clock, self._line(_POWER_IRQ), self.ppi.fire, self._now, self.protection.disable)
        self.timers = tuple(
            Nrf52840Timer(i, self.clock, self._line(irq), self.ppi.fire, self._now, partial(self._cleared_until, i))
            for i, irq in enumerate(_TIMER_IRQS)
        )
        wiring = UarteWiring(self.core, Pins(self.ports), self.power.crystal, send, line_baud)
        self.uarte0 = Uarte(self.clock, wiring, self._line(_UARTE0_IRQ), self.ppi.fire, self._now)
        self._attach(rng, variant)
        self._erased_and_open()
        self.reset()

    def _port(self, number: int, pins: int, on_pin: Callable[[str, int, int, int], None]) -> Port:
        return Port(number, pins, lambda pin, level: on_pin(str(number), pin, level, self.clock.now))

    def _attach(self, rng: np.random.Generator, variant: str) -> None:
        self.bus.attach(Ficr(rng, variant), 0x1000)
        self.bus.attach(self.uicr, UICR_SIZE)
        # The UARTE is updated before the timers: they detect that no byte came.
        events: tuple[EventBlock, ...] = (self.power, self.uarte0, *self.timers)
        for block in (*events, self.ppi, Nrf52840Watchdog()):
            self.add(block, 0x1000)
        self.ppi.blocks = {block.base >> 12: block for block in events}
        self.add(self.nvmc, 0x800)  # ACL follows in the same page
        for port in self.ports:
            self.bus.attach(port, 0x300, 0x500)
            self.blocks.append(port)

    def _erased_and_open(self) -> None:
        self.nvmc.erase_all()
        self.uicr.words[0x208 >> 2] = 0xFFFFFF00 | HW_DISABLED
        self.protection.power_on()
        self.protection.all_erased()

    @property
    def contents(self) -> np.ndarray:
        self.nvmc.settle()
        return self.nvmc.array

    @property
    def serial(self) -> Uarte:
        return self.uarte0

    def _line(self, irq: int) -> Callable[[bool], None]:
        return lambda high: self.nvic.set_line(irq, high)

    # virtual time

    def _now(self) -> int:
        """Return virtual time, after all peripherals are updated to it."""
        now = self.clock.now
        acting: tuple[EventSource, ...] = (self.power, self.uarte0, *self.timers)
        for block in acting:
            block.update(now)
        return now

    def _settle_timers(self, now: int) -> None:
        for timer in self.timers:
            timer.update(now)

    def _cleared_until(self, i: int) -> int:
        """Return the time of the last incoming byte that clears a timer, or 0."""
        clear = self.timers[i].base + 0x00C
        return self.uarte0.stream_end if self.ppi.routes(_RXDRDY, clear) else 0

    # reset

    def protect(self, level: int) -> None:
        """Close the access port (APPROTECT), whatever the level."""
        self.uicr.words[0x208 >> 2] = 0xFFFFFF00
        self.protection.power_on()

    def request_reset(self) -> None:
        self.power.note_reset(SREQ)
        super().request_reset()

    def power_on(self) -> None:
        """Power-on reset: also closes the debug port that a soft reset leaves open."""
        self.protection.power_on()
        self.reset()

    def hold_reset(self, asserted: bool) -> None:
        """Set the reset pin, which has no effect without UICR.PSELRESET."""
        if not self.uicr.pin_reset:
            self.log("nRESET changes, which UICR.PSELRESET does not connect: nothing happens")
            return
        if asserted and not self.reset_line:
            self.power.note_reset(RESETPIN)
            self.protection.power_on()
        super().hold_reset(asserted)
