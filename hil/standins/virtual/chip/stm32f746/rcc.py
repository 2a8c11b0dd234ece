"""RCC of STM32F746: oscillators, main PLL, clock tree and clock gates (RM0385, RCC: clocks, RCC registers)."""

from __future__ import annotations

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.stm32.rcc import AHB_DIVIDERS, APB_DIVIDERS, HSE, HSI, Stm32Rcc
from hil.standins.virtual.chip.stm32f746.rcc_registers import REGISTERS

HSI_HZ = 16_000_000
PLL = 24  # bit of CR that starts it
SOURCES = (HSI, HSE, PLL)  # by the value of SW
# Bits that start and report a source, and the time between [ps] (DS10916: HSI, HSE and main PLL characteristics).
STARTS = {HSI: (1, 2_200_000), HSE: (17, 2_000_000_000), PLL: (25, 200_000_000)}
_NAME = {HSI: "HSI", HSE: "HSE"}
# RM0385, RCC_PLLCFGR, and DS10916, main PLL characteristics: ranges of input and VCO in Hz, and of the factors.
_INPUT, _VCO, _M, _N, _Q = (950_000, 2_100_000), (100_000_000, 432_000_000), (2, 63), (50, 432), (2, 15)


class Stm32F746Rcc(Stm32Rcc):
    """The reset and clock controller. Args: see Stm32Rcc."""

    REGISTERS = REGISTERS
    CLOCKS = ("DCKCFGR2",)

    def __init__(self, clock: Clock, hse_hz: int) -> None:
        super().__init__(0x40023800, clock, hse_hz, STARTS)
        self.on_write("PLLCFGR", held=lambda: "the PLL is on" if self.field("CR", "PLLON") else "")

    # frequencies in Hz

    def core_hz(self) -> int:
        return self.system_hz() // AHB_DIVIDERS.get(self.field("CFGR", "HPRE"), 1)

    def apb_hz(self, bus: int) -> int:
        """Return the clock of APB 1 or 2 in Hz."""
        return self.core_hz() // APB_DIVIDERS.get(self.field("CFGR", f"PPRE{bus}"), 1)

    def system_hz(self) -> int:
        return (HSI_HZ, self._hse_hz, self.pll_hz())[self.field("CFGR", "SW")]

    def source(self) -> int:
        """Return the source of the system clock: HSI, HSE or PLL."""
        return SOURCES[self.field("CFGR", "SW")]

    def pll_hz(self) -> int:
        """Return the frequency of the PLL's output P in Hz, whether it runs or not."""
        return self._vco_hz() // (2 * (self.field("PLLCFGR", "PLLP") + 1))

    def _vco_hz(self) -> int:
        return self._pll_source_hz() * self.field("PLLCFGR", "PLLN") // max(1, self.field("PLLCFGR", "PLLM"))

    def _pll_source_hz(self) -> int:
        return self._hse_hz if self._pll_source() == HSE else HSI_HZ

    def _pll_source(self) -> int:
        return HSE if self.field("PLLCFGR", "PLLSRC") else HSI

    def usart1_hz(self) -> int:
        """Return USART1's kernel clock in Hz (DCKCFGR2.USART1SEL); raise ModelFault if its source does not run."""
        select = self.field("DCKCFGR2", "USART1SEL")
        if select == 3 or (select == 2 and not self.is_ready(HSI)):
            raise ModelFault(f"the kernel clock of USART1 does not run (RCC_DCKCFGR2.USART1SEL is {select})")
        return (self.apb_hz(2), self.system_hz(), HSI_HZ)[select]

    # registers

    def read_cr(self, value: int) -> int:
        return value & ~2 | self.ready_flags()

    def check_pll(self, start: int) -> None:
        """Raise ModelFault if the PLL's factors, input or VCO are outside their ranges (RM0385, RCC_PLLCFGR)."""
        if start != PLL:
            return
        if not self.is_ready(self._pll_source()):
            raise ModelFault(f"the PLL is started while its source, the {_NAME[self._pll_source()]}, does not run")
        for name, (low, high) in (("PLLM", _M), ("PLLN", _N), ("PLLQ", _Q)):
            if not low <= self.field("PLLCFGR", name) <= high:
                raise ModelFault(f"RCC_PLLCFGR.{name} is {self.field('PLLCFGR', name)}, it may be {low} to {high}")
        reference = self._pll_source_hz() // self.field("PLLCFGR", "PLLM")
        for what, hz, (low, high) in (("input", reference, _INPUT), ("VCO", self._vco_hz(), _VCO)):
            if not low <= hz <= high:
                raise ModelFault(f"the PLL's {what} at {hz} Hz is outside {low}..{high} Hz")

    def needed(self) -> tuple[int | None, ...]:
        return self.source(), self._pll_source() if self.field("CR", "PLLON") else None

    def read_cfgr(self, value: int) -> int:
        return value | self.field("CFGR", "SW") << 2

    def write_cfgr(self, old: int, new: int, _acting: int) -> None:
        switch = new & 3
        if switch != old & 3 and (switch >= len(SOURCES) or not self.is_ready(SOURCES[switch])):
            raise ModelFault(f"RCC_CFGR.SW is set to {switch} before that clock is ready; wait for its flag in RCC_CR")
        self.value["CFGR"] = new
        self._apply()
