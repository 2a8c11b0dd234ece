"""Instruction counts against hand counts and against single steps."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unicorn.arm_const import UC_CPU_ARM_CORTEX_M7

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core import ArmCore, RunEnd
from hil.standins.virtual.chip.memories import PhysicalMemory

from . import programs

FLASH, RAM = 0x08000000, 0x20000000
WFI = 0xBF30


def make_core() -> ArmCore:
    memories = PhysicalMemory("flash", FLASH, 0x10000, writable=False), PhysicalMemory("ram", RAM, 0x10000)
    return ArmCore(memories, (), lambda address, size: 0, lambda address, size, value: None, UC_CPU_ARM_CORTEX_M7)


def put(core: ArmCore, address: int, code: bytes) -> None:
    memory, offset = core.find(address, len(code))
    core.bytes[memory.name][offset : offset + len(code)] = list(code)
    core.code_changed()
    core.set(c.PC, address | 1)


def count_of(core: ArmCore, limit: int = 1 << 40) -> int:
    before = core.count
    while core.run(core.count + limit, watch=False) is RunEnd.LIMIT:
        pass
    return core.count - before


@pytest.mark.parametrize("base", [FLASH, RAM])
@pytest.mark.parametrize(("program", "expected"), [(programs.LOOP, 33), (programs.IT_BLOCK, 7)])
def test_hand_counted(base: int, program: bytes, expected: int) -> None:
    core = make_core()
    put(core, base, program)
    assert count_of(core) == expected


@pytest.mark.parametrize("length", [1, 255, 511, 512, 513, 3000])
def test_straight_code_longer_than_a_block(length: int) -> None:
    core = make_core()
    put(core, FLASH + 0x100, struct.pack(f"<{length + 1}H", *[0x3001] * length, WFI))
    core.set(c.R[0], 0)
    assert count_of(core) == length + 1
    assert core.get(c.R[0]) == length


def test_an_instruction_of_32_bits_across_a_page() -> None:
    core = make_core()
    code = struct.pack("<5H", 0x3001, 0xF500, 0x7080, 0x3001, WFI)  # adds; add.w r0, r0, #0x100; adds; wfi
    put(core, FLASH + 0xFFC, code)
    assert count_of(core) == 4


def drawn_program(seed: int) -> bytes:
    """A terminating program: counted loops of random 16- and 32-bit instructions, with IT blocks and calls."""
    rng = random.Random(seed)
    code: list[int] = []
    plain = ([0x3001], [0x1852], [0xF102, 0x0203], [0x4042], [0xEA82, 0x0203], [0xFB02, 0xF303], [0xBF00])
    for _ in range(rng.randint(1, 6)):
        code.append(0x2500 | rng.randint(1, 9))  # movs r5, #turns
        start = len(code)
        for _ in range(rng.randint(0, 12)):
            if rng.random() < 0.25:
                code += [0x2D00 | rng.randint(0, 9), 0xBF0C, 0x3101, 0x3201]  # cmp r5, #n; ite eq; addeq; addne
            elif rng.random() < 0.2:
                code += [0x2D00 | rng.randint(0, 9), 0xD000, 0x3101]  # cmp; beq over; adds
            else:
                code += rng.choice(plain)
        code.append(0x3D01)  # subs r5, #1
        code.append(0xD100 | (start - len(code) - 2) & 0xFF)  # bne start
    return struct.pack(f"<{len(code) + 1}H", *code, WFI)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from([FLASH, RAM]), st.integers(1, 40))
def test_counts_are_those_of_single_steps(seed: int, base: int, slice_length: int) -> None:
    program = drawn_program(seed)
    stepped = make_core()
    put(stepped, base, program)
    end = base + len(program)
    while stepped.get(c.PC) != end:
        stepped.step()
    steps = stepped.count
    whole, sliced = make_core(), make_core()
    put(whole, base, program)
    put(sliced, base, program)
    assert count_of(whole) == steps
    assert count_of(sliced, slice_length) == steps
    names = c.R[:6]
    assert [whole.get(r) for r in names] == [stepped.get(r) for r in names] == [sliced.get(r) for r in names]


def test_the_limit_ends_a_run_before_the_block_behind_it() -> None:
    core = make_core()
    put(core, FLASH, programs.LOOP)
    assert core.run(10, watch=False) is RunEnd.LIMIT
    assert core.count == 5 + 2 * 3  # the first block with its two, then whole turns, to the first end at or past ten
    assert core.get(c.PC) == FLASH + 4


@pytest.mark.parametrize("base", [FLASH, RAM])
def test_new_code_is_seen(base: int) -> None:
    core = make_core()
    put(core, base, struct.pack("<3H", 0x2001, 0xBF00, WFI))
    assert count_of(core) == 3
    put(core, base, struct.pack("<3H", 0xF04F, 0x0005, WFI))  # mov.w r0, #5 in the place of two
    assert count_of(core) == 2
    assert core.get(c.R[0]) == 5


def test_a_breakpoint_stops_before_its_instruction() -> None:
    core = make_core()
    put(core, FLASH, programs.LOOP)
    core.set_breakpoints({FLASH + 6})
    assert core.run(1 << 40, watch=False) is RunEnd.BREAKPOINT
    assert (core.get(c.PC), core.count, core.get(c.R[0])) == (FLASH + 6, 3, 1)
    assert core.step() is RunEnd.LIMIT
    assert core.count == 4
    core.set_breakpoints(set())
    assert count_of(core) == 33 - 4
