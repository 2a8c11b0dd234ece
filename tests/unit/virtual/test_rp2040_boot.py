"""The virtual RP2040 from power-on: the boot ROM's check, second stages, USB boot, reset of the core alone, ROM routines."""

from __future__ import annotations

import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.rp2040.rom import BOOT2, crc32
from hil.standins.virtual.chip.w25q import UNIQUE_ID

from . import pico
from . import rp2040_programs as programs
from .pico import Pico, behind_start, image

WINDOW, NO_CACHE = 0x10000000, 0x13000000
SSI, SSIENR, BAUDR, SSI_SR, DR0, SPI_CTRLR0 = (0x18000000 + i for i in (0, 0x08, 0x14, 0x28, 0x60, 0xF4))


@pytest.fixture
def chip() -> Pico:
    return Pico()


def test_the_crc_is_that_of_the_published_check_value() -> None:
    assert crc32(b"123456789") == pico.crc32(b"123456789") == 0x0376E6E7  # CRC-32/MPEG-2, the data sheet's parameters
    data = bytes(range(252))
    assert crc32(data) == pico.crc32(data)


@pytest.mark.parametrize("stage", [programs.BOOT2, programs.BOOT2_QUAD])
def test_it_boots_through_the_second_stage(chip: Pico, stage: bytes) -> None:
    chip.load(image(programs.FAULT[:6] + b"\x30\xbf", boot2=stage))
    chip.run()
    assert chip.chip.fault is None and chip.log == []
    assert chip.r(0) == 0x20000001 and chip.chip.core.get(c.SP) == pico.STACK
    assert chip.read(0xE000ED08) == WINDOW + 0x100
    assert chip.chip.core.peek(BOOT2, len(stage)) == stage
    assert chip.chip.core.peek(NO_CACHE, 256) == chip.chip.core.peek(WINDOW, 256) == image(b"", boot2=stage)[:256]


def test_a_flipped_bit_of_the_second_stage_ends_in_usb_boot(chip: Pico) -> None:
    data = bytearray(image(programs.FAULT))
    data[17] ^= 4
    chip.load(bytes(data))
    chip.run()
    assert chip.chip.asleep and chip.chip.fault is None
    assert any("the chip waits in USB boot" in line for line in chip.log)
    assert chip.chip.clock.hz == 48_000_000  # and so does a debugger find it


def test_a_reset_of_the_core_keeps_clocks_and_peripherals(chip: Pico) -> None:
    chip.load(image(behind_start(programs.MARKER)))
    chip.run()
    assert chip.chip.clock.hz == 125_000_000
    chip.write(0xE000ED0C, 0x05FA0004)
    chip.chip.advance(10)
    assert chip.chip.clock.hz == 125_000_000
    assert chip.read(0x4000C000) & 1 << 22 == 0  # UART0 is still out of reset
    assert chip.read(0xE000ED08) == 0
    edges = len(chip.edges)
    chip.run()  # the same program finds its way from there
    assert chip.chip.fault is None and len(chip.edges) == 2 * edges


def test_a_forced_reset_reaches_everything_but_the_scratch_registers(chip: Pico) -> None:
    chip.load(image(behind_start(programs.MARKER)))
    chip.run()
    chip.write(0x4005800C, 0x12345678)
    chip.write(0x4005A000, 1 << 31)
    chip.chip.advance(1)
    assert chip.chip.clock.hz == 6_500_000
    assert chip.read(0x4000C000) >> 22 & 1 and chip.read(0x4005800C) == 0x12345678


def test_a_program_that_runs_on_from_its_closed_window_is_stopped(chip: Pico) -> None:
    chip.load(image(programs.FAULT[:6] + b"\x30\xbf"))
    chip.run()
    chip.write(SSIENR, 0)
    chip.chip.core.set(c.PC, WINDOW + pico.CODE | 1)
    chip.chip.wake()
    chip.chip.advance()
    assert "the SSI is disabled" in str(chip.chip.fault)


@pytest.mark.parametrize(("writes", "message"), [
    ([(SPI_CTRLR0, 0x04000218)], "neither read command 03h nor 0Bh"),
    ([(BAUDR, 3)], "must be even"),
    ([(SSI, 0x00070300)], "reads of 32 bits"),
    ([(SSI, 0x005F0300), (SPI_CTRLR0, 0xA0002022)], "not in continuous read mode"),
])  # fmt: skip
def test_a_window_set_up_wrongly_stays_closed(chip: Pico, writes: list[tuple[int, int]], message: str) -> None:
    chip.load(image(programs.FAULT[:6] + b"\x30\xbf"))
    chip.run()
    assert chip.chip.ssi.closed_reason() is None
    chip.write(SSIENR, 0)
    for address, value in writes:
        chip.write(address, value)
    chip.write(SSIENR, 1)
    assert message in str(chip.chip.ssi.closed_reason())


def test_command_03h_has_its_own_limit(chip: Pico) -> None:
    chip.load(
        image(behind_start(programs.MARKER), boot2=programs.BOOT2.replace(b"\x04\x20\x58\x61", b"\x02\x20\x58\x61"))
    )
    chip.run()
    assert "at most 50000000 Hz" in str(chip.chip.fault)  # fetched no further once clk_sys went to 125 MHz


