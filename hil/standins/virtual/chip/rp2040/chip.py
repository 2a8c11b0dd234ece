"""RP2040 on a Raspberry Pi Pico: memories, peripherals and clock tree wired together.

Source: RP2040 data sheet, 2.2 address map. A system reset by a debugger or by software resets only the core (2.4.2.9):
peripherals and clocks keep their state, as on silicon. Core 1 waits in the boot ROM and is not executed. Accesses to
peripherals without a model (PIO, SPI, I2C, ADC, PWM, RTC, UART1, SYSCFG, BUSCTRL) fault.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from unicorn.arm_const import UC_CPU_ARM_CORTEX_M0

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.chip.core_spec import CoreSpec
from hil.standins.virtual.chip.cortex_m0plus import private_peripherals
from hil.standins.virtual.chip.count import NOT_V6M, Slot
from hil.standins.virtual.chip.line_uart import LineWiring
from hil.standins.virtual.chip.machine import Chip
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import Alias, ApbBlock
from hil.standins.virtual.chip.rp2.dma import ReceiveRequest
from hil.standins.virtual.chip.rp2.oscillators import Pll
from hil.standins.virtual.chip.rp2.pins import FUNC_UART, PAD, IoBank, Pads
from hil.standins.virtual.chip.rp2.pl011 import Pl011
from hil.standins.virtual.chip.rp2.resets import Psm, Resets
from hil.standins.virtual.chip.rp2.timer import RpTimer, timer_registers
from hil.standins.virtual.chip.rp2040 import rom
from hil.standins.virtual.chip.rp2040.clocks import Rp2040Clocks
from hil.standins.virtual.chip.rp2040.core1 import Core1Bus
from hil.standins.virtual.chip.rp2040.dma import Rp2040Dma
from hil.standins.virtual.chip.rp2040.io_bank0 import IoBank0
from hil.standins.virtual.chip.rp2040.oscillators import ROSC_HZ, Rp2040Rosc, Rp2040Xosc
from hil.standins.virtual.chip.rp2040.resets import NAMES, STAGES
from hil.standins.virtual.chip.rp2040.sio import BANK0_PADS, CTRL, QSPI_PADS, QSPI_PINS, STATUS, Sio
from hil.standins.virtual.chip.rp2040.ssi import Ssi, XipControl
from hil.standins.virtual.chip.rp2040.usb import UsbController, UsbWiring
from hil.standins.virtual.chip.rp2040.watchdog import Rp2040Watchdog
from hil.standins.virtual.chip.store_place import stores_to
from hil.standins.virtual.chip.w25q import W25Q

# 32 interrupt lines, of which the chip uses 26, and 2 bits of priority (2.4.5, 2.3.2).
CORE = CoreSpec(
    cpu=UC_CPU_ARM_CORTEX_M0, interrupts=32, priority_bits=2, boot_address=0, reset_hz=ROSC_HZ,
    private=private_peripherals, refused=NOT_V6M, buffers_writes=False,
)  # fmt: skip
XIP, FLASH_SIZE = 0x10000000, 0x200000
_XIP = "xip", "xip_noalloc", "xip_nocache", "xip_nocache_noalloc"
MEMORIES = (
    PhysicalMemory("rom", 0x00000000, rom.SIZE, writable=False),
    PhysicalMemory(_XIP[0], XIP, FLASH_SIZE, writable=False),
    *(
        PhysicalMemory(name, 0x11000000 + i * 0x01000000, FLASH_SIZE, writable=False, alias=_XIP[0])
        for i, name in enumerate(_XIP[1:])
    ),
    PhysicalMemory("sram", 0x20000000, 264 * 1024),  # striped banks 0 to 3, and banks 4 and 5 at 0x20040000
)
PERIPHERALS = (
    (0x40000000, 0x70000), (0x50000000, 0x4000), (0x50100000, 0x1000), (0x50110000, 0x4000), (0x14000000, 0x1000),
    (0x18000000, 0x1000), (0xD0000000, 0x1000), (0xE0000000, 0x00100000),
)  # fmt: skip
TIMER_IRQ, USB_IRQ, DMA_IRQ, IO_IRQ_BANK0, UART0_IRQ, TX_PIN, RX_PIN = 0, 5, 11, 13, 20, 0, 1
DREQ_UART0_RX, UART0 = 21, 0x40034000  # (2.5.3.1)
VBUS_SENSE_PIN = 24  # of the board (Raspberry Pi Pico data sheet, 2.1)


class Rp2040Timer(RpTimer):
    """The 64-bit timer."""

    REGISTERS = timer_registers(0x34)


class SysInfo(ApbBlock):
    """Chip identification (2.20): RP2040, version 2."""

    REGISTERS = (
        Register("CHIP_ID", 0x0, "MANUFACTURER:0-11/r PART:12-27/r REVISION:28-31/r", 0x20002927),
        Register("PLATFORM", 0x4, "FPGA:0/r ASIC:1/r", 2),
        Register("GITREF_RP2040", 0x10, "GITREF:0-31/r"),
    )


class Regulator(ApbBlock):
    """The core's voltage regulator and the flags of the last reset (2.10), as registers."""

    REGISTERS = (
        Register("VREG", 0x0, "EN:0 HIZ:1/x VSEL:4-7 ROK:12/r", 0x10B1),
        Register("BOD", 0x4, "EN:0 VSEL:4-7", 0x91),
        Register("CHIP_RESET", 0x8, "HAD_POR:8/r HAD_RUN:16/r HAD_PSM_RESTART:20/r PSM_RESTART_FLAG:24/c", 0x100),
    )


