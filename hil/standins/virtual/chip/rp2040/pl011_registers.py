"""Registers and bits of the RP2040's PL011 UARTs (data sheet, 4.2.8)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register

RX, TX, RT, FE, OE = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 10  # in RIS, MIS, IMSC, ICR
UARTEN, TXE, RXE = 1, 1 << 8, 1 << 9  # in CR
FEN = 1 << 4  # in LCR_H
RXFE, TXFF, RXFF, TXFE, BUSY = 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 3  # in FR
RXDMAE = 1  # in DMACR
DR_FE, DR_OE = 1 << 8, 1 << 11
_SOURCES = "RI:0{0} CTS:1{0} DCD:2{0} DSR:3{0} RX:4{0} TX:5{0} RT:6{0} FE:7{0} PE:8{0} BE:9{0} OE:10{0}"
_IDS = {0xFE0: 0x11, 0xFE4: 0x10, 0xFE8: 0x34, 0xFEC: 0x00, 0xFF0: 0x0D, 0xFF4: 0xF0, 0xFF8: 0x05, 0xFFC: 0xB1}

REGISTERS = (
    Register("DR", 0x000, "DATA:0-7/w FE:8/r PE:9/r BE:10/r OE:11/r"),
    Register("RSR", 0x004, "FE:0/c PE:1/c BE:2/c OE:3/c"),
    Register("FR", 0x018, "CTS:0/r DSR:1/r DCD:2/r BUSY:3/r RXFE:4/r TXFF:5/r RXFF:6/r TXFE:7/r RI:8/r", 0x90),
    Register("ILPR", 0x020, "ILPDVSR:0-7/x"),
    Register("IBRD", 0x024, "BAUD_DIVINT:0-15"),
    Register("FBRD", 0x028, "BAUD_DIVFRAC:0-5"),
    Register("LCR_H", 0x02C, "BRK:0/x PEN:1/x EPS:2 STP2:3 FEN:4 WLEN:5-6 SPS:7/x"),
    Register("CR", 0x030, "UARTEN:0 SIREN:1/x SIRLP:2/x LBE:7/x TXE:8 RXE:9 DTR:10 RTS:11 OUT1:12 OUT2:13 RTSEN:14/x "
             "CTSEN:15/x",
             0x300),
    Register("IFLS", 0x034, "TXIFLSEL:0-2 RXIFLSEL:3-5", 0x12),
    Register("IMSC", 0x038, _SOURCES.format("")),
    Register("RIS", 0x03C, _SOURCES.format("/r")),
    Register("MIS", 0x040, _SOURCES.format("/r")),
    Register("ICR", 0x044, _SOURCES.format("/w")),
    Register("DMACR", 0x048, "RXDMAE:0 TXDMAE:1/x DMAONERR:2/x"),
    *(Register(f"ID_{offset:03X}", offset, "VALUE:0-31/r", value) for offset, value in _IDS.items()),
)  # fmt: skip
