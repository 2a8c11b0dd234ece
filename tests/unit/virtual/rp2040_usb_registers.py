"""Registers of the RP2040's USB controller as the SDK's generated header (hardware/regs/usb.h of pico-sdk) states them: offset, bits of all fields, reset value.

Typed from that header, not from the model; pyOCD carries no SVD of the RP2040.
"""

from __future__ import annotations

ALL = 0xFFFFFFFF
REGISTERS = {
    "ADDR_ENDP": (0x00, 0x000F007F, 0), "ADDR_ENDP1": (0x04, 0x060F007F, 0), "ADDR_ENDP15": (0x3C, 0x060F007F, 0),
    "MAIN_CTRL": (0x40, 0x80000003, 0), "SOF_WR": (0x44, 0x7FF, 0), "SOF_RD": (0x48, 0x7FF, 0),
    "SIE_CTRL": (0x4C, 0xFF07BF5F, 0), "SIE_STATUS": (0x50, 0xFF0F0F1D, 0), "INT_EP_CTRL": (0x54, 0xFFFE, 0),
    "BUFF_STATUS": (0x58, ALL, 0), "BUFF_CPU_SHOULD_HANDLE": (0x5C, ALL, 0), "EP_ABORT": (0x60, ALL, 0),
    "EP_ABORT_DONE": (0x64, ALL, 0), "EP_STALL_ARM": (0x68, 3, 0), "NAK_POLL": (0x6C, 0x03FF03FF, 0x00100010),
    "EP_STATUS_STALL_NAK": (0x70, ALL, 0), "USB_MUXING": (0x74, 0xF, 0), "USB_PWR": (0x78, 0x3F, 0),
    "USBPHY_DIRECT": (0x7C, 0x007FFF77, 0), "USBPHY_DIRECT_OVERRIDE": (0x80, 0x9FFF, 0),
    "USBPHY_TRIM": (0x84, 0x1F1F, 0x1F1F), "INTR": (0x8C, 0xFFFFF, 0), "INTE": (0x90, 0xFFFFF, 0),
    "INTF": (0x94, 0xFFFFF, 0), "INTS": (0x98, 0xFFFFF, 0),
}  # fmt: skip
