"""The virtual i.MX RT1062 from power-on: what its boot ROM takes and refuses, in which state it hands over, and what a reset keeps."""

from __future__ import annotations

import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.imxrt1062 import rom
from hil.standins.virtual.chip.imxrt1062.chip import HAND_OVER

from . import teensy
from .teensy import CODE, ENTRY, FLASH, IVT, REST, STACK, Teensy, config, image

GPR14, GPR16, GPR17 = 0x400AC038, 0x400AC040, 0x400AC044
AIRCR, VECTRESET, SYSRESETREQ = 0xE000ED0C, 0x05FA0001, 0x05FA0004
OURS = 0x555555AF


@pytest.fixture
def board() -> Teensy:
    return Teensy()


def test_an_image_with_good_headers_is_started_from_its_vector_table(board: Teensy) -> None:
    board.load(image(REST))
    board.run()
    assert board.chip.fault is None and board.log == []
    assert board.chip.asleep and CODE <= board.pc < CODE + len(REST)
    assert board.chip.core.get(c.SP) == STACK
    assert board.chip.clock.hz == 396_000_000


def test_an_entry_that_is_an_instruction_is_started_too(board: Teensy) -> None:
    board.load(image(REST, x04=CODE | 1))
    board.run()
    assert board.chip.asleep and CODE <= board.pc < CODE + len(REST)


@pytest.mark.parametrize("flash_config", [
    config(), config(x084=0x26043206, x088=0),  # EBh with six dummy cycles, its mode bits floating
    config(b046=2, x080=0x08180403, x084=0x2404, x088=0),  # 03h on one line
    config(x088=0x7C012604, x084=0x32041E20),  # as PJRC has it: continuous read mode
])  # fmt: skip
def test_every_way_of_reading_that_the_flash_knows_boots(board: Teensy, flash_config: bytes) -> None:
    board.load(image(REST, flash_config))
    board.run()
    assert CODE <= board.pc < CODE + len(REST), board.log


WRONG_CONFIGS = {
    "its tag is 0xFFFFFFFF": b"\xff" * 512,
    "its tag is 0x46434647": config(x000=0x46434647),
    "version 0x57010000": config(x004=0x57010000),
    "device type 2": config(b044=2),
    "3 pads": config(b045=3),
    "clock 0": config(b046=0),
    "0 bytes of flash": config(x050=0),
    "not one that this flash supports": config(x080=0x0A18040B),
    "more pads than the 1": config(b045=1),
    "32 address bits": config(x080=0x0A2004EB),
    "166000000 Hz, command EBh": config(b046=9),
    "60000000 Hz, command 03h": config(b046=3, x080=0x08180403, x084=0x2404, x088=0),
}


@pytest.mark.parametrize("message", WRONG_CONFIGS)
def test_a_wrong_flash_configuration_block_does_not_boot(board: Teensy, message: str) -> None:
    board.load(image(REST, WRONG_CONFIGS[message]))
    board.run()
    assert board.chip.asleep and rom.BASE <= board.pc < rom.BASE + rom.ROM_SIZE
    assert len(board.log) == 1 and message in board.log[0] and "serial downloader" in board.log[0]


@pytest.mark.parametrize(("changes", "message"), [
    ({"x00": 0xFFFFFFFF}, "its header is 0xFFFFFFFF"), ({"x00": 0x412100D1}, "its header"), ({"x00": 0x512000D1}, "its header"),
    ({"x14": IVT + 4}, "gives its address as 0x60001004"), ({"x10": 0x20000000}, "boot data are at 0x20000000"),
    ({"x20": 0x60002000}, "bytes from 0x60002000"), ({"x24": 0x1000}, "boot data give 4096 bytes"), ({"x24": 3 << 20}, "boot data give"),
    ({"x28": 1}, "plug-in 1"), ({"x0c": 0x60000200}, "device configuration data"), ({"x04": 0x20000000}, "entry 0x20000000 is outside"),
    ({"x04": FLASH + (1 << 20)}, "is outside the image"), ({"x2c": 0x30000000}, "where there is no memory"), ({"x2c": STACK + 2}, "where there is"),
    ({"x30": CODE}, "which is not an instruction of the image"), ({"x30": 0x20000001}, "which is not an instruction of the image"),
])  # fmt: skip
def test_wrong_tables_do_not_boot(board: Teensy, changes: dict[str, int], message: str) -> None:
    board.load(image(REST, **changes))
    board.run()
    assert board.chip.asleep and board.pc < ENTRY
    assert len(board.log) == 1 and message in board.log[0]


def test_the_rom_hands_over_with_most_gates_closed(board: Teensy) -> None:
    board.load(image(REST))
    board.run()
    for name, value in HAND_OVER.items():
        assert board.chip.ccm.value[name] == value or name == "CLPCR"
    with pytest.raises(teensy.ModelFault, match=r"LPUART6_BAUD .*: its clock is off; set CCM_CCGR3.CG3 first"):
        board.write(0x40198010, 0)
    with pytest.raises(teensy.ModelFault, match=r"its clock is off; set CCM_CCGR5.CG3 first"):
        board.read(0x400E8000)


