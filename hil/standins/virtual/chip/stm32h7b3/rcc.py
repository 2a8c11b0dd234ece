"""RCC of STM32H7A3/7B3: oscillators, PLLs, clock tree and clock gates (RM0455, RCC: clocks, RCC registers).

Ready flags are set after modelled delays, of the order of those in the data sheet. A change to a clock that the voltage
scale or the flash latency does not allow faults at once (RM0455, FLASH: recommended wait states; DS13195, general
operating conditions).
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block
from hil.standins.virtual.chip.stm32h7b3.rcc_registers import REGISTERS

HSI_HZ, CSI_HZ = 64_000_000, 4_000_000
# Picoseconds until ready, by the bit of CR that starts the source.
_START_PS = {
    0: 2_000_000,
    7: 2_000_000,
    12: 4_000_000,
    16: 2_000_000_000,
    24: 100_000_000,
    26: 100_000_000,
    28: 100_000_000,
}
_READY_BIT = {0: 2, 7: 8, 12: 13, 16: 17, 24: 25, 26: 27, 28: 29}
_HPRE = {8: 2, 9: 4, 10: 8, 11: 16, 12: 64, 13: 128, 14: 256, 15: 512}
_PPRE = {4: 2, 5: 4, 6: 8, 7: 16}
_PLL_INPUT = ((1_000_000, 2_000_000), (2_000_000, 4_000_000), (4_000_000, 8_000_000), (8_000_000, 16_000_000))


class Rcc(Block):
    """The reset and clock controller.

    Args:
        clock: virtual time; its frequency is set to the core clock.
        hse_hz: frequency of the crystal on the board, 0 for none.
    """

    REGISTERS = REGISTERS

    def __init__(self, clock: Clock, hse_hz: int) -> None:
        super().__init__("RCC", 0x58024400)
        self._clock = clock
        self._hse_hz = hse_hz
        self._ready_at = {0: 0}
        self.changed: Callable[[], None] = lambda: None
        self.gates_changed: Callable[[], None] = lambda: None
        self.reset_blocks: Callable[[str, int], None] = lambda register, bits: None
        for name in [r.name for r in REGISTERS if r.name.endswith("ENR") and not r.name.endswith("LPENR")]:
            self._writers[name] = lambda _old, new, _acting, name=name: self._set_gate(name, new)
        for name in [r.name for r in REGISTERS if r.name.endswith("RSTR")]:
            self._writers[name] = lambda _old, new, _acting, name=name: self._set_reset(name, new)

    def reset(self) -> None:
        super().reset()
        self._ready_at = {0: 0}
        self._clock.set_frequency(self.core_hz())

    # frequencies in Hz

    def core_hz(self) -> int:
        return self.system_hz() // _HPRE.get(self.field("CDCFGR1", "CDCPRE"), 1)

    def ahb_hz(self) -> int:
        return self.core_hz() // _HPRE.get(self.field("CDCFGR1", "HPRE"), 1)

    def apb_hz(self, bus: int) -> int:
        """Return the clock of APB 1 to 4 in Hz."""
        register, name = {
            1: ("CDCFGR2", "CDPPRE1"),
            2: ("CDCFGR2", "CDPPRE2"),
            3: ("CDCFGR1", "CDPPRE"),
            4: ("SRDCFGR", "SRDPPRE"),
        }[bus]
        return self.ahb_hz() // _PPRE.get(self.field(register, name), 1)

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
            1: (self.pll_hz(2, "Q"), self._is_ready(26)),
            2: (self.pll_hz(3, "Q"), self._is_ready(28)),
            3: (self.hsi_hz(), self._is_ready(0)),
            4: (CSI_HZ, self._is_ready(7)),
            5: (32768, False),
        }
        hz, running = sources.get(select, (0, False))
        if not hz or not running:
            raise ModelFault(f"the kernel clock of USART1 does not run (RCC_CDCCIP2R.USART16910SEL is {select})")
        return hz

    # registers

    def _is_ready(self, start: int) -> bool:
        at = self._ready_at.get(start)
        return at is not None and self._clock.now >= at

    def read_cr(self, value: int) -> int:
        ready = sum(1 << flag for start, flag in _READY_BIT.items() if self._is_ready(start))
        return value | ready | 1 << 5 | 3 << 14  # HSIDIVF; CPU and domain clocks are ready

    def write_cr(self, old: int, new: int, _acting: int) -> None:
        for start in _START_PS:
            was, wanted = old >> start & 1, new >> start & 1
            if wanted and not was:
                self._start(start)
            elif was and not wanted:
                if self._is_used(start):
                    raise ModelFault(f"RCC_CR: bit {start} is cleared while the system clock needs that source")
                self._ready_at.pop(start, None)
        self._apply("CR", new)

    def _start(self, start: int) -> None:
        if start == 16 and not self._hse_hz:
            raise ModelFault("RCC_CR.HSEON is set, but this board has no HSE crystal")
        if start in (24, 26, 28):
            self._check_pll((start - 22) // 2)
        self._ready_at[start] = self._clock.now + _START_PS[start]

    def _check_pll(self, pll: int) -> None:
        """Raise ModelFault if the PLL's input or VCO is out of range by PLLCFGR (RM0455, RCC: PLLs description)."""
        source = self.field("PLLCKSELR", "PLLSRC")
        start = (0, 7, 16, None)[source]
        if start is None or not self._is_ready(start):
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

    def _is_used(self, start: int) -> bool:
        switch = self.field("CFGR", "SW")
        if start == (0, 7, 16, 24)[switch]:
            return True
        return switch == 3 and start == (0, 7, 16, None)[self.field("PLLCKSELR", "PLLSRC")]

    def read_cfgr(self, value: int) -> int:
        return value | self.field("CFGR", "SW") << 3

    def write_cfgr(self, old: int, new: int, _acting: int) -> None:
        switch = new & 7
        if switch != old & 7:
            if switch > 3 or not self._is_ready((0, 7, 16, 24)[switch]):
                raise ModelFault(
                    f"RCC_CFGR.SW is set to {switch} before that clock is ready; wait for its flag in RCC_CR"
                )
            if switch == 3 and not self.field("PLLCFGR", "DIVP1EN"):
                raise ModelFault("RCC_CFGR.SW selects PLL1, whose output P is off; set RCC_PLLCFGR.DIVP1EN")
        self._apply("CFGR", new)

    def _apply(self, name: str, new: int) -> None:
        self.value[name] = new
        self._clock.set_frequency(self.core_hz())
        self.changed()

    def write_cdcfgr1(self, _old: int, new: int, _acting: int) -> None:
        self._apply("CDCFGR1", new)

    def write_cdcfgr2(self, _old: int, new: int, _acting: int) -> None:
        self._apply("CDCFGR2", new)

    def write_srdcfgr(self, _old: int, new: int, _acting: int) -> None:
        self._apply("SRDCFGR", new)

    def write_cdccip2r(self, _old: int, new: int, _acting: int) -> None:
        self._apply("CDCCIP2R", new)

    def write_pllckselr(self, old: int, new: int, _acting: int) -> None:
        if old != new and any(self.value["CR"] >> bit & 1 for bit in (24, 26, 28)):
            raise ModelFault("RCC_PLLCKSELR changes while a PLL is on")
        self.value["PLLCKSELR"] = new

    def write_pll1divr(self, old: int, new: int, _acting: int) -> None:
        if old != new and self.value["CR"] >> 24 & 1:
            raise ModelFault("RCC_PLL1DIVR changes while PLL1 is on")
        self.value["PLL1DIVR"] = new

    def _set_gate(self, name: str, new: int) -> None:
        self.value[name] = new
        self.gates_changed()

    def _set_reset(self, name: str, new: int) -> None:
        self.value[name] = new
        self.reset_blocks(name, new)
