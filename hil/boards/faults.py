"""Decode Cortex-M faults (ARM DDI 0403E.e, B1.5.2, B3.2.15; ARM DDI 0419E, B1.5.2; ARM DDI 0553B.l, CFSR and SFSR)."""

from __future__ import annotations

from collections.abc import Mapping

NMI, HARD_FAULT, SECURE_FAULT, EXTERNAL = 2, 3, 7, 16
KINDS = {
    NMI: "NMI", HARD_FAULT: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", SECURE_FAULT: "SecureFault",
}  # fmt: skip
MMARVALID, BFARVALID, SFARVALID = 7, 15, 6
# Bits of CFSR: MemManage 7:0, BusFault 15:8, UsageFault 31:16. STKOF is of Armv8-M.
CAUSES = {
    0: "IACCVIOL", 1: "DACCVIOL", 3: "MUNSTKERR", 4: "MSTKERR", 5: "MLSPERR", MMARVALID: "MMARVALID",
    8: "IBUSERR", 9: "PRECISERR", 10: "IMPRECISERR", 11: "UNSTKERR", 12: "STKERR", 13: "LSPERR", BFARVALID: "BFARVALID",
    16: "UNDEFINSTR", 17: "INVSTATE", 18: "INVPC", 19: "NOCP", 20: "STKOF", 24: "UNALIGNED", 25: "DIVBYZERO",
}  # fmt: skip
SECURE_CAUSES = {  # bits of SFSR, which only an Armv8-M core with the Security Extension has
    0: "INVEP", 1: "INVIS", 2: "INVER", 3: "AUVIOL", 4: "INVTRAN", 5: "LSPERR", SFARVALID: "SFARVALID", 7: "LSERR",
}  # fmt: skip


def kind_of(exception: int) -> str:
    """Return the name of an exception, given its number."""
    return KINDS.get(exception) or (
        f"interrupt {exception - EXTERNAL}" if exception >= EXTERNAL else f"exception {exception}"
    )


def causes(status: int, names: Mapping[int, str] = CAUSES) -> list[str]:
    """Return the names of the bits that are set in a status register, lowest first; that register has `names`."""
    return [name for bit, name in names.items() if status >> bit & 1]


def describe(exception: int, cfsr: int, address: int, armv6m: bool, sfsr: int = 0) -> str:
    """Return a fault and its causes: `HardFault (CFSR 0x00008200: PRECISERR, BFARVALID; address 0x2400DEAD)`.

    The address is that of the faulting access, if CFSR (Configurable Fault Status Register) or SFSR (Secure Fault
    Status Register) says that it is valid. An Armv6-M core has no CFSR and reports every fault as a HardFault.
    """
    kind = kind_of(exception)
    if armv6m:
        return f"{kind} (an ARMv6-M core does not report the cause)"
    said = [
        f"{register} 0x{status:08X}: {', '.join(causes(status, names))}"
        for register, status, names in (("CFSR", cfsr, CAUSES), ("SFSR", sfsr, SECURE_CAUSES))
        if status
    ]
    if cfsr >> MMARVALID & 1 or cfsr >> BFARVALID & 1 or sfsr >> SFARVALID & 1:
        said.append(f"address 0x{address:08X}")
    return f"{kind} ({'; '.join(said)})" if said else kind
