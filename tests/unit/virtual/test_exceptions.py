"""Exception entry and return, priorities, sleep."""

from __future__ import annotations

import struct
from collections.abc import Callable

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.nvic import HARD_FAULT, PEND_SV, SVCALL, SYSTICK, Nvic

from . import programs
from .conftest import CODE, STACK, Board

Run = Callable[..., Board]


def test_svc_and_back(run: Run) -> None:
    board = run(programs.SVC, {SVCALL: 0x20})
    assert board.chip.fault is None and board.chip.asleep
    assert board.r(0) == 43
    assert board.chip.core.get(c.SP) == STACK
    assert board.chip.core.count == 4 + 4


def test_an_undefined_instruction_reaches_the_handler_of_the_firmware(run: Run) -> None:
    board = run(programs.UDF, {HARD_FAULT: 0x20})
    assert board.chip.fault is None
    assert board.r(0) == 2
    assert board.r(5) == 1 << 16  # CFSR.UNDEFINSTR
    assert board.bus_read(0xE000ED2C) == 1 << 30  # HFSR.FORCED
    assert any("UNDEFINSTR" in line for line in board.log)


def test_a_fault_in_the_hard_fault_handler_locks_up(run: Run) -> None:
    board = run(programs.UDF, {HARD_FAULT: 0x02})  # the handler begins with the undefined instruction itself
    assert board.chip.lockup


def test_systick_wakes_the_core_at_its_times(run: Run) -> None:
    board = run(programs.SYSTICK, {SYSTICK: 0x40})
    assert board.r(7) == 5
    # Five periods of 1000 cycles at 64 MHz, and the instructions before, between and behind them.
    seconds = board.chip.clock.now / 1e12
    assert 5 * 1000 / 64e6 <= seconds <= (5 * 1000 + 60) / 64e6
    assert board.chip.clock.asleep_ps > 0.9 * board.chip.clock.now


def test_the_floating_point_frame(run: Run) -> None:
    board = run(programs.FLOAT_FRAME, {SVCALL: 0x40})
    assert struct.unpack("<f", struct.pack("<I", board.r(2)))[0] == 4.0
    assert board.r(4) == 0xFFFFFFE9
    assert board.r(6) - board.r(5) == 0x68


def test_the_flags_of_a_comparison_outlast_an_exception(run: Run) -> None:
    """Interrupts between VCMP and VMRS changed weights of `float32` when the computer was loaded."""
    board = run(programs.FLOAT_FLAGS, {SVCALL: 0x40})
    assert (board.r(2), board.r(3) >> 28) == (1, 0b1000), "1.0 is less than 2.0"


def test_the_flags_of_a_comparison_outlast_a_debugger_s_write_of_control(run: Run) -> None:
    """pyOCD writes the registers that it has saved, CONTROL among them."""
    board = run(programs.FLOAT_FLAGS, {SVCALL: 0x40})
    halting, flags = board.chip.halting, 0b1000 << 28
    board.chip.core.set(c.FPSCR, flags)
    control = halting.read_register(20)
    halting.write_register(20, control)
    board.chip.core.set(c.PC, CODE + 40 | 1)  # the second VMRS
    board.chip.asleep = False
    board.run()
    assert control >> 24 == 4 and board.r(3) == flags


def test_floating_point_is_off_until_cpacr_allows_it(run: Run) -> None:
    board = run(programs.NO_FLOAT, {HARD_FAULT: 0x20})
    assert board.r(5) == 1 << 19  # CFSR.NOCP
    assert board.r(6) == CODE + 4  # the stacked pc is that of the instruction


def test_thread_mode_on_the_process_stack(run: Run) -> None:
    board = run(programs.PROCESS_STACK, {SVCALL: 0x40})
    assert (board.r(6), board.r(7)) == (0x20001000, 0x20001000)
    assert board.r(5) == STACK
    assert board.r(4) == 0xFFFFFFFD
    assert struct.unpack("<I", board.chip.core.peek(0x20001000 - 0x20 + 24, 4))[0] == CODE + 0x14


def test_wfi_with_a_masked_interrupt_pending_goes_on_without_taking_it(run: Run) -> None:
    board = run(programs.MASKED, {PEND_SV: 0x40})
    assert (board.r(3), board.r(4)) == (0, 1)


def test_a_higher_priority_pre_empts_a_lower_one(run: Run) -> None:
    board = run(programs.NESTED, {PEND_SV: 0x40, SYSTICK: 0x80})
    assert board.r(7) == 0x1234
    assert board.chip.nvic.active == []


def test_the_order_of_exceptions() -> None:
    nvic = Nvic(interrupts=40, priority_bits=4)
    nvic.write(0x000, 4, 0b1110)  # ISER0: interrupts 1, 2, 3
    nvic.write(0x301, 1, 0x80)  # IPR of interrupt 1
    nvic.write(0x302, 1, 0x4F)  # 2: the low bits do not exist
    nvic.write(0x303, 1, 0x40)
    assert nvic.read(0x300, 4) == 0x40408000
    for irq in (0, 1, 2, 3):
        nvic.pend(16 + irq)
    assert nvic.best() == 18  # lowest priority value, then lowest number; interrupt 0 is not enabled
    nvic.enter(18)
    assert nvic.execution_priority() == 0x40 and nvic.best() == 19
    nvic.set_priority_group(6)  # only bit 7 pre-empts
    assert nvic.group(17) == 0x80 and nvic.group(19) == 0


def test_a_line_that_stays_high_pends_again() -> None:
    nvic = Nvic(interrupts=40, priority_bits=4)
    nvic.write(0x004, 4, 1 << 5)  # interrupt 37
    nvic.set_line(37, True)
    assert nvic.best() == 53
    nvic.enter(53)
    assert nvic.best() is None
    nvic.leave(53)
    assert nvic.best() == 53
    nvic.set_line(37, False)
    assert nvic.best() is None


def test_a_read_where_the_chip_has_nothing_stops_it_and_names_the_place(run: Run) -> None:
    board = run(programs.LOAD, r0=0x60000000)
    assert board.chip.fault is not None
    assert board.chip.fault.address == 0x60000000 and board.chip.fault.access == "read"
    assert board.chip.halting.read_register(15) == CODE + 2


def test_a_reserved_bit_stops_the_chip_at_the_store(run: Run) -> None:
    board = run(programs.STORE, r0=0x58024424, r1=1)
    assert "no register" in str(board.chip.fault)
    assert board.chip.halting.read_register(15) == CODE


def test_a_memory_whose_clock_is_off_is_not_there(run: Run) -> None:
    board = run(programs.LOAD, r0=0x30000000)
    assert board.chip.fault is not None and board.chip.fault.address == 0x30000000
