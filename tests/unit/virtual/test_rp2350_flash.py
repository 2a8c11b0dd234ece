"""The virtual RP2350's flash: QMI in direct mode, its window, and the boot ROM's routines."""

from __future__ import annotations

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.rp2350.xip_setup import xip_setup

from . import rp2350_programs as programs
from .pico2 import XIP, Pico2, started

QMI, PADS_QSPI, IO_QSPI, RESETS = 0x400D0000, 0x40040000, 0x40030000, 0x40020000
CSR, TX, RX, TIMING, RFMT, RCMD = (QMI + i for i in (0, 4, 8, 0xC, 0x10, 0x14))
EN, BUSY, CS0, AUTO, RX_EMPTY = 1, 2, 1 << 2, 1 << 6, 1 << 16
NOPUSH = 1 << 20
SLOW = 12 << 22
CODE, PAGE = 0x20000100, 0x20001000


@pytest.fixture
def pico() -> Pico2:
    return started()


def reason(pico: Pico2) -> str:
    return pico.chip.qmi.closed_reason() or ""


def received(pico: Pico2) -> int:
    while pico.read(CSR) & RX_EMPTY:
        pico.wait(10**6)
    return pico.read(RX)


# direct mode


@pytest.mark.parametrize("select", [CS0, AUTO])
def test_the_identification_of_the_flash(pico: Pico2, select: int) -> None:
    pico.write(CSR, SLOW | EN | select)
    pico.write(TX, 0x9F | NOPUSH)
    for _ in range(3):
        pico.write(TX, 0)
    assert [received(pico) for _ in range(3)] == [0xEF, 0x40, 0x16]  # Winbond, W25Q, 4 MB


def test_an_automatic_chip_select_rises_when_nothing_is_sent(pico: Pico2) -> None:
    pico.write(CSR, SLOW | EN | AUTO)
    pico.write(TX, 0x9F | NOPUSH)
    pico.wait(10**9)
    with pytest.raises(ModelFault, match="command 0x00"):  # it begins a new command
        pico.write(TX, 0)


def test_what_is_written_before_direct_mode_waits_for_it(pico: Pico2) -> None:
    pico.write(CSR, SLOW | CS0)
    pico.write(TX, 0x05 | NOPUSH)
    pico.write(TX, 0)
    assert pico.read(CSR) >> 12 & 7 == 2
    pico.write(CSR, SLOW | CS0 | EN)
    assert pico.read(CSR) & BUSY and received(pico) == 0


def test_two_bytes_are_one_word(pico: Pico2) -> None:
    pico.write(CSR, SLOW | EN | CS0)
    pico.write(TX, 0x9F | NOPUSH)
    pico.write(TX, 1 << 18)
    assert received(pico) == 0x40EF


def test_faults_of_direct_mode(pico: Pico2) -> None:
    pico.write(CSR, SLOW | EN | CS0)
    with pytest.raises(ModelFault, match="read while its FIFO is empty"):
        pico.read(RX)
    with pytest.raises(ModelFault, match="four lines in direct mode"):
        pico.write(TX, 0x9F | 2 << 16)
    pico.write(TX, 0x9F | NOPUSH)
    with pytest.raises(ModelFault, match="wait for BUSY = 0"):
        pico.write(CSR, SLOW | EN)
    for _ in range(4):
        pico.write(TX, 0)
    with pytest.raises(ModelFault, match="is written while its FIFO is full"):
        pico.write(TX, 0)
    pico.wait(10**9)
    with pytest.raises(ModelFault, match="its receive FIFO is full"):
        pico.write(TX, 0)


# the window


def test_the_rom_leaves_quad_reads_at_a_third_of_clk_sys(pico: Pico2) -> None:
    assert reason(pico) == "" and pico.read(RCMD) & 0xFF == 0xEB and pico.read(TIMING) & 0xFF == 3


def test_direct_mode_closes_the_window(pico: Pico2) -> None:
    pico.write(CSR, SLOW | EN)
    assert "direct mode" in reason(pico)
    pico.chip.asleep = False
    pico.run()
    assert pico.chip.fault is not None and "direct mode" in str(pico.chip.fault)


