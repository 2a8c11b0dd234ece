"""Registers of the RP2040's DMA as the SDK's generated header (hardware/regs/dma.h of pico-sdk) states them: offset, bits of all fields, reset value.

Typed from that header, not from the model; pyOCD carries no SVD of the RP2040.
"""

from __future__ import annotations

CHANNELS = 12
ALL, CONTROL, EACH = 0xFFFFFFFF, 0xE1FFFFFF, 0xFFFF

# Of channel 0; the next channel is 0x40 further. The header gives the aliases and N_CHANNELS no reset value.
CHANNEL = {
    "READ_ADDR": (0x000, ALL, 0), "WRITE_ADDR": (0x004, ALL, 0), "TRANS_COUNT": (0x008, ALL, 0), "CTRL_TRIG": (0x00C, CONTROL, 0),
}  # fmt: skip
ALIASES = {
    "AL1_CTRL": (0x010, "CTRL_TRIG"), "AL1_READ_ADDR": (0x014, "READ_ADDR"), "AL1_WRITE_ADDR": (0x018, "WRITE_ADDR"),
    "AL1_TRANS_COUNT_TRIG": (0x01C, "TRANS_COUNT"), "AL2_CTRL": (0x020, "CTRL_TRIG"), "AL2_TRANS_COUNT": (0x024, "TRANS_COUNT"),
    "AL2_READ_ADDR": (0x028, "READ_ADDR"), "AL2_WRITE_ADDR_TRIG": (0x02C, "WRITE_ADDR"), "AL3_CTRL": (0x030, "CTRL_TRIG"),
    "AL3_WRITE_ADDR": (0x034, "WRITE_ADDR"), "AL3_TRANS_COUNT": (0x038, "TRANS_COUNT"), "AL3_READ_ADDR_TRIG": (0x03C, "READ_ADDR"),
}  # fmt: skip
SHARED = {
    "INTR": (0x400, EACH, 0), "INTE0": (0x404, EACH, 0), "INTF0": (0x408, EACH, 0), "INTS0": (0x40C, EACH, 0), "INTE1": (0x414, EACH, 0),
    "INTF1": (0x418, EACH, 0), "INTS1": (0x41C, EACH, 0), "TIMER0": (0x420, ALL, 0), "TIMER1": (0x424, ALL, 0), "TIMER2": (0x428, ALL, 0),
    "TIMER3": (0x42C, ALL, 0), "MULTI_CHAN_TRIGGER": (0x430, EACH, 0), "SNIFF_CTRL": (0x434, 0xFFF, 0), "SNIFF_DATA": (0x438, ALL, 0),
    "FIFO_LEVELS": (0x440, 0xFFFFFF, 0), "CHAN_ABORT": (0x444, EACH, 0), "N_CHANNELS": (0x448, 0x1F, CHANNELS),
}  # fmt: skip
# Of channel 0; the next channel is 0x40 further.
DEBUG = {"DBG_CTDREQ": (0x800, 0x3F, 0), "DBG_TCR": (0x804, ALL, 0)}