def test_a_program_that_leaves_the_watchdog_running_is_stopped(board: Teensy) -> None:
    board.load(image(b"\xfe\xe7"))  # b .
    for _ in range(30):
        board.chip.advance()
    assert "RTWDOG expires 31 ms after the program began" in str(board.chip.fault)


def test_sleep_that_stops_the_chip_is_found(board: Teensy) -> None:
    board.load(image(b"\x30\xbf\xfd\xe7"))  # wfi, with CCM_CLPCR as after reset
    board.run()
    assert "CCM_CLPCR.LPM other than 0" in str(board.chip.fault)


def test_nothing_can_be_read_from_the_flash_before_somebody_has_set_up_the_flexspi(board: Teensy) -> None:
    board.load(image(REST))
    assert "the FlexSPI has not been set up" in str(board.chip.core.closed_reason(FLASH))
    board.run()
    assert board.chip.core.closed_reason(FLASH) is None
    board.modify(0x400FC080, 3 << 10, 0)
    assert "CCM_CCGR6.CG5 is off" in str(board.chip.core.closed_reason(FLASH))


# FlexRAM


def shares(board: Teensy) -> tuple[int, int, int]:
    """Return the bytes of ITCM, DTCM and OCRAM that answer, found by asking, a bank at a time."""
    out = []
    for base, size in ((0, 1 << 19), (0x20000000, 1 << 19), (0x20200000, 1 << 20)):
        answering = [a for a in range(base, base + size, 1 << 15) if board.chip.core.closed_reason(a) is None]
        assert answering == list(range(base, base + len(answering) * (1 << 15), 1 << 15))
        out.append(len(answering) << 15)
    return out[0], out[1], out[2]


def test_flexram_is_cut_by_fuses_and_then_by_registers(board: Teensy) -> None:
    board.load(image(REST))
    board.run()
    kb = 1024
    assert shares(board) == (128 * kb, 128 * kb, (512 + 256) * kb)
    board.write(GPR17, OURS)
    assert shares(board) == (128 * kb, 128 * kb, (512 + 256) * kb), "not selected yet"
    board.write(GPR16, 0x200007)
    board.write(GPR14, 0x00770000)
    assert shares(board) == (64 * kb, 64 * kb, (512 + 384) * kb)
    board.write(GPR17, 0xAAAAAAAA)
    assert shares(board) == (0, 64 * kb, 512 * kb), "DTCM has all banks, but the core believes in 64 KB"
    board.write(GPR14, 0x00A00000)
    assert shares(board) == (0, 512 * kb, 512 * kb)


def test_what_flexram_held_is_gone_with_its_cut(board: Teensy) -> None:
    board.load(image(REST))
    board.run()
    for address in (0x20000000, 0x20200000, 0x20280000):
        board.chip.core.poke(address, b"trainrig" * 8)
    board.write(GPR17, OURS)
    board.write(GPR14, 0x00770000)
    board.write(GPR16, 0x200007)
    held = [board.chip.core.peek(address, 64) == b"trainrig" * 8 for address in (0x20000000, 0x20200000, 0x20280000)]
    assert held == [False, True, False]


def test_a_store_behind_the_cut_stops_the_program(board: Teensy) -> None:
    # movs r0, #0x20 ; lsls r0, #24 ; movs r1, #1 ; lsls r1, #17 ; adds r0, r1 ; str r0, [r0]: to DTCM + 128 KB
    board.load(image(bytes.fromhex("202000060121490440180060")))
    board.run()
    assert "write of 4 bytes at 0x20020000" in str(board.chip.fault) and "FlexRAM gives it no more banks" in str(
        board.chip.fault
    )


# resets


def test_a_reset_of_the_core_keeps_peripherals_and_one_of_the_chip_keeps_flexram(board: Teensy) -> None:
    board.load(image(REST))
    board.run()
    board.write(GPR17, OURS)
    board.write(GPR16, 0x200007)
    board.modify(0x400FC078, 0, 3 << 2)
    board.write(0x401F8024, 2)
    board.write(AIRCR, VECTRESET)
    board.run()
    assert (board.read(0x401F8024), board.read(GPR17)) == (2, OURS)
    assert CODE <= board.pc < CODE + len(REST) and board.chip.fault is None
    board.write(AIRCR, SYSRESETREQ)
    board.chip.reset()
    assert "the FlexSPI has not been set up" in str(board.chip.core.closed_reason(FLASH))
    board.run()
    assert (board.read(0x401F8024), board.read(GPR17)) == (5, OURS)
    assert CODE <= board.pc < CODE + len(REST) and board.chip.fault is None
