"""STM32H7B3: memories, peripherals and clock tree wired together (RM0455, memory organization; DS13195).

Accesses to peripherals without a model (DMA2, MDMA, BDMA, timers, ADC, crypto, graphics ...) fault.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from unicorn.arm_const import UC_CPU_ARM_CORTEX_M7

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.bus import Bus
from hil.standins.virtual.chip.core_spec import CoreSpec
from hil.standins.virtual.chip.cortex_m7 import private_peripherals
from hil.standins.virtual.chip.debug import Rom, component_ids
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.line_uart import UartWiring
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.scb_m7 import M7Features
from hil.standins.virtual.chip.stm32.chip import USART1, USART1_AF, USART1_IRQ, Stm32
from hil.standins.virtual.chip.stm32.usart import DmaUsart
from hil.standins.virtual.chip.stm32h7b3.dmamux import DMA1_IRQS, Dma1, Dmamux1
from hil.standins.virtual.chip.stm32h7b3.flash import Stm32H7b3Flash
from hil.standins.virtual.chip.stm32h7b3.identity import SYSTEM_DEBUG, NotHere, Stm32H7b3DbgMcu, SysCfg
from hil.standins.virtual.chip.stm32h7b3.pwr import Stm32H7b3Pwr
from hil.standins.virtual.chip.stm32h7b3.rcc import HSI_HZ, Stm32H7b3Rcc

# The core has the instructions of Armv7E-M and floating point in single and double precision (FPv5-D16).
# The program sees a Cortex-M7 r1p1 with 16 KB of each cache and 16 MPU regions (RM0455, Cortex-M7 configuration).
CORE = CoreSpec(
    cpu=UC_CPU_ARM_CORTEX_M7, interrupts=155, priority_bits=4, boot_address=0x08000000, reset_hz=HSI_HZ,
    private=partial(
        private_peripherals,
        features=M7Features(0x411FC271, 0xF00FE019, 0xF01FE009, 16, ((0x00000000, 0x10000), (0x20000000, 0x20000))),
    ),
)  # fmt: skip
KB = 1024
MEMORIES = (
    PhysicalMemory("flash", 0x08000000, 2048 * KB, writable=False), PhysicalMemory("itcm", 0x00000000, 64 * KB),
    PhysicalMemory("dtcm", 0x20000000, 128 * KB), PhysicalMemory("axi", 0x24000000, 1024 * KB),
    PhysicalMemory("ahb1", 0x30000000, 64 * KB), PhysicalMemory("ahb2", 0x30010000, 64 * KB),
    PhysicalMemory("srd", 0x38000000, 32 * KB),
)  # fmt: skip
PERIPHERALS = (0x40000000, 0x20000000), (0xE0000000, 0x00100000), (0x08FFF000, 0x1000)
UNIQUE_ID, UNIQUE_ID_BYTES = 0x08FFF800, 12
TX_PIN, RX_PIN = 9, 10
# DS13195, general operating conditions: highest clock of the core and of the APBs by voltage scale.
CORE_LIMIT_HZ = {0: 280_000_000, 1: 225_000_000, 2: 160_000_000, 3: 88_000_000}
DMA_REACHES = ("axi", "ahb1", "ahb2", "srd")  # not the TCMs (RM0455, system architecture)
# RM0455, GPIOx_MODER, OSPEEDR, PUPDR: JTAG/SWD on PA13-15 and PB3-4.
_GPIO_RESET = {"A": {"MODER": 0xABFFFFFF, "OSPEEDR": 0x0C000000, "PUPDR": 0x64000000},
               "B": {"MODER": 0xFFFFFEBF, "OSPEEDR": 0x000000C0, "PUPDR": 0x00000100}}  # fmt: skip
_GATED = {"ahb1": ("AHB2ENR", "AHBSRAM1"), "ahb2": ("AHB2ENR", "AHBSRAM2"), "srd": ("AHB4ENR", "SRDSRAM")}


class Stm32H7B3(Stm32):
    """An STM32H7B3.

    Args:
        rng: generator of contents that are undefined after power-on (SRAM), and of the unique id.
        send: called with each byte that USART1 has sent.
        on_pin: called with (port letter, pin, level, virtual time in picoseconds) when an output pin changes.
        log: receives one line for each event.
        hse_hz: frequency of the crystal on the board, 0 for none.
    """

    rcc: Stm32H7b3Rcc

    def __init__(
        self, rng: np.random.Generator, send: Callable[[int], None], on_pin: Callable[[str, int, int, int], None],
        log: Callable[[str], None], hse_hz: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(CORE, MEMORIES, PERIPHERALS, log, rng)
        self.flash = Stm32H7b3Flash(self.clock, self.core, self.flash_power, self.flash_cells, log)
        self.pwr = Stm32H7b3Pwr(self.clock)
        self.rcc = Stm32H7b3Rcc(self.clock, hse_hz)
        for letter in "ABCDEFGHIJK":
            self.make_port(letter, on_pin, 0x58020000, _GPIO_RESET.get(letter, {}))
        self.dmamux1 = Dmamux1("DMAMUX1", 0x40020800)
        wires = self.dma_wiring(self.dmamux1.request, DMA1_IRQS)
        self.dma1 = Dma1("DMA1", 0x40020000, self.core, DMA_REACHES, wires)
        wiring = UartWiring(
            self.rcc.usart1_hz, self._usart1_pins, lambda high: self.nvic.set_line(USART1_IRQ, high), send
        )
        self.usart1 = DmaUsart("USART1", USART1, self.clock, wiring, self.dma1.stream)
        self.syscfg = SysCfg("SYSCFG", 0x58000400)
        own = (self.flash, self.pwr, self.rcc, self.syscfg, self.dma1, self.dmamux1, self.usart1)
        for block in (*own, *self.ports.values()):
            self.add(block, 0x400)
        self.dbgmcu = Stm32H7b3DbgMcu("DBGMCU", 0x5C001000)
        self.bus.attach(self.dbgmcu, 0x400)
        self.bus.attach(NotHere(self.bus, log), 0x400)
        self.debug_bus = Bus()  # of access port 2
        through_port_2 = Stm32H7b3DbgMcu("DBGMCU", SYSTEM_DEBUG + 0x1000)
        through_port_2.value = self.dbgmcu.value
        self.debug_bus.attach(through_port_2, 0x400)
        self.debug_bus.attach(Rom("system ROM table", SYSTEM_DEBUG, component_ids(0x4D8, 0x1)), 0x1000)
        words = {i: int(rng.integers(0, 1 << 32)) for i in range(0, UNIQUE_ID_BYTES, 4)}
        self.bus.attach(Rom("unique id", UNIQUE_ID, words), 0x10)
        self.wire({
            **{("AHB4ENR", port.name): (port,) for port in self.ports.values()},
            ("AHB1ENR", "DMA1"): (self.dma1, self.dmamux1), ("APB2ENR", "USART1"): (self.usart1,),
            ("APB4ENR", "SYSCFG"): (self.syscfg,),
        }, self._check_speed)  # fmt: skip
        self.flash.bus_fault = self.faults.data_bus
        self.pwr.scale_changed = self.flash.timing_changed = self._check_speed
        self.reset()

    def power_on(self) -> None:
        self.pwr.power_on()
        super().power_on()

    def reset(self) -> None:
        super().reset()
        if not self.pwr.is_ready():
            self.core.hold_stores(
                self._may_store, "PWR_CSR1.ACTVOSRDY is 0: choose the supply first; RM0455, PWR, system supply startup"
            )

    def _may_store(self) -> bool:
        """Return whether RAM may be written. Flash algorithms in RAM do it in any case, on silicon with success."""
        place = self.core.find(self.core.get(c.PC) & ~1, 2)
        return self.pwr.is_ready() or (place is not None and place[0].writable)

    def protect(self, level: int) -> None:
        """Read as read-out protected at a level of RDP; what that does to a debugger is not modelled."""
        self.flash.force("OPTSR_CUR", 0xFF00, {1: 0xBB, 2: 0xCC}[level] << 8)

    def _usart1_pins(self) -> tuple[bool, bool]:
        port = self.ports["A"]
        return port.alternate(TX_PIN) == USART1_AF, port.alternate(RX_PIN) == USART1_AF

    def set_gates(self) -> None:
        super().set_gates()
        for memory, (register, gate) in _GATED.items():
            self.core.open(memory, bool(self.rcc.field(register, gate)))

    def _check_speed(self) -> None:
        """Raise ModelFault if voltage or flash timing do not allow the present clocks."""
        scale = self.pwr.scale
        limit = CORE_LIMIT_HZ[scale]
        core, ahb = self.rcc.core_hz(), self.rcc.ahb_hz()
        self.systick.frequency_changed()
        if core > limit:
            raise ModelFault(f"the core runs at {core} Hz, voltage scale {scale} allows {limit} Hz")
        for bus in (1, 2, 3, 4):
            if self.rcc.apb_hz(bus) > limit // 2 and core != HSI_HZ:
                raise ModelFault(f"APB{bus} runs at {self.rcc.apb_hz(bus)} Hz, scale {scale} allows {limit // 2}")
        if not self.flash.timing_is_enough(ahb, scale):
            acr = self.flash.value["ACR"]
            raise ModelFault(f"flash at {ahb} Hz and scale {scale} needs more than FLASH_ACR = 0x{acr:02X} allows")
        if core > CORE_LIMIT_HZ[3] and not self.pwr.scale_is_stable():
            raise ModelFault(f"the core changes to {core} Hz before the voltage is ready; wait for PWR_SRDCR.VOSRDY")
