"""Exception entry and return of Armv7-M (ARM DDI 0403E.e, B1.5.6 to B1.5.8).

The floating-point frame is stacked at entry. Silicon may delay that until the handler uses the FPU (lazy stacking). A
program sees the same memory and registers, except for the reserved words of a frame whose handler never uses the FPU.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.core_registers import FPCA, SPSEL, control_word
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.nvic import NMI, Nvic

BASIC, EXTENDED = 0x20, 0x68
THUMB = 1 << 24
ALIGNED = 1 << 9  # xPSR bit 9 of a stacked frame: the stack pointer was moved by 4
IT_BITS = 0x0600FC00
_LOWEST_RETURN = 0xFFFFFFE0  # on Armv8-M: to the Secure state
_EXC_RETURN = 0xFFFFFFE1  # with bits 2 (process stack), 3 (thread mode), 4 (basic frame) to be set


class Exceptions:
    """Exception entry and return.

    Args:
        core: registers and memories.
        nvic: pending and active exceptions.
    """

    def __init__(self, core: ArmCore, nvic: Nvic) -> None:
        self._core = core
        self._nvic = nvic
        # Limit of the main or the process stack (Armv8-M); 0 on a core without limits.
        self.stack_limit: Callable[[bool], int] = lambda process: 0
        self._frame = core.registers(*c.R[:4], c.R[12], c.LR, c.PC, c.XPSR, c.SP, c.CONTROL)
        self._masks = core.registers(c.PRIMASK, c.BASEPRI, c.FAULTMASK)
        self._entry = core.registers(c.SP, c.CONTROL, c.XPSR, c.LR, c.PC)
        self._exit = core.registers(c.XPSR, c.CONTROL, c.SP, *c.R[:4], c.R[12], c.LR, c.PC)
        self._float = core.registers(*c.S[:16], c.FPSCR)

    def masks(self) -> list[int]:
        """Return PRIMASK, BASEPRI and FAULTMASK."""
        return self._masks.read()

    def priority(self) -> int:
        return self._nvic.execution_priority(*self.masks())

    def next(self) -> tuple[int | None, bool]:
        """Return the exception to take now or None, and whether one is pending that only a mask blocks."""
        best = self._nvic.best()
        if best is None:
            return None, False
        if self._nvic.group(best) < self.priority():
            return best, False
        return None, self._nvic.group(best) < self._nvic.execution_priority()

    def wakes(self) -> bool:
        """Return whether a pending exception ends WFI, regardless of PRIMASK (B1.5.19)."""
        best = self._nvic.best()
        if best is None:
            return False
        _, basepri, faultmask = self.masks()
        return self._nvic.group(best) < self._nvic.execution_priority(0, basepri, faultmask)

    def enter(self, number: int, vectors: int) -> None:
        """Stack the frame and go to the handler of an exception.

        Args:
            number: number of the exception.
            vectors: value of VTOR.

        Raises:
            ModelFault: the stack or the vector is invalid.
        """
        r0, r1, r2, r3, r12, lr, pc, xpsr, sp, control = self._frame.read()
        extended = bool(control & FPCA)
        top = sp - (EXTENDED if extended else BASIC)
        frame = top & ~4
        stacked = xpsr & ~ALIGNED | (ALIGNED if top & 4 else 0)
        words = [r0, r1, r2, r3, r12, lr, pc & ~1, stacked]
        if extended:
            words += [*self._float.read(), 0]
        on_psp = not self._nvic.active and bool(control & SPSEL)
        if frame < self.stack_limit(on_psp):
            raise ModelFault(f"the frame of exception {number} at 0x{frame:08X} is below the stack's limit", frame)
        self._core.store(frame, struct.pack(f"<{len(words)}I", *words))
        handler_mode = bool(self._nvic.active)
        back = _EXC_RETURN | (0 if handler_mode else 8) | (4 if on_psp else 0) | (0 if extended else 0x10)
        (target,) = struct.unpack("<I", self._core.peek(vectors + 4 * number, 4))
        if not target & 1:
            raise ModelFault(f"vector of exception {number} is 0x{target:08X}: bit 0 must be set", vectors + 4 * number)
        self._nvic.enter(number)
        # In this order: first the stack pointer of the old mode, then the switch to handler mode, where SP is MSP.
        self._entry.write([frame, control & 1, xpsr & ~(IT_BITS | 0x1FF) | THUMB | number, back, target])

    def leave(self, target: int) -> None:
        """Return from an exception; `target` is the EXC_RETURN value.

        Raises:
            ModelFault: the return is a fault according to B1.5.8.
        """
        target |= 1
        ending = self._core.get(c.XPSR) & 0x1FF
        if not self._nvic.leave(ending):
            raise ModelFault(f"return from exception {ending}, which is not active")
        basic, to_thread, on_psp = bool(target & 0x10), bool(target & 8), bool(target & 4)
        wrong_bits = target & 3 != 1 or target < _LOWEST_RETURN
        if to_thread == bool(self._nvic.active) or (on_psp and not to_thread) or wrong_bits:
            raise ModelFault(f"exception return 0x{target:08X} does not fit {len(self._nvic.active)} active exceptions")
        if ending != NMI:
            self._core.set(c.FAULTMASK, 0)
        frame = self._core.get(c.PSP if on_psp else c.MSP)
        size = BASIC if basic else EXTENDED
        words = struct.unpack(f"<{size // 4}I", self._core.peek(frame, size))
        r0, r1, r2, r3, r12, lr, pc, xpsr = words[:8]
        if not xpsr & THUMB or pc & 1:
            raise ModelFault(f"exception return to 0x{pc:08X} with xPSR 0x{xpsr:08X}: not a Thumb state")
        control = self._core.get(c.CONTROL) & 1
        control |= (SPSEL if on_psp else 0) | (0 if basic else FPCA)
        sp = frame + size + (4 if xpsr & ALIGNED else 0)
        if not basic:
            self._float.write(words[8:25])
        # The mode is written first: SP is then the stack pointer of that mode.
        self._exit.write([xpsr & ~ALIGNED, control_word(control), sp, r0, r1, r2, r3, r12, lr, pc | 1])
