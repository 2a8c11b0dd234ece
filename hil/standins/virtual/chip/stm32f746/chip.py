"""STM32F746: memories, peripherals and clock tree wired together (RM0385, memory organization; DS10916).

Accesses to peripherals without a model (DMA1, timers, ADC, SYSCFG, EXTI, LTDC, ...) fault.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from unicorn.arm_const import UC_CPU_ARM_CORTEX_M7

from hil.standins.virtual.chip.core_spec import CoreSpec
from hil.standins.virtual.chip.cortex_m7 import private_peripherals
from hil.standins.virtual.chip.count import HAS_DOUBLE
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.line_uart import UartWiring
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.scb_m7 import M7Features
from hil.standins.virtual.chip.stm32.chip import USART1, USART1_AF, USART1_IRQ, Stm32
from hil.standins.virtual.chip.stm32f746 import dma
from hil.standins.virtual.chip.stm32f746.dma import PlainUsart
from hil.standins.virtual.chip.stm32f746.flash import Stm32F746Flash
from hil.standins.virtual.chip.stm32f746.identity import Iwdg, Stm32F746DbgMcu, rom_table, signature
from hil.standins.virtual.chip.stm32f746.pwr import Stm32F746Pwr
from hil.standins.virtual.chip.stm32f746.rcc import HSI_HZ, PLL, PORTS, Stm32F746Rcc

KB = 1024
# RM0385, boot configuration: with BOOT0 low and the option bytes of a new chip, the core starts at the address of the
# flash on the ITCM bus.
BOOT_ADDRESS = 0x00200000
# The program sees a Cortex-M7 r0p1 with 4 KB of each cache, 8 MPU regions, TCMs of
# 16 and 64 KB and single-precision floating point (RM0385, system architecture; PM0253; values: ARM DDI 0489, system
# control). Unicorn's Cortex-M7 computes in double precision too, which is refused.
_SINGLE_PRECISION = {"MVFR0": 0x10110021, "MVFR1": 0x11000011}
_TCMS = {"ITCMCR": 5 << 3 | 1, "DTCMCR": 7 << 3 | 1}
CORE = CoreSpec(
    cpu=UC_CPU_ARM_CORTEX_M7, interrupts=98, priority_bits=4, boot_address=BOOT_ADDRESS, reset_hz=HSI_HZ,
    private=partial(
        private_peripherals,
        features=M7Features(
            0x410FC271, 0xF003E019, 0xF007E009, 8, ((0x00000000, 0x4000), (0x20000000, 0x10000)),
            _SINGLE_PRECISION | _TCMS,
        ),
    ),
    refused=HAS_DOUBLE,
)  # fmt: skip
MEMORIES = (
    PhysicalMemory("flash", 0x08000000, 1024 * KB, writable=False),
    PhysicalMemory("flash on ITCM", BOOT_ADDRESS, 1024 * KB, writable=False, alias="flash"),
    PhysicalMemory("itcm", 0x00000000, 16 * KB),
    PhysicalMemory("ram", 0x20000000, 320 * KB),  # DTCM 64 KB, SRAM1 240 KB and SRAM2 16 KB at consecutive addresses
)
PERIPHERALS = (0x40000000, 0x20000000), (0xE0000000, 0x00100000), (0x1FF0F000, 0x1000)
TX_PIN, RX_PIN = ("A", 9), ("B", 7)
# DS10916, general operating conditions: highest clock of the two APBs, without and with over-drive.
APB_LIMIT_HZ = {1: (45_000_000, 54_000_000), 2: (90_000_000, 108_000_000)}
# RM0385, GPIOx_MODER, OSPEEDR, PUPDR: JTAG/SWD on PA13-15 and PB3-4; all other pins are inputs.
_GPIO_RESET = {"A": {"MODER": 0xA8000000, "OSPEEDR": 0x0C000000, "PUPDR": 0x64000000},
               "B": {"MODER": 0x00000280, "OSPEEDR": 0x000000C0, "PUPDR": 0x00000100}}  # fmt: skip


class Stm32F746(Stm32):
    """An STM32F746.

    Args:
        rng: generator of contents that are undefined after power-on (SRAM), and of the unique id.
        send: called with each byte that USART1 has sent.
        on_pin: called with (port letter, pin, level, virtual time in picoseconds) when an output pin changes.
        log: receives one line for each event.
        hse_hz: frequency of the crystal on the board, 0 for none.
    """

    rcc: Stm32F746Rcc

    def __init__(
        self, rng: np.random.Generator, send: Callable[[int], None], on_pin: Callable[[str, int, int, int], None],
        log: Callable[[str], None], hse_hz: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(CORE, MEMORIES, PERIPHERALS, log, rng)
        self.flash = Stm32F746Flash(self.clock, self.core, self.flash_power, self.flash_cells, log)
        self.rcc = Stm32F746Rcc(self.clock, hse_hz)
        self.pwr = Stm32F746Pwr(self.clock, lambda: bool(self.rcc.field("CR", "PLLON")), self._check_over_drive)
        for letter in PORTS:
            self.make_port(letter, on_pin, 0x40020000, _GPIO_RESET.get(letter, {"MODER": 0}))
        self.dma2 = dma.Dma2("DMA2", 0x40026400, self.core, ("ram",), self.dma_wiring(dma.request, dma.IRQS))
        wiring = UartWiring(
            self.rcc.usart1_hz, self._usart1_pins, lambda high: self.nvic.set_line(USART1_IRQ, high), send
        )
        self.usart1 = PlainUsart("USART1", USART1, self.clock, wiring, self.dma2.stream)
        for block in (self.flash, self.pwr, self.rcc, self.dma2, self.usart1, Iwdg(), *self.ports.values()):
            self.add(block, 0x400)
        self.dbgmcu = Stm32F746DbgMcu()
        self.bus.attach(self.dbgmcu, 0x400)
        self.bus.attach(rom_table(), 0x1000)
        self.bus.attach(signature(rng, self.flash.array.size), 0x100)
        self.wire({
            **{("AHB1ENR", port.name): (port,) for port in self.ports.values()},
            ("AHB1ENR", "DMA2"): (self.dma2,), ("APB1ENR", "PWR"): (self.pwr,), ("APB2ENR", "USART1"): (self.usart1,),
        }, self._check_speed)  # fmt: skip
        self.pwr.changed = self.flash.timing_changed = self._check_speed
        self.reset()

    def protect(self, level: int) -> None:
        """Read as read-out protected at a level of RDP; what that does to a debugger is not modelled."""
        self.flash.force("OPTCR", 0xFF00, {1: 0xBB, 2: 0xCC}[level] << 8)

    def _usart1_pins(self) -> tuple[bool, bool]:
        tx, rx = (self.ports[port].alternate(pin) == USART1_AF for port, pin in (TX_PIN, RX_PIN))
        return tx, rx

    def _check_over_drive(self) -> None:
        """Raise ModelFault if over-drive may not be switched (RM0385, PWR: entering and exiting over-drive mode).

        The system clock must be HSI or HSE, and no peripheral clock may be on except that of PWR.
        """
        if self.rcc.source() == PLL:
            raise ModelFault("over-drive is switched while the PLL is the system clock; switch to HSI or HSE first")
        quiet = {"AHB1ENR": 1 << 20, "APB1ENR": self.rcc.mask("APB1ENR", "PWR")}
        for register in ("AHB1ENR", "AHB2ENR", "AHB3ENR", "APB1ENR", "APB2ENR"):
            if self.rcc.value[register] & ~quiet.get(register, 0):
                raise ModelFault(
                    f"over-drive is switched while RCC_{register} is 0x{self.rcc.value[register]:08X}; "
                    "enable peripherals after it"
                )

    def _check_speed(self) -> None:
        """Raise ModelFault if voltage or flash timing do not allow the present clocks."""
        core = self.rcc.core_hz()
        self.systick.frequency_changed()
        if core > self.pwr.limit_hz():
            raise ModelFault(f"the core runs at {core} Hz, voltage scale and over-drive allow {self.pwr.limit_hz()} Hz")
        for bus, limits in APB_LIMIT_HZ.items():
            if self.rcc.apb_hz(bus) > limits[self.pwr.over_drive()]:
                raise ModelFault(
                    f"APB{bus} runs at {self.rcc.apb_hz(bus)} Hz, it may have {limits[self.pwr.over_drive()]} Hz"
                )
        if not self.flash.timing_is_enough(core):
            raise ModelFault(
                f"flash at {core} Hz needs more wait states than FLASH_ACR = 0x{self.flash.value['ACR']:02X} has"
            )
