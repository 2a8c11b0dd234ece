"""RESETS, which holds peripherals in reset (RP2040 data sheet, 2.14; RP2350 data sheet, 7.5).

PSM is the power-on state machine (2.13; 7.4).
"""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.apb import ApbBlock


def _bits(names: tuple[str, ...], access: str = "") -> str:
    return " ".join(f"{name}:{i}{access}" for i, name in enumerate(names))


class Resets(ApbBlock):
    """The reset controller.

    Args:
        base: base address.
        names: names of the bits of RESET, from bit 0 on.
        held: modelled peripherals by their name in RESET.
    """

    def __init__(self, base: int, names: tuple[str, ...], held: dict[str, ApbBlock]) -> None:
        self._names, self._all = names, (1 << len(names)) - 1
        self.REGISTERS = (
            Register("RESET", 0x0, _bits(names), self._all), Register("WDSEL", 0x4, _bits(names)),
            Register("RESET_DONE", 0x8, _bits(names, "/r")),
        )  # fmt: skip
        super().__init__("RESETS", base)
        self.held = held
        for name, block in held.items():
            block.off, block.clock_name = "it is held in reset; clear {} first", f"RESETS_RESET.{name}"
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._hold(0, self._all)

    def write_reset(self, old: int, new: int, _acting: int) -> None:
        self.value["RESET"] = new
        self._hold(old, new)

    def pulse(self, name: str) -> None:
        """Reset a peripheral and let it go, as the boot ROM does."""
        bit = 1 << self._names.index(name)
        for value in (self.value["RESET"] | bit, self.value["RESET"] & ~bit):
            self.write_reset(self.value["RESET"], value, 0)

    def _hold(self, old: int, new: int) -> None:
        for name, block in self.held.items():
            bit = 1 << self._names.index(name)
            if new & ~old & bit:
                block.reset()
            block.clocked = not new & bit

    def read_reset_done(self, _value: int) -> int:
        return ~self.value["RESET"] & self._all


class Psm(ApbBlock):
    """The power-on state machine, as registers without effect: everything is on.

    Args:
        base: base address.
        stages: names of the bits of its registers, from bit 0 on.
    """

    def __init__(self, base: int, stages: tuple[str, ...]) -> None:
        self.REGISTERS = (
            Register("FRCE_ON", 0x0, _bits(stages)), Register("FRCE_OFF", 0x4, _bits(stages, "/x")),
            Register("WDSEL", 0x8, _bits(stages)), Register("DONE", 0xC, _bits(stages, "/r"), (1 << len(stages)) - 1),
        )  # fmt: skip
        super().__init__("PSM", base)
