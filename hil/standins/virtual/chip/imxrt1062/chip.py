"""i.MX RT1062 on a Teensy 4.0: memories, peripherals and clock tree wired together (IMXRT1060RM, memory maps).

The flash is the 2 MB of a Teensy 4.0; images for the larger boards are the same. The chip starts in its boot ROM
(rom.py). A debugger's VECTRESET resets only the core: peripherals, clocks and FlexRAM keep their state. FlexRAM also
keeps its state in a reset by software. Both are as on silicon. Accesses to peripherals without a model (registers of
FlexSPI and SEMC, timers, SPI, I2C, ADC, fast GPIO ports ...) fault.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from unicorn.arm_const import UC_CPU_ARM_CORTEX_M7

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core_spec import CoreSpec
from hil.standins.virtual.chip.cortex_m7 import private_peripherals
from hil.standins.virtual.chip.debug import Rom, component_ids
from hil.standins.virtual.chip.ended import RunEnd
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062 import rom
from hil.standins.virtual.chip.imxrt1062.analog import OSC_HZ, CcmAnalog
from hil.standins.virtual.chip.imxrt1062.boot_header import FLASH, FLASH_SIZE
from hil.standins.virtual.chip.imxrt1062.ccm import Ccm
from hil.standins.virtual.chip.imxrt1062.dcdc import Dcdc
from hil.standins.virtual.chip.imxrt1062.edma import DmaMux, Edma, EdmaRequests
from hil.standins.virtual.chip.imxrt1062.gpr import Gpr
from hil.standins.virtual.chip.imxrt1062.loader_chip import LoaderChip
from hil.standins.virtual.chip.imxrt1062.lpuart import Lpuart
from hil.standins.virtual.chip.imxrt1062.pins import ImxrtGpioPort, Iomuxc
from hil.standins.virtual.chip.imxrt1062.system_bus import BusMaster
from hil.standins.virtual.chip.imxrt1062.usb import UsbController
from hil.standins.virtual.chip.imxrt1062.usb_phy import Pmu, UsbAnalog, UsbPhy
from hil.standins.virtual.chip.imxrt1062.usb_port import UsbWiring
from hil.standins.virtual.chip.imxrt1062.watchdogs import RtWdog, Src, Wdog
from hil.standins.virtual.chip.line_uart import LineWiring
from hil.standins.virtual.chip.machine import Chip
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.registers import Block
from hil.standins.virtual.chip.scb_m7 import M7Features
from hil.standins.virtual.chip.w25q import W25Q

# The core has the instructions of Armv7E-M and floating point in single and double precision (FPv5-D16).
# The program sees a Cortex-M7 r1p1 with 32 KB of each cache and 16 MPU regions (IMXRT1060RM, Cortex-M7 configuration).
CORE = CoreSpec(
    cpu=UC_CPU_ARM_CORTEX_M7, interrupts=158, priority_bits=4, boot_address=rom.BASE, reset_hz=OSC_HZ,
    private=partial(
        private_peripherals,
        features=M7Features(0x411FC271, 0xF01FE019, 0xF03FE009, 16, ((0x00000000, 0x80000), (0x20000000, 0x80000))),
    ),
)  # fmt: skip
KB = 1024
OCRAM2 = 512 * KB
MEMORIES = (
    PhysicalMemory("rom", rom.BASE, rom.ROM_SIZE, writable=False),
    PhysicalMemory("flash", FLASH, FLASH_SIZE, writable=False),
    PhysicalMemory("itcm", 0x00000000, 512 * KB),
    PhysicalMemory("dtcm", 0x20000000, 512 * KB),
    PhysicalMemory("ocram", 0x20200000, 1024 * KB),  # OCRAM2, followed by FlexRAM's share
)
PERIPHERALS = (0x40000000, 0x00500000), (0x42000000, 0x00100000), (0xE0000000, 0x00100000)
LPUART6_IRQ, LPUART6_TX_REQUEST, LPUART6_RX_REQUEST, TX_PAD, RX_PAD, LPUART6_ALT = 25, 70, 71, "AD_B0_02", "AD_B0_03", 2
USB1_IRQ = 113
# Offset and size of blocks other than (0, 0x1000); three of them share a page.
_PLACES = {
    "DMA0": ((0, 0x2000),), "CCM_ANALOG": ((0, 0x110), (0x150, 0x50)), "PMU": ((0x110, 0x40),),
    "USB_ANALOG": ((0x1A0, 0xD0),), "USB1": ((0, 0x200),),
}  # fmt: skip
# Fuses of the Ethernet address (OCOTP.MAC0; MIMXRT1062.xml): E5h of PJRC, and the number of the board.
_MAC0, BOARD_NUMBER = 0x401F4620, 0xE512AB34
_ROM_TABLE = 0xE00FD000
# Clock gates: block, register and number of CCGRx.CGy (NXP's device header, kCLOCK_...).
GATES = {
    "LPUART6": (3, 3), "GPIO1": (1, 13), "GPIO2": (0, 15), "GPIO3": (2, 13), "GPIO4": (3, 6), "GPIO5": (1, 15),
    "DMA0": (5, 3), "DMAMUX": (5, 3), "WDOG1": (3, 8), "WDOG2": (5, 5), "RTWDOG": (5, 2), "DCDC": (6, 3),
    "IOMUXC": (4, 1), "IOMUXC_GPR": (4, 2), "USB1": (6, 0),
}  # fmt: skip
FLEXSPI_GATE = 6, 5
# Registers after the boot ROM: dumped from silicon by others (see __init__). CCGR3 in that dump includes bits that the
# header of its image had set.
HAND_OVER = {
    "CACRR": 0x00000001, "CBCDR": 0x000A8200, "CBCMR": 0x35AE8304, "CSCMR1": 0x64130001, "CSCDR1": 0x06490B03,
    "CCGR0": 0xC0C00FFF, "CCGR1": 0xFCFCC000, "CCGR2": 0x0C3FF033, "CCGR3": 0xF00FF330, "CCGR4": 0x0000FFFF,
    "CCGR5": 0xF0033C33, "CCGR6": 0x00FC3FC0,
}  # fmt: skip
HAND_OVER_PLLS = {
    "PLL_ARM": 0x80002042, "PLL_SYS": 0x80002001, "PLL_USB1": 0x80003000, "PFD_528": 0x18131818, "PFD_480": 0x0F1A2321,
}  # fmt: skip


class Imxrt1062(Chip):
    """An i.MX RT1062.

    Args:
        rng: generator of contents that are undefined after power-on (SRAM).
        send: called with each byte that LPUART6 has sent.
        on_pin: called with (port, pin, level, virtual time in picoseconds) when an output pin changes; a port is named
            like `GPIO4`.
        log: receives one line for each event.
        line_baud: baud rate of the line at LPUART6.
    """

    ccm: Ccm
    usb_phy: UsbPhy
    usb_analog: UsbAnalog
    pmu: Pmu
    usb_controller: UsbController
    lpuart6: Lpuart
    gpr: Gpr

    def __init__(
        self, rng: np.random.Generator, send: Callable[[int], None], on_pin: Callable[[str, int, int, int], None],
        log: Callable[[str], None], line_baud: int,
    ) -> None:  # fmt: skip
        super().__init__(CORE, MEMORIES, PERIPHERALS, log)
        self._rng = rng
        self._core_only = False
        self._window_open = False
        self._fill("ocram", 0, OCRAM2)
        self.flash = W25Q(
            self.clock, self.core.bytes["flash"], FLASH, self.flash_power, self.flash_cells, self.core.code_changed
        )
        self.analog = CcmAnalog(self.clock, lambda: self.ccm.settle(), self.log)
        self.dcdc = Dcdc(self.clock, lambda: self.ccm.settle())
        self.ccm = Ccm(self.clock, self.analog, lambda: self.dcdc.millivolt, self._clocks_changed, self._set_gates)
        self._wire_pins(on_pin)
        self._wire_serial(send, line_baud)
        self._wire_usb()
        self.rtwdog = RtWdog(self.clock)
        self._powered: list[Block] = [
            self.analog, self.dcdc, self.ccm, self.gpr, self.iomuxc, *self.ports.values(), self.mux, self.dma,
            self.lpuart6, self.rtwdog, Wdog("WDOG1", 0x400B8000), Wdog("WDOG2", 0x400D0000), Src(),
            self.usb_phy, self.pmu, self.usb_analog, self.usb_controller,
        ]  # fmt: skip
        for block in self._powered:
            for offset, size in _PLACES.get(block.name, ((0, 0x1000),)):
                self.bus.attach(block, size, offset)
        self.sources += [self.lpuart6, self.rtwdog]
        self.systick.reference_hz = lambda: 100_000  # the crystal divided by 240 (PJRC, teensy4/startup.c)
        self.bus.attach(Rom("OCOTP", _MAC0, {0: BOARD_NUMBER}), 0x10)
        self.bus.attach(Rom("system ROM table", _ROM_TABLE, {0: 0x00001003} | component_ids(0x4C8, 0x1)), 0x1000)
        self.loader_chip = LoaderChip(self.debug, self.flash, self.request_reset, self.log)
        self._cut_flexram()
        self._rom = rom.ImxrtBootRom(self, self.flash)
        self.core.bytes["rom"][:] = np.frombuffer(self._rom.image(), np.uint8)
        self.reset()

    @property
    def contents(self) -> np.ndarray:
        return self.flash.array

    @property
    def serial(self) -> Lpuart:
        return self.lpuart6

    @property
    def usb(self) -> UsbController:
        return self.usb_controller

    @property
    def waits_for_reports(self) -> bool:
        return self.loader_chip.waits and self.powered

    def take_report(self, report: bytes) -> None:
        self.loader_chip.report(report)

    def _wire_pins(self, on_pin: Callable[[str, int, int, int], None]) -> None:
        self.gpr = Gpr(self._cut_flexram, self._drive_pins)
        self.iomuxc = Iomuxc(self._drive_pins)
        self.ports: dict[int, ImxrtGpioPort] = {}
        for number in range(1, 6):
            fast = partial(self.gpr.value.__getitem__, f"GPR{25 + number}") if number < 5 else lambda: 0
            edge = lambda pin, level, number=number: on_pin(f"GPIO{number}", pin, level, self.clock.now)  # noqa: E731
            self.ports[number] = ImxrtGpioPort(number, self.iomuxc, fast, edge)

    def _wire_serial(self, send: Callable[[int], None], line_baud: int) -> None:
        self.mux = DmaMux(lambda: self.lpuart6.requests_changed())
        self.dma = Edma(
            self._master("the eDMA"),
            lambda channel, high: self.nvic.set_line(channel % 16, high),
            lambda: self.lpuart6.requests_changed(),
        )
        requests = EdmaRequests(self.dma, self.mux, LPUART6_RX_REQUEST, LPUART6_TX_REQUEST)
        wiring = LineWiring(
            self.ccm.uart_hz, self._lpuart6_pads, lambda high: self.nvic.set_line(LPUART6_IRQ, high), send, line_baud,
            self.log,
        )  # fmt: skip
        self.lpuart6 = Lpuart("LPUART6", 0x40198000, self.clock, wiring, requests)

    def _wire_usb(self) -> None:
        changed = lambda: self.usb_controller.clock_changed()  # noqa: E731
        self.usb_phy, self.pmu = UsbPhy(changed), Pmu(changed)
        self.usb_analog = UsbAnalog(lambda: self.usb_controller.is_plugged)
        self.usb_controller = UsbController(UsbWiring(
            self.clock, self._master("the USB controller"), self.analog.why_no_usb_clock,
            lambda: self.usb_phy.why_off() or self.pmu.why_off(), lambda high: self.nvic.set_line(USB1_IRQ, high),
            lambda: self.powered and not self.loader_chip.waits, self._usb_plugged,
        ))  # fmt: skip

    def _usb_plugged(self) -> None:
        if self.usb_controller not in self.sources:
            self.sources.append(self.usb_controller)

    def _master(self, name: str) -> BusMaster:
        return BusMaster(self.core, name, lambda: self.asleep and not self.gpr.field("GPR1", "CM7_FORCE_HCLK_EN"))

    def _lpuart6_pads(self) -> tuple[bool, bool]:
        chosen = self.iomuxc.value["LPUART6_RX_SELECT_INPUT"] == 1
        return self.iomuxc.function(TX_PAD) == LPUART6_ALT, chosen and self.iomuxc.function(RX_PAD) == LPUART6_ALT

    # changes that affect several blocks

    def _clocks_changed(self) -> None:
        self.systick.frequency_changed()
        self.lpuart6.clock_changed()
        self.usb_controller.clock_changed()

    def _drive_pins(self) -> None:
        for port in self.ports.values():
            port.drive()

    def _set_gates(self) -> None:
        for block in self._powered:
            if block.name in GATES:
                register, number = GATES[block.name]
                block.clocked = self.ccm.gate(register, number)
                block.clock_name = f"CCM_CCGR{register}.CG{number}"
        self.usb_controller.clock_changed()
        self._show_window()

    def open_window(self) -> None:
        """Make the flash readable: the FlexSPI is set up."""
        self._window_open = True
        self._show_window()

    def _show_window(self) -> None:
        clocked = self.ccm.gate(*FLEXSPI_GATE)
        why = "CCM_CCGR6.CG5 is off" if self._window_open else "the FlexSPI has not been set up since the reset"
        self.core.open("flash", self._window_open and clocked, why)

    def _fill(self, memory: str, first: int, size: int) -> None:
        self.core.bytes[memory][first : first + size] = self._rng.integers(0, 256, size, np.uint8)

    def _cut_flexram(self) -> None:
        """Apply a new division of FlexRAM: its contents are lost or at other addresses."""
        shares = self.gpr.shares()
        for memory, size, kept in (("itcm", shares.itcm, 0), ("dtcm", shares.dtcm, 0), ("ocram", shares.ocram, OCRAM2)):
            self._fill(memory, kept, size)
            self.core.resize(memory, kept + size, "FlexRAM gives it no more banks (IOMUXC_GPR14, GPR16, GPR17)")
        self.core.code_changed()

    # sleep and reset

    def _fall_asleep(self) -> None:
        in_rom = rom.BASE <= self.core.get(c.PC) < rom.BASE + rom.ROM_SIZE
        if self.ccm.field("CLPCR", "LPM") and not in_rom:
            raise ModelFault(
                "WFI with CCM_CLPCR.LPM other than 0 stops the chip's clocks, which this model does not have; "
                "set LPM to 0 first"
            )
        super()._fall_asleep()

    def request_core_reset(self) -> None:
        self._core_only = True
        self.request_reset()

    def _reset_blocks(self) -> None:
        super()._reset_blocks()
        self.loader_chip.leave()
        core_only, self._core_only = self._core_only, False
        if core_only:
            return
        flexram = {name: self.gpr.value[name] for name in ("GPR14", "GPR16", "GPR17")}
        self._window_open = False
        for block in self._powered:
            block.reset()
        self.gpr.value.update(flexram)
        self.ccm.settle()
        self._set_gates()
        self._drive_pins()

    def _handle(self, ended: RunEnd) -> None:
        super()._handle(ended)
        if ended is RunEnd.BKPT and self.halting.halted:
            self.loader_chip.see(self.core.peek(self.core.get(c.PC) & ~1, 2))
            self.usb_controller.clock_changed()

    # the boot ROM

    def _handle_undefined(self) -> None:
        if not self._rom.call(self.core.get(c.PC)):
            super()._handle_undefined()

    def set_clocks(self) -> None:
        """Set the clocks as the boot ROM hands them over."""
        for name, value in HAND_OVER_PLLS.items():
            self.analog.set_state(name, value)
        self.ccm.value.update(HAND_OVER)
        self.ccm.settle()
        self._set_gates()
