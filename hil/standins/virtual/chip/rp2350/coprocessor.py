"""The redundancy coprocessor of the RP2350, coprocessor 7 (data sheet, 3.6.3), as far as programs use it.

The boot ROM loads its salt. Code that starts without the ROM, such as a flash algorithm after a halt at reset, asks for
its status and loads the salt itself. The other instructions check the ROM's own code: they are not modelled.
"""

from __future__ import annotations

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.fault import ModelFault

NUMBER = 7
# mrc p7, #1, APSR_nzcv, c0, c0, #0: N says whether the salt is valid; mcrr p7, #8, Rt, Rt2, cN loads that of core N.
_STATUS, _SALT, _SALT_MASK = 0xEE30F710, 0xEC400780, 0xFFF00FFE
_NEGATIVE = 1 << 31


class RedundancyCoprocessor:
    """The redundancy coprocessor.

    Args:
        core: core 0.

    Attributes:
        salted: whether the salts of both cores are loaded.
    """

    def __init__(self, core: ArmCore) -> None:
        self._core = core
        self.salted = [False, False]

    def reset(self, salted: bool = False) -> None:
        """Reset; the boot ROM then loads the salts."""
        self.salted = [salted, salted]

    def execute(self, instruction: int) -> bool:
        """Execute an instruction of coprocessor 7; return False if it is not one. Raises ModelFault as on silicon."""
        if instruction == _STATUS:
            flags = self._core.get(c.XPSR) & ~(0xF << 28)
            self._core.set(c.XPSR, flags | (_NEGATIVE if self.salted[0] else 0))
            return True
        if instruction & _SALT_MASK == _SALT:
            core = instruction & 1
            if self.salted[core]:
                raise ModelFault(f"the salt of core {core} is loaded twice, which the coprocessor punishes with an NMI")
            self.salted[core] = True
            return True
        if instruction >> 8 & 0xF == NUMBER:
            raise ModelFault(f"instruction 0x{instruction:08X} of the redundancy coprocessor is not modelled")
        return False
