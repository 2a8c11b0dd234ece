"""RCC of STM32H7A3/7B3: oscillators, PLLs, clock tree and clock gates (RM0455, RCC: clocks, RCC registers).

A change to a clock that the voltage
scale or the flash latency does not allow faults at once (RM0455, FLASH: recommended wait states; DS13195, general
operating conditions).
"""

from __future__ import annotations

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.stm32.rcc import AHB_DIVIDERS, APB_DIVIDERS, HSE, HSI, Stm32Rcc
from hil.standins.virtual.chip.stm32h7b3.rcc_registers import REGISTERS

HSI_HZ, CSI_HZ = 64_000_000, 4_000_000
# Bits of CR that start a source.
CSI, HSI48, PLL1, PLL2, PLL3 = 7, 12, 24, 26, 28
SOURCES = (HSI, CSI, HSE, PLL1)  # by the value of SW
STARTS = {
    HSI: (2, 2_000_000), CSI: (8, 2_000_000), HSI48: (13, 4_000_000), HSE: (17, 2_000_000_000),
    PLL1: (25, 100_000_000), PLL2: (27, 100_000_000), PLL3: (29, 100_000_000),
}  # fmt: skip
_PLL_SOURCES = (HSI, CSI, HSE, None)  # by the value of PLLSRC
_PLL_INPUT = ((1_000_000, 2_000_000), (2_000_000, 4_000_000), (4_000_000, 8_000_000), (8_000_000, 16_000_000))


class Stm32H7b3Rcc(Stm32Rcc):
    """The reset and clock controller. Args: see Stm32Rcc."""

    REGISTERS = REGISTERS
    CLOCKS = ("CDCFGR1", "CDCFGR2", "SRDCFGR", "CDCCIP2R")

    def __init__(self, clock: Clock, hse_hz: int) -> None:
        super().__init__(0x58024400, clock, hse_hz, STARTS)
        plls = 1 << PLL1 | 1 << PLL2 | 1 << PLL3
        self.on_write("PLLCKSELR", held=lambda: "a PLL is on" if self.value["CR"] & plls else "")
        self.on_write("PLL1DIVR", held=lambda: "PLL1 is on" if self.value["CR"] & 1 << PLL1 else "")

    # frequencies in Hz

    def core_hz(self) -> int:
        return self.system_hz() // AHB_DIVIDERS.get(self.field("CDCFGR1", "CDCPRE"), 1)

    def ahb_hz(self) -> int:
        return self.core_hz() // AHB_DIVIDERS.get(self.field("CDCFGR1", "HPRE"), 1)

    def apb_hz(self, bus: int) -> int:
        """Return the clock of APB 1 to 4 in Hz."""
        register, name = {
            1: ("CDCFGR2", "CDPPRE1"),
            2: ("CDCFGR2", "CDPPRE2"),
            3: ("CDCFGR1", "CDPPRE"),
            4: ("SRDCFGR", "SRDPPRE"),
        }[bus]
        return self.ahb_hz() // APB_DIVIDERS.get(self.field(register, name), 1)

    def system_hz(self) -> int:
        switch = self.field("CFGR", "SW")
        return (self.hsi_hz(), CSI_HZ, self._hse_hz, self.pll_hz(1, "P"))[switch]

    def hsi_hz(self) -> int:
        return HSI_HZ >> self.field("CR", "HSIDIV")

    def pll_hz(self, pll: int, output: str) -> int:
        """Return the frequency of output P, Q or R of a PLL in Hz, whether it runs or not; 0 without a source."""
        source = self.field("PLLCKSELR", "PLLSRC")
        reference = (self.hsi_hz(), CSI_HZ, self._hse_hz, 0)[source]
        divider = self.field("PLLCKSELR", f"DIVM{pll}")
        if not reference or not divider:
            return 0
        fraction = self.field(f"PLL{pll}FRACR", "FRACN") if self.field("PLLCFGR", f"PLL{pll}FRACEN") else 0
        multiplied = reference * ((self.field(f"PLL{pll}DIVR", "N") + 1) * 8192 + fraction) // (divider * 8192)
        return multiplied // (self.field(f"PLL{pll}DIVR", output) + 1)

    def usart1_hz(self) -> int:
        """Return USART1's kernel clock in Hz (CDCCIP2R.USART16910SEL); raise ModelFault if its source does not run."""
        select = self.field("CDCCIP2R", "USART16910SEL")
        sources = {
            0: (self.apb_hz(2), True),
            1: (self.pll_hz(2, "Q"), self.is_ready(PLL2)),
            2: (self.pll_hz(3, "Q"), self.is_ready(PLL3)),
            3: (self.hsi_hz(), self.is_ready(HSI)),
            4: (CSI_HZ, self.is_ready(CSI)),
            5: (32768, False),
        }
        hz, running = sources.get(select, (0, False))
        if not hz or not running:
            raise ModelFault(f"the kernel clock of USART1 does not run (RCC_CDCCIP2R.USART16910SEL is {select})")
        return hz

    # registers

    def read_cr(self, value: int) -> int:
        return value | self.ready_flags() | 1 << 5 | 3 << 14  # HSIDIVF; CPU and domain clocks are ready

    def check_pll(self, start: int) -> None:
        """Raise ModelFault if the PLL's input or VCO is out of range by PLLCFGR (RM0455, RCC: PLLs description)."""
        if start not in (PLL1, PLL2, PLL3):
            return
        pll, source = (start - 22) // 2, self.field("PLLCKSELR", "PLLSRC")
        oscillator = _PLL_SOURCES[source]
        if oscillator is None or not self.is_ready(oscillator):
            raise ModelFault(f"PLL{pll} is started while its source (PLLSRC {source}) does not run")
        divider = self.field("PLLCKSELR", f"DIVM{pll}")
        reference = (self.hsi_hz(), CSI_HZ, self._hse_hz)[source] // max(1, divider)
        low, high = _PLL_INPUT[self.field("PLLCFGR", f"PLL{pll}RGE")]
        vco = self.pll_hz(pll, "P") * (self.field(f"PLL{pll}DIVR", "P") + 1)
        vco_low, vco_high = ((128e6, 560e6), (150e6, 420e6))[self.field("PLLCFGR", f"PLL{pll}VCOSEL")]
        if not divider or not low <= reference <= high:
            raise ModelFault(
                f"PLL{pll}: input {reference} Hz is outside {low}..{high} Hz, the range that PLLCFGR selects"
            )
        if not vco_low <= vco <= vco_high:
            raise ModelFault(f"PLL{pll}: VCO at {vco} Hz is outside {vco_low:.0f}..{vco_high:.0f} Hz")

    def needed(self) -> tuple[int | None, ...]:
        source = SOURCES[self.field("CFGR", "SW")]
        return source, _PLL_SOURCES[self.field("PLLCKSELR", "PLLSRC")] if source == PLL1 else None

    def read_cfgr(self, value: int) -> int:
        return value | self.field("CFGR", "SW") << 3

    def write_cfgr(self, old: int, new: int, _acting: int) -> None:
        switch = new & 7
        if switch != old & 7:
            if switch > 3 or not self.is_ready(SOURCES[switch]):
                raise ModelFault(
                    f"RCC_CFGR.SW is set to {switch} before that clock is ready; wait for its flag in RCC_CR"
                )
            if switch == 3 and not self.field("PLLCFGR", "DIVP1EN"):
                raise ModelFault("RCC_CFGR.SW selects PLL1, whose output P is off; set RCC_PLLCFGR.DIVP1EN")
        self.value["CFGR"] = new
        self._apply()
