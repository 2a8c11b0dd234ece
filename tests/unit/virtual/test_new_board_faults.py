"""Faults of a board that is new, as they are injected: clock, rate, RAM, marker, protection; and time under a probe."""

from __future__ import annotations

import numpy as np
import pytest

from hil.errors import RigError
from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.chip_memory import ACCESS_PS, ChipMemory
from hil.standins.virtual.inject import LineFaults, parse_injection, schedule, stuck_marker
from hil.standins.virtual.runner import ChipRunner

from .conftest import Board

DTCM = 0x2000_0000
OPTSR_CUR = 0x5200_201C


def test_a_slow_clock_stays_slow_when_the_program_changes_it() -> None:
    cycles = 0
    clock = Clock(lambda: cycles, 100_000_000)
    clock.go_slow(0.05)
    assert clock.hz == 95_000_000
    cycles = 95_000_000
    assert clock.now == PS_PER_S
    clock.set_frequency(200_000_000)
    cycles += 190_000_000
    assert clock.now == 2 * PS_PER_S


@pytest.mark.parametrize(("permille", "damaged"), [(0, False), (20, False), (40, True)])
def test_a_rate_that_is_off_damages_both_directions_beyond_the_tolerance(permille: int, damaged: bool) -> None:
    for prefix in ("uart_rx", "uart_tx"):
        faults = LineFaults([parse_injection(f"uart_slow:{permille}")], prefix)
        (data,) = faults.apply(bytes(range(256)))
        assert isinstance(data, bytes) and len(data) == 256
        assert (data != bytes(range(256))) == damaged


@pytest.mark.parametrize("board", ["0", "1"])
def test_a_stuck_marker_has_its_level(board: str) -> None:
    assert stuck_marker([parse_injection(f"marker_stuck:{board}")]) == int(board)
    assert stuck_marker([parse_injection("uart_slow:1")]) is None


def test_a_stuck_bit_of_ram_reads_1_after_a_debugger_wrote_it(bare_board: Board) -> None:
    chip = bare_board.chip
    schedule(chip, [parse_injection(f"ram_stuck:{DTCM + 5}:3")], bare_board.log.append)
    for data in (bytes(16), b"\xff" * 16):
        chip.core.poke(DTCM, data)
        wanted = bytearray(data)
        wanted[5] |= 1 << 3
        assert chip.core.peek(DTCM, 16) == bytes(wanted)
    chip.core.poke(DTCM + 6, b"\0")
    assert chip.core.peek(DTCM + 6, 1) == b"\0"


@pytest.mark.parametrize(("level", "rdp"), [(1, 0xBB), (2, 0xCC)])
def test_a_protected_chip_says_so_also_after_a_reset(bare_board: Board, level: int, rdp: int) -> None:
    assert bare_board.bus_read(OPTSR_CUR) >> 8 & 0xFF == 0xAA
    schedule(bare_board.chip, [parse_injection(f"locked:{level}")], bare_board.log.append)
    for _ in range(2):
        assert bare_board.bus_read(OPTSR_CUR) >> 8 & 0xFF == rdp
        bare_board.chip.reset()


def test_a_chip_without_protection_refuses_it() -> None:
    from hil.standins.virtual import boards as models

    chip = models.load("rp2040").build(np.random.default_rng(1), lambda _: None, lambda *_: None, lambda _: None)
    with pytest.raises(RigError, match="no protection"):
        schedule(chip, [parse_injection("locked:1")], lambda _: None)


def test_time_passes_with_the_accesses_of_a_probe_while_the_core_stands_still(bare_board: Board) -> None:
    chip = bare_board.chip
    memory = ChipMemory(ChipRunner(chip))
    begin = chip.clock.now
    memory.read_now(DTCM)
    assert chip.clock.now == begin  # it runs: its instructions are its time
    chip.halting.halt("HALTED")
    count = chip.core.count
    memory.read_now(DTCM)
    memory.write_memory(DTCM, 1)
    assert (chip.clock.now - begin, chip.core.count, chip.clock.asleep_ps) == (2 * ACCESS_PS, count, 0)
