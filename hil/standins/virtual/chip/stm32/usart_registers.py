"""Registers and flags of the USART of STM32H7A3/7B3 (RM0455, USART registers)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register

PE, FE, NE, ORE, IDLE, RXNE, TC, TXE = (1 << i for i in range(8))
RTOF, BUSY, TEACK, REACK, TXFE, RXFF, RXFT, TXFT = (1 << i for i in (11, 16, 21, 22, 23, 24, 26, 27))
UE, RE, TE, IDLEIE, RXNEIE, TCIE, TXEIE, OVER8 = 1, 4, 8, 16, 32, 64, 128, 1 << 15
RTOIE, FIFOEN, TXFEIE, RXFFIE = 1 << 26, 1 << 29, 1 << 30, 1 << 31
RTOEN = 1 << 23
EIE, OVRDIS, TXFTIE, RXFTIE = 1, 1 << 12, 1 << 23, 1 << 28

# Changing one of these needs UE = 0 (RM0455, USART_CR1: "can only be written when the USART is disabled").
ONLY_WHEN_DISABLED = 1 << 29 | 1 << 28 | 1 << 12 | 1 << 15

REGISTERS = (
    Register("CR1", 0x00, "UE:0 UESM:1/x RE:2 TE:3 IDLEIE:4 RXNEIE:5 TCIE:6 TXEIE:7 PEIE:8 PS:9 PCE:10/x WAKE:11 M0:12 "
             "MME:13/x CMIE:14/x OVER8:15 DEDT:16-20 DEAT:21-25 RTOIE:26 EOBIE:27/x M1:28 FIFOEN:29 TXFEIE:30 "
             "RXFFIE:31"),
    Register("CR2", 0x04, "SLVEN:0/x DIS_NSS:3/x ADDM7:4 LBDL:5 LBDIE:6/x LBCL:8 CPHA:9 CPOL:10 CLKEN:11/x STOP:12-13 "
             "LINEN:14/x SWAP:15/x RXINV:16/x TXINV:17/x DATAINV:18/x MSBFIRST:19/x ABREN:20/x ABRMOD:21-22 RTOEN:23 "
             "ADD:24-31"),
    Register("CR3", 0x08, "EIE:0 IREN:1/x IRLP:2 HDSEL:3/x NACK:4 SCEN:5/x DMAR:6 DMAT:7 RTSE:8/x CTSE:9/x CTSIE:10/x "
             "ONEBIT:11 OVRDIS:12 DDRE:13 DEM:14/x DEP:15 SCARCNT:17-19 WUS:20-21 WUFIE:22/x TXFTIE:23 TCBGTIE:24/x "
             "RXFTCFG:25-27 RXFTIE:28 TXFTCFG:29-31"),
    Register("BRR", 0x0C, "BRR:0-15"),
    Register("GTPR", 0x10, "PSC:0-7 GT:8-15"),
    Register("RTOR", 0x14, "RTO:0-23 BLEN:24-31"),
    Register("RQR", 0x18, "ABRRQ:0/x SBKRQ:1/x MMRQ:2/x RXFRQ:3/w TXFRQ:4/w"),
    Register("ISR", 0x1C, "PE:0/r FE:1/r NE:2/r ORE:3/r IDLE:4/r RXNE:5/r TC:6/r TXE:7/r LBDF:8/r CTSIF:9/r CTS:10/r "
             "RTOF:11/r EOBF:12/r UDR:13/r ABRE:14/r ABRF:15/r BUSY:16/r CMF:17/r SBKF:18/r RWU:19/r WUF:20/r "
             "TEACK:21/r REACK:22/r TXFE:23/r RXFF:24/r TCBGT:25/r RXFT:26/r TXFT:27/r"),
    Register("ICR", 0x20, "PECF:0/w FECF:1/w NECF:2/w ORECF:3/w IDLECF:4/w TXFECF:5/w TCCF:6/w TCBGTCF:7/w LBDCF:8/w "
             "CTSCF:9/w RTOCF:11/w EOBCF:12/w UDRCF:13/w CMCF:17/w WUCF:20/w"),
    Register("RDR", 0x24, "RDR:0-8/r"),
    Register("TDR", 0x28, "TDR:0-8/w"),
    Register("PRESC", 0x2C, "PRESCALER:0-3"),
)  # fmt: skip
