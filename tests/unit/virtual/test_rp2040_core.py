"""The virtual Cortex-M0+: what Armv6-M does not have faults as on silicon, whatever Unicorn would accept."""

from __future__ import annotations

import struct

import pytest

from hil.standins.virtual.chip.fault import ModelFault

from . import rp2040_programs as programs
from .pico import CODE, HARD_FAULT, SVCALL, SYSTICK, XIP, Pico, behind_start, image

UNDEFINED = {
    "udiv": (0xFBB0, 0xF1F2), "ldrd": (0xE9D0, 0x1200), "movw": (0xF240, 0x0005), "mov.w": (0xF04F, 0x0005),
    "add.w": (0xF102, 0x0203), "b.w": (0xF000, 0xB800), "beq.w": (0xF000, 0x8000), "mla": (0xFB02, 0x3304),
    "smull": (0xFB81, 0x2304), "ldrex": (0xE850, 0x1F00), "clz": (0xFAB0, 0xF180), "ldr.w": (0xF8D0, 0x1000),
    "push.w": (0xE92D, 0x4010), "tbb": (0xE8D0, 0xF001), "ssat": (0xF300, 0x0107), "vadd": (0xEE30, 0x0A00),
    "udf": (0xDE00, 0x46C0), "udf.w": (0xF7F0, 0xA000), "it": (0xBF08, 0x2001), "cbz": (0xB100, 0x46C0),
    "cbnz": (0xB900, 0x46C0), "setend": (0xB650, 0x46C0), "cpsid f": (0xB671, 0x46C0), "hlt": (0xBA80, 0x46C0),
    "mrs basepri": (0xF3EF, 0x8011), "msr faultmask": (0xF380, 0x8813),
}  # fmt: skip
DEFINED = {
    "nop": (0xBF00, 0x46C0), "bl": (0xF000, 0xF800), "dsb": (0xF3BF, 0x8F4F), "dmb": (0xF3BF, 0x8F5F), "isb": (0xF3BF, 0x8F6F),
    "mrs primask": (0xF3EF, 0x8110), "msr primask": (0xF381, 0x8810), "cpsid i": (0xB672, 0xB662), "muls": (0x4349, 0x46C0),
    "rev": (0xBA09, 0x46C0), "uxtb": (0xB2C9, 0x46C0), "sev": (0xBF40, 0x46C0),
}  # fmt: skip
UNALIGNED = {"ldr": 0x6801, "str": 0x6001, "ldrh": 0x8801, "strh": 0x8001, "ldm": 0xC806, "stm": 0xC006}


def with_code(first: int, second: int) -> Pico:
    chip = Pico()
    program = programs.FAULT[:6] + struct.pack("<2H", first, second) + programs.FAULT[10:]
    chip.load(image(program, {HARD_FAULT: 0x40}))
    chip.run()
    assert chip.chip.fault is None
    return chip


@pytest.mark.parametrize("name", UNDEFINED)
def test_an_instruction_of_later_architectures_is_a_hard_fault(name: str) -> None:
    chip = with_code(*UNDEFINED[name])
    assert chip.r(7) == 7 and chip.r(3) != 9
    assert chip.r(6) == XIP + CODE + 6  # the stacked pc is that of the instruction
    assert any("UNDEFINSTR" in line or "NOCP" in line for line in chip.log)


@pytest.mark.parametrize("name", DEFINED)
def test_an_instruction_of_armv6m_is_executed(name: str) -> None:
    chip = with_code(*DEFINED[name])
    assert chip.r(3) == 9 and chip.log == []


@pytest.mark.parametrize("name", UNALIGNED)
def test_an_unaligned_access_is_a_hard_fault(name: str) -> None:
    chip = with_code(UNALIGNED[name], 0x46C0)
    assert chip.r(7) == 7 and chip.r(6) == XIP + CODE + 6 and chip.r(3) != 9
    assert chip.chip.core.count == 18 + 3 + 3  # second stage, before the access, handler up to its WFI


def test_a_byte_may_be_anywhere() -> None:
    assert with_code(0x7801, 0x46C0).r(3) == 9  # ldrb


def test_a_fault_in_the_handler_locks_up() -> None:
    chip = Pico()
    chip.load(image(programs.FAULT[:6] + struct.pack("<2H", 0xDE00, 0xDE00), {HARD_FAULT: 0x08}))
    chip.run()
    assert chip.chip.lockup


def test_exceptions_on_two_stacks() -> None:
    chip = Pico()
    chip.load(image(programs.PROCESS_STACK, {SVCALL: 0x40}))
    chip.run()
    assert chip.chip.fault is None and chip.chip.asleep
    assert chip.r(4) == 0xFFFFFFFD
    assert chip.r(6) == chip.r(7) == 0x20001000
    assert chip.r(5) == 0x20002000


@pytest.mark.parametrize(("setting", "period_s"), [(7, 1000 / 125e6), (3, 1000 / 1e6)])
def test_systick_counts_the_core_clock_or_the_tick(setting: int, period_s: float) -> None:
    chip = Pico()
    program = struct.pack("<H", 0x2500 | setting) + programs.SYSTICK[2:]  # movs r5, #setting
    chip.load(image(behind_start(program), {SYSTICK: 0x180}))
    while not chip.read(0xE000E010) & 1:
        chip.chip.advance(20)
    start = chip.chip.clock.now
    chip.run()
    assert chip.chip.fault is None and chip.r(7) == 5
    assert abs((chip.chip.clock.now - start) / 1e12 - 5 * period_s) <= 150 / 125e6


def test_what_the_core_does_not_have() -> None:
    chip = Pico()
    assert chip.read(0xE000ED00) == 0x410CC601
    assert chip.read(0xE000ED90) == 0x800
    for address in (0xE000ED28, 0xE000ED2C, 0xE000ED88, 0xE000ED24 + 0xDC):  # CFSR, HFSR, CPACR, STIR
        with pytest.raises(ModelFault, match="no register|no peripheral"):
            chip.read(address)
    with pytest.raises(ModelFault, match="no register"):
        chip.read(0xE0001004)  # DWT_CYCCNT
    chip.write(0xE000E400, 0xFFFFFFFF)
    assert chip.read(0xE000E400) == 0xC0C0C0C0


def test_the_speed_of_the_clock_is_one_instruction_a_cycle() -> None:
    chip = Pico()
    chip.load(image(behind_start(programs.MARKER)))
    chip.run()
    (_, _, high, up), (_, _, low, down) = chip.edges[:2]
    assert (high, low) == (1, 0) and down - up == 202 * 8000
