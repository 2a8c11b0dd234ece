"""PWR of STM32F746: voltage scale and over-drive (RM0385, PWR: voltage regulator, over-drive mode, PWR registers).

Delays are modelled, of the order of those in the data sheet: a program that does not wait for a flag is detected.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block, Register

OVER_DRIVE_PS = SWITCH_PS = 45_000_000  # DS10916, over-drive switching characteristics
ODEN, ODSWEN = 1 << 16, 1 << 17
# DS10916, general operating conditions: highest HCLK by voltage scale, without and with over-drive; 0 for not allowed.
CORE_LIMIT_HZ = {1: (180_000_000, 216_000_000), 2: (168_000_000, 180_000_000), 3: (144_000_000, 0)}


class Stm32F746Pwr(Block):
    """The power controller. Its wake-up flags are those of a chip that was never in Standby.

    Args:
        clock: virtual time.
        pll_is_on: returns whether the main PLL is on.
        may_switch: raises ModelFault if the clock tree does not allow to switch over-drive on or off.
    """

    REGISTERS = (
        Register("CR1", 0x00, "LPDS:0 PDDS:1/x CSBF:3/w PVDE:4/x PLS:5-7 DBP:8 FPDS:9 LPUDS:10 MRUDS:11 ADCDC1:13/x "
                 "VOS:14-15 ODEN:16 ODSWEN:17 UDEN:18-19/x", 0x0000C000),
        Register("CSR1", 0x04, "WUIF:0/r SBF:1/r PVDO:2/r BRR:3/r EIWUP:8/x BRE:9/x VOSRDY:14/r ODRDY:16/r "
                 "ODSWRDY:17/r UDRDY:18-19/c"),
        Register("CR2", 0x08, "CWUPF:0-5/w WUPP:8-13"),
        Register("CSR2", 0x0C, "WUPF:0-5/r EWUP:8-13/x"),
    )  # fmt: skip

    def __init__(self, clock: Clock, pll_is_on: Callable[[], bool], may_switch: Callable[[], None]) -> None:
        super().__init__("PWR", 0x40007000)
        self._clock = clock
        self._pll_is_on = pll_is_on
        self._may_switch = may_switch
        self._ready = self._switched = 0
        self.changed: Callable[[], None] = lambda: None

    def limit_hz(self) -> int:
        """Return the highest core clock in Hz that voltage scale and over-drive allow now."""
        return CORE_LIMIT_HZ[4 - max(1, self.field("CR1", "VOS"))][self.over_drive()]

    def over_drive(self) -> bool:
        """Return whether the regulator is in over-drive."""
        return bool(self.value["CR1"] & ODSWEN) and self._clock.now >= self._switched

    def read_csr1(self, value: int) -> int:
        ready = bool(self.value["CR1"] & ODEN) and self._clock.now >= self._ready
        return value | self._pll_is_on() << 14 | ready << 16 | self.over_drive() << 17

    def write_cr1(self, old: int, new: int, _acting: int) -> None:
        if (old ^ new) & 3 << 14 and self._pll_is_on():
            raise ModelFault("PWR_CR1.VOS changes while the PLL is on")
        if (old ^ new) & (ODEN | ODSWEN):
            self._may_switch()
        if new & ~old & ODEN:
            self._ready = self._clock.now + OVER_DRIVE_PS
        if new & ~old & ODSWEN:
            if not old & ODEN or self._clock.now < self._ready:
                raise ModelFault("PWR_CR1.ODSWEN is set before over-drive is ready; set ODEN, wait for PWR_CSR1.ODRDY")
            self._switched = self._clock.now + SWITCH_PS
        self.value["CR1"] = new
        self.changed()
