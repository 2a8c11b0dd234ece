"""Registers and bits of the RP2040's DMA (data sheet, 2.5.7; the same in the SDK's hardware/regs/dma.h)."""

from __future__ import annotations

from hil.standins.virtual.chip.registers import Register

CHANNELS = 12
EN, INCR_READ, INCR_WRITE, RING_SEL, IRQ_QUIET, BUSY = 1 << 0, 1 << 4, 1 << 5, 1 << 10, 1 << 21, 1 << 24  # in CTRL
_CTRL = (
    "EN:0 HIGH_PRIORITY:1 DATA_SIZE:2-3 INCR_READ:4 INCR_WRITE:5 RING_SIZE:6-9 RING_SEL:10 CHAIN_TO:11-14 "
    "TREQ_SEL:15-20 IRQ_QUIET:21 BSWAP:22 SNIFF_EN:23/x BUSY:24/r WRITE_ERROR:29/c READ_ERROR:30/c AHB_ERROR:31/r"
)

# Registers in the four words of a channel and of its three aliases. The last word of each starts the channel (2.5.2.1).
ORDERS = (
    ("READ_ADDR", "WRITE_ADDR", "TRANS_COUNT", "CTRL"), ("CTRL", "READ_ADDR", "WRITE_ADDR", "TRANS_COUNT"),
    ("CTRL", "TRANS_COUNT", "READ_ADDR", "WRITE_ADDR"), ("CTRL", "WRITE_ADDR", "TRANS_COUNT", "READ_ADDR"),
)  # fmt: skip
WORDS = tuple(name for order in ORDERS for name in order)
CHANNEL_BYTES = 4 * len(WORDS)


def _channel(n: int) -> tuple[Register, ...]:
    at, debug = CHANNEL_BYTES * n, 0x800 + 0x40 * n
    fields = {
        "READ_ADDR": "READ_ADDR:0-31",
        "WRITE_ADDR": "WRITE_ADDR:0-31",
        "TRANS_COUNT": "TRANS_COUNT:0-31",
        "CTRL": _CTRL,
    }
    return (
        *(Register(f"CH{n}_{name}", at + 4 * i, fields[name]) for i, name in enumerate(ORDERS[0])),
        Register(f"CH{n}_DBG_CTDREQ", debug, "DBG_CTDREQ:0-5/c"),
        Register(f"CH{n}_DBG_TCR", debug + 4, "DBG_TCR:0-31/r"),
    )  # fmt: skip


def _interrupts(line: int) -> tuple[Register, ...]:
    at = 0x404 + 0x10 * line
    return (
        Register(f"INTE{line}", at, "E:0-15"),
        Register(f"INTF{line}", at + 4, "F:0-15"),
        Register(f"INTS{line}", at + 8, "S:0-15/c"),
    )


REGISTERS = (
    *(register for n in range(CHANNELS) for register in _channel(n)),
    Register("INTR", 0x400, "INTR:0-15/c"), *_interrupts(0), *_interrupts(1),
    *(Register(f"TIMER{i}", 0x420 + 4 * i, "Y:0-15/x X:16-31/x") for i in range(4)),
    Register("MULTI_CHAN_TRIGGER", 0x430, "CHANNELS:0-15/w"),
    Register("SNIFF_CTRL", 0x434, "EN:0/x DMACH:1-4/x CALC:5-8/x BSWAP:9/x OUT_REV:10/x OUT_INV:11/x"),
    Register("SNIFF_DATA", 0x438, "SNIFF_DATA:0-31/x"),
    Register("FIFO_LEVELS", 0x440, "TDF_LVL:0-7/r WAF_LVL:8-15/r RAF_LVL:16-23/r"),
    Register("CHAN_ABORT", 0x444, "CHANNELS:0-15/w"), Register("N_CHANNELS", 0x448, "N_CHANNELS:0-4/r", CHANNELS),
)  # fmt: skip
