"""USBPHY1, and what the USB has in PMU and USB_ANALOG of i.MX RT1062 (MIMXRT1062.xml; PJRC, teensy4/usb.c).

Calibration and the detection of a charger are registers without effect. A program sees a cable in
USB_ANALOG_USB1_VBUS_DETECT_STAT and in OTGSC of the controller.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062.set_clear import SetClearBlock
from hil.standins.virtual.chip.registers import Register

SFTRST, CLKGATE = 1 << 31, 1 << 30
LINREG = 1
SESSION_END, SESSION_VALID = 1, 0xE  # of VBUS_DETECT_STAT: SESSEND; BVALID, AVALID and VBUS_VALID


class UsbPhy(SetClearBlock):
    """USBPHY1.

    Args:
        changed: called when the PHY may have started or stopped.
    """

    ONCE = ("STATUS", "DEBUG0_STATUS", "VERSION")
    REGISTERS = (
        Register("PWD", 0x00, "RSVD0:0-9/r TXPWDFS:10 TXPWDIBIAS:11 TXPWDV2I:12 RSVD1:13-16/r RXPWDENV:17 RXPWD1PT1:18 "
                 "RXPWDDIFF:19 RXPWDRX:20 RSVD2:21-31/r", 0x1E1C00),
        Register("TX", 0x10, "D_CAL:0-3 RSVD0:4-7 TXCAL45DN:8-11 RSVD1:12-15 TXCAL45DP:16-19 RSVD2:20-25/r "
                 "USBPHY_TX_EDGECTRL:26-28 RSVD5:29-31/r", 0x10060607),
        Register("RX", 0x20, "ENVADJ:0-2 RSVD0:3/r DISCONADJ:4-6 RSVD1:7-21/r RXDBYPASS:22/x RSVD2:23-31/r"),
        Register("CTRL", 0x30, "ENOTG_ID_CHG_IRQ:0/x ENHOSTDISCONDETECT:1/x ENIRQHOSTDISCON:2/x "
                 "HOSTDISCONDETECT_IRQ:3/c ENDEVPLUGINDETECT:4/x DEVPLUGIN_POLARITY:5/x OTG_ID_CHG_IRQ:6/c "
                 "ENOTGIDDETECT:7/x RESUMEIRQSTICKY:8/x ENIRQRESUMEDETECT:9/x RESUME_IRQ:10/c ENIRQDEVPLUGIN:11/x "
                 "DEVPLUGIN_IRQ:12/c DATA_ON_LRADC:13/x ENUTMILEVEL2:14 ENUTMILEVEL3:15 ENIRQWAKEUP:16/x "
                 "WAKEUP_IRQ:17/c ENAUTO_PWRON_PLL:18 ENAUTOCLR_CLKGATE:19 ENAUTOCLR_PHY_PWD:20 ENDPDMCHG_WKUP:21 "
                 "ENIDCHG_WKUP:22 ENVBUSCHG_WKUP:23 FSDLL_RST_EN:24 RSVD1:25-26/r OTG_ID_VALUE:27/r "
                 "HOST_FORCE_LS_SE0:28/x UTMI_SUSPENDM:29/r CLKGATE:30 SFTRST:31", 0xC0200000),
        Register("STATUS", 0x40, "RSVD0:0-2/r HOSTDISCONDETECT_STATUS:3/r RSVD1:4-5/r DEVPLUGIN_STATUS:6/r RSVD2:7/r "
                 "OTGID_STATUS:8/x RSVD3:9/r RESUME_STATUS:10/r RSVD4:11-31/r"),
        Register("DEBUG", 0x50, "OTGIDPIOLOCK:0/x DEBUG_INTERFACE_HOLD:1/x HSTPULLDOWN:2-3/x ENHSTPULLDOWN:4-5/x "
                 "RSVD0:6-7/r TX2RXCOUNT:8-11/x ENTX2RXCOUNT:12/x RSVD1:13-15/r SQUELCHRESETCOUNT:16-20/x "
                 "RSVD2:21-23/r ENSQUELCHRESET:24/x SQUELCHRESETLENGTH:25-28/x HOST_RESUME_DEBUG:29/x CLKGATE:30 "
                 "RSVD3:31/r", 0x7F180000),
        Register("DEBUG0_STATUS", 0x60, "LOOP_BACK_FAIL_COUNT:0-15/r UTMI_RXERROR_FAIL_COUNT:16-25/r "
                 "SQUELCH_COUNT:26-31/r"),
        Register("DEBUG1", 0x70, "RSVD0:0-12/x ENTAILADJVD:13-14/x RSVD1:15-31/r", 0x1000),
        Register("VERSION", 0x80, "STEP:0-15/r MINOR:16-23/r MAJOR:24-31/r", 0x4030000),
    )  # fmt: skip

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__("USBPHY1", 0x400D9000)
        self._after = changed
        self.on_write("CTRL", then=self._control)
        for name in ("PWD", "TX", "RX"):
            self._writers[name] = lambda old, new, _acting, name=name: self._set(name, old, new)

    def _control(self) -> None:
        if self.value["CTRL"] & SFTRST:  # the registers stay at their reset values while it is set
            for name in ("PWD", "TX", "RX"):
                self.value[name] = self._named[name].reset
            self.value["CTRL"] |= CLKGATE
        self._after()

    def _set(self, name: str, old: int, new: int) -> None:
        if old != new and self.value["CTRL"] & SFTRST:
            raise ModelFault(f"USBPHY1_{name} changes while the PHY is held in reset; clear USBPHY1_CTRL.SFTRST first")
        self.value[name] = new
        self._after()

    def why_off(self) -> str:
        """Return why the PHY does not work now, or an empty text."""
        for mask, name in ((SFTRST, "SFTRST"), (CLKGATE, "CLKGATE")):
            if self.value["CTRL"] & mask:
                return f"USBPHY1_CTRL.{name} is 1"
        return f"USBPHY1_PWD is 0x{self.value['PWD']:X}, not 0" if self.value["PWD"] else ""


class Pmu(SetClearBlock):
    """The regulators of PMU, of which only that of the USB PHY (3 V from the cable) has an effect.

    Args:
        changed: called when it may have started or stopped.
    """

    REGISTERS = (
        Register("REG_1P1", 0x110, "ENABLE_LINREG:0/x ENABLE_BO:1/x ENABLE_ILIMIT:2/x ENABLE_PULLDOWN:3/x "
                 "BO_OFFSET:4-6/x OUTPUT_TRG:8-12/x BO_VDD1P1:16/r OK_VDD1P1:17/r ENABLE_WEAK_LINREG:18/x "
                 "SELREF_WEAK_LINREG:19/x", 0x1073),
        Register("REG_3P0", 0x120, "ENABLE_LINREG:0 ENABLE_BO:1 ENABLE_ILIMIT:2 BO_OFFSET:4-6 VBUS_SEL:7 "
                 "OUTPUT_TRG:8-12 BO_VDD3P0:16/r OK_VDD3P0:17/r", 0xF74),
        Register("REG_2P5", 0x130, "ENABLE_LINREG:0/x ENABLE_BO:1/x ENABLE_ILIMIT:2/x ENABLE_PULLDOWN:3/x "
                 "BO_OFFSET:4-6/x OUTPUT_TRG:8-12/x BO_VDD2P5:16/r OK_VDD2P5:17/r ENABLE_WEAK_LINREG:18/x", 0x1073),
        Register("REG_CORE", 0x140, "REG0_TARG:0-4/x REG0_ADJ:5-8/x REG1_TARG:9-13/x REG1_ADJ:14-17/x "
                 "REG2_TARG:18-22/x REG2_ADJ:23-26/x RAMP_RATE:27-28/x FET_ODRIVE:29/x", 0x482012),
    )  # fmt: skip

    def __init__(self, changed: Callable[[], None]) -> None:
        super().__init__("PMU", 0x400D8000)
        self.on_write("REG_3P0", then=changed)

    def why_off(self) -> str:
        """Return why the USB PHY has no supply now, or an empty text.

        That a program must enable it is what NXP's and PJRC's drivers do; without it is `unverified`.
        """
        return "" if self.field("REG_3P0", "ENABLE_LINREG") else "PMU_REG_3P0.ENABLE_LINREG is 0"


def _port(number: int) -> tuple[Register, ...]:
    at, name = 0x1A0 + 0x60 * (number - 1), f"USB{number}_"
    return (
        Register(name + "VBUS_DETECT", at, "VBUSVALID_THRESH:0-2 VBUSVALID_PWRUP_CMPS:20 DISCHARGE_VBUS:26 "
                 "CHARGE_VBUS:27/x", 0x100004),
        Register(name + "CHRG_DETECT", at + 0x10, "CHK_CONTACT:18/x CHK_CHRG_B:19 EN_B:20"),
        Register(name + "VBUS_DETECT_STAT", at + 0x20, "SESSEND:0/r BVALID:1/r AVALID:2/r VBUS_VALID:3/r"),
        Register(name + "CHRG_DETECT_STAT", at + 0x30, "PLUG_CONTACT:0/r CHRG_DETECTED:1/r DM_STATE:2/r DP_STATE:3/r"),
        Register(name + "LOOPBACK", at + 0x40, "UTMI_TESTSTART:0/x"),
        Register(name + "MISC", at + 0x50, "HS_USE_EXTERNAL_R:0 EN_DEGLITCH:1 EN_CLK_UTMI:30", 2),
    )  # fmt: skip


class UsbAnalog(SetClearBlock):
    """USB_ANALOG: detection of the cable, and the identification of the chip.

    Args:
        cable: returns whether a cable brings 5 V.
    """

    ONCE = ("DIGPROG", *(f"USB{n}_{name}_STAT" for n in (1, 2) for name in ("VBUS_DETECT", "CHRG_DETECT")))
    REGISTERS = (*_port(1), *_port(2), Register("DIGPROG", 0x260, "SILICON_REVISION:0-31/r", 0x6C0000))

    def __init__(self, cable: Callable[[], bool]) -> None:
        super().__init__("USB_ANALOG", 0x400D8000)
        self._cable = cable

    def read_usb1_vbus_detect_stat(self, _value: int) -> int:
        return SESSION_VALID if self._cable() else SESSION_END
