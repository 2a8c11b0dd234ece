"""Registers and bits of the UARTE (Product Specification, UARTE)."""

from __future__ import annotations

from hil.standins.virtual.chip.nrf52840.events import event, interrupt_set_and_clear, task
from hil.standins.virtual.chip.registers import Register

DISABLED, ENABLED = 0, 8
DISCONNECTED = 1 << 31
OVERRUN, PARITY, FRAMING, BREAK = 1, 2, 4, 8
_INTERRUPTS = "CTS:0 NCTS:1 RXDRDY:2 ENDRX:4 TXDRDY:7 ENDTX:8 ERROR:9 RXTO:17 RXSTARTED:19 TXSTARTED:20 TXSTOPPED:22"
_PIN = "PIN:0-4{0} PORT:5{0} CONNECT:31{0}"

# Value of BAUDRATE, and the actual baud rate of the UARTE.
BAUD = {
    0x0004F000: 1205, 0x0009D000: 2396, 0x0013B000: 4808, 0x00275000: 9598, 0x003AF000: 14401, 0x004EA000: 19208,
    0x0075C000: 28777, 0x00800000: 31250, 0x009D0000: 38369, 0x00E50000: 55944, 0x00EB0000: 57554, 0x013A9000: 76923,
    0x01D60000: 115108, 0x03B00000: 231884, 0x04000000: 250000, 0x07400000: 457143, 0x0F000000: 941176,
    0x10000000: 1000000,
}  # fmt: skip

REGISTERS = (
    task("STARTRX", 0x000), task("STOPRX", 0x004), task("STARTTX", 0x008), task("STOPTX", 0x00C),
    task("FLUSHRX", 0x02C),
    event("CTS", 0x100), event("NCTS", 0x104), event("RXDRDY", 0x108), event("ENDRX", 0x110), event("TXDRDY", 0x11C),
    event("ENDTX", 0x120), event("ERROR", 0x124), event("RXTO", 0x144), event("RXSTARTED", 0x14C),
    event("TXSTARTED", 0x150), event("TXSTOPPED", 0x158), Register("SHORTS", 0x200, "ENDRX_STARTRX:5 ENDRX_STOPRX:6"),
    Register("INTEN", 0x300, _INTERRUPTS), *interrupt_set_and_clear(_INTERRUPTS),
    Register("ERRORSRC", 0x480, "OVERRUN:0/c PARITY:1/c FRAMING:2/c BREAK:3/c"),
    Register("ENABLE", 0x500, "ENABLE:0-3"),
    Register("PSEL_RTS", 0x508, _PIN.format("/x"), 0xFFFFFFFF),
    Register("PSEL_TXD", 0x50C, _PIN.format(""), 0xFFFFFFFF),
    Register("PSEL_CTS", 0x510, _PIN.format("/x"), 0xFFFFFFFF),
    Register("PSEL_RXD", 0x514, _PIN.format(""), 0xFFFFFFFF), Register("BAUDRATE", 0x524, "BAUDRATE:0-31", 0x04000000),
    Register("RXD_PTR", 0x534, "PTR:0-31"), Register("RXD_MAXCNT", 0x538, "MAXCNT:0-15"),
    Register("RXD_AMOUNT", 0x53C, "AMOUNT:0-15/r"),
    Register("TXD_PTR", 0x544, "PTR:0-31"), Register("TXD_MAXCNT", 0x548, "MAXCNT:0-15"),
    Register("TXD_AMOUNT", 0x54C, "AMOUNT:0-15/r"), Register("CONFIG", 0x56C, "HWFC:0/x PARITY:1-3/x STOP:4/x"),
)  # fmt: skip