def test_configuring_an_enabled_ssi_is_refused(chip: Pico) -> None:
    chip.load(image(programs.FAULT[:6] + b"\x30\xbf"))
    chip.run()
    with pytest.raises(ModelFault, match="clear SSIENR first"):
        chip.write(BAUDR, 8)


def send(chip: Pico, *data: int) -> list[int]:
    """Exchange one command with the flash through the SSI in serial mode."""
    for byte in data:
        chip.write(DR0, byte)
    for _ in range(100):
        if not chip.read(SSI_SR) & 1:
            break
        chip.wait(1_000_000)
    return [chip.read(DR0) for _ in data]


def test_the_flash_tells_its_id_and_takes_its_quad_bit(chip: Pico) -> None:
    chip.run()  # erased: the boot ROM has left the SSI in serial mode
    assert send(chip, 0x9F, 0, 0, 0)[1:] == [0xEF, 0x40, 0x15]
    assert bytes(send(chip, 0x4B, *[0] * 12)[5:]) == UNIQUE_ID
    assert send(chip, 0x35, 0)[1] == 2
    send(chip, 0x06)
    assert send(chip, 0x05, 0)[1] == 2
    send(chip, 0x01, 0, 0)
    assert send(chip, 0x05, 0)[1] & 1
    chip.wait(10_000_000_000)
    assert send(chip, 0x05, 0)[1] == 0
    assert send(chip, 0x35, 0)[1] == 0


@pytest.mark.parametrize(("commands", "message"), [
    ([(0x01, 0, 0)], "without write enable"), ([(0x77,)], "does not know"), ([(0x06,), (0x31, 2), (0x35, 0)], "while it is busy"),
])  # fmt: skip
def test_the_flash_refuses(chip: Pico, commands: list[tuple[int, ...]], message: str) -> None:
    chip.run()
    with pytest.raises(ModelFault, match=message):
        for command in commands:
            send(chip, *command)


def test_a_second_stage_sets_the_quad_bit_where_it_is_not_set(chip: Pico) -> None:
    chip.chip.flash._status[1] = 0
    chip.load(image(programs.FAULT[:6] + b"\x30\xbf", boot2=programs.BOOT2_QUAD))
    chip.run()
    assert chip.chip.fault is None and chip.chip.flash.continuous and chip.chip.flash._status == [0, 2]


def routine(chip: Pico, code: bytes, *arguments: int) -> int:
    """Call a routine of the ROM as a flash algorithm does; it returns to a BKPT in RAM."""
    core = chip.chip.core
    core.poke(0x20000000, b"\x00\xbe")
    chip.chip.debug.value["DHCSR"] |= 1

    def call(address: int, *values: int) -> int:
        chip.chip.halting.halted = False
        for register, value in zip(c.R, values, strict=False):
            core.set(register, value)
        core.set(c.LR, 0x20000001)
        core.set(c.PC, address)
        chip.chip.wake()
        for _ in range(10):
            chip.chip.advance()
        return core.get(c.R[0])

    table, look_up = (int.from_bytes(core.peek(place, 2), "little") for place in (0x14, 0x18))
    entry = call(look_up, table, int.from_bytes(code, "little"))
    return call(entry, *arguments) if entry else 0


def test_the_rom_erases_and_programs(chip: Pico) -> None:
    chip.run()
    chip.chip.flash.array[:0x3000] = 0
    assert routine(chip, b"P3", 1) == 0  # not in this ROM
    routine(chip, b"IF")
    routine(chip, b"EX")
    before = chip.chip.clock.now
    routine(chip, b"RE", 0x1000, 0x1000, 0x10000, 0xD8)
    assert 45e9 <= chip.chip.clock.now - before < 46e9
    assert set(chip.chip.flash.array[0x1000:0x2000]) == {0xFF} and set(chip.chip.flash.array[0x2000:0x3000]) == {0}
    chip.chip.core.poke(0x20001000, bytes(range(256)))
    routine(chip, b"RP", 0x1100, 0x20001000, 256)
    assert chip.chip.flash.array[0x1100:0x1200].tobytes() == bytes(range(256))
    routine(chip, b"FC")
    routine(chip, b"CX")
    assert chip.chip.ssi.closed_reason() is None and chip.chip.fault is None
    routine(chip, b"RE", 0x1000, 0x1000, 0x10000, 0xD8)
    assert "before flash_exit_xip" in str(chip.chip.fault)


@pytest.mark.parametrize(
    ("code", "arguments"), [(b"RE", (0x800, 0x1000, 0, 0)), (b"RP", (0x1F0000 + 0xFF80, 0x20001000, 256))]
)
def test_the_rom_keeps_to_sectors_and_pages(chip: Pico, code: bytes, arguments: tuple[int, ...]) -> None:
    chip.run()
    routine(chip, b"EX")
    routine(chip, code, *arguments)
    assert "not whole" in str(chip.chip.fault)
