"""Base of STM32 chips: flash, USART1 at the serial port, GPIO ports, and blocks with clock gates and resets in RCC."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.core_spec import CoreSpec
from hil.standins.virtual.chip.machine import Chip
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.registers import Block
from hil.standins.virtual.chip.stm32.dma import DmaRequest, DmaWiring
from hil.standins.virtual.chip.stm32.gpio import Stm32GpioPort
from hil.standins.virtual.chip.stm32.rcc import Stm32Rcc
from hil.standins.virtual.chip.stm32.usart import DmaUsart

USART1, USART1_IRQ, USART1_AF = 0x40011000, 37, 7
OnPin = Callable[[str, int, int, int], None]


class Stm32(Chip):
    """An STM32. A subclass makes `rcc`, `ports`, `dbgmcu` and `usart1`, and names the gates of its blocks.

    Args:
        core, memories, peripherals, log: see Machine.
        rng: generator of the contents of SRAM after power-on.
    """

    rcc: Stm32Rcc
    usart1: DmaUsart
    dbgmcu: Block

    clock_debugger = "set DBGMCU_CR.DBG_SLEEP first (RM0385 and RM0455, debug support for low-power modes)"

    def __init__(
        self, core: CoreSpec, memories: tuple[PhysicalMemory, ...], peripherals: tuple[tuple[int, int], ...],
        log: Callable[[str], None], rng: np.random.Generator,
    ) -> None:  # fmt: skip
        super().__init__(core, memories, peripherals, log)
        for memory in memories:
            if memory.writable:
                self.core.bytes[memory.name][:] = rng.integers(0, 256, memory.size, np.uint8)
        self.ports: dict[str, Stm32GpioPort] = {}
        self._gates: list[tuple[str, str, Block]] = []

    @property
    def contents(self) -> np.ndarray:
        return self.core.bytes["flash"]

    @property
    def serial(self) -> DmaUsart:
        return self.usart1

    def reset(self) -> None:
        super().reset()
        self.set_gates()

    def power_on(self) -> None:
        """Power-on reset, which also resets what a system reset keeps: DBGMCU."""
        self.dbgmcu.reset()
        super().power_on()

    def debugger_is_clocked(self) -> bool:
        """Return whether HCLK runs in Sleep mode for the debugger: bit 0 of DBGMCU_CR on both families."""
        return bool(self.dbgmcu.value["CR"] & 1)

    def make_port(self, letter: str, on_pin: OnPin, first: int, resets: dict[str, int]) -> None:
        """Make a GPIO port.

        Args:
            letter: of the port.
            on_pin: called with (port letter, pin, level, virtual time in picoseconds) when an output pin changes.
            first: base address of port A.
            resets: reset values that are not those of Stm32GpioPort.
        """
        edge = lambda pin, level: on_pin(letter, pin, level, self.clock.now)  # noqa: E731
        self.ports[letter] = Stm32GpioPort(letter, edge, first, resets)

    def dma_wiring(self, request: Callable[[int, int], DmaRequest], irqs: tuple[int, ...]) -> DmaWiring:
        """Return the wiring of the DMA controller that serves USART1; `irqs` are the interrupts of its streams."""
        return DmaWiring(
            request=request,
            drive=lambda i, high: self.nvic.set_line(irqs[i], high),
            sync=lambda: self.usart1.update(self.clock.now),
            started=lambda _request: self.usart1.serve(),
        )

    def wire(self, gates: dict[tuple[str, str], tuple[Block, ...]], check_speed: Callable[[], None]) -> None:
        """Connect RCC to the blocks.

        Args:
            gates: blocks by the enable register and the field of their clock gate; of the ports too.
            check_speed: called after a change of the clock tree.
        """
        self._gates = [(register, gate, block) for (register, gate), blocks in gates.items() for block in blocks]
        for register, gate, block in self._gates:
            block.clock_name = f"RCC_{register}.{gate}EN"
        self.rcc.changed, self.rcc.gates_changed = check_speed, self.set_gates
        self.rcc.reset_blocks = self._reset_gated

    def set_gates(self) -> None:
        """Apply the clock gates."""
        for register, gate, block in self._gates:
            block.clocked = bool(self.rcc.field(register, gate))

    def _reset_gated(self, register: str, bits: int) -> None:
        for enable, gate, block in self._gates:
            if enable.replace("ENR", "RSTR") == register and bits & self.rcc.mask(register, gate):
                block.reset()
