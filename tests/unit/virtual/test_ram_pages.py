"""Code in RAM, which the core changes: new code is executed, and no refusal is lost, though stores to RAM are fast."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unicorn import unicorn_const
from unicorn.arm_const import UC_CPU_ARM_CORTEX_M7

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip import page_hook
from hil.standins.virtual.chip.core import ArmCore, RunEnd
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.page_hook import PageSlot

from .conftest import Board

FLASH, RAM, SECOND = 0x08000000, 0x20000000, 0x20010000
RAM_SIZE = 0x10000
SETS_R0_TO, ADDS_TO_R0 = 0x2000, 0x3000  # movs r0, #n; adds r0, #n
RETURNS, WFI = 0x4770, 0xBF30


def make_core() -> ArmCore:
    memories = (
        PhysicalMemory("flash", FLASH, 0x10000, writable=False), PhysicalMemory("ram", RAM, RAM_SIZE), PhysicalMemory("second", SECOND, 0x1000),
    )  # fmt: skip
    return ArmCore(memories, (), lambda address, size: 0, lambda address, size, value: None, UC_CPU_ARM_CORTEX_M7)


def put(core: ArmCore, *halfwords: int) -> None:
    core.bytes["flash"][: 2 * len(halfwords)] = list(struct.pack(f"<{len(halfwords)}H", *halfwords))
    core.code_changed()
    core.set(c.PC, FLASH | 1)
    core.set(c.SP, RAM + RAM_SIZE)


def run_until_sleep(core: ArmCore, slice_length: int = 1 << 40) -> int:
    before = core.count
    while (ended := core.run(core.count + slice_length, watch=False)) is RunEnd.LIMIT:
        pass
    assert ended is RunEnd.SLEEP, core.fault
    return core.count - before


# Write the function in r4 to r5 and to r5 + 32, call both at r6 and r10, then the same with the function in r7.
WRITE_AND_CALL_TWICE = (
    0x602C, 0x622C, WFI,  # str r4, [r5]; str r4, [r5, #32]
    0x47B0, 0x47D0, WFI,  # blx r6; blx r10
    0x602F, 0x622F, WFI,  # str r7, [r5]; str r7, [r5, #32]
    0x47B0, 0x47D0, WFI,
)  # fmt: skip


@pytest.mark.parametrize("slice_length", [1, 1 << 40])
@pytest.mark.parametrize("page", [RAM, RAM + 0x7C0, SECOND + 0x400])
def test_code_that_the_core_writes(page: int, slice_length: int) -> None:
    core = make_core()
    put(core, *WRITE_AND_CALL_TWICE)
    first, second = (RETURNS << 16 | ADDS_TO_R0 | n for n in (3, 4))
    for register, value in ((0, 0), (4, first), (5, page), (6, page | 1), (7, second), (10, page + 32 | 1)):
        core.set(c.R[register], value)
    sums = []
    for _ in range(4):
        run_until_sleep(core, slice_length)
        sums.append(core.get(c.R[0]))
    assert sums == [0, 2 * 3, 2 * 3, 2 * 3 + 2 * 4]
    assert core.count == len(WRITE_AND_CALL_TWICE) + 4 * 2


@pytest.mark.parametrize("page", [RAM + 0x3FE, RAM + 0x400])
def test_steps_into_ram(page: int) -> None:
    core = make_core()
    put(core, 0x4730)  # bx r6
    core.poke(page, struct.pack("<3H", SETS_R0_TO | 7, SETS_R0_TO | 8, SETS_R0_TO | 9))
    core.set(c.R[6], page | 1)
    for count, (pc, r0) in enumerate([(page, 0), (page + 2, 7), (page + 4, 8), (page + 6, 9)], start=1):
        assert core.step() is RunEnd.LIMIT
        assert (core.count, core.get(c.PC), core.get(c.R[0])) == (count, pc, r0)


def test_an_it_block_that_looks_up_a_page() -> None:
    """The first access to a page within an IT block must not leave its condition to the code after it."""
    core = make_core()
    put(
        core,
        0x2801,  # cmp r0, #1: equal
        0xBF04, 0x6811, 0x3301,  # itt eq; ldreq r1, [r2]; addeq r3, #1
        0x2802,  # cmp r0, #2: not equal
        0x4730,  # bx r6, to the next instruction in another block
        0x3401, 0x3401, 0x3401, 0x3401,  # adds r4, #1
        WFI,
    )  # fmt: skip
    core.store(RAM + 0x2000, struct.pack("<I", 77))
    for register, value in ((0, 1), (2, RAM + 0x2000), (3, 0), (4, 0), (6, FLASH + 12 | 1)):
        core.set(c.R[register], value)
    assert run_until_sleep(core) == 11
    assert [core.get(c.R[i]) for i in (1, 3, 4)] == [77, 1, 4]


@pytest.mark.parametrize("opcode", [0x6011, 0x6811])  # str r1, [r2]; ldr r1, [r2]
def test_closed_and_opened_between_two_accesses(opcode: int) -> None:
    core = make_core()
    put(core, opcode, WFI, opcode, WFI, opcode, WFI)
    core.set(c.R[2], SECOND)
    run_until_sleep(core)
    core.open("second", False, "its clock is off")
    assert core.run(core.count + 10, watch=False) is RunEnd.FAULT
    assert "second does not allow it (its clock is off)" in str(core.fault)
    core.fault = None
    core.open("second", True)
    run_until_sleep(core)
    core.resize("second", 0, "it is too small")
    assert core.run(core.count + 10, watch=False) is RunEnd.FAULT
    assert "second does not allow it (it is too small)" in str(core.fault)


@given(st.lists(st.tuples(st.sampled_from(["open", "close", "ram", "second"]), st.integers(0, 4)), max_size=6))
@settings(max_examples=50, deadline=None)
def test_refusals_are_watched_everywhere_but_in_open_ram(changes: list[tuple[str, int]]) -> None:
    core = make_core()
    put(core, WFI, *[WFI] * 8)
    sizes, is_open = {"ram": RAM_SIZE, "second": 0x1000}, True
    for what, quarters in changes:
        if what in sizes:
            sizes[what] = quarters * {"ram": RAM_SIZE, "second": 0x1000}[what] // 4
            core.resize(what, sizes[what], "it is smaller")
        else:
            is_open = what == "open"
            core.open("second", is_open)
    run_until_sleep(core)
    shown = {"ram": sizes["ram"], "second": sizes["second"] if is_open else 0}
    for base, name, size in ((RAM, "ram", RAM_SIZE), (SECOND, "second", 0x1000)):
        for offset in range(0, size, 0x400):
            assert core.is_watched(base + offset) == (offset >= shown[name])
    for elsewhere in (0, FLASH, RAM - 1, SECOND + 0x1000, 0x40000000, 0xFFFFFFFF):
        assert core.is_watched(elsewhere)


class _Entry(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("rights", ctypes.c_int))


_HOOK = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int, ctypes.POINTER(_Entry), ctypes.c_void_p
)
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_uint32))
_PAGES = (RAM - 0x400, RAM, RAM + 0x400, RAM + 0xFC00, SECOND, SECOND + 0xC00, SECOND + 0x1000, FLASH, 0xE0000000)


@given(st.lists(st.tuples(st.sampled_from(_PAGES), st.sampled_from(["READ", "WRITE", "FETCH"])), max_size=12))
def test_the_rights_of_pages(accesses: list[tuple[int, str]]) -> None:
    written: list[tuple[int, int]] = []
    write = _WRITE(lambda _uc, register, value: written.append((register, value[0])) or 0)
    limit, has_code = np.array([99], np.int64), np.zeros((RAM_SIZE + 0x1000) // 0x400, np.uint8)
    rams = [(RAM, RAM + RAM_SIZE, 0), (SECOND, SECOND + 0x1000, RAM_SIZE // 0x400)]
    place = ctypes.cast(write, ctypes.c_void_p).value or 0
    state = np.array(page_hook.initial_state(limit.ctypes.data, has_code.ctypes.data, place, rams), np.int64)
    hook, entry, fetched = _HOOK(page_hook.address), _Entry(), set()
    for page, access in accesses:
        limit[0], state[PageSlot.NEW_CODE] = 99, 0
        written.clear()
        assert hook(None, page, getattr(unicorn_const, f"UC_MEM_{access}"), entry, state.ctypes.data)
        is_ram = RAM <= page < RAM + RAM_SIZE or SECOND <= page < SECOND + 0x1000
        is_new = access == "FETCH" and is_ram and page not in fetched
        fetched |= {page} if access == "FETCH" and is_ram else set()
        assert (entry.address, entry.rights) == (page, 3 if is_ram and page not in fetched else 7)
        assert (limit[0], state[PageSlot.NEW_CODE]) == ((0, 1) if is_new else (99, 0))
        assert written == ([] if access == "FETCH" else [(121, 1 << 24)])  # UC_ARM_REG_EPSR
    assert has_code.sum() == len(fetched)


# A handler (at +0x40) writes the function in r4 to r5 and to r5 + 32; the thread, which is not privileged, calls both.
# Unicorn keeps the rights of pages for each of the two, and determines the mode at every MSR.
HANDLER_WRITES = (
    0x2101, 0xF381, 0x8814,  # movs r1, #1; msr control, r1
    0xDF00, 0xF381, 0x8814, 0x47B0, 0x47D0,  # svc #0; msr control, r1; blx r6; blx r10
    0x4680, 0x463C,  # mov r8, r0; mov r4, r7
    0xDF00, 0xF381, 0x8814, 0x47B0, 0x47D0, WFI,
)  # fmt: skip
HANDLER = (0xF382, 0x8810, 0x602C, 0x622C, 0x4770)  # msr primask, r2; str r4, [r5]; str r4, [r5, #32]; bx lr


def test_code_that_a_handler_writes(run: Callable[..., Board]) -> None:
    program = struct.pack(f"<{len(HANDLER_WRITES)}H", *HANDLER_WRITES).ljust(0x40, b"\0") + struct.pack("<5H", *HANDLER)
    first, second = (RETURNS << 16 | ADDS_TO_R0 | n for n in (3, 4))
    page = 0x24000400
    board = run(program, {11: 0x40}, r0=0, r2=0, r4=first, r5=page, r6=page | 1, r7=second, r10=page + 32 | 1)
    assert (board.r(8), board.r(0)) == (2 * 3, 2 * 3 + 2 * 4)
