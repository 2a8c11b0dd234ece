"""The place of a store inside a block, beside what Unicorn says when it is asked to keep the pc at every store."""

from __future__ import annotations

import contextlib
import struct

import pytest
import unicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from unicorn.arm_const import UC_ARM_REG_PC, UC_ARM_REG_R0, UC_ARM_REG_R13, UC_CPU_ARM_CORTEX_M0

from hil.standins.virtual.chip.store_place import stores_to

CODE, RAM = 0x1000, 0x20000000
low, word = st.integers(0, 7), st.integers(0, 31)
STORES = st.one_of(
    st.builds(lambda rt, rn, imm: 0x6000 | imm << 6 | rn << 3 | rt, low, low, word),
    st.builds(lambda rt, rn, imm: 0x7000 | imm << 6 | rn << 3 | rt, low, low, word),
    st.builds(lambda rt, rn, imm: 0x8000 | imm << 6 | rn << 3 | rt, low, low, word),
    st.builds(lambda rt, rn, rm: 0x5000 | rm << 6 | rn << 3 | rt, low, low, low),
    st.builds(lambda rt, imm: 0x9000 | rt << 8 | imm, low, st.integers(0, 40)),
    st.builds(lambda rn, some: 0xC000 | rn << 8 | some, low, st.integers(1, 255)),
)
OTHERS = st.one_of(
    st.just(0x46C0), st.builds(lambda rd, imm: 0x3000 | rd << 8 | imm, low, st.integers(0, 9).map(lambda n: 4 * n)),
    st.builds(lambda rd, rn: 0x0000 | rn << 3 | rd, low, low),
)  # fmt: skip


@given(st.lists(st.one_of(STORES, OTHERS), min_size=1, max_size=30), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_the_place_of_each_store_is_among_those_that_are_found(instructions: list[int], seed: int) -> None:
    """Of an STM that has its base in its list, and of unaligned stores, which fault, nothing is asked."""
    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
    uc.ctl_set_cpu_model(UC_CPU_ARM_CORTEX_M0)
    uc.mem_map(CODE, 0x1000)
    uc.mem_map(RAM, 0x10000)
    code = struct.pack(f"<{len(instructions)}H", *instructions)
    uc.mem_write(CODE, code)
    for number in range(8):
        uc.reg_write(UC_ARM_REG_R0 + number, RAM + 0x4000 + (seed >> 4 * number & 0xF) * 16)
    uc.reg_write(UC_ARM_REG_R13, RAM + 0x8000)
    seen: list[tuple[int, list[int]]] = []

    def at_store(_uc: unicorn.Uc, _kind: int, address: int, _size: int, _value: int, _data: object) -> None:
        registers = [uc.reg_read(UC_ARM_REG_R0 + i) for i in range(8)] + [0] * 5 + [uc.reg_read(UC_ARM_REG_R13)]
        place = (uc.reg_read(UC_ARM_REG_PC) - CODE) // 2
        seen.append((place, stores_to(address, code, registers.__getitem__)))

    uc.hook_add(unicorn.UC_HOOK_MEM_WRITE, at_store)
    with contextlib.suppress(unicorn.UcError):  # a sum of two addresses is no address
        uc.emu_start(CODE | 1, CODE + len(code))
    for place, found in seen:
        if instructions[place] >> 12 != 0xC:
            assert place in found


@pytest.mark.parametrize(("first", "found"), [(0x2001, []), (0x6048, [0]), (0xB402, [])])
def test_only_stores_are_found(first: int, found: list[int]) -> None:
    code = struct.pack("<H", first)  # movs; str r0, [r1, #4]; push
    assert stores_to(0x104, code, {0: 0, 1: 0x100, 13: 0}.__getitem__) == found