class Rp2040(Chip):
    """An RP2040.

    Args:
        rng: generator of contents that are undefined after power-on (SRAM).
        send: called with each byte that UART0 has sent.
        on_pin: called with ("GP", pin, level, virtual time in picoseconds) when an output pin changes.
        log: receives one line for each event.
        line_baud: baud rate of the line at UART0.
        crystal_hz: frequency of the crystal on the board.
    """

    clocks: Rp2040Clocks
    watchdog: Rp2040Watchdog
    pll_sys: Pll
    pll_usb: Pll
    ssi: Ssi

    def __init__(
        self, rng: np.random.Generator, send: Callable[[int], None], on_pin: Callable[[str, int, int, int], None],
        log: Callable[[str], None], line_baud: int, crystal_hz: int = 12_000_000,
    ) -> None:  # fmt: skip
        super().__init__(CORE, MEMORIES, PERIPHERALS, log)
        self.core.bytes["sram"][:] = rng.integers(0, 256, 264 * 1024, np.uint8)
        self._power_on_wanted = False
        self._wire_clocks(crystal_hz)
        self._wire_flash()
        self._wire_pins(on_pin)
        self.timer = Rp2040Timer(
            "TIMER",
            0x40054000,
            self.clock,
            self.watchdog.tick_hz,
            lambda i, high: self.nvic.set_line(TIMER_IRQ + i, high),
        )
        self.dma = Rp2040Dma(
            self.core, {DREQ_UART0_RX: ReceiveRequest("UART0_RX", UART0, lambda: self.uart0.offer())},
            lambda i, high: self.nvic.set_line(DMA_IRQ + i, high), lambda: self.uart0.update(self.clock.now),
        )  # fmt: skip
        wiring = LineWiring(
            self.clocks.peri_hz, self._uart0_pins, lambda high: self.nvic.set_line(UART0_IRQ, high), send, line_baud,
            log,
        )  # fmt: skip
        self.uart0 = Pl011("UART0", UART0, self.clock, wiring, self.dma, DREQ_UART0_RX)
        self.usb_controller = UsbController(UsbWiring(
            self.clocks.usb_hz, self._usb_settle, self._store_time, lambda high: self.nvic.set_line(USB_IRQ, high),
            lambda: self.powered, lambda there: self.sio.connect(VBUS_SENSE_PIN, int(there)),
        ))  # fmt: skip
        sysinfo = SysInfo("SYSINFO", 0x40000000)
        self.resets = Resets(0x4000C000, NAMES, {
            "IO_BANK0": self.bank, "IO_QSPI": self.qspi_bank, "PADS_BANK0": self.pads, "PADS_QSPI": self.qspi_pads,
            "PLL_SYS": self.pll_sys, "PLL_USB": self.pll_usb, "SYSINFO": sysinfo, "TIMER": self.timer,
            "UART0": self.uart0, "DMA": self.dma, "USBCTRL": self.usb_controller,
        })  # fmt: skip
        self._always: list[ApbBlock] = [
            self.rosc, self.xosc, self.clocks, Psm(0x40010000, STAGES), Regulator("VREG", 0x40064000), self.watchdog,
        ]  # fmt: skip
        for block in (*self._always, self.resets, *self.resets.held.values()):
            self.bus.attach(block, 0x1000)
            for number in (1, 2, 3):
                self.bus.attach(Alias(block, number), 0x1000)
        for target in (self.sio, self.ssi, self.xip_control, self.usb_controller.memory):
            self.bus.attach(target, 0x1000)
        self.sources += [self.timer, self.uart0]
        self._rom = rom.Rp2040BootRom(self, self.flash, self.ssi)
        self.core.bytes["rom"][:] = np.frombuffer(self._rom.image(), np.uint8)
        self.core1 = Core1Bus(self.bus, rom.WAIT)
        self.systick.reference_hz = self.watchdog.tick_hz
        self.power_on()

    @property
    def contents(self) -> np.ndarray:
        return self.flash.array

    @property
    def serial(self) -> Pl011:
        return self.uart0

    @property
    def usb(self) -> UsbController:
        return self.usb_controller

    @property
    def waits_for_uf2(self) -> bool:
        return self._rom.waits and self.powered

    def take_uf2(self, pages: dict[int, bytes]) -> None:
        self._rom.take_uf2(pages)

    def _uses(self, source: str) -> bool:
        """Return whether a clock comes from a source; the PLLs are made before the clocks."""
        return self.clocks.uses(source)

    def _wire_clocks(self, crystal_hz: int) -> None:
        self.rosc = Rp2040Rosc(0x40060000, self.clock, lambda: self.clocks.settle())
        self.xosc = Rp2040Xosc(0x40024000, self.clock, crystal_hz, lambda: self.clocks.settle())
        self.pll_sys, self.pll_usb = (
            Pll(
                name,
                base,
                self.clock,
                self.xosc,
                partial(self._uses, name.lower()),
                lambda: self.clocks.settle(),
            )
            for name, base in (("PLL_SYS", 0x40028000), ("PLL_USB", 0x4002C000))
        )
        sources: dict[str, Rp2040Rosc | Rp2040Xosc | Pll] = {
            "rosc": self.rosc, "xosc": self.xosc, "pll_sys": self.pll_sys, "pll_usb": self.pll_usb,
        }  # fmt: skip
        self.clocks = Rp2040Clocks(0x40008000, self.clock, lambda name: sources[name].hz, self._clocks_changed)
        self.watchdog = Rp2040Watchdog(self.clocks.ref_hz, self._tick_changed, self.restart)

    def _wire_flash(self) -> None:
        self.flash = W25Q(
            self.clock, self.core.bytes["xip"], XIP, self.flash_power, self.flash_cells, self.core.code_changed
        )
        self.ssi = Ssi(self.clock, self.clocks.sys_hz, self.flash, self._window_changed)
        self.xip_control = XipControl()
        self._closed: str | None = ""

    def _wire_pins(self, on_pin: Callable[[str, int, int, int], None]) -> None:
        self.bank = IoBank0(lambda: self.sio.drive(), lambda high: self.nvic.set_line(IO_IRQ_BANK0, high))
        self.qspi_bank = IoBank("IO_QSPI", 0x40018000, QSPI_PINS, (STATUS, CTRL), lambda: None)
        self.pads = Pads("PADS_BANK0", 0x4001C000, BANK0_PADS, PAD, lambda: self.sio.drive())
        self.qspi_pads = Pads("PADS_QSPI", 0x40020000, QSPI_PADS, PAD, lambda: None)
        self.sio = Sio(self.bank, self.pads, lambda pin, level: on_pin("GP", pin, level, self.clock.now))

    def _usb_settle(self) -> int:
        """Return a cycle of clk_usb in whole cycles of clk_sys [ps]; 0 for a debugger, which is far slower."""
        usb, system = self.clocks.usb_hz(), self.clock.hz
        return -(-system // usb) * PS_PER_S // system if usb and not self.bus.debugger else 0

    def _store_time(self, address: int, latest: bool) -> int:
        """Return when the present store to an address happens [ps]: also inside a block, which counts as a whole."""
        now, state = self.clock.now, self.core.state
        code = self.core.peek(state[Slot.BLOCK], state[Slot.BLOCK_SIZE]) if state[Slot.BLOCK_SIZE] else b""
        places = stores_to(address, code, lambda number: self.core.get(c.SP if number == 13 else c.R[number]))
        if not places:
            return now
        after = state[Slot.BLOCK_COUNT] - places[-1 if latest else 0]
        return now - after * PS_PER_S // self.clock.hz

    def _uart0_pins(self) -> tuple[bool, bool]:
        receives = self.bank.function(RX_PIN) == FUNC_UART and self.pads.receives(RX_PIN)
        return self.bank.function(TX_PIN) == FUNC_UART, receives

    # changes that affect several blocks

    def _clocks_changed(self) -> None:
        self.systick.frequency_changed()
        self.uart0.clock_changed()
        self.usb_controller.clock_changed()
        self._tick_changed()
        self._window_changed()

    def _tick_changed(self) -> None:
        self.timer.rate_changed()
        self.systick.frequency_changed()

    def _window_changed(self) -> None:
        closed = self.ssi.closed_reason()
        if closed != self._closed:
            self._closed = closed
            for name in _XIP:
                self.core.open(name, closed is None, closed or "")

    # reset

    def power_on(self) -> None:
        """Reset everything: power-on or a forced reset of the power-on state machine (2.12, 2.13)."""
        self._power_on_wanted = True
        self.reset()

    def restart(self) -> None:
        """Reset everything as soon as the run has ended: the watchdog or the boot ROM forces it."""
        self._power_on_wanted = True
        self.request_reset()

    def _reset_blocks(self) -> None:
        super()._reset_blocks()
        if not self._power_on_wanted:
            return
        self._power_on_wanted = False
        scratch = {f"SCRATCH{i}": self.watchdog.value[f"SCRATCH{i}"] for i in range(8)}  # kept (4.8, SCRATCH0)
        for block in (*self._always, self.sio, self.ssi, self.xip_control, self.resets):
            block.reset()
        self.watchdog.value.update(scratch)
        self._clocks_changed()

    def _handle_undefined(self) -> None:
        if not self._rom.call(self.core.get(c.PC)):
            super()._handle_undefined()
