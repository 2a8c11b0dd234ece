"""Registers and bits of an LPUART of i.MX RT1062 (MIMXRT1062.xml)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register

RST = 1 << 1
RDMAE, TDMAE = 1 << 21, 1 << 23
PF, FE, NF, OR, IDLE, RDRF, TC, TDRE, RAF = (1 << i for i in range(16, 25))
ILT = 1 << 2
RE, TE, ILIE, RIE, TCIE, TIE, PEIE, FEIE, NEIE, ORIE = (1 << i for i in range(18, 28))
RXFE, TXFE, RXFLUSH, TXFLUSH = 1 << 3, 1 << 7, 1 << 14, 1 << 15
RXEMPT, TXEMPT = 1 << 22, 1 << 23
# Flags of STAT and the bits of CTRL that enable their interrupts.
INTERRUPTS = (IDLE, ILIE), (RDRF, RIE), (TC, TCIE), (TDRE, TIE), (OR, ORIE), (NF, NEIE), (FE, FEIE), (PF, PEIE)

REGISTERS = (
    Register("VERID", 0x00, "FEATURE:0-15/r MINOR:16-23/r MAJOR:24-31/r", 0x04010003),
    Register("PARAM", 0x04, "TXFIFO:0-7/r RXFIFO:8-15/r", 0x0202),
    Register("GLOBAL", 0x08, "RST:1"),
    Register("PINCFG", 0x0C, "TRGSEL:0-1/x"),
    Register("BAUD", 0x10, "SBR:0-12 SBNS:13 RXEDGIE:14/x LBKDIE:15/x RESYNCDIS:16 BOTHEDGE:17 MATCFG:18-19/x "
             "RIDMAE:20/x RDMAE:21 TDMAE:23 OSR:24-28 M10:29/x MAEN2:30/x MAEN1:31/x", 0x0F000004),
    Register("STAT", 0x14, "MA2F:14/c MA1F:15/c PF:16/c FE:17/c NF:18/c OR:19/c IDLE:20/c RDRF:21/r TC:22/r TDRE:23/r "
             "RAF:24/r LBKDE:25/x BRK13:26/x RWUID:27/x RXINV:28/x MSBF:29/x RXEDGIF:30/c LBKDIF:31/c", 0x00C00000),
    Register("CTRL", 0x18, "PT:0 PE:1/x ILT:2 WAKE:3/x M:4/x RSRC:5/x DOZEEN:6/x LOOPS:7/x IDLECFG:8-10 M7:11/x "
             "MA2IE:14/x MA1IE:15/x SBK:16/x RWU:17/x RE:18 TE:19 ILIE:20 RIE:21 TCIE:22 TIE:23 PEIE:24 FEIE:25 "
             "NEIE:26 ORIE:27 TXINV:28/x TXDIR:29/x R9T8:30/x R8T9:31/x"),
    Register("DATA", 0x1C, "DATA:0-7/w T8:8/w T9:9/w IDLINE:11/r RXEMPT:12/r FRETSC:13/w PARITYE:14/r "
             "NOISY:15/r", 0x1000),
    Register("MATCH", 0x20, "MA1:0-9 MA2:16-25"),
    Register("MODIR", 0x24, "TXCTSE:0/x TXRTSE:1/x TXRTSPOL:2/x RXRTSE:3/x TXCTSC:4/x TXCTSSRC:5/x RTSWATER:8-9/x "
             "TNP:16-17/x IREN:18/x"),
    Register("FIFO", 0x28, "RXFIFOSIZE:0-2/r RXFE:3 TXFIFOSIZE:4-6/r TXFE:7 RXUFE:8/x TXOFE:9/x RXIDEN:10-12/x "
             "RXFLUSH:14/w TXFLUSH:15/w RXUF:16/c TXOF:17/c RXEMPT:22/r TXEMPT:23/r", 0x00C00011),
    Register("WATER", 0x2C, "TXWATER:0-1 TXCOUNT:8-10/r RXWATER:16-17 RXCOUNT:24-26/r"),
)  # fmt: skip


def speed(baud: int, kernel_hz: int) -> float:
    """Return the baud rate for a value of BAUD and a root clock in Hz; raise ValueError if the value is not allowed."""
    samples, divider = (baud >> 24 & 0x1F) + 1, baud & 0x1FFF
    if samples < 4 or not divider:
        raise ValueError("OSR must be at least 3 and SBR not 0")
    if samples < 8 and not baud & 1 << 17:
        raise ValueError("OSR below 7 needs BOTHEDGE")
    return kernel_hz / (samples * divider)
