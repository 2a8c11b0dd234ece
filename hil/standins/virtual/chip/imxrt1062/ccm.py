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
from hil.standins.virtual.chip.registers import Block, Register

BUSY_PS = 1_000_000
# IMXRT1060CEC, operating ranges: highest core clock by VDD_SOC_IN in millivolts. IMXRT1060RM, CCM: limits of the other
# roots.
CORE_LIMIT_HZ = ((1250, 600_000_000), (1150, 528_000_000), (925, 24_000_000))
IPG_LIMIT_HZ, PER_LIMIT_HZ, SEMC_LIMIT_HZ = 150_000_000, 75_000_000, 166_000_000
# Fields that are busy after a change: register, field, bit of CDHIPR.
_HANDSHAKES = (
    ("CBCDR", "SEMC_PODF", 0), ("CBCDR", "AHB_PODF", 1), ("CBCDR", "PERIPH_CLK_SEL", 5), ("CACRR", "ARM_PODF", 16),
)  # fmt: skip
_GATES = " ".join(f"CG{i}:{2 * i}-{2 * i + 1}" for i in range(16))
_GATES_7 = " ".join(f"CG{i}:{2 * i}-{2 * i + 1}" for i in range(7))

_REGISTERS = (
    Register("CCR", 0x00, "OSCNT:0-7 COSC_EN:12/x REG_BYPASS_COUNT:21-26 RBC_EN:27", 0x0401107F),
    Register("CSR", 0x08, "REF_EN_B:0/r CAMP2_READY:3/r COSC_READY:5/r", 0x10),
    Register("CCSR", 0x0C, "PLL3_SW_CLK_SEL:0/x", 0x100),
    Register("CACRR", 0x10, "ARM_PODF:0-2", 1),
    Register("CBCDR", 0x14, "SEMC_CLK_SEL:6 SEMC_ALT_CLK_SEL:7 IPG_PODF:8-9 AHB_PODF:10-12 SEMC_PODF:16-18 "
             "PERIPH_CLK_SEL:25 PERIPH_CLK2_PODF:27-29", 0xA8300),
    Register("CBCMR", 0x18, "LPSPI_CLK_SEL:4-5 FLEXSPI2_CLK_SEL:8-9 PERIPH_CLK2_SEL:12-13 TRACE_CLK_SEL:14-15 "
             "PRE_PERIPH_CLK_SEL:18-19 LCDIF_PODF:23-25 LPSPI_PODF:26-28 FLEXSPI2_PODF:29-31", 0x2DAE8324),
    Register("CSCMR1", 0x1C, "PERCLK_PODF:0-5 PERCLK_CLK_SEL:6 SAI1_CLK_SEL:10-11 SAI2_CLK_SEL:12-13 "
             "SAI3_CLK_SEL:14-15 USDHC1_CLK_SEL:16 USDHC2_CLK_SEL:17 FLEXSPI_PODF:23-25 FLEXSPI_CLK_SEL:29-30",
             0x04900000),
    Register("CSCMR2", 0x20, "CAN_CLK_PODF:2-7 CAN_CLK_SEL:8-9 FLEXIO2_CLK_SEL:19-20", 0x13192F06),
    Register("CSCDR1", 0x24, "UART_CLK_PODF:0-5 UART_CLK_SEL:6 USDHC1_PODF:11-13 USDHC2_PODF:16-18 "
             "TRACE_PODF:25-26", 0x06490B00),
    Register("CS1CDR", 0x28, "SAI1_CLK_PODF:0-5 SAI1_CLK_PRED:6-8 FLEXIO2_CLK_PRED:9-11 SAI3_CLK_PODF:16-21 "
             "SAI3_CLK_PRED:22-24 FLEXIO2_CLK_PODF:25-27", 0x0EC102C1),
    Register("CS2CDR", 0x2C, "SAI2_CLK_PODF:0-5 SAI2_CLK_PRED:6-8", 0x007336C1),
    Register("CDCDR", 0x30, "FLEXIO1_CLK_SEL:7-8 FLEXIO1_CLK_PODF:9-11 FLEXIO1_CLK_PRED:12-14 SPDIF0_CLK_SEL:20-21 "
             "SPDIF0_CLK_PODF:22-24 SPDIF0_CLK_PRED:25-27", 0x33F71F92),
    Register("CSCDR2", 0x38, "LCDIF_PRED:12-14 LCDIF_PRE_CLK_SEL:15-17 LPI2C_CLK_SEL:18 LPI2C_CLK_PODF:19-24", 0x29150),
    Register("CSCDR3", 0x3C, "CSI_CLK_SEL:9-10 CSI_PODF:11-13", 0x30841),
    Register("CDHIPR", 0x48, "SEMC_PODF_BUSY:0/r AHB_PODF_BUSY:1/r PERIPH2_CLK_SEL_BUSY:3/r PERIPH_CLK_SEL_BUSY:5/r "
             "ARM_PODF_BUSY:16/r"),
    Register("CLPCR", 0x54, "LPM:0-1 ARM_CLK_DIS_ON_LPM:5 SBYOS:6 DIS_REF_OSC:7/x VSTBY:8/x STBY_COUNT:9-10 "
             "COSC_PWRDOWN:11/x BYPASS_LPM_HS1:19/x BYPASS_LPM_HS0:21/x MASK_CORE0_WFI:22/x MASK_SCU_IDLE:26/x "
             "MASK_L2CC_IDLE:27/x", 0x79),
    Register("CISR", 0x58, "LRF_PLL:0/c COSC_READY:6/c SEMC_PODF_LOADED:17/c PERIPH2_CLK_SEL_LOADED:19/c "
             "AHB_PODF_LOADED:20/c PERIPH_CLK_SEL_LOADED:22/c ARM_PODF_LOADED:26/c"),
    Register("CIMR", 0x5C, "MASK_LRF_PLL:0/x MASK_COSC_READY:6/x MASK_SEMC_PODF_LOADED:17/x "
             "MASK_PERIPH2_CLK_SEL_LOADED:19/x MASK_AHB_PODF_LOADED:20/x MASK_PERIPH_CLK_SEL_LOADED:22/x "
             "ARM_PODF_LOADED:26/x", 0xFFFFFFFF),
    Register("CCOSR", 0x60, "CLKO1_SEL:0-3/x CLKO1_DIV:4-6/x CLKO1_EN:7/x CLK_OUT_SEL:8/x CLKO2_SEL:16-20/x "
             "CLKO2_DIV:21-23/x CLKO2_EN:24/x", 0xA0001),
    Register("CGPR", 0x64, "PMIC_DELAY_SCALER:0/x EFUSE_PROG_SUPPLY_GATE:4/x SYS_MEM_DS_CTRL:14-15/x FPL:16/x "
             "INT_MEM_CLK_LPM:17", 0xFE62),
    *(Register(f"CCGR{i}", 0x68 + 4 * i, _GATES, {2: 0xFC3FFFFF, 3: 0xFFFFFFCF}.get(i, 0xFFFFFFFF)) for i in range(7)),
    Register("CCGR7", 0x84, _GATES_7, 0xFFFFFFFF),
    Register("CMEOR", 0x88, "MOD_EN_OV_GPT:5/x MOD_EN_OV_PIT:6/x MOD_EN_USDHC:7/x MOD_EN_OV_TRNG:9/x "
             "MOD_EN_OV_CANFD_CPI:10/x MOD_EN_OV_CAN2_CPI:28/x MOD_EN_OV_CAN1_CPI:30/x", 0xFFFFFFFF),
)  # fmt: skip


class Ccm(Block):
    """Clock tree and gates.

    Args:
        clock: virtual time; its frequency is set to the core's clock.
        analog: the PLLs.
        millivolt: returns the core's supply voltage in mV.
        changed: called when a frequency has changed.
        gates_changed: called when a gate may have changed.
    """

    REGISTERS = _REGISTERS

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
            raise ModelFault("CCM_CBCMR.PRE_PERIPH_CLK_SEL changes while the core runs from it; select PERIPH_CLK2")
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
