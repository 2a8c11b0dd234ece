"""Registers of the RP2350's DMA (data sheet, 12.6.10): 16 channels and 4 interrupt lines.

The security configuration and the memory protection unit of the DMA are as after reset.
"""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register
from hil.standins.virtual.chip.rp2.dma import RpDma, channel_registers, shared_registers

_CTRL = (
    "EN:0 HIGH_PRIORITY:1 DATA_SIZE:2-3 INCR_READ:4 INCR_READ_REV:5/x INCR_WRITE:6 INCR_WRITE_REV:7/x RING_SIZE:8-11 "
    "RING_SEL:12 CHAIN_TO:13-16 TREQ_SEL:17-22 IRQ_QUIET:23 BSWAP:24 SNIFF_EN:25/x BUSY:26/r WRITE_ERROR:29/c "
    "READ_ERROR:30/c AHB_ERROR:31/r"
)
_COUNT = "TRANS_COUNT:0-27 MODE:28-31/x"


class Rp2350Dma(RpDma):
    """The 16 channels."""

    CHANNELS, LINES = 16, 4
    REGISTERS = (
        *(register for n in range(CHANNELS) for register in channel_registers(n, _COUNT, _CTRL)),
        *shared_registers(CHANNELS, LINES),
        *(Register(f"SECCFG_CH{i}", 0x480 + 4 * i, "P:0/x S:1/x LOCK:2/x", 3) for i in range(CHANNELS)),
        *(Register(f"SECCFG_IRQ{i}", 0x4C0 + 4 * i, "P:0/x S:1/x", 3) for i in range(LINES)),
        Register("SECCFG_MISC", 0x4D0, "BITS:0-9/x", 0x3FF),
        Register("MPU_CTRL", 0x500, "P:1/x S:2/x NS_HIDE_ADDR:3/x"),
        *(Register(f"MPU_BAR{i}", 0x504 + 8 * i, "ADDR:5-31/x") for i in range(8)),
        *(Register(f"MPU_LAR{i}", 0x508 + 8 * i, "EN:0/x P:1/x S:2/x ADDR:5-31/x") for i in range(8)),
    )  # fmt: skip
