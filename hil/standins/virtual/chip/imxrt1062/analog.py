"""CCM_ANALOG of i.MX RT1062: PLLs, phase fractional dividers and the references (IMXRT1060RM, CCM: CCM analog).

The PLLs for audio, video and Ethernet are registers without effect.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062.set_clear import SetClearBlock
from hil.standins.virtual.chip.registers import Register

OSC_HZ = 24_000_000
LOCK_PS = 100_000_000
BYPASS, ENABLE, POWER = 1 << 16, 1 << 13, 1 << 12
_USB_CLOCKS, _DIVIDER = 1 << 6, 1 << 1
_USB = "DIV_SELECT:1 EN_USB_CLKS:6 POWER:12 ENABLE:13 BYPASS_CLK_SRC:14-15/x BYPASS:16 LOCK:31/r"
_OTHER = (
    "DIV_SELECT:0-6/x POWERDOWN:12/x ENABLE:13/x BYPASS_CLK_SRC:14-15/x BYPASS:16/x POST_DIV_SELECT:19-20/x LOCK:31/r"
)
_PFD = " ".join(
    f"PFD{i}_FRAC:{8 * i}-{8 * i + 5} PFD{i}_STABLE:{8 * i + 6}/r PFD{i}_CLKGATE:{8 * i + 7}" for i in range(4)
)
_DIVISOR = (12, 35)  # lowest and highest FRAC of a PFD, in 18ths
_ONCE = (
    "PLL_SYS_SS", "PLL_SYS_NUM", "PLL_SYS_DENOM", "PLL_AUDIO_NUM", "PLL_AUDIO_DENOM", "PLL_VIDEO_NUM",
    "PLL_VIDEO_DENOM",
)  # fmt: skip


class CcmAnalog(SetClearBlock):
    """PLLs, dividers and references.

    Args:
        clock: virtual time.
        changed: called after every change that may affect a clock.
        log: receives one line about a PLL outside its range.
    """

    ONCE = _ONCE
    REGISTERS = (
        Register("PLL_ARM", 0x000, "DIV_SELECT:0-6 POWERDOWN:12 ENABLE:13 BYPASS_CLK_SRC:14-15/x BYPASS:16 "
                 "PLL_SEL:19/x LOCK:31/r", 0x13063),
        Register("PLL_USB1", 0x010, _USB, 0x12000),
        Register("PLL_USB2", 0x020, _USB, 0x12000),
        Register("PLL_SYS", 0x030, "DIV_SELECT:0 POWERDOWN:12 ENABLE:13 BYPASS_CLK_SRC:14-15/x BYPASS:16 "
                 "LOCK:31/r", 0x13001),
        Register("PLL_SYS_SS", 0x040, "STEP:0-14/x ENABLE:15/x STOP:16-31/x"),
        Register("PLL_SYS_NUM", 0x050, "A:0-29/x"), Register("PLL_SYS_DENOM", 0x060, "B:0-29/x", 0x12),
        Register("PLL_AUDIO", 0x070, _OTHER, 0x11006),
        Register("PLL_AUDIO_NUM", 0x080, "A:0-29/x", 0x05F5E100),
        Register("PLL_AUDIO_DENOM", 0x090, "B:0-29/x", 0x2964619C), Register("PLL_VIDEO", 0x0A0, _OTHER, 0x1100C),
        Register("PLL_VIDEO_NUM", 0x0B0, "A:0-29/x", 0x05F5E100),
        Register("PLL_VIDEO_DENOM", 0x0C0, "B:0-29/x", 0x10A24447),
        Register("PLL_ENET", 0x0E0, "DIV_SELECT:0-1/x ENET2_DIV_SELECT:2-3/x POWERDOWN:12/x ENABLE:13/x "
                 "BYPASS_CLK_SRC:14-15/x BYPASS:16/x ENET2_REF_EN:20/x ENET_25M_REF_EN:21/x LOCK:31/r", 0x11001),
        Register("PFD_480", 0x0F0, _PFD, 0x1311100C), Register("PFD_528", 0x100, _PFD, 0x1018101B),
        Register("MISC0", 0x150, "REFTOP_PWD:0/x REFTOP_SELFBIASOFF:3 REFTOP_VBGADJ:4-6/x REFTOP_VBGUP:7/x "
                 "STOP_MODE_CONFIG:10-11 DISCON_HIGH_SNVS:12/x OSC_I:13-14/x OSC_XTALOK:15/r OSC_XTALOK_EN:16/x "
                 "CLKGATE_CTRL:25/x CLKGATE_DELAY:26-28/x RTC_XTAL_SOURCE:29/x XTAL_24M_PWD:30/x", 0x04000000),
        Register("MISC1", 0x160, "LVDS1_CLK_SEL:0-4/x LVDSCLK1_OBEN:10/x LVDSCLK1_IBEN:12/x PFD_480_AUTOGATE_EN:16/x "
                 "PFD_528_AUTOGATE_EN:17/x IRQ_TEMPPANIC:27/c IRQ_TEMPLOW:28/c IRQ_TEMPHIGH:29/c IRQ_ANA_BO:30/c "
                 "IRQ_DIG_BO:31/c"),
        Register("MISC2", 0x170, "REG0_BO_OFFSET:0-2/r REG0_BO_STATUS:3/r REG0_ENABLE_BO:5/x REG0_OK:6/r "
                 "PLL3_DISABLE:7/x REG1_BO_OFFSET:8-10/r REG1_BO_STATUS:11/r REG1_ENABLE_BO:13/x REG1_OK:14/r "
                 "AUDIO_DIV_LSB:15/x REG2_BO_OFFSET:16-18/r REG2_BO_STATUS:19/r REG2_ENABLE_BO:21/x REG2_OK:22/r "
                 "AUDIO_DIV_MSB:23/x REG0_STEP_TIME:24-25/x REG1_STEP_TIME:26-27/x REG2_STEP_TIME:28-29/x "
                 "VIDEO_DIV:30-31/x", 0x272727),
    )  # fmt: skip

    def __init__(self, clock: Clock, changed: Callable[[], None], log: Callable[[str], None]) -> None:
        super().__init__("CCM_ANALOG", 0x400D8000)
        self._clock = clock
        self._changed = changed
        self._log = log
        self._locked_at: dict[str, int] = {}
        for name in ("PLL_ARM", "PLL_USB1", "PLL_USB2", "PLL_SYS"):
            self._writers[name] = lambda old, new, _acting, name=name: self._set_pll(name, old, new)
            self._readers[name] = lambda value, name=name: value | self.is_locked(name) << 31
        for name in ("PFD_480", "PFD_528"):
            self._writers[name] = lambda _old, new, _acting, name=name: self._set_pfd(name, new)

    def reset(self) -> None:
        super().reset()
        self._locked_at = {}

    # PLLs

    def set_state(self, name: str, value: int) -> None:
        """Set a PLL or PFD to its state after the boot ROM: on and locked."""
        self.value[name] = value & ~(1 << 31)
        if name.startswith("PLL"):
            self._locked_at[name] = 0

    def is_locked(self, name: str) -> bool:
        at = self._locked_at.get(name)
        return at is not None and self._clock.now >= at

    def _powered(self, name: str, value: int) -> bool:
        return bool(value & POWER) == name.startswith("PLL_USB")

    def _set_pll(self, name: str, old: int, new: int) -> None:
        divider = self._named[name].mask("DIV_SELECT")
        self.value[name] = new
        if not self._powered(name, new):
            self._locked_at.pop(name, None)
        elif not self._powered(name, old) or (old ^ new) & divider:
            self._locked_at[name] = self._clock.now + LOCK_PS
            if (
                name == "PLL_ARM" and not 54 <= new & 0x7F <= 108
            ):  # pyOCD's flash algorithm does so after a reset of the whole chip
                self._log(f"CCM_ANALOG_PLL_ARM.DIV_SELECT is {new & 0x7F}, outside 54 to 108")
        self._changed()

    def why_no_usb_clock(self) -> str:
        """Return why PLL_USB1 gives the USB PHY and controller no 480 MHz now, or an empty text."""
        value = self.value["PLL_USB1"]
        for mask, wanted, what in (
            (POWER, POWER, "POWER is 0"), (ENABLE, ENABLE, "ENABLE is 0"), (BYPASS, 0, "BYPASS is 1"),
            (_USB_CLOCKS, _USB_CLOCKS, "EN_USB_CLKS is 0"), (_DIVIDER, 0, "DIV_SELECT is 1: 528 MHz"),
        ):  # fmt: skip
            if value & mask != wanted:
                return f"CCM_ANALOG_PLL_USB1.{what}"
        return "" if self.is_locked("PLL_USB1") else "CCM_ANALOG_PLL_USB1 is not locked yet"

    def pll_hz(self, name: str) -> int:
        """Return the output frequency of a PLL in Hz, or 0 if it has no output."""
        value = self.value[name]
        if value & BYPASS:
            return OSC_HZ
        if not value & ENABLE or not self.is_locked(name):
            return 0
        if name == "PLL_ARM":
            return OSC_HZ * (value & 0x7F) // 2
        return OSC_HZ * (22 if self.field(name, "DIV_SELECT") else 20)

    def _set_pfd(self, name: str, new: int) -> None:
        for i in range(4):
            divisor = new >> 8 * i & 0x3F
            if not new >> 8 * i & 0x80 and not _DIVISOR[0] <= divisor <= _DIVISOR[1]:
                raise ModelFault(f"CCM_ANALOG_{name}.PFD{i}_FRAC is {divisor}, outside {_DIVISOR[0]} to {_DIVISOR[1]}")
        self.value[name] = new
        self._changed()

    def pfd_hz(self, pll: str, number: int) -> int:
        """Return the output of a phase fractional divider in Hz: 18 / FRAC of its PLL, or 0 while it is gated.

        `pll` is `PLL_SYS` or `PLL_USB1`.
        """
        value = self.value["PFD_528" if pll == "PLL_SYS" else "PFD_480"] >> 8 * number & 0xFF
        return 0 if value & 0x80 else self.pll_hz(pll) * 18 // max(1, value & 0x3F)
