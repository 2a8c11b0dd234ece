"""Injected faults, as the command line names them and as they act on the line."""

from __future__ import annotations

import numpy as np
import pytest

from hil.errors import RigError
from hil.standins.virtual.chip.core_registers import PC
from hil.standins.virtual.inject import LineFaults, parse_injection, schedule

from . import programs
from .conftest import Board
from .test_flash import FREE, program_word


@pytest.mark.parametrize(("spec", "expected"), [
    ("uart_rx_drop:3", [b"\x01", b"\x02", b"\x04"]),
    ("uart_rx_dup:2", [b"\x01", b"\x02\x02", b"\x03", b"\x04"]),
    ("uart_rx_flip:1:7", [b"\x81", b"\x02", b"\x03", b"\x04"]),
    ("uart_rx_delay:4:0.5", [b"\x01", b"\x02", b"\x03", 0.5, b"\x04"]),
    ("uart_tx_drop:1", [b"\x01\x02\x03\x04"]),
])  # fmt: skip
def test_one_byte_is_hit(spec: str, expected: list[bytes | float]) -> None:
    assert LineFaults([parse_injection(spec)], "uart_rx").apply(b"\x01\x02\x03\x04") == expected


def test_bytes_are_counted_over_all_pieces() -> None:
    faults = LineFaults([parse_injection("uart_tx_drop:3")], "uart_tx")
    assert [b"".join(faults.apply(piece)) for piece in (b"ab", b"cd")] == [b"ab", b"d"]


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "uart_rx_drop",
        "uart_rx_flip:1",
        "uart_rx_flip:1:8",
        "flash_stuck:1",
        "flash_stuck:1:8",
        "explode:1",
        "uart_rx_drop:x",
    ],
)
def test_a_spec_that_does_not_fit_is_refused(spec: str) -> None:
    with pytest.raises(RigError, match="--inject"):
        parse_injection(spec)


def test_only_the_supply_ends_a_latch_up(bare_board: Board) -> None:
    machine = bare_board.load(programs.LOOP)
    machine.core.poke(0x24000010, b"\x40")
    schedule(machine, [parse_injection("latch_up:14")], bare_board.log.append)
    bare_board.run()
    at = machine.core.count
    assert at in range(14, 17) and machine.stopped and machine.dead
    machine.reset()
    bare_board.run()
    assert machine.core.count == at, "a reset does not help"
    machine.switch(False, np.random.default_rng(3))
    assert machine.dead
    machine.switch(True, np.random.default_rng(3))
    assert not machine.dead and machine.core.peek(0x24000000, 64) != b"\x00" * 64, "SRAM holds anything"
    bare_board.run()
    assert machine.core.count == at + 33, "the program runs from its start to its end"


def test_a_reset_leaves_memory_as_it_is(bare_board: Board) -> None:
    machine = bare_board.load(programs.LOOP)
    machine.core.poke(0x24000010, b"\x40")
    schedule(machine, [parse_injection("reset:14")], bare_board.log.append)
    bare_board.run()
    assert machine.core.count in range(14 + 33, 2 * 33 + 1), "the program runs from its start once more"
    assert machine.core.peek(0x24000010, 1) == b"\x40"


@pytest.mark.parametrize("back", [False, True])
def test_the_supply_fails_where_the_core_is_for_the_third_time(
    bare_board: Board, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hil.standins.virtual.inject.LOOK", 5)
    machine = bare_board.load(programs.LOOP)
    start = machine.core.get(PC) & ~1
    schedule(machine, [parse_injection(f"supply_fails:{start}:256:3:{int(back)}")], bare_board.log.append)
    bare_board.run()
    (line,) = [line for line in bare_board.log if "injected" in line]
    assert "the supply fails at 0x" in line and machine.powered == back
    if back:
        assert machine.core.peek(0x24000000, 64) != b"\x00" * 64, "SRAM holds anything"
        assert machine.core.count in range(10 + 33, 20 + 33)
    else:
        assert machine.core.count in range(10, 20)


def test_the_supply_does_not_fail_where_the_core_never_is(bare_board: Board) -> None:
    machine = bare_board.load(programs.LOOP)
    schedule(machine, [parse_injection("supply_fails:0x08100000:256:1:1")], bare_board.log.append)
    bare_board.run()
    assert machine.core.count == 33 and not any("injected" in line for line in bare_board.log)


def test_a_bit_flips_at_its_instruction(bare_board: Board) -> None:
    machine = bare_board.load(programs.LOOP)
    machine.core.poke(0x24000010, b"\x40")
    schedule(machine, [parse_injection("ram_flip:0x24000010:6:14")], bare_board.log.append)
    machine.advance()
    assert machine.core.count in range(14, 17) and machine.core.peek(0x24000010, 1) == b"\x40"
    bare_board.run()
    assert machine.core.peek(0x24000010, 1) == b"\x00"
    assert machine.core.count == 33


def test_a_stuck_bit_of_the_flash_reads_one_whatever_is_programmed(bare_board: Board) -> None:
    schedule(bare_board.chip, [parse_injection("flash_stuck:0x4001:4")], bare_board.log.append)
    program_word(bare_board, FREE, (0, 0, 0, 0))
    assert bare_board.chip.flash.array[0x4000:0x4004].tobytes().hex() == "00100000"
