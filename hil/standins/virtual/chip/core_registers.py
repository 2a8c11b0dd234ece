"""Unicorn's numbers of the core registers, and sets of registers that are read or written in one call."""

from __future__ import annotations

import ctypes

from unicorn import arm_const as reg
from unicorn.unicorn_py3.unicorn import uclib

R = tuple(getattr(reg, f"UC_ARM_REG_R{i}") for i in range(13))
SP, LR, PC, XPSR = reg.UC_ARM_REG_SP, reg.UC_ARM_REG_LR, reg.UC_ARM_REG_PC, reg.UC_ARM_REG_XPSR
MSP, PSP, CONTROL = reg.UC_ARM_REG_MSP, reg.UC_ARM_REG_PSP, reg.UC_ARM_REG_CONTROL
PRIMASK, BASEPRI, FAULTMASK = reg.UC_ARM_REG_PRIMASK, reg.UC_ARM_REG_BASEPRI, reg.UC_ARM_REG_FAULTMASK
FPSCR = reg.UC_ARM_REG_FPSCR
S = tuple(getattr(reg, f"UC_ARM_REG_S{i}") for i in range(32))
SPSEL, FPCA, _SFPA = 1 << 1, 1 << 2, 1 << 3  # bits of CONTROL


def control_word(value: int) -> int:
    """Return what to write into Unicorn's CONTROL for a value of Armv7-M's, which has bits 0 to 2 only.

    Unicorn's cores may have the security extension. Then a floating-point context needs SFPA beside FPCA (Arm DDI 0553,
    CONTROL): without it, the next floating-point instruction clears FPSCR, and with it the flags of a comparison.
    """
    return value & 7 | (_SFPA if value & FPCA else 0)


class RegisterSet:
    """Core registers read and written together in one call."""

    def __init__(self, engine: ctypes.c_void_p, ids: tuple[int, ...]) -> None:
        self._engine = engine
        self._n = len(ids)
        self._ids = (ctypes.c_int * self._n)(*ids)
        self._values = (ctypes.c_uint64 * self._n)()
        base = ctypes.addressof(self._values)
        self._pointers = (ctypes.c_void_p * self._n)(*(base + 8 * i for i in range(self._n)))

    def read(self) -> list[int]:
        uclib.uc_reg_read_batch(self._engine, self._ids, self._pointers, self._n)
        return [v & 0xFFFFFFFF for v in self._values]

    def write(self, values: tuple[int, ...] | list[int]) -> None:
        """Write the first len(values) registers of the set."""
        for i, value in enumerate(values):
            self._values[i] = value
        uclib.uc_reg_write_batch(self._engine, self._ids, self._pointers, len(values))
