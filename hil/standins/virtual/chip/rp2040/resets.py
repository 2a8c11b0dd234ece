"""RESETS, which holds peripherals in reset (RP2040 data sheet, 2.14), and PSM, the power-on state machine (2.13)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2040.apb import ApbBlock

NAMES = (
    "ADC", "BUSCTRL", "DMA", "I2C0", "I2C1", "IO_BANK0", "IO_QSPI", "JTAG", "PADS_BANK0", "PADS_QSPI", "PIO0", "PIO1",
    "PLL_SYS", "PLL_USB", "PWM", "RTC", "SPI0", "SPI1", "SYSCFG", "SYSINFO", "TBMAN", "TIMER", "UART0", "UART1",
    "USBCTRL",
)  # fmt: skip
ALL = (1 << len(NAMES)) - 1
_BITS = " ".join(f"{name}:{i}" for i, name in enumerate(NAMES))
_STAGES = (
    "ROSC", "XOSC", "CLOCKS", "RESETS", "BUSFABRIC", "ROM", "SRAM0", "SRAM1", "SRAM2", "SRAM3", "SRAM4", "SRAM5", "XIP",
    "VREG_AND_CHIP_RESET", "SIO", "PROC0", "PROC1",
)  # fmt: skip
_PSM = " ".join(f"{name}:{i}" for i, name in enumerate(_STAGES))


class Resets(ApbBlock):
    """The reset controller.

    Args:
        held: modelled peripherals by their name in RESET.
    """

    REGISTERS = (
        Register("RESET", 0x0, _BITS, ALL),
        Register("WDSEL", 0x4, _BITS),
        Register("RESET_DONE", 0x8, " ".join(f"{name}:{i}/r" for i, name in enumerate(NAMES))),
    )

    def __init__(self, held: dict[str, ApbBlock]) -> None:
        super().__init__("RESETS", 0x4000C000)
        self.held = held
        for name, block in held.items():
            block.off, block.clock_name = "it is held in reset; clear {} first", f"RESETS_RESET.{name}"
        self.reset()

    def reset(self) -> None:
        super().reset()
        self._hold(0, ALL)

    def write_reset(self, old: int, new: int, _acting: int) -> None:
        self.value["RESET"] = new
        self._hold(old, new)

    def _hold(self, old: int, new: int) -> None:
        for name, block in self.held.items():
            bit = 1 << NAMES.index(name)
            if new & ~old & bit:
                block.reset()
            block.clocked = not new & bit

    def read_reset_done(self, _value: int) -> int:
        return ~self.value["RESET"] & ALL


class Psm(ApbBlock):
    """The power-on state machine, as registers without effect: everything is on."""

    REGISTERS = (
        Register("FRCE_ON", 0x0, _PSM), Register("FRCE_OFF", 0x4, _PSM.replace(" ", "/x ") + "/x"),
        Register("WDSEL", 0x8, _PSM), Register("DONE", 0xC, _PSM.replace(" ", "/r ") + "/r", 0x1FFFF),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("PSM", 0x40010000)
