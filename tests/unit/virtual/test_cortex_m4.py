"""The Cortex-M4 of the virtual nRF52840: floating point across exceptions, DSP instructions, its own registers."""

from __future__ import annotations

import struct

import pytest

from hil.standins.virtual.chip.fault import ModelFault

from .nrf import CODE, Dk

SCB, DWT, FPB = 0xE000E000, 0xE0001000, 0xE0002000
IRQ = 5  # of no peripheral that is modelled

#     ldr r4, =0xE000ED88
#     ldr r5, =0x00F00000
#     str r5, [r4]
#     dsb
#     isb
#     vmov.f32 s0, #2.0
#     vmov.f32 s20, #3.0
#     vadd.f32 s1, s0, s20
#     ldr r4, =0xE000E100
#     movs r5, #0x20
#     str r5, [r4]
#     ldr r4, =0xE000E200
#     str r5, [r4]
#     nop
#     vadd.f32 s2, s0, s20
#     vmov r0, s2
#     ldr r1, =0x00030002
#     ldr r2, =0x00050007
#     movs r3, #1
#     smlad r1, r1, r2, r3
#     vmov r2, s1
#     1: wfi
#     b 1b
#     .align 2
#     handler:
#     vmov.f32 s0, #10.0
#     vmov.f32 s1, #10.0
#     mrs r3, ipsr
#     mov r6, lr
#     movs r7, r3
#     bx lr
FLOAT_AND_INTERRUPT = bytes.fromhex(
    "154c4ff470052560bff34f8fbff36f8fb0ee000ab0ee08aa70ee0a0a0f4c202525600f4c256000bf30ee0a1a11ee100a0c490d4a012321fb"
    "023110ee902a30bffde700bfb2ee040af2ee040aeff3058376461f00704700bf88ed00e000e100e000e200e00200030007000500"
)
HANDLER = 0x44


def bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


@pytest.fixture
def dk() -> Dk:
    return Dk()


def test_an_interrupt_leaves_floating_point_as_it_was(dk: Dk) -> None:
    dk.load(FLOAT_AND_INTERRUPT, {16 + IRQ: HANDLER})
    dk.run()
    assert dk.chip.fault is None and dk.chip.asleep
    assert dk.r(0) == dk.r(2) == bits(5.0)
    assert (dk.r(6), dk.r(7)) == (0xFFFFFFE9, 16 + IRQ), "an extended frame, and the number of the exception"
    assert dk.r(1) == 2 * 7 + 3 * 5 + 1, "SMLAD"


def test_floating_point_is_off_until_it_is_turned_on(dk: Dk) -> None:
    dk.load(FLOAT_AND_INTERRUPT[16:], {3: 0, 6: 0})
    dk.chip.advance()
    assert dk.read(SCB + 0xD28) >> 19 & 1 == 1, "CFSR.NOCP"


def test_a_coprocessor_that_is_not_there_faults_once(dk: Dk) -> None:
    dk.load(bytes.fromhex("10ee1007") + b"\0" * 12 + b"\x30\xbf\xfd\xe7", {3: 16, 6: 16})  # mrc p7, #0, r0, c0, c0, #0
    dk.run()
    assert dk.read(SCB + 0xD28) == 1 << 19, "CFSR.NOCP"
    assert dk.chip.fault is None and dk.chip.nvic.active == [3]


def test_it_says_who_it_is(dk: Dk) -> None:
    assert dk.read(SCB + 0xD00) == 0x410FC241
    assert dk.read(SCB + 0x004) == 1, "ICTR: 33 to 64 interrupts"
    assert dk.read(SCB + 0xD90) == 8 << 8
    dk.write(SCB + 0xD23 & ~3, 0xE0E00000)
    assert dk.chip.nvic.priority[15] == dk.chip.nvic.priority[14] == 0xE0
    with pytest.raises(ModelFault, match="reserved bits"):
        dk.write(SCB + 0xD1C, 0x10000000)  # the fourth bit of a priority


@pytest.mark.parametrize("offset", [0xD80, 0xF50, 0xF60, 0xF90])
def test_it_has_no_caches(dk: Dk, offset: int) -> None:
    with pytest.raises(ModelFault, match="no register there"):
        dk.write(SCB + offset, 0)
    dk.chip.bus.debugger = True
    assert dk.read(SCB + offset) == 0


def test_the_cycle_counter_needs_trace_and_no_key(dk: Dk) -> None:
    with pytest.raises(ModelFault, match=r"DEMCR\.TRCENA"):
        dk.write(DWT, 1)
    dk.write(SCB + 0xDFC, 1 << 24)
    dk.write(DWT + 4, 0)
    dk.write(DWT, 1)
    assert dk.read(DWT) & 1
    with pytest.raises(ModelFault, match="no register there"):
        dk.write(DWT + 0xFB0, 0xC5ACCE55)


@pytest.mark.parametrize(("replace", "halfwords"), [(1, [0]), (2, [2]), (3, [0, 2])])
def test_a_comparator_breaks_at_halfwords_of_a_word(dk: Dk, replace: int, halfwords: list[int]) -> None:
    dk.write(FPB, 3)
    dk.write(FPB + 8, replace << 30 | CODE + 8 | 1)
    assert set(dk.chip.core._breakpoints) == {CODE + 8 + place for place in halfwords}
    dk.write(FPB, 2)
    assert not dk.chip.core._breakpoints
    with pytest.raises(ModelFault, match="does not have"):
        dk.write(FPB + 8 + 4 * 6, 1)  # a comparator for literals