@pytest.mark.parametrize(
    ("address", "value", "why"),
    [
        (TIMING, 1, "SCK = 150000000 Hz / 1"),
        (RCMD, 0x03, r"RFMT.ADDR_WIDTH is 2, command 0x03 needs 0"),
        (RCMD, 0x77, "command 0x77, which this model does not know"),
        (RFMT, 0x2A8 | 1 << 12 | 2 << 14, "DUMMY_LEN is 0, command 0xEB needs 4"),
        (RFMT, 0x2A8 | 2 << 14 | 4 << 16, "does not fit the flash's continuous read mode"),
        (PADS_QSPI + 4, 0x156, "the pad GPIO_QSPI_SCLK is isolated"),
        (IO_QSPI + 0x1C, 0x1F, "selects another function than XIP"),
        (RESETS + 0x2000, 1 << 7, "IO_QSPI or PADS_QSPI is held in reset"),
    ],
)  # fmt: skip
def test_what_closes_the_window(pico: Pico2, address: int, value: int, why: str) -> None:
    pico.write(address, value)
    assert why in reason(pico)


@pytest.mark.parametrize("divider", [2, 3, 0])
def test_slower_reads_are_right(pico: Pico2, divider: int) -> None:
    pico.write(TIMING, 0x60007200 | divider)
    assert reason(pico) == ""


def test_serial_reads_are_slow(pico: Pico2) -> None:
    pico.chip.qmi.select_read(0x03, 3)
    assert reason(pico) == ""
    pico.write(TIMING, 0x60007202)
    assert "command 0x03 allows 50000000 Hz" in reason(pico)


def test_continuous_reads_after_one_with_the_command(pico: Pico2) -> None:
    pico.write(RCMD, 0xA0EB)
    assert reason(pico) == ""
    pico.write(RFMT, 0x2A8 | 2 << 14 | 4 << 16)
    assert reason(pico) == "" and pico.chip.flash.continuous
    pico.write(RCMD, 0xEB)
    assert "ends the flash's continuous read mode" in reason(pico)


# the boot ROM's routines


def programmed(pico: Pico2, offset: int, flush: bool) -> np.ndarray:
    data = np.random.default_rng(3).integers(0, 256, 256, np.uint8)
    core = pico.chip.core
    core.poke(CODE, programs.FLASH)
    core.poke(PAGE, data.tobytes())
    for register, value in ((4, offset), (5, PAGE), (7, int(flush))):
        core.set(c.R[register], value)
    core.set(c.PC, CODE | 1)
    pico.chip.asleep = False
    pico.run()
    return data


def test_a_page_is_programmed_and_read_back(pico: Pico2) -> None:
    pico.chip.contents[0x10_0000:0x10_2000] = 0
    data = programmed(pico, 0x10_0000, flush=True)
    assert pico.chip.fault is None and pico.chip.contents[0x10_0000:0x10_0100].tobytes() == data.tobytes()
    assert (pico.chip.contents[0x10_0100:0x10_1000] == 0xFF).all() and not pico.chip.contents[0x10_1000:0x10_2000].any()
    assert pico.r(6) == int.from_bytes(data[:4].tobytes(), "little")


def test_a_cache_that_is_not_flushed_is_a_fault(pico: Pico2) -> None:
    programmed(pico, 0x10_0000, flush=False)
    assert pico.chip.fault is not None and "call flash_flush_cache" in str(pico.chip.fault)
    assert pico.chip.core.closed_reason(0x14000000) is None  # the uncached window is right
    pico.write(0x18000000, 0)  # by the window for maintenance
    assert pico.chip.core.closed_reason(XIP) is None


def test_an_erase_before_the_exit_from_execute_in_place_is_a_fault(pico: Pico2) -> None:
    core = pico.chip.core
    assert pico.chip._rom.image()[0x10:0x13] == b"Mu\x02"
    core.set(c.PC, int.from_bytes(pico.chip._rom.image()[0x16:0x18], "little"))
    core.set(c.R[0], 0x4552)
    core.set(c.R[1], 4)
    core.set(c.LR, CODE | 1)
    core.poke(CODE, b"\x00\x47")  # bx r0
    pico.chip.asleep = False
    pico.run()
    assert "before flash_exit_xip" in str(pico.chip.fault)


def test_the_routines_need_coprocessor_7(pico: Pico2) -> None:
    """A program that switches the FPU on by writing CPACR, instead of setting bits in it, cannot call the ROM."""
    pico.write(0xE000ED88, 0xF << 20)
    programmed(pico, 0x10_0000, flush=True)
    assert pico.read(0xE000ED28) == 1 << 19 and any("while CPACR.CP7 is off" in line for line in pico.log)
    assert pico.chip.contents[0x10_0000] == 0xFF


def test_the_maintenance_window_is_write_only(pico: Pico2) -> None:
    with pytest.raises(ModelFault, match="write only"):
        pico.read(0x18000000)


def test_the_setup_routine_is_position_independent() -> None:
    assert len(xip_setup(0xEB, 3)) <= 256 and xip_setup(0x03, 12) != xip_setup(0xEB, 3)
