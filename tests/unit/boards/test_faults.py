"""The names of faults: every bit that the manual names, and no other."""

from __future__ import annotations

import pytest

from hil.boards.faults import SECURE_CAUSES, causes, describe, kind_of

# ARM DDI 0403E.e, table B3-12 to B3-14: MMFSR, BFSR and UFSR as byte, byte and halfword of CFSR; ARM DDI 0553B.l, SFSR and UFSR:
# STKOF is bit 4 of UFSR on Armv8-M, and reserved on Armv7-M.
RESERVED = {2, 6, 14, 21, 22, 23, 26, 27, 28, 29, 30, 31}


def test_every_bit_has_a_name_unless_it_is_reserved() -> None:
    named = {bit: causes(1 << bit) for bit in range(32)}
    assert {bit for bit, names in named.items() if not names} == RESERVED
    assert len({name for names in named.values() for name in names}) == 32 - len(RESERVED)
    assert causes(0xFFFFFFFF) == [name for bit in range(32) for name in named[bit]]


def test_every_bit_of_a_secure_fault() -> None:
    """ARM DDI 0553B.l, SFSR and UFSR: SFSR has eight bits."""
    names = ["INVEP", "INVIS", "INVER", "AUVIOL", "INVTRAN", "LSPERR", "SFARVALID", "LSERR"]
    assert causes(0xFFFFFFFF, SECURE_CAUSES) == names
    assert [causes(1 << bit, SECURE_CAUSES) for bit in range(8)] == [[name] for name in names]
    attribution = "SecureFault (SFSR 0x00000048: AUVIOL, SFARVALID; address 0x10000000)"
    assert describe(7, 0, 0x1000_0000, False, sfsr=0x48) == attribution
    both = "HardFault (CFSR 0x00100000: STKOF; SFSR 0x00000010: INVTRAN)"
    assert describe(3, 1 << 20, 0, False, sfsr=0x10) == both and describe(7, 0, 0, False) == "SecureFault"


@pytest.mark.parametrize(
    ("kind", "cfsr", "address", "armv6m", "words"),
    [
        (5, 0x8200, 0x2400DEAD, False, "BusFault (CFSR 0x00008200: PRECISERR, BFARVALID; address 0x2400DEAD)"),
        (3, 0x0400, 0x1234, False, "HardFault (CFSR 0x00000400: IMPRECISERR)"),  # an address that is not valid is none
        (4, 0x82, 0, False, "MemManage (CFSR 0x00000082: DACCVIOL, MMARVALID; address 0x00000000)"),
        (3, 0, 0, True, "HardFault (an ARMv6-M core does not report the cause)"),
        (53, 0, 0, False, "interrupt 37"),
    ],
)
def test_a_fault_in_words(kind: int, cfsr: int, address: int, armv6m: bool, words: str) -> None:
    assert describe(kind, cfsr, address, armv6m) == words


def test_exceptions_that_are_no_faults() -> None:
    assert [kind_of(number) for number in (2, 11, 16)] == ["NMI", "exception 11", "interrupt 0"]
