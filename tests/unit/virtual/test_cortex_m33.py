"""The virtual Cortex-M33: stack limits, coprocessors, MPU and SAU of Armv8-M, exceptions, and what a debugger sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault

from . import rp2350_programs as programs
from .pico2 import CODE, HARD_FAULT, STACK, XIP, Pico2, image, started

CFSR, HFSR, CPACR, MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RLAR = (
    0xE000ED00 + i for i in (0x28, 0x2C, 0x88, 0x94, 0x98, 0x9C, 0xA0)
)
SAU_RNR, SAU_RBAR, SAU_RLAR, DSCSR, DHCSR, DEMCR = (
    0xE000EDD8,
    0xE000EDDC,
    0xE000EDE0,
    0xE000EE08,
    0xE000EDF0,
    0xE000EDFC,
)
UNDEFINED, NO_COPROCESSOR, STACK_LIMIT = 1 << 16, 1 << 19, 1 << 20
UNDER_TEST = 6  # offset in FAULT of two halfwords
MRC_STATUS, MCRR_SALT_0 = "30ee10f7", "40ec8007"


def faulty(code: str) -> Pico2:
    """Run 4 bytes, and return what the HardFault handler kept: r7 is 7, r6 the stacked pc, r5 CFSR."""
    program = bytearray(programs.FAULT)
    program[UNDER_TEST : UNDER_TEST + 4] = bytes.fromhex(code)
    pico = Pico2()
    pico.load(image(bytes(program), {HARD_FAULT: 0x40}))
    pico.run()
    return pico


@pytest.mark.parametrize(
    ("code", "flag"),
    [
        ("00de00bf", UNDEFINED),  # udf
        ("31ee020b", UNDEFINED | NO_COPROCESSOR),  # vadd.f64: no double precision; and the FPU is off
        ("31ee020a", NO_COPROCESSOR),  # vadd.f32 with the FPU off
        ("10ee100f", UNDEFINED | NO_COPROCESSOR),  # mrc p15
        ("40ec1010", NO_COPROCESSOR),  # mcrr p0, off in CPACR
    ],
)  # fmt: skip
def test_what_the_core_does_not_have_faults(code: str, flag: int) -> None:
    pico = faulty(code)
    assert pico.r(7) == 7 and pico.r(6) == XIP + CODE + UNDER_TEST and pico.r(5) & flag
    assert pico.r(5) & ~flag == 0


def test_a_coprocessor_that_is_on_and_not_modelled_stops_the_chip() -> None:
    pico = started()
    pico.write(CPACR, 3)
    pico.chip.core.poke(0x20000000, bytes.fromhex("40ec1010"))
    pico.chip.core.set(c.PC, 0x20000001)
    pico.chip.asleep = False
    pico.run()
    assert "coprocessor 0 is used" in str(pico.chip.fault)


# the redundancy coprocessor


def run_in_ram(pico: Pico2, code: str) -> None:
    pico.chip.core.poke(0x20000000, bytes.fromhex(code) + b"\x30\xbf\xfd\xe7")
    pico.chip.core.set(c.PC, 0x20000001)
    pico.chip.asleep = False
    pico.run()


@pytest.mark.parametrize("salted", [True, False])
def test_the_status_of_the_redundancy_coprocessor(salted: bool) -> None:
    pico = started()
    pico.chip.redundancy.reset(salted)
    pico.chip.core.set(c.XPSR, 0x01000000 | 5 << 28)
    run_in_ram(pico, MRC_STATUS)
    assert pico.chip.core.get(c.XPSR) >> 28 == (8 if salted else 0) and pico.chip.core.count > 0


def test_the_salt_is_loaded_once() -> None:
    pico = started()
    pico.chip.redundancy.reset()
    run_in_ram(pico, MCRR_SALT_0)
    assert pico.chip.redundancy.salted == [True, False] and pico.chip.fault is None
    run_in_ram(pico, MCRR_SALT_0)
    assert "loaded twice" in str(pico.chip.fault)


# stack limits


def test_a_push_below_the_limit_is_a_usage_fault_and_the_memory_is_kept() -> None:
    pico = Pico2()
    pico.load(image(programs.STACK_LIMIT, {HARD_FAULT: 0x40}))
    pico.chip.core.poke(STACK - 256 - 8, b"kept" * 2)
    pico.run()
    # The frame of the fault is below the limit as well: without room for it the core cannot go on.
    assert pico.chip.fault is not None and "is below the stack's limit" in str(pico.chip.fault)
    assert pico.chip.scb.value["CFSR"] == STACK_LIMIT and pico.r(2) == 1
    assert pico.chip.core.peek(STACK - 256 - 8, 8) == b"kept" * 2


@given(st.integers(0, 0x3FF).map(lambda n: 0x20000000 + 8 * n), st.integers(0, 0x3FF).map(lambda n: 0x20000000 + 8 * n))
def test_the_limits_are_read_without_a_trace(main: int, process: int) -> None:
    pico = _sleeping()
    chip = pico.chip
    before = chip.core.count, [chip.core.get(r) for r in (*c.R, c.SP, c.LR, c.PC, c.XPSR)]
    chip._limits.write(main, process)
    assert (chip._limits.read(False), chip._limits.read(True)) == (main, process)
    assert [chip.halting.read_register(n) for n in (28, 29, 30, 31)] == [main, process, 0, 0]
    assert (chip.core.count, [chip.core.get(r) for r in (*c.R, c.SP, c.LR, c.PC, c.XPSR)]) == before


_SLEEPING: list[Pico2] = []


def _sleeping() -> Pico2:
    if not _SLEEPING:
        _SLEEPING.append(started())
    return _SLEEPING[0]


def test_a_reset_clears_the_limits() -> None:
    pico = started()
    pico.chip._limits.write(0x20000000, 0x20000100)
    pico.chip.reset()
    assert [pico.chip._limits.read(which) for which in (False, True)] == [0, 0]


# MPU, SAU and debug


def region(pico: Pico2, number: int, first: int, last: int) -> None:
    pico.write(MPU_RNR, number)
    pico.write(MPU_RBAR, first | 1)
    pico.write(MPU_RLAR, last & ~31 | 1)


def test_regions_of_the_mpu_are_kept_by_number_and_by_alias() -> None:
    pico = started()
    for number in range(8):
        region(pico, number, 0x20000000 + 0x1000 * number, 0x20000FFF + 0x1000 * number)
    pico.write(MPU_CTRL, 5)
    pico.write(MPU_RNR, 4)
    for alias in range(4):
        assert pico.read(MPU_RBAR + 8 * alias) == 0x20004001 + 0x1000 * alias
        assert pico.read(MPU_RLAR + 8 * alias) == 0x20004FE1 + 0x1000 * alias
    with pytest.raises(ModelFault, match="MPU regions 4 and 5 overlap at 0x20005000"):
        pico.write(MPU_RLAR, 0x20005001)


def test_overlapping_regions_are_found_when_the_mpu_is_switched_on() -> None:
    pico = started()
    region(pico, 0, 0x20000000, 0x20000FFF)
    region(pico, 1, 0x20000FE0, 0x20001FFF)
    with pytest.raises(ModelFault, match="overlap at 0x20000FE0"):
        pico.write(MPU_CTRL, 1)


def test_areas_of_the_sau_are_kept() -> None:
    pico = started()
    for number in range(8):
        pico.write(SAU_RNR, number)
        pico.write(SAU_RBAR, 0x1000 * number)
        pico.write(SAU_RLAR, 0x1000 * number + 0xFE1)
    pico.write(SAU_RNR, 3)
    assert (pico.read(SAU_RBAR), pico.read(SAU_RLAR)) == (0x3000, 0x3FE1)


def test_a_debugger_sees_the_secure_state() -> None:
    pico = started()
    bus = pico.chip.bus
    assert bus.read(DSCSR, 4) == 1 << 16
    bus.write(DSCSR, 4, 0)  # the core may not write it
    bus.debugger = True
    assert bus.read(DSCSR, 4) == 1 << 16 and bus.read(DHCSR, 4) >> 20 & 1 and bus.read(DEMCR, 4) >> 20 & 1
    with pytest.raises(ModelFault, match="the Non-secure state is not modelled"):
        bus.write(DSCSR, 4, 0)


def test_the_cycle_counter_needs_trace_and_no_key() -> None:
    pico = started()
    dwt = 0xE0001000
    with pytest.raises(ModelFault, match="trace is off"):
        pico.read(dwt)
    pico.write(DEMCR, 1 << 24)
    assert pico.read(dwt) >> 28 == 4 and not pico.read(dwt) >> 25 & 1  # comparators, and NOCYCCNT
    pico.write(dwt + 4, 100)
    pico.write(dwt, 1)
    before = pico.chip.core.count
    run_in_ram(pico, "00bf" * 50)
    assert pico.read(dwt + 4) == 100 + pico.chip.core.count - before


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (0xD00, 0x411FD210), (0xD44, 0x210), (0xD60, 0x01141110), (0xD90, 8 << 8), (0xDD4, 8), (0xF40, 0x10110021),
        (0xF44, 0x11000011), (0x004, 1), (0xFBC, 0x47702A04), (0xD14, 0x201),
    ],
)  # fmt: skip
def test_it_says_who_it_is(offset: int, value: int) -> None:
    """Cortex-M33 r1p0 with Security Extension, DSP, coprocessors, 8 MPU and SAU regions, FPv5-SP (ARM 100230)."""
    assert _sleeping().read(0xE000E000 + offset) == value


@pytest.mark.parametrize(("start", "address"), [(0x10000200, 0x10000202), (0x20000100, 0x20000104)])
def test_a_breakpoint_may_be_in_flash_and_in_ram(start: int, address: int) -> None:
    pico = started()
    bus, chip = pico.chip.bus, pico.chip
    chip.core.poke(0x20000100, b"\x00\xbf" * 8 + b"\xfe\xe7")
    bus.debugger = True
    bus.write(DHCSR, 4, 0xA05F0003)
    bus.write(0xE0002008, 4, address | 1)
    bus.write(0xE0002000, 4, 3)
    chip.core.set(c.PC, start | 1)
    bus.write(DHCSR, 4, 0xA05F0001)
    for _ in range(3):
        chip.advance(1000)
    assert chip.halting.halted and chip.core.get(c.PC) == address


@pytest.mark.parametrize("back", [0xFFFFFFB9, 0xFFFFFFFB, 0xFFFFFFF1])
def test_a_return_that_is_not_one_to_the_secure_thread(back: int) -> None:
    """The Non-secure state, a reserved bit, and a handler that is not there."""
    pico = started()
    chip, core = pico.chip, pico.chip.core
    table = 0x20000800
    core.poke(table, core.peek(XIP, 0x110))
    core.poke(table + 4 * 11, (0x20000101).to_bytes(4, "little"))
    core.poke(0x20000100, b"\x28\x47")  # bx r5
    core.set(c.R[5], back)
    chip.scb.value["VTOR"] = table
    run_in_ram(pico, "00df")  # svc #0
    assert chip.fault is not None and "does not fit" in str(chip.fault)


def test_exceptions_nest_with_floating_point_and_come_back() -> None:
    """PendSV with the FPU in use: the extended frame, the EXC_RETURN of the Secure state, and the registers after it."""
    pico = started()
    chip, core = pico.chip, pico.chip.core
    pico.write(CPACR, 0xF << 20 | 3 << 14)
    table = 0x20000800
    core.poke(table, chip.core.peek(XIP, 0x110))
    core.poke(table + 4 * 14, (0x20000101).to_bytes(4, "little"))
    core.poke(0x20000100, bytes.fromhex("7446eff305857047"))  # mov r4, lr; mrs r5, ipsr; bx lr
    chip.scb.value["VTOR"] = table
    core.set(c.S[0], 0x3FC00000)
    core.set(c.R[0], 0xE000ED04)
    core.set(c.R[1], 1 << 28)
    # vadd.f32 s1, s0, s0; str r1, [r0]; dsb; vadd.f32 s2, s1, s0
    run_in_ram(pico, "70ee000a0160bff34f8f30ee801a")
    assert (pico.r(4), pico.r(5)) == (0xFFFFFFE9, 14)
    assert (core.get(c.S[1]), core.get(c.S[2])) == (0x40400000, 0x40900000)
