"""Pads and GPIO ports of i.MX RT1062 (IMXRT1060RM, IOMUXC and GPIO; MIMXRT1062.xml).

All 124 pads are modelled. Of the registers that select a pad for a peripheral's input (`..._SELECT_INPUT`) only those
of LPUART6 are modelled; the others fault. Of the GPIO ports the five slow ones are modelled, without interrupts. Inputs
read their pull.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import Block, Register

_GROUPS = (("EMC", 42), ("AD_B0", 16), ("AD_B1", 16), ("B0", 16), ("B1", 16), ("SD_B0", 6), ("SD_B1", 12))
PADS = tuple(f"{group}_{i:02}" for group, count in _GROUPS for i in range(count))
_FOUR_BITS = {  # pads with more than eight functions
    *(f"EMC_{i:02}" for i in (*range(9, 17), *range(22, 41))), *(f"AD_B0_{i:02}" for i in (9, 10, 11, 14, 15)),
    *(f"{group}_{i:02}" for group in ("AD_B1", "B0", "B1") for i in range(16)), *(f"SD_B0_{i:02}" for i in range(6)),
    *(f"SD_B1_{i:02}" for i in range(7)),
}  # fmt: skip
_DEBUG = {f"AD_B0_{i:02}" for i in range(4, 12)}  # boot mode and JTAG after reset
_PAD_RESET = {"EMC_27": 0x30B0, "AD_B0_04": 0x30B0, "AD_B0_05": 0x30B0, "AD_B0_06": 0x70A0, "AD_B0_07": 0x70A0,
              "AD_B0_08": 0xB0A0, "AD_B0_09": 0x70A0, "AD_B0_10": 0x90B1, "AD_B0_11": 0x70A0}  # fmt: skip
_PAD = "SRE:0 DSE:3-5 SPEED:6-7 ODE:11 PKE:12 PUE:13 PUS:14-15 HYS:16"
ALT_GPIO = 5


class Iomuxc(Block):
    """Function and electrical settings of all pads.

    Args:
        changed: called when function or settings of a pad change.
    """

    REGISTERS = (
        *(Register(f"SW_MUX_CTL_PAD_GPIO_{pad}", 0x14 + 4 * i, f"MUX_MODE:0-{3 if pad in _FOUR_BITS else 2} SION:4",
                   0 if pad in _DEBUG else ALT_GPIO) for i, pad in enumerate(PADS)),
        *(Register(f"SW_PAD_CTL_PAD_GPIO_{pad}", 0x204 + 4 * i, _PAD, _PAD_RESET.get(pad, 0x10B0))
          for i, pad in enumerate(PADS)),
        Register("LPUART6_RX_SELECT_INPUT", 0x550, "DAISY:0"), Register("LPUART6_TX_SELECT_INPUT", 0x554, "DAISY:0"),
    )  # fmt: skip

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__("IOMUXC", 0x401F8000)
        self._changed = changed

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        self._changed()

    def function(self, pad: str) -> int:
        """Return the function of a pad as the number of its alternative."""
        return self.field(f"SW_MUX_CTL_PAD_GPIO_{pad}", "MUX_MODE")

    def pulled_up(self, pad: str) -> bool:
        name = f"SW_PAD_CTL_PAD_GPIO_{pad}"
        return bool(self.field(name, "PKE") and self.field(name, "PUE") and self.field(name, "PUS"))


# The pads of each port's pins, by number (IMXRT1060RM, external signals and pin multiplexing).
PORT_PADS = {
    1: {i: PADS[42 + i] for i in range(32)},
    2: {i: PADS[74 + i] for i in range(32)},
    3: {i: f"SD_B1_{i:02}" for i in range(12)}
    | {12 + i: f"SD_B0_{i:02}" for i in range(6)}
    | {18 + i: f"EMC_{32 + i}" for i in range(10)},
    4: {i: f"EMC_{i:02}" for i in range(32)},
    5: {},  # pads of the SNVS domain, which are not modelled
}
_BASES = {1: 0x401B8000, 2: 0x401BC000, 3: 0x401C0000, 4: 0x401C4000, 5: 0x400C0000}


class ImxrtGpioPort(Block):
    """A slow GPIO port.

    Args:
        number: number of the port, 1 to 5.
        pads: IOMUXC with the pads.
        fast: returns the pins that IOMUXC_GPR assigns to the fast port on the same pads.
        on_edge: called with (pin, level) when an output pin changes.
    """

    REGISTERS = (
        Register("DR", 0x00, "DR:0-31"), Register("GDIR", 0x04, "GDIR:0-31"), Register("PSR", 0x08, "PSR:0-31/r"),
        Register("ICR1", 0x0C, " ".join(f"ICR{i}:{2 * i}-{2 * i + 1}/x" for i in range(16))),
        Register("ICR2", 0x10, " ".join(f"ICR{16 + i}:{2 * i}-{2 * i + 1}/x" for i in range(16))),
        Register("IMR", 0x14, "IMR:0-31/x"), Register("ISR", 0x18, "ISR:0-31/c"),
        Register("EDGE_SEL", 0x1C, "GPIO_EDGE_SEL:0-31/x"),
        Register("DR_SET", 0x84, "DR_SET:0-31/w"), Register("DR_CLEAR", 0x88, "DR_CLEAR:0-31/w"),
        Register("DR_TOGGLE", 0x8C, "DR_TOGGLE:0-31/w"),
    )  # fmt: skip

    def __init__(self, number: int, pads: Iomuxc, fast: Callable[[], int], on_edge: Callable[[int, int], None]) -> None:
        super().__init__(f"GPIO{number}", _BASES[number])
        self._pads = pads
        self._fast = fast
        self._on_edge = on_edge
        self._of_pin = PORT_PADS[number]
        self._driven = 0
        self.on_write("DR", "GDIR", then=self.drive)

    def reset(self) -> None:
        super().reset()
        self.drive()

    def drive(self) -> None:
        """Report the pins whose level has changed."""
        wanted = self.value["DR"] & self.value["GDIR"] & ~self._fast()
        for pin, pad in self._of_pin.items() if wanted | self._driven else ():
            level = wanted >> pin & 1 if self._pads.function(pad) == ALT_GPIO else 0
            if level != self._driven >> pin & 1:
                self._driven ^= 1 << pin
                self._on_edge(pin, level)

    def write_dr_set(self, _old: int, _new: int, bits: int) -> None:
        self._set(self.value["DR"] | bits)

    def write_dr_clear(self, _old: int, _new: int, bits: int) -> None:
        self._set(self.value["DR"] & ~bits)

    def write_dr_toggle(self, _old: int, _new: int, bits: int) -> None:
        self._set(self.value["DR"] ^ bits)

    def _set(self, value: int) -> None:
        self.value["DR"] = value
        self.drive()

    def read_psr(self, _value: int) -> int:
        pulled = sum(1 << pin for pin, pad in self._of_pin.items() if self._pads.pulled_up(pad))
        return self._driven | pulled & ~self.value["GDIR"]
