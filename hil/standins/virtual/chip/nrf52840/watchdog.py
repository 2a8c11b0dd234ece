"""WDT, never started: registers that a flash algorithm reads, or writes to reload it (Product Specification, WDT)."""

from __future__ import annotations

from hil.standins.virtual.chip.nrf52840.events import unsupported_task
from hil.standins.virtual.chip.registers import WORD, Block, Register


class Nrf52840Watchdog(Block):
    """Registers after reset. A program that starts the watchdog faults."""

    REGISTERS = (
        unsupported_task("START", 0x000), Register("EVENTS_TIMEOUT", 0x100, "EVENTS_TIMEOUT:0/x"),
        *(Register(name, offset, "TIMEOUT:0/x") for name, offset in (("INTENSET", 0x304), ("INTENCLR", 0x308))),
        Register("RUNSTATUS", 0x400, "RUNSTATUS:0/r"),
        Register("REQSTATUS", 0x404, " ".join(f"RR{i}:{i}/r" for i in range(8)), 1),
        Register("CRV", 0x504, "CRV:0-31", WORD), Register("RREN", 0x508, " ".join(f"RR{i}:{i}" for i in range(8)), 1),
        Register("CONFIG", 0x50C, "SLEEP:0 HALT:3", 1),
        *(Register(f"RR{i}", 0x600 + 4 * i, "RR:0-31/w") for i in range(8)),
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__("WDT", 0x40010000)
