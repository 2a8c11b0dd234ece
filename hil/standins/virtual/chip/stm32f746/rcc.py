"""RCC of STM32F746: oscillators, main PLL, clock tree and clock gates (RM0385, RCC: clocks, RCC registers).

Ready flags are set after modelled delays, of the order of those in the data sheet.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block
from hil.standins.virtual.chip.stm32f746.rcc_registers import REGISTERS

HSI_HZ = 16_000_000
HSI, HSE, PLL = 0, 1, 2  # values of SW
_NAME = ("HSI", "HSE", "PLL")
_ON_BIT = (0, 16, 24)  # of CR; the ready flag is the next bit
_START_PS = (2_200_000, 2_000_000_000, 200_000_000)  # DS10916: HSI, HSE and main PLL characteristics
_HPRE = {8: 2, 9: 4, 10: 8, 11: 16, 12: 64, 13: 128, 14: 256, 15: 512}
_PPRE = {4: 2, 5: 4, 6: 8, 7: 16}
# RM0385, RCC_PLLCFGR, and DS10916, main PLL characteristics: ranges of input and VCO in Hz, and of the factors.
_INPUT, _VCO, _M, _N, _Q = (950_000, 2_100_000), (100_000_000, 432_000_000), (2, 63), (50, 432), (2, 15)


class Rcc(Block):
    """The reset and clock controller.

    Args:
        clock: virtual time; its frequency is set to the core clock.
        hse_hz: frequency of the crystal on the board, 0 for none.
    """

    REGISTERS = REGISTERS

    def __init__(self, clock: Clock, hse_hz: int) -> None:
        super().__init__("RCC", 0x40023800)
        self._clock = clock
        self._hse_hz = hse_hz
        self._ready_at = {HSI: 0}
        self.changed: Callable[[], None] = lambda: None
        self.gates_changed: Callable[[], None] = lambda: None
        self.reset_blocks: Callable[[str, int], None] = lambda register, bits: None
        for name in [r.name for r in REGISTERS if r.name.endswith("ENR") and not r.name.endswith("LPENR")]:
            self._writers[name] = lambda _old, new, _acting, name=name: self._set_gate(name, new)
        for name in [r.name for r in REGISTERS if r.name.endswith("RSTR")]:
            self._writers[name] = lambda _old, new, _acting, name=name: self._set_reset(name, new)

    def reset(self) -> None:
        super().reset()
        self._ready_at = {HSI: 0}
        self._clock.set_frequency(self.core_hz())

    # frequencies in Hz

    def core_hz(self) -> int:
        return self.system_hz() // _HPRE.get(self.field("CFGR", "HPRE"), 1)

    def apb_hz(self, bus: int) -> int:
        """Return the clock of APB 1 or 2 in Hz."""
        return self.core_hz() // _PPRE.get(self.field("CFGR", f"PPRE{bus}"), 1)

    def system_hz(self) -> int:
        return (HSI_HZ, self._hse_hz, self.pll_hz())[self.source()]

    def source(self) -> int:
        """Return the source of the system clock: HSI, HSE or PLL."""
        return self.field("CFGR", "SW")

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

    def is_ready(self, source: int) -> bool:
        at = self._ready_at.get(source)
        return at is not None and self._clock.now >= at

    def read_cr(self, value: int) -> int:
        return value & ~2 | sum(1 << _ON_BIT[source] + 1 for source in (HSI, HSE, PLL) if self.is_ready(source))

    def write_cr(self, old: int, new: int, _acting: int) -> None:
        for source, bit in enumerate(_ON_BIT):
            was, wanted = old >> bit & 1, new >> bit & 1
            if wanted and not was:
                self._start(source)
            elif was and not wanted:
                if self._is_used(source):
                    raise ModelFault(f"RCC_CR: the {_NAME[source]} is switched off while the system clock needs it")
                self._ready_at.pop(source, None)
        self._apply("CR", new)

    def _start(self, source: int) -> None:
        if source == HSE and not self._hse_hz:
            raise ModelFault("RCC_CR.HSEON is set, but this board has no HSE crystal")
        if source == PLL:
            self._check_pll()
        self._ready_at[source] = self._clock.now + _START_PS[source]

    def _check_pll(self) -> None:
        """Raise ModelFault if the PLL's factors, input or VCO are outside their ranges (RM0385, RCC_PLLCFGR)."""
        if not self.is_ready(self._pll_source()):
            raise ModelFault(f"the PLL is started while its source, the {_NAME[self._pll_source()]}, does not run")
        for name, (low, high) in (("PLLM", _M), ("PLLN", _N), ("PLLQ", _Q)):
            if not low <= self.field("PLLCFGR", name) <= high:
                raise ModelFault(f"RCC_PLLCFGR.{name} is {self.field('PLLCFGR', name)}, it may be {low} to {high}")
        reference = self._pll_source_hz() // self.field("PLLCFGR", "PLLM")
        for what, hz, (low, high) in (("input", reference, _INPUT), ("VCO", self._vco_hz(), _VCO)):
            if not low <= hz <= high:
                raise ModelFault(f"the PLL's {what} at {hz} Hz is outside {low}..{high} Hz")

    def _is_used(self, source: int) -> bool:
        return source == self.source() or (self.field("CR", "PLLON") == 1 and source == self._pll_source())

    def read_cfgr(self, value: int) -> int:
        return value | self.source() << 2

    def write_cfgr(self, old: int, new: int, _acting: int) -> None:
        switch = new & 3
        if switch != old & 3 and (switch > PLL or not self.is_ready(switch)):
            raise ModelFault(f"RCC_CFGR.SW is set to {switch} before that clock is ready; wait for its flag in RCC_CR")
        self._apply("CFGR", new)

    def write_pllcfgr(self, old: int, new: int, _acting: int) -> None:
        if old != new and self.field("CR", "PLLON"):
            raise ModelFault("RCC_PLLCFGR changes while the PLL is on")
        self.value["PLLCFGR"] = new

    def write_dckcfgr2(self, _old: int, new: int, _acting: int) -> None:
        self._apply("DCKCFGR2", new)

    def _apply(self, name: str, new: int) -> None:
        self.value[name] = new
        self._clock.set_frequency(self.core_hz())
        self.changed()

    def _set_gate(self, name: str, new: int) -> None:
        self.value[name] = new
        self.gates_changed()

    def _set_reset(self, name: str, new: int) -> None:
        self.value[name] = new
        self.reset_blocks(name, new)
