"""The DCDC converter of i.MX RT1062: the core's supply (IMXRT1060RM, DCDC). The delay is modelled."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.registers import Block, Register

SETTLE_PS = 50_000_000


class Dcdc(Block):
    """The core's supply.

    Args:
        clock: virtual time.
        changed: called after the supply voltage is set: a lower one may not allow the present core clock.
    """

    REGISTERS = (
        Register("REG0", 0x0, "PWD_ZCD:0/x DISABLE_AUTO_CLK_SWITCH:1/x SEL_CLK:2/x PWD_OSC_INT:3/x PWD_CUR_SNS_CMP:4/x "
                 "CUR_SNS_THRSH:5-7/x PWD_OVERCUR_DET:8/x OVERCUR_TRIG_ADJ:9-10/x PWD_CMP_BATT_DET:11/x "
                 "ADJ_POSLIMIT_BUCK:12-15/x EN_LP_OVERLOAD_SNS:16/x PWD_HIGH_VOLT_DET:17/x LP_OVERLOAD_THRSH:18-19/x "
                 "LP_OVERLOAD_FREQ_SEL:20/x LP_HIGH_HYS:21/x PWD_CMP_OFFSET:26/x XTALOK_DISABLE:27/x "
                 "CURRENT_ALERT_RESET:28/x XTAL_24M_OK:29/x STS_DC_OK:31/r", 0x14030111),
        Register("REG1", 0x4, "REG_FBK_SEL:7-8/x REG_RLOAD_SW:9/x LP_CMP_ISRC_SEL:12-13/x LOOPCTRL_HST_THRESH:21/x "
                 "LOOPCTRL_EN_HYST:23/x VBG_TRIM:24-28/x", 0x111BA29C),
        Register("REG2", 0x8, "LOOPCTRL_DC_C:0-1/x LOOPCTRL_DC_R:2-5/x LOOPCTRL_DC_FF:6-8/x LOOPCTRL_EN_RCSCALE:9-11/x "
                 "LOOPCTRL_RCSCALE_THRSH:12/x LOOPCTRL_HYST_SIGN:13/x DISABLE_PULSE_SKIP:27/x DCM_SET_CTRL:28/x",
                 0x4009),
        Register("REG3", 0xC, "TRG:0-4 TARGET_LP:8-10/x MINPWR_DC_HALFCLK:24/x MISC_DELAY_TIMING:27/x "
                 "MISC_DISABLEFET_LOGIC:28/x DISABLE_STEP:30/x", 0x10E),
    )  # fmt: skip

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        super().__init__("DCDC", 0x40080000)
        self._clock = clock
        self._changed = changed
        self._from, self._ready_at = 0, 0

    def reset(self) -> None:
        super().reset()
        self._from, self._ready_at = self._target(), 0

    def _target(self) -> int:
        return 800 + 25 * self.field("REG3", "TRG")

    @property
    def millivolt(self) -> int:
        """Supply voltage in mV; while a change settles, the lower of the old and the new one."""
        return self._target() if self._clock.now >= self._ready_at else min(self._from, self._target())

    def read_reg0(self, value: int) -> int:
        return value | (self._clock.now >= self._ready_at) << 31

    def write_reg3(self, old: int, new: int, _acting: int) -> None:
        if (old ^ new) & 0x1F:
            self._from, self._ready_at = self.millivolt, self._clock.now + SETTLE_PS
        self.value["REG3"] = new
        self._changed()
