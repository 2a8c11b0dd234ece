"""The virtual RP2350 starts what its boot ROM starts, and says why it does not start the rest."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.rp2350.picobin import NoImage, find_image

from . import rp2350_programs as programs
from .pico2 import ARM_SECURE, BLOCK, CODE, STACK, XIP, Pico2, behind_start, block, image, image_def, item, started

SLEEP = b"\x30\xbf\xfd\xe7"  # 1: wfi; b 1b
SET_R7 = b"\x07\x27" + SLEEP  # movs r7, #7


def booted(data: bytes) -> Pico2:
    pico = Pico2()
    pico.load(data)
    pico.run()
    return pico


def refusal(pico: Pico2) -> str:
    assert pico.chip.fault is None and pico.r(7) != 7
    return next(line for line in pico.log if line.startswith("boot ROM: "))


def test_an_image_starts_with_its_vector_table_stack_and_state() -> None:
    pico = booted(image(SET_R7))
    chip = pico.chip
    assert pico.r(7) == 7 and chip.core.get(c.SP) == STACK and chip.scb.value["VTOR"] == XIP
    assert chip.clock.hz == chip.rosc.hz  # clk_sys still comes from the ring oscillator
    assert chip.scb.value["DSCSR"] >> 16 & 1  # Secure
    assert not chip.pads.connects(0)  # isolated until the program clears ISO


def test_the_uart_answers_at_921600_baud() -> None:
    pico = Pico2()
    pico.load(image(behind_start(programs.ECHO)))
    for i in range(200):  # it polls without an end
        pico.chip.advance(20_000)
        pico.chip.uart0.feed(b"Pico 2" if i == 20 else b"")
    assert bytes(pico.sent) == b"Pico 2" and pico.chip.clock.hz == 150_000_000


def test_an_entry_point_and_a_stack_limit_of_the_block_win() -> None:
    blocks = image_def(item(0x44, XIP + CODE + 4 | 1, STACK + 0x100, STACK))
    pico = booted(image(b"\0\xde\0\xde" + SET_R7, blocks=blocks))
    assert pico.r(7) == 7 and pico.chip.core.get(c.SP) == STACK + 0x100
    assert pico.chip.halting.read_register(28) == STACK  # MSPLIM_S


def test_a_vector_table_elsewhere() -> None:
    moved = image_def(item(0x03, XIP + 0x400))
    data = image(b"\0\xde", blocks=moved).ljust(0x400, b"\0") + struct.pack("<2I", STACK, XIP + 0x409) + SET_R7
    pico = booted(data)
    assert pico.r(7) == 7 and pico.chip.scb.value["VTOR"] == XIP + 0x400


def test_the_last_image_of_the_loop_is_taken() -> None:
    first = image_def(item(0x44, XIP + CODE | 1, STACK), next_block=0x200)
    data = image(b"\0\xde" + SET_R7, blocks=first).ljust(BLOCK + 0x200, b"\0")
    pico = booted(data + image_def(item(0x44, XIP + CODE + 2 | 1, STACK), next_block=-0x200))
    assert pico.r(7) == 7


@pytest.mark.parametrize("place", [0, 4, 0xFF0, 0xFFC])
def test_the_first_block_may_begin_anywhere_in_the_first_4_kb(place: int) -> None:
    code = XIP + 0x1100
    flash = b"\0" * place + image_def(item(0x44, code | 1, STACK))
    assert booted(flash.ljust(0x1100, b"\0") + SET_R7).r(7) == 7


@pytest.mark.parametrize(
    ("blocks", "why"),
    [
        (b"", "no block begins in the first 4096 bytes"),
        (b"\0" * 0x1000 + image_def(), "no block begins in the first 4096 bytes"),
        (image_def()[:-1] + b"\0", "no block begins"),  # a wrong end marker
        (image_def(item(0x48, 1)).replace(b"\xff\x03\0\0", b"\xff\x02\0\0"), "no block begins"),  # a wrong size
        (block(item(0x48, 0)), "no IMAGE_DEF"),
        (image_def(kind=0x0001), "is for chip 0"),
        (image_def(kind=0x1101), "not for the Arm cores"),
        (image_def(kind=0x1011), "Non-secure"),
        (image_def(kind=ARM_SECURE | 1 << 15), "try before you buy"),
        (image_def(kind=0x1022), "no IMAGE_DEF"),  # data
        (image_def(item(0x06, 1, 2, 3, half=0x0100)), "a load map"),
        (image_def(item(0x05, 0x1000)), "a rolling window"),
        (image_def(item(0x44, XIP)), "has 2 words"),
        (block(item(0x0A, 0, half=0)), "partition table"),
        (image_def(next_block=0x40), "the block loop is broken at 0x150"),
        (image_def(next_block=-16), "the block loop is broken"),
    ],
)  # fmt: skip
def test_an_image_that_the_rom_does_not_start(blocks: bytes, why: str) -> None:
    data = struct.pack("<68I", STACK, XIP + CODE | 1, *[0] * 66) + blocks
    pico = booted(data.ljust(CODE, b"\0") + SET_R7)
    assert why in refusal(pico) and refusal(pico).endswith("the chip waits in USB boot")
    assert pico.chip.clock.hz == 48_000_000 and not pico.chip.scb.value["DSCSR"] >> 16 & 1


def test_a_reset_of_the_core_keeps_the_clocks_of_usb_boot() -> None:
    """As after a debugger has flashed a new chip: clk_ref comes from PLL_USB and is divided by 2."""
    pico = booted(b"")
    data = image(SET_R7)
    pico.chip.contents[: len(data)] = list(data)
    pico.chip.core.code_changed()
    pico.chip.reset()
    pico.run()
    assert pico.r(7) == 7 and (pico.chip.clock.hz, pico.chip.clocks.ref_hz()) == (48_000_000, 24_000_000)


def test_a_started_chip_that_finds_no_image_restarts_into_usb_boot() -> None:
    """The ROM does not set its USB clocks up over those of a program."""
    pico = started()
    pico.chip.contents[:] = 0xFF
    pico.chip.core.code_changed()
    pico.chip.reset()
    pico.run()
    assert refusal(pico).endswith("first 4096 bytes of the flash: the chip restarts into USB boot")
    assert pico.chip.watchdog.value["REASON"] == 1 and pico.chip.clock.hz == 48_000_000


WORDS = st.sampled_from([
    0xFFFFDED3, 0xAB123579, 0x10210142, 0x000001FF, 0x000003FF, 0x00000244, 0x00000103, 0x8000007E, 0, 4, 8, 16, 64,
    0xFFFFFFF0, 0x80000000, XIP, XIP + CODE | 1, STACK,
])  # fmt: skip


@given(st.lists(WORDS, max_size=60), st.integers(0, 20))
def test_any_contents_are_an_image_or_refused_with_a_reason(words: list[int], gap: int) -> None:
    flash = b"\0" * 4 * gap + struct.pack(f"<{len(words)}I", *words)
    try:
        found = find_image(flash.ljust(0x1100, b"\xff"), XIP)
    except NoImage as why:
        assert str(why)
    else:
        assert 0xFFFFDED3 in words and 0x10210142 in words and found.limit >= 0


def test_a_program_for_the_rp2040_is_not_started() -> None:
    assert "no block begins" in refusal(booted(b"\0" * 0x100 + struct.pack("<2I", STACK, XIP + 0x200 | 1)))


def rebooted(flags: int, first: int = 0, second: int = 0) -> Pico2:
    data = bytearray(image(behind_start(programs.REBOOT[:0x40] + struct.pack("<4I", flags, 3, first, second))))
    return booted(bytes(data))


def test_a_restart_to_the_boot_loader() -> None:
    pico = rebooted(0x102)
    assert "the program has asked for the boot loader" in refusal(pico)
    assert pico.chip.watchdog.value["REASON"] == 1 and pico.chip.clock.hz == 48_000_000
    assert pico.chip.watchdog.value["SCRATCH4"] == 0  # it is asked for once only


def test_a_restart_to_a_vector() -> None:
    pico = Pico2()
    pico.load(image(behind_start(programs.REBOOT[:0x40] + struct.pack("<4I", 0x10D, 3, 0x20004001, 0x20005000))))
    pico.chip.core.poke(0x20004000, SET_R7)
    pico.run()
    assert pico.r(7) == 7 and pico.chip.core.get(c.SP) == 0x20005000


def test_an_unknown_restart_is_refused() -> None:
    assert rebooted(0x107).r(6) == -5 & 0xFFFFFFFF


def test_a_power_cycle_starts_the_image_anew() -> None:
    pico = started(programs.MARKER)
    chip, rng = pico.chip, np.random.default_rng(4)
    chip.watchdog.value["SCRATCH0"] = 7
    before = bytes(chip.core.peek(0x20040000, 64))
    for on in (False, True):
        chip.switch(on, rng)
    assert chip.watchdog.value["SCRATCH0"] == 0 and bytes(chip.core.peek(0x20040000, 64)) != before
    pico.run()
    assert chip.fault is None and [edge[2] for edge in pico.edges] == [1, 0, 1, 0] * 2
