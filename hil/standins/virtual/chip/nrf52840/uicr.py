"""FICR and UICR: factory and user information registers (Product Specification, chapters of these names)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import WORD, Block, Register

SIZE = 0x400
NRST_PIN = 18  # P0.18, the only pin that can be the reset (pin assignments)
_PSELRESET, _APPROTECT = 0x200, 0x208
_ID = "VALUE:0-31/r"


class Ficr(Block):
    """The factory information registers.

    Args:
        rng: generator of the unique id.
        variant: INFO.VARIANT, four letters; the last two are the build code.
    """

    def __init__(self, rng: np.random.Generator, variant: str) -> None:
        values = (
            ("CODEPAGESIZE", 0x010, 0x1000), ("CODESIZE", 0x014, 0x100),
            ("DEVICEID0", 0x060, int(rng.integers(0, WORD))), ("DEVICEID1", 0x064, int(rng.integers(0, WORD))),
            ("INFO_PART", 0x100, 0x52840), ("INFO_VARIANT", 0x104, int.from_bytes(variant.encode(), "big")),
            ("INFO_PACKAGE", 0x108, 0x2004), ("INFO_RAM", 0x10C, 0x100), ("INFO_FLASH", 0x110, 0x400),
        )  # fmt: skip
        self.REGISTERS = tuple(Register(name, offset, _ID, value) for name, offset, value in values)
        super().__init__("FICR", 0x10000000)

    def write(self, offset: int, size: int, value: int) -> None:
        raise ModelFault(f"write of 0x{self.base + offset:08X}: FICR is read only", self.base + offset, "write")


class Uicr:
    """User information registers: flash words that a reset does not change. The hardware reads them only at reset."""

    name, base = "UICR", 0x10001000

    def __init__(self) -> None:
        self.words = [WORD] * (SIZE // 4)
        self.program: Callable[[int, int], None] = lambda _address, _value: None  # (address, word): the NVMC

    def erase(self) -> None:
        self.words[:] = [WORD] * len(self.words)

    @property
    def protection(self) -> int:
        """APPROTECT.PALL."""
        return self.words[_APPROTECT >> 2] & 0xFF

    @property
    def pin_reset(self) -> bool:
        """Whether the reset pin works: both PSELRESET registers must name it, connected."""
        first = _PSELRESET >> 2
        return all(word & 0x8000003F == NRST_PIN for word in self.words[first : first + 2])

    def read(self, offset: int, size: int) -> int:
        return self.words[offset >> 2] >> 8 * (offset & 3) & (1 << 8 * size) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        if size != 4:
            raise ModelFault(f"write of {size} bytes at 0x{self.base + offset:08X}: UICR takes whole words only")
        self.program(self.base + offset, value)
