"""RP2350 on a Raspberry Pi Pico 2: memories, peripherals and clock tree wired together.

Source: RP2350 data sheet, 2.2 address map. A system reset by a debugger or by software resets only the core:
peripherals and clocks keep their state, as on silicon. Core 0 is a Cortex-M33 in the Secure state; core 1 waits in the
boot ROM and is not executed; there are no RISC-V cores. Accesses to peripherals without a model (PIO, USB, SPI, I2C,
ADC, PWM, UART1, OTP, POWMAN, TRNG, SHA256, HSTX, SYSCFG, BUSCTRL, the Non-secure alias of SIO) fault, and so do all
coprocessors but 7.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from unicorn.arm_const import UC_CPU_ARM_CORTEX_M33

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core_spec import CoreSpec
from hil.standins.virtual.chip.cortex_m33 import private_peripherals
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.line_uart import LineWiring
from hil.standins.virtual.chip.machine import Chip
from hil.standins.virtual.chip.rp2.apb import Alias, ApbBlock
from hil.standins.virtual.chip.rp2.dma import ReceiveRequest
from hil.standins.virtual.chip.rp2.pins import FUNC_UART, IoBank, Pads
from hil.standins.virtual.chip.rp2.pl011 import Pl011
from hil.standins.virtual.chip.rp2.resets import Psm, Resets
from hil.standins.virtual.chip.rp2350 import bootram, rom
from hil.standins.virtual.chip.rp2350.accessctrl import AccessControl
from hil.standins.virtual.chip.rp2350.address_map import MAINTENANCE_SIZE, MEMORIES, PERIPHERALS, SRAM_SIZE, XIP_WINDOWS
from hil.standins.virtual.chip.rp2350.clocks import Rp2350Clocks
from hil.standins.virtual.chip.rp2350.coprocessor import NUMBER as REDUNDANCY
from hil.standins.virtual.chip.rp2350.coprocessor import RedundancyCoprocessor
from hil.standins.virtual.chip.rp2350.core1 import Core1Bus
from hil.standins.virtual.chip.rp2350.dma import Rp2350Dma
from hil.standins.virtual.chip.rp2350.oscillators import LPOSC_HZ, ROSC_HZ, Rp2350Pll, Rp2350Rosc, Rp2350Xosc
from hil.standins.virtual.chip.rp2350.qmi import CacheMaintenance, Qmi, XipControl
from hil.standins.virtual.chip.rp2350.resets import NAMES, STAGES
from hil.standins.virtual.chip.rp2350.sio import (
    BANK0_PADS,
    CTRL,
    LATCHED_PAD,
    QSPI_PADS,
    QSPI_PINS,
    STATUS,
    Rp2350Sio,
)
from hil.standins.virtual.chip.rp2350.sysinfo import SysInfo
from hil.standins.virtual.chip.rp2350.ticks import Rp2350Timer, Ticks
from hil.standins.virtual.chip.rp2350.watchdog import Rp2350Watchdog
from hil.standins.virtual.chip.stack_limits import StackLimits
from hil.standins.virtual.chip.w25q import W25Q

# 52 interrupts and 4 bits of priority (pico-sdk, hardware_regs intctrl.h, and CMSIS RP2350.h).
CORE = CoreSpec(
    cpu=UC_CPU_ARM_CORTEX_M33, interrupts=52, priority_bits=4, boot_address=0, reset_hz=ROSC_HZ,
    private=private_peripherals,
)  # fmt: skip
TIMER_IRQS, DMA_IRQ, UART0_IRQ, TX_PIN, RX_PIN = (0, 4), 10, 33, 0, 1
DREQ_UART0_RX, UART0 = 29, 0x40070000
_STACK_LIMIT_CODE = 0x500  # in the ROM
_PROC0 = 1 << STAGES.index("PROC0")


class Rp2350(Chip):
    """An RP2350.

    Args:
        rng: generator of contents that are undefined after power-on (SRAM).
        send: called with each byte that UART0 has sent.
        on_pin: called with ("GP", pin, level, virtual time in picoseconds) when an output pin changes.
        log: receives one line for each event.
        line_baud: baud rate of the line at UART0.
        crystal_hz: frequency of the crystal on the board.
    """

    clocks: Rp2350Clocks
    pll_sys: Rp2350Pll
    pll_usb: Rp2350Pll

    def __init__(
        self, rng: np.random.Generator, send: Callable[[int], None], on_pin: Callable[[str, int, int, int], None],
        log: Callable[[str], None], line_baud: int, crystal_hz: int = 12_000_000,
    ) -> None:  # fmt: skip
        super().__init__(CORE, MEMORIES, PERIPHERALS, log)
        self.core.bytes["sram"][:] = rng.integers(0, 256, SRAM_SIZE, np.uint8)
        self._power_on_wanted = False
        self.redundancy = RedundancyCoprocessor(self.core)
        self._wire_clocks(crystal_hz)
        self._wire_pins(on_pin)
        self._wire_flash()
        self._wire_timers()
        self._wire_serial(send, line_baud)
        self.boot_ram, self.access = bootram.BootRam(), AccessControl()
        self.resets = Resets(0x40020000, NAMES, {
            "IO_BANK0": self.bank, "IO_QSPI": self.qspi_bank, "PADS_BANK0": self.pads, "PADS_QSPI": self.qspi_pads,
            "PLL_SYS": self.pll_sys, "PLL_USB": self.pll_usb, "SYSINFO": SysInfo("SYSINFO", 0x40000000),
            "TIMER0": self.timers[0], "TIMER1": self.timers[1], "UART0": self.uart0, "DMA": self.dma,
        })  # fmt: skip
        self.psm = Psm(0x40018000, STAGES)
        self._always: list[ApbBlock] = [
            self.rosc, self.xosc, self.clocks, self.watchdog, self.ticks, self.qmi, self.xip_control,
        ]  # fmt: skip
        self._attach()
        self._rom = rom.Rp2350BootRom(self)
        image = bytearray(self._rom.image())
        image[_STACK_LIMIT_CODE : _STACK_LIMIT_CODE + len(StackLimits.CODE)] = StackLimits.CODE
        self.core.bytes["rom"][:] = np.frombuffer(image, np.uint8)
        self._limits = StackLimits(self.core, _STACK_LIMIT_CODE)
        self._limits.attach(self)
        self.core1 = Core1Bus(self.bus, rom.WAIT)
        self.systick.reference_hz = partial(self.ticks.hz, "PROC0")
        self.power_on()

    @property
    def contents(self) -> np.ndarray:
        return self.flash.array

    @property
    def serial(self) -> Pl011:
        return self.uart0

    def _attach(self) -> None:
        for block in (*self._always, self.psm, self.resets, *self.resets.held.values()):
            self.bus.attach(block, 0x1000)
            for number in (1, 2, 3):
                self.bus.attach(Alias(block, number), 0x1000)
        for target in (self.sio, self.access):
            self.bus.attach(target, 0x1000)
        self.bus.attach(self.boot_ram, 0x30, 0x800)
        self.bus.attach_area(CacheMaintenance(partial(self.note_stale_cache, False)), MAINTENANCE_SIZE)
        self.sources += [*self.timers, self.uart0, self.watchdog]

    def _wire_clocks(self, crystal_hz: int) -> None:
        self.rosc = Rp2350Rosc(0x400E8000, self.clock, lambda: self.clocks.settle())
        self.xosc = Rp2350Xosc(0x40048000, self.clock, crystal_hz, lambda: self.clocks.settle())
        self.pll_sys, self.pll_usb = (
            Rp2350Pll(
                name, base, self.clock, self.xosc, partial(self._uses, name.lower()), lambda: self.clocks.settle()
            )
            for name, base in (("PLL_SYS", 0x40050000), ("PLL_USB", 0x40058000))
        )
        self.clocks = Rp2350Clocks(0x40010000, self.clock, self._source_hz, self._clocks_changed)
        self.ticks = Ticks(self.clocks.ref_hz, self._tick_changed)
        self.watchdog = Rp2350Watchdog(self.clock, partial(self.ticks.hz, "WATCHDOG"), self._bite)

    def _source_hz(self, name: str) -> int:
        if name == "lposc":
            return LPOSC_HZ
        sources: dict[str, Rp2350Rosc | Rp2350Xosc | Rp2350Pll] = {
            "rosc": self.rosc, "xosc": self.xosc, "pll_sys": self.pll_sys, "pll_usb": self.pll_usb,
        }  # fmt: skip
        return sources[name].hz

    def _uses(self, source: str) -> bool:
        """Return whether a clock comes from a source; the PLLs are made before the clocks."""
        return self.clocks.uses(source)

    def _wire_pins(self, on_pin: Callable[[str, int, int, int], None]) -> None:
        names = tuple(f"GPIO{i}" for i in range(48))
        self.bank = IoBank("IO_BANK0", 0x40028000, names, (STATUS, CTRL), lambda: self.sio.drive())
        self.qspi_bank = IoBank("IO_QSPI", 0x40030000, QSPI_PINS, (STATUS, CTRL), self.window_changed)
        self.pads = Pads("PADS_BANK0", 0x40038000, BANK0_PADS, LATCHED_PAD, lambda: self.sio.drive())
        self.qspi_pads = Pads("PADS_QSPI", 0x40040000, QSPI_PADS, LATCHED_PAD, self.window_changed)
        self.sio = Rp2350Sio(self.bank, self.pads, lambda pin, level: on_pin("GP", pin, level, self.clock.now))

    def _wire_flash(self) -> None:
        self._closed: dict[str, str] = dict.fromkeys(XIP_WINDOWS, "")
        self._stale = False
        self.flash = W25Q(
            self.clock,
            self.core.bytes["xip"],
            XIP_WINDOWS["xip"],
            self.flash_power,
            self.flash_cells,
            self.core.code_changed,
        )
        self.qmi = Qmi(self.clock, self.clocks.sys_hz, self.flash, self.qspi_unconnected, self.window_changed)
        self.xip_control = XipControl()

    def _wire_timers(self) -> None:
        self.timers = tuple(
            Rp2350Timer(
                number, self.clock, partial(self.ticks.hz, f"TIMER{number}"), self.clocks.sys_hz,
                partial(self._alarm, first),
            )
            for number, first in enumerate(TIMER_IRQS)
        )  # fmt: skip

    def _alarm(self, first: int, alarm: int, high: bool) -> None:
        self.nvic.set_line(first + alarm, high)

    def _wire_serial(self, send: Callable[[int], None], line_baud: int) -> None:
        self.dma = Rp2350Dma(
            self.core, {DREQ_UART0_RX: ReceiveRequest("UART0_RX", UART0, lambda: self.uart0.offer())},
            lambda i, high: self.nvic.set_line(DMA_IRQ + i, high), lambda: self.uart0.update(self.clock.now),
        )  # fmt: skip
        wiring = LineWiring(
            self.clocks.peri_hz, self._uart0_pins, lambda high: self.nvic.set_line(UART0_IRQ, high), send, line_baud,
            self.log,
        )  # fmt: skip
        self.uart0 = Pl011("UART0", UART0, self.clock, wiring, self.dma, DREQ_UART0_RX)

    def _uart0_pins(self) -> tuple[bool, bool]:
        receives = self.bank.function(RX_PIN) == FUNC_UART and self.pads.receives(RX_PIN)
        return self.bank.function(TX_PIN) == FUNC_UART and self.pads.drives(TX_PIN), receives

    # changes that affect several blocks

    def _clocks_changed(self) -> None:
        self.systick.frequency_changed()
        self.uart0.clock_changed()
        self._tick_changed()
        self.window_changed()

    def _tick_changed(self) -> None:
        for timer in self.timers:
            timer.rate_changed()
        self.watchdog.rate_changed()
        self.systick.frequency_changed()

    def qspi_unconnected(self) -> str:
        """Return why the flash is not connected to QMI, or an empty text."""
        if not (self.qspi_bank.clocked and self.qspi_pads.clocked):
            return "IO_QSPI or PADS_QSPI is held in reset"
        for pin in QSPI_PINS[2:]:
            if self.qspi_bank.field(f"{pin}_CTRL", "FUNCSEL"):
                return f"IO_QSPI_{pin}_CTRL selects another function than XIP"
            if self.qspi_pads.field(pin, "ISO"):
                return f"the pad {pin} is isolated (ISO in PADS_QSPI)"
        return ""

    def note_stale_cache(self, stale: bool) -> None:
        """Note that the cache may hold bytes that are no longer in the flash, or that it was flushed."""
        self._stale = stale
        self.window_changed()

    def window_changed(self) -> None:
        """Open or close the windows of the flash."""
        reason = self.qmi.closed_reason()
        for name in XIP_WINDOWS:
            closed = reason
            if closed is None and self._stale and name == "xip":
                closed = "the cache may hold bytes from before an erase or program of the flash; call flash_flush_cache"
            if closed != self._closed[name]:
                self._closed[name] = closed or ""
                self.core.open(name, closed is None, closed or "")

    # reset

    def set_stack_limit(self, limit: int) -> None:
        """Set MSPLIM of the Secure state."""
        self._limits.write(limit, 0)

    def power_on(self) -> None:
        """Reset everything: power-on (7.2). PSM keeps its registers at every other reset."""
        self.watchdog.power_on()
        self.psm.reset()
        self._power_on_wanted = True
        self.reset()

    def _bite(self) -> None:
        """Reset what the watchdog resets, as soon as the run has ended (7.4.2, PSM_WDSEL)."""
        if not self.psm.value["WDSEL"] & _PROC0:
            raise ModelFault("the watchdog bites, and PSM_WDSEL does not select the cores: the chip is not reset")
        self._power_on_wanted = True
        self.request_reset()

    def _reset_blocks(self) -> None:
        super()._reset_blocks()
        self.redundancy.reset()
        if not self._power_on_wanted:
            return
        self._power_on_wanted = False
        self._stale = False
        for block in (*self._always, self.sio, self.boot_ram, self.access, self.resets):
            block.reset()
        self._clocks_changed()

    def _start_core(self) -> None:
        super()._start_core()
        self._limits.write(0, 0)

    def _handle_undefined(self) -> None:
        """Run a routine of the boot ROM; all but its start use coprocessor 7, which a program may have switched off."""
        pc = self.core.get(c.PC)
        if self._rom.is_function(pc) and not self._is_on(REDUNDANCY):
            self.log("a routine of the boot ROM is called while CPACR.CP7 is off")
            self.faults.usage("NOCP")
        elif not self._rom.call(pc):
            super()._handle_undefined()

    def _is_on(self, coprocessor: int) -> bool:
        return coprocessor < 8 and self.scb.value["CPACR"] >> 2 * coprocessor & 3 == 3

    def _handle_coprocessor(self) -> None:
        pc = self.core.get(c.PC)
        first, second = (int.from_bytes(self.core.peek(pc + i, 2), "little") for i in (0, 2))
        number = second >> 8 & 0xF
        enabled = self._is_on(number)
        if enabled and number != REDUNDANCY:
            raise ModelFault(f"coprocessor {number} is used, which this model does not have")
        if enabled and self.redundancy.execute(first << 16 | second):
            self.core.set(c.PC, pc + 4 | 1)
            return
        super()._handle_coprocessor()
