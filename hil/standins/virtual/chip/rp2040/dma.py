"""Registers of the RP2040's DMA (data sheet, 2.5.7): 12 channels and 2 interrupt lines."""

from __future__ import annotations

from hil.standins.virtual.chip.rp2.dma import RpDma, channel_registers, shared_registers

_CTRL = (
    "EN:0 HIGH_PRIORITY:1 DATA_SIZE:2-3 INCR_READ:4 INCR_WRITE:5 RING_SIZE:6-9 RING_SEL:10 CHAIN_TO:11-14 "
    "TREQ_SEL:15-20 IRQ_QUIET:21 BSWAP:22 SNIFF_EN:23/x BUSY:24/r WRITE_ERROR:29/c READ_ERROR:30/c AHB_ERROR:31/r"
)


class Rp2040Dma(RpDma):
    """The 12 channels."""

    CHANNELS, LINES = 12, 2
    REGISTERS = (
        *(register for n in range(CHANNELS) for register in channel_registers(n, "TRANS_COUNT:0-31", _CTRL)),
        *shared_registers(CHANNELS, LINES),
    )
