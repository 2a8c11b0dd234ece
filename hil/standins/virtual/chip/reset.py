"""Reset and supply of a Cortex-M machine: system reset, reset line, power cycle, brown-out and latch-up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.core_spec import CoreSpec
from hil.standins.virtual.chip.debug import C_DEBUGEN, VC_CORERESET, DebugControl
from hil.standins.virtual.chip.exceptions import THUMB
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.flash_cells import FlashCells
from hil.standins.virtual.chip.flash_power import FlashPower
from hil.standins.virtual.chip.halting import HaltingDebug
from hil.standins.virtual.chip.nvic import Nvic
from hil.standins.virtual.chip.registers import Block
from hil.standins.virtual.chip.scb import SystemControlBlock


class ResetAndPower:
    """Base class of `Machine` with reset and supply. `Machine` sets the attributes that are only annotated here."""

    spec: CoreSpec
    log: Callable[[str], None]
    core: ArmCore
    nvic: Nvic
    halting: HaltingDebug
    debug: DebugControl
    scb: SystemControlBlock
    blocks: list[Block]
    _waits_for_event: bool

    def __init__(self) -> None:
        self.asleep = self.lockup = False
        self.fault: ModelFault | None = None
        self.reset_line = False
        self.powered, self.latched_up = True, False
        self._reset_wanted = False
        self._brown_out: np.random.Generator | None = None
        self.flash_power = FlashPower()
        self.flash_cells = FlashCells(lambda line: self.log(line))

    def set_fpu(self, on: bool) -> None:
        """Enable or disable the floating-point unit."""
        raise NotImplementedError

    @property
    def dead(self) -> bool:
        """Whether even the debug port does not answer: the supply is off, or the chip is latched up."""
        return self.latched_up or not self.powered

    def request_reset(self) -> None:
        self._reset_wanted = True
        self.core.break_soon()

    def request_core_reset(self) -> None:
        """VECTRESET, the debugger's reset of the core. A chip overrides this if it does not reset the other blocks."""
        self.request_reset()

    def reset(self) -> None:
        """System reset (B1.5.5) of everything except memories, debug, and state that the chip keeps until power-off."""
        self._reset_wanted = False
        self.flash_power.returns()
        self.fault = self.core.fault = None
        self.asleep = self._waits_for_event = self.lockup = False
        self.halting.reset()
        self.nvic.reset()
        self._reset_blocks()
        self.set_fpu(False)
        self._start_core()
        if self.debug.value["DHCSR"] & C_DEBUGEN and self.debug.value["DEMCR"] & VC_CORERESET:
            self.halting.halt("VCATCH")

    def latch_up(self) -> None:
        """Stop the chip until its supply is switched off and on; a reset has no effect."""
        self.latched_up = True
        self.core.break_soon()

    def brown_out(self, rng: np.random.Generator) -> None:
        """Switch the supply off and on as soon as the run has ended."""
        self._brown_out = rng
        self.core.break_soon()

    def switch(self, on: bool, rng: np.random.Generator) -> None:
        """Switch the supply on or off. At power-on `rng` fills the writable memories, and everything is reset."""
        if on and not self.powered:
            self.latched_up = False
            self.scb.power_on()
            for memory in self.core.memories:
                if memory.writable and not memory.alias:
                    self.core.bytes[memory.name][:] = rng.integers(0, 256, memory.size, np.uint8)
            self.core.code_changed()
            self.debug.power_on()
            self.power_on()
        self.powered = on
        self.core.break_soon()

    def power_on(self) -> None:
        """Power-on reset: here a system reset. A chip overrides this if a system reset keeps more state."""
        self.reset()

    def _reset_blocks(self) -> None:
        """Reset all blocks at a system reset; a chip overrides this to keep some."""
        for block in self.blocks:
            block.reset()

    def _start_core(self) -> None:
        for register in (c.CONTROL, c.PRIMASK, c.BASEPRI, c.FAULTMASK):
            self.core.set(register, 0)
        self.core.set(c.XPSR, THUMB)
        vectors = self.core.peek(self.spec.boot_address, 8)
        stack, entry = int.from_bytes(vectors[:4], "little"), int.from_bytes(vectors[4:], "little")
        self.scb.value["VTOR"] = self.spec.boot_address
        self.core.set(c.SP, stack & ~3)
        self.core.set(c.LR, 0xFFFFFFFF)
        self.core.set(c.PC, entry)
        self.begin()

    def begin(self) -> None:
        """Start or resume the core; it locks up if pc is not in executable memory, for example with erased flash."""
        pc = self.core.get(c.PC)
        place = self.core.find(pc & ~1, 2)
        self.lockup = place is None or not place[0].executable
        if self.lockup:
            self.log(f"lockup: there is no instruction at 0x{pc & 0xFFFFFFFF:08X}")

    def hold_reset(self, asserted: bool) -> None:
        """Set the reset line; the core starts when it is released."""
        if self.reset_line and not asserted:
            self.reset()
        self.reset_line = asserted
