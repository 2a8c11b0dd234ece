"""Registers of the USB controller of i.MX RT1062 (MIMXRT1062.xml); what is of host mode and of tests is not modelled.

Of two registers at one address the one for device mode has its name here.
"""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register

ENDPOINTS = 8
_TIMER = "GPTCNT:0-23/x GPTMODE:24/x GPTRST:30/x GPTRUN:31/x"
_SIDES = "{0}:0-7{2} {1}:16-23{2}"


def _sides(receive: str, transmit: str, access: str = "") -> str:
    return _SIDES.format(receive, transmit, access)


def _control(number: int) -> Register:
    lanes = " ".join(
        f"{side}S:{low} {side}D:{low + 1}/x {side}T:{low + 2}-{low + 3} {side}I:{low + 5}/x {side}R:{low + 6}/w "
        f"{side}E:{low + 7}"
        for side, low in (("RX", 0), ("TX", 16))
    )
    return Register(f"ENDPTCTRL{number}", 0x1C0 + 4 * number, lanes)


REGISTERS = (
    Register("ID", 0x000, "ID:0-5/r NID:8-13/r REVISION:16-23/r", 0xE4A1FA05),
    Register("HWGENERAL", 0x004, "PHYW:4-5/r PHYM:6-8/r SM:9-10/r", 0x35),
    Register("HWHOST", 0x008, "HC:0/r NPORT:1-3/r", 0x10020001),
    Register("HWDEVICE", 0x00C, "DC:0/r DEVEP:1-5/r", 0x11),
    Register("HWTXBUF", 0x010, "TXBURST:0-7/r TXCHANADD:16-23/r", 0x80080B08),
    Register("HWRXBUF", 0x014, "RXBURST:0-7/r RXADD:8-15/r", 0x808),
    Register("GPTIMER0LD", 0x080, "GPTLD:0-23/x"), Register("GPTIMER0CTRL", 0x084, _TIMER),
    Register("GPTIMER1LD", 0x088, "GPTLD:0-23/x"), Register("GPTIMER1CTRL", 0x08C, _TIMER),
    Register("SBUSCFG", 0x090, "AHBBRST:0-2", 2),
    Register("CAPLENGTH_HCIVERSION", 0x100, "CAPLENGTH:0-7/r HCIVERSION:16-31/r", 0x01000040),
    Register("HCSPARAMS", 0x104, "N_PORTS:0-3/r PPC:4/r N_PCC:8-11/r N_CC:12-15/r PI:16/r N_PTT:20-23/r N_TT:24-27/r",
             0x10011),
    Register("HCCPARAMS", 0x108, "ADC:0/r PFL:1/r ASP:2/r IST:4-7/r EECP:8-15/r", 6),
    Register("DCIVERSION", 0x120, "DCIVERSION:0-15/r", 1),
    Register("DCCPARAMS", 0x124, "DEN:0-4/r DC:7/r HC:8/r", 0x188),
    Register("USBCMD", 0x140, "RS:0 RST:1 FS_1:2-3/x PSE:4/x ASE:5/x IAA:6/x ASP:8-9/x ASPE:11/x ATDTW:12 SUTW:13 "
             "FS_2:15/x ITC:16-23", 0x80000),
    Register("USBSTS", 0x144, "UI:0/c UEI:1/c PCI:2/c FRI:3/c SEI:4/c AAI:5/c URI:6/c SRI:7/c SLI:8/c ULPII:10/c "
             "HCH:12/x RCL:13/x PS:14/x AS:15/x NAKI:16/r TI0:24/c TI1:25/c"),
    Register("USBINTR", 0x148, "UE:0 UEE:1 PCE:2 FRE:3 SEE:4 AAE:5/x URE:6 SRE:7 SLE:8 ULPIE:10/x NAKE:16 UAIE:18/x "
             "UPIE:19/x TIE0:24/x TIE1:25/x"),
    Register("FRINDEX", 0x14C, "FRINDEX:0-13/w"),
    Register("DEVICEADDR", 0x154, "BASEADR:12-23/x USBADRA:24 USBADR:25-31"),
    Register("ENDPTLISTADDR", 0x158, "ASYBASE:5-10 EPBASE:11-31"),
    Register("BURSTSIZE", 0x160, "RXPBURST:0-7 TXPBURST:8-16", 0x808),
    Register("TXFILLTUNING", 0x164, "TXSCHOH:0-7 TXSCHHEALTH:8-12 TXFIFOTHRES:16-21"),
    Register("ENDPTNAK", 0x178, _sides("EPRN", "EPTN", "/c")), Register("ENDPTNAKEN", 0x17C, _sides("EPRNE", "EPTNE")),
    Register("CONFIGFLAG", 0x180, "CF:0/r", 1),
    Register("PORTSC1", 0x184, "CCS:0/r CSC:1/c PE:2 PEC:3/c OCA:4/r OCC:5/c FPR:6 SUSP:7 PR:8 HSP:9/r LS:10-11 PP:12 "
             "PO:13/x PIC:14-15/x PTC:16-19/x WKCN:20 WKDC:21 WKOC:22 PHCD:23/x PFSC:24 PTS_2:25/x PSPD:26-27 PTW:28 "
             "STS:29/x PTS_1:30-31/x", 0x10000000),
    Register("OTGSC", 0x1A4, "VD:0 VC:1/x OT:3 DP:4/x IDPU:5 ID:8/r AVV:9/r ASV:10/r BSV:11/r BSE:12/r TOG_1MS:13/r "
             "DPS:14/r IDIS:16/c AVVIS:17/c ASVIS:18/c BSVIS:19/c BSEIS:20/c STATUS_1MS:21/c DPIS:22/c IDIE:24 "
             "AVVIE:25 ASVIE:26 BSVIE:27 BSEIE:28 EN_1MS:29/x DPIE:30/x", 0x1120),
    # Bits 12 and 14 read 1 after reset; public drivers write 0 there (PJRC, teensy4/usb.c).
    Register("USBMODE", 0x1A8, "CM:0-1 ES:2/x SLOM:3 SDIS:4 RESERVED:12-14", 0x5000),
    Register("ENDPTSETUPSTAT", 0x1AC, "ENDPTSETUPSTAT:0-15/c"),
    Register("ENDPTPRIME", 0x1B0, _sides("PERB", "PETB", "/w")),
    # All 32 bits are written at a bus reset (UM10503, 23.10.3, bus reset).
    Register("ENDPTFLUSH", 0x1B4, _sides("FERB", "FETB", "/w") + " UNUSED_1:8-15/w UNUSED_2:24-31/w"),
    Register("ENDPTSTAT", 0x1B8, _sides("ERBR", "ETBR", "/r")),
    Register("ENDPTCOMPLETE", 0x1BC, _sides("ERCE", "ETCE", "/c")),
    Register("ENDPTCTRL0", 0x1C0, "RXS:0 RXT:2-3/x RXE:7 TXS:16 TXT:18-19/x TXE:23", 0x800080),
    *(_control(number) for number in range(1, ENDPOINTS)),
)  # fmt: skip
