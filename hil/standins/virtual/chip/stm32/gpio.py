"""GPIO ports of STM32H7A3/7B3 and STM32F746 (RM0455 and RM0385, GPIO registers).

Inputs read their pull: nothing else drives them.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import Block, Register

ALTERNATE, OUTPUT = 2, 1


def _pins(name: str, bits: int, suffix: str = "") -> str:
    return " ".join(f"{name}{i}:{bits * i}-{bits * i + bits - 1}{suffix}" for i in range(16))


class Stm32GpioPort(Block):
    """A GPIO port.

    Args:
        letter: letter of the port, A to K.
        on_edge: called with (pin, level) when an output pin changes.
        first: base address of port A.
        resets: reset values that differ from those of REGISTERS.
    """

    SIZES = (1, 2, 4)
    REGISTERS = (
        Register("MODER", 0x00, _pins("MODE", 2), 0xFFFFFFFF), Register("OTYPER", 0x04, _pins("OT", 1)),
        Register("OSPEEDR", 0x08, _pins("OSPEED", 2)), Register("PUPDR", 0x0C, _pins("PUPD", 2)),
        Register("IDR", 0x10, _pins("ID", 1, "/r")), Register("ODR", 0x14, _pins("OD", 1)),
        Register("BSRR", 0x18, "BS:0-15/w BR:16-31/w"), Register("LCKR", 0x1C, _pins("LCK", 1) + " LCKK:16"),
        Register("AFRL", 0x20, " ".join(f"AFR{i}:{4 * i}-{4 * i + 3}" for i in range(8))),
        Register("AFRH", 0x24, " ".join(f"AFR{8 + i}:{4 * i}-{4 * i + 3}" for i in range(8))),
    )  # fmt: skip

    def __init__(self, letter: str, on_edge: Callable[[int, int], None], first: int, resets: dict[str, int]) -> None:
        super().__init__(f"GPIO{letter}", first + 0x400 * (ord(letter) - ord("A")))
        self._resets = resets
        self._on_edge = on_edge
        self.on_write("ODR", "MODER", then=self._drive)
        self.reset()

    def reset(self) -> None:
        super().reset()
        self.value.update(self._resets)
        self._driven = 0

    def alternate(self, pin: int) -> int | None:
        """Return the alternate function of a pin, or None if the pin is not in that mode."""
        if self.value["MODER"] >> 2 * pin & 3 != ALTERNATE:
            return None
        return self.value["AFRH" if pin >= 8 else "AFRL"] >> 4 * (pin % 8) & 0xF

    def read_idr(self, _value: int) -> int:
        pulled = sum(1 << i for i in range(16) if self.value["PUPDR"] >> 2 * i & 3 == 1)
        return self._driven | pulled & ~self._outputs()

    def write_bsrr(self, _old: int, _new: int, acting: int) -> None:
        # Setting has priority over resetting (RM0455, GPIOx_BSRR).
        self.value["ODR"] = self.value["ODR"] & ~(acting >> 16) | acting & 0xFFFF
        self._drive()

    def _outputs(self) -> int:
        return sum(1 << i for i in range(16) if self.value["MODER"] >> 2 * i & 3 == OUTPUT)

    def _drive(self) -> None:
        driven = self.value["ODR"] & self._outputs()
        for pin in range(16):
            if (driven ^ self._driven) >> pin & 1:
                self._on_edge(pin, driven >> pin & 1)
        self._driven = driven
