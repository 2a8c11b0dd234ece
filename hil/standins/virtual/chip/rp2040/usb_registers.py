"""Registers of the RP2040's USB controller (usb.h of pico-sdk); what is of host mode is not modelled."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register

_ALL = "BITS:0-31"
_INTERRUPTS = (
    "HOST_CONN_DIS:0{0} HOST_RESUME:1{0} HOST_SOF:2{0} TRANS_COMPLETE:3{0} BUFF_STATUS:4{0} ERROR_DATA_SEQ:5{0} "
    "ERROR_RX_TIMEOUT:6{0} ERROR_RX_OVERFLOW:7{0} ERROR_BIT_STUFF:8{0} ERROR_CRC:9{0} STALL:10{0} VBUS_DETECT:11{0} "
    "BUS_RESET:12{0} DEV_CONN_DIS:13{0} DEV_SUSPEND:14{0} DEV_RESUME_FROM_HOST:15{0} SETUP_REQ:16{0} DEV_SOF:17{0} "
    "ABORT_DONE:18{0} EP_STALL_NAK:19{0}"
)

REGISTERS = (
    Register("ADDR_ENDP", 0x00, "ADDRESS:0-6 ENDPOINT:16-19/x"),
    *(Register(f"ADDR_ENDP{i}", 4 * i, "ADDRESS:0-6/x ENDPOINT:16-19/x INTEP_DIR:25/x INTEP_PREAMBLE:26/x")
      for i in range(1, 16)),
    Register("MAIN_CTRL", 0x40, "CONTROLLER_EN:0 HOST_NDEVICE:1/x SIM_TIMING:31/x"),
    Register("SOF_WR", 0x44, "COUNT:0-10/x"), Register("SOF_RD", 0x48, "COUNT:0-10/r"),
    Register("SIE_CTRL", 0x4C, "START_TRANS:0/x SEND_SETUP:1/x SEND_DATA:2/x RECEIVE_DATA:3/x STOP_TRANS:4/x "
             "PREAMBLE_EN:6/x SOF_SYNC:8/x SOF_EN:9/x KEEP_ALIVE_EN:10/x VBUS_EN:11/x RESUME:12/w RESET_BUS:13/x "
             "PULLDOWN_EN:15/x PULLUP_EN:16 RPU_OPT:17 TRANSCEIVER_PD:18 DIRECT_DM:24/x DIRECT_DP:25/x "
             "DIRECT_EN:26/x EP0_INT_NAK:27 EP0_INT_2BUF:28 EP0_INT_1BUF:29 EP0_DOUBLE_BUF:30 EP0_INT_STALL:31"),
    Register("SIE_STATUS", 0x50, "VBUS_DETECTED:0/r LINE_STATE:2-3/r SUSPENDED:4/w SPEED:8-9/r "
             "VBUS_OVER_CURR:10/r RESUME:11/c CONNECTED:16/w SETUP_REC:17/c TRANS_COMPLETE:18/c BUS_RESET:19/c "
             "CRC_ERROR:24/c BIT_STUFF_ERROR:25/c RX_OVERFLOW:26/c RX_TIMEOUT:27/c NAK_REC:28/c STALL_REC:29/c "
             "ACK_REC:30/c DATA_SEQ_ERROR:31/c"),
    Register("INT_EP_CTRL", 0x54, "INT_EP_ACTIVE:1-15/x"),
    Register("BUFF_STATUS", 0x58, _ALL + "/c"), Register("BUFF_CPU_SHOULD_HANDLE", 0x5C, _ALL + "/r"),
    Register("EP_ABORT", 0x60, _ALL), Register("EP_ABORT_DONE", 0x64, _ALL + "/c"),
    Register("EP_STALL_ARM", 0x68, "EP0_IN:0 EP0_OUT:1"),
    Register("NAK_POLL", 0x6C, "DELAY_LS:0-9/x DELAY_FS:16-25/x", 0x00100010),
    Register("EP_STATUS_STALL_NAK", 0x70, _ALL + "/c"),
    Register("USB_MUXING", 0x74, "TO_PHY:0 TO_EXTPHY:1/x TO_DIGITAL_PAD:2/x SOFTCON:3"),
    Register("USB_PWR", 0x78, "VBUS_EN:0 VBUS_EN_OVERRIDE_EN:1 VBUS_DETECT:2 VBUS_DETECT_OVERRIDE_EN:3 "
             "OVERCURR_DETECT:4 OVERCURR_DETECT_EN:5"),
    Register("USBPHY_DIRECT", 0x7C, "LOW:0-2/x DM:4-6/x DRIVE:8-15/x STATE:16-22/r"),
    Register("USBPHY_DIRECT_OVERRIDE", 0x80, "LOW:0-12/x TX_DIFFMODE:15/x"),
    Register("USBPHY_TRIM", 0x84, "DP_PULLDN_TRIM:0-4 DM_PULLDN_TRIM:8-12", 0x1F1F),
    Register("INTR", 0x8C, _INTERRUPTS.format("/r")), Register("INTE", 0x90, _INTERRUPTS.format("")),
    Register("INTF", 0x94, _INTERRUPTS.format("")), Register("INTS", 0x98, _INTERRUPTS.format("/r")),
)  # fmt: skip
