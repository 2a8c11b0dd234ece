"""CCM of i.MX RT1062: the clock tree after the PLLs, and the clock gates (IMXRT1060RM, CCM).

A glitch-free change takes effect at once and is busy for a while (CDHIPR). Faults are: another change while it is busy,
a clock that stops the core, a clock that the voltage does not allow, and a change of a multiplexer in use that has no
glitch-free switch.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062.analog import OSC_HZ, CcmAnalog
from hil.standins.virtual.chip.imxrt1062.ccm_registers import REGISTERS
from hil.standins.virtual.chip.registers import Block

BUSY_PS = 1_000_000
# IMXRT1060CEC, operating ranges: highest core clock by VDD_SOC_IN in millivolts. IMXRT1060RM, CCM: limits of the other
# roots.
CORE_LIMIT_HZ = ((1250, 600_000_000), (1150, 528_000_000), (925, 24_000_000))
IPG_LIMIT_HZ, PER_LIMIT_HZ, SEMC_LIMIT_HZ = 150_000_000, 75_000_000, 166_000_000
# Fields that are busy after a change: register, field, bit of CDHIPR.
_HANDSHAKES = (
    ("CBCDR", "SEMC_PODF", 0),
    ("CBCDR", "AHB_PODF", 1),
    ("CBCDR", "PERIPH_CLK_SEL", 5),
    ("CACRR", "ARM_PODF", 16),
)


class Ccm(Block):
    """Clock tree and gates.

    Args:
        clock: virtual time; its frequency is set to the core's clock.
        analog: the PLLs.
        millivolt: returns the core's supply voltage in mV.
        changed: called when a frequency has changed.
        gates_changed: called when a gate may have changed.
    """

    REGISTERS = REGISTERS

    def __init__(
        self, clock: Clock, analog: CcmAnalog, millivolt: Callable[[], int], changed: Callable[[], None],
        gates_changed: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__("CCM", 0x400FC000)
        self._clock = clock
        self._analog = analog
        self._millivolt = millivolt
        self._changed = changed
        self._busy: dict[int, int] = {}
        for name in ("CACRR", "CBCDR", "CBCMR", "CSCMR1", "CSCDR1", "CCSR"):
            self._writers[name] = lambda old, new, _acting, name=name: self._set(name, old, new)
        self.on_write(*(f"CCGR{i}" for i in range(8)), then=gates_changed)

    def reset(self) -> None:
        super().reset()
        self._busy = {}

    def gate(self, register: int, number: int) -> bool:
        """Return whether CCGRx.CGy enables its clock while the core runs (IMXRT1060RM, CCM_CCGR0: 01b and 11b)."""
        return bool(self.value[f"CCGR{register}"] >> 2 * number & 1)

    # frequencies in Hz

    def pre_periph_hz(self) -> int:
        select = self.field("CBCMR", "PRE_PERIPH_CLK_SEL")
        if select == 3:
            return self._analog.pll_hz("PLL_ARM") // (self.field("CACRR", "ARM_PODF") + 1)
        return (self._analog.pll_hz("PLL_SYS"), self._analog.pfd_hz("PLL_SYS", 2), self._analog.pfd_hz("PLL_SYS", 0))[
            select
        ]

    def periph_clk2_hz(self) -> int:
        select = self.field("CBCMR", "PERIPH_CLK2_SEL")
        source = (self._pll3_hz(), OSC_HZ, OSC_HZ, 0)[select]
        return source // (self.field("CBCDR", "PERIPH_CLK2_PODF") + 1)

    def _pll3_hz(self) -> int:
        return self._analog.pll_hz("PLL_USB1")

    def periph_hz(self) -> int:
        return self.periph_clk2_hz() if self.field("CBCDR", "PERIPH_CLK_SEL") else self.pre_periph_hz()

    def core_hz(self) -> int:
        return self.periph_hz() // (self.field("CBCDR", "AHB_PODF") + 1)

    def ipg_hz(self) -> int:
        return self.core_hz() // (self.field("CBCDR", "IPG_PODF") + 1)

    def per_hz(self) -> int:
        source = OSC_HZ if self.field("CSCMR1", "PERCLK_CLK_SEL") else self.ipg_hz()
        return source // (self.field("CSCMR1", "PERCLK_PODF") + 1)

    def semc_hz(self) -> int:
        alternate = (
            self._analog.pfd_hz("PLL_USB1", 1)
            if self.field("CBCDR", "SEMC_ALT_CLK_SEL")
            else self._analog.pfd_hz("PLL_SYS", 2)
        )
        source = alternate if self.field("CBCDR", "SEMC_CLK_SEL") else self.periph_hz()
        return source // (self.field("CBCDR", "SEMC_PODF") + 1)

    def uart_hz(self) -> int:
        """Return the root clock of the LPUARTs in Hz; raise ModelFault if its source does not run."""
        source = OSC_HZ if self.field("CSCDR1", "UART_CLK_SEL") else self._pll3_hz() // 6
        if not source:
            raise ModelFault("the UARTs' root clock comes from PLL3 (CCM_CSCDR1.UART_CLK_SEL is 0), which does not run")
        return source // (self.field("CSCDR1", "UART_CLK_PODF") + 1)

    # changes

    def _set(self, name: str, old: int, new: int) -> None:
        now = self._clock.now
        for register, field, bit in _HANDSHAKES:
            if register == name and (old ^ new) & self.mask(name, field):
                if self._busy.get(bit, 0) > now:
                    raise ModelFault(
                        f"CCM_{name}.{field} changes while its last change is under way; wait for CCM_CDHIPR to read 0"
                    )
                self._busy[bit] = now + BUSY_PS
        self._check_multiplexers(name, old ^ new)
        self.value[name] = new
        self.settle()

    def _check_multiplexers(self, name: str, changed: int) -> None:
        second = bool(self.field("CBCDR", "PERIPH_CLK_SEL"))
        if name == "CBCMR" and changed & self.mask(name, "PRE_PERIPH_CLK_SEL") and not second:
            raise ModelFault(
                "CCM_CBCMR.PRE_PERIPH_CLK_SEL changes while the core runs from it; select PERIPH_CLK2 first"
            )
        if name == "CBCMR" and changed & self.mask(name, "PERIPH_CLK2_SEL") and second:
            raise ModelFault("CCM_CBCMR.PERIPH_CLK2_SEL changes while the core runs from it")
        if name == "CBCDR" and changed & self.mask(name, "PERIPH_CLK2_PODF") and second:
            raise ModelFault("CCM_CBCDR.PERIPH_CLK2_PODF changes while the core runs from it")

    def settle(self) -> None:
        """Apply a change of the clock tree; raise ModelFault if a clock stops the core or is too fast."""
        core = self.core_hz()
        if not core:
            raise ModelFault(
                "the core's clock stops: its PLL is off, not locked or its divider gated (CCM_CBCDR, CCM_CBCMR, "
                "CCM_ANALOG)"
            )
        limit = next((hz for millivolt, hz in CORE_LIMIT_HZ if self._millivolt() >= millivolt), 0)
        if core > limit:
            raise ModelFault(
                f"the core would run at {core} Hz, {self._millivolt()} mV allow {limit} Hz; raise DCDC_REG3.TRG first"
            )
        for what, hz, most in (
            ("IPG", self.ipg_hz(), IPG_LIMIT_HZ),
            ("PERCLK", self.per_hz(), PER_LIMIT_HZ),
            ("SEMC", self.semc_hz(), SEMC_LIMIT_HZ),
        ):
            if hz > most and (what != "SEMC" or self.gate(3, 2)):
                raise ModelFault(f"{what} would run at {hz} Hz, its limit is {most} Hz; set its divider first")
        self._clock.set_frequency(core)
        self._changed()

    def read_cdhipr(self, _value: int) -> int:
        now = self._clock.now
        return sum(1 << bit for bit, until in self._busy.items() if until > now)
