"""Decode Cortex-M faults (ARM DDI 0403E.e, B1.5.2 and B3.2.15; ARM DDI 0419E, B1.5.2)."""

from __future__ import annotations

NMI, HARD_FAULT, EXTERNAL = 2, 3, 16
KINDS = {NMI: "NMI", HARD_FAULT: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault"}
MMARVALID, BFARVALID = 7, 15
# Bits of CFSR: MemManage 7:0, BusFault 15:8, UsageFault 31:16.
CAUSES = {
    0: "IACCVIOL", 1: "DACCVIOL", 3: "MUNSTKERR", 4: "MSTKERR", 5: "MLSPERR", MMARVALID: "MMARVALID",
    8: "IBUSERR", 9: "PRECISERR", 10: "IMPRECISERR", 11: "UNSTKERR", 12: "STKERR", 13: "LSPERR", BFARVALID: "BFARVALID",
    16: "UNDEFINSTR", 17: "INVSTATE", 18: "INVPC", 19: "NOCP", 24: "UNALIGNED", 25: "DIVBYZERO",
}  # fmt: skip


def kind_of(exception: int) -> str:
    """Return the name of an exception, given its number."""
    return KINDS.get(exception) or (
        f"interrupt {exception - EXTERNAL}" if exception >= EXTERNAL else f"exception {exception}"
    )


def causes(cfsr: int) -> list[str]:
    """Return the names of the bits that are set in CFSR, lowest first."""
    return [name for bit, name in CAUSES.items() if cfsr >> bit & 1]


def describe(exception: int, cfsr: int, address: int, armv6m: bool) -> str:
    """Return a fault and its causes: `HardFault (CFSR 0x00008200: PRECISERR, BFARVALID; address 0x2400DEAD)`.

    The address is that of the faulting access, if CFSR (Configurable Fault Status Register) says that it is valid. An
    Armv6-M core has no CFSR and reports every fault as a HardFault.
    """
    kind = kind_of(exception)
    if armv6m:
        return f"{kind} (an ARMv6-M core does not report the cause)"
    if not cfsr:
        return kind
    valid = cfsr >> MMARVALID & 1 or cfsr >> BFARVALID & 1
    return f"{kind} (CFSR 0x{cfsr:08X}: {', '.join(causes(cfsr))}" + (f"; address 0x{address:08X})" if valid else ")")
