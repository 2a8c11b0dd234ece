"""What a core has executed, beside the instructions that Unicorn itself reports one by one."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
import unicorn

from hil.images import image_of
from hil.images.executed import Executed
from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.machine import Machine
from hil.standins.virtual.chip.stm32h7b3.chip import Stm32H7B3

from . import programs
from .conftest import CODE, Board
from .f746 import F746

RAM = 0x24000000


def executed_bytes(found: Executed) -> set[int]:
    return {address for first, end in zip(*found.stretches, strict=True) for address in range(first, end)}


def outcomes(found: Executed) -> dict[int, tuple[int, int]]:
    """Return by the address after a block: whether this instruction came next, and whether another one did."""
    return {int(end): tuple(map(int, row)) for end, row in zip(found.ends, found.followed, strict=True)}  # type: ignore[misc]


def follows_it(chip: Stm32H7B3, address: int) -> bool:
    """Return whether an IT instruction (ARM DDI 0403E.e, A7.7.38) is at most four instructions before an address."""
    halfwords = np.frombuffer(chip.core.peek(address - 16, 16), "<u2")
    return any(halfword >> 8 == 0xBF and halfword & 0xF for halfword in halfwords)


class Witness:
    """Every instruction of a core, as Unicorn's own hook reports it before it executes."""

    def __init__(self, core: ArmCore) -> None:
        self.bytes: set[int] = set()
        self.followed: dict[int, set[int]] = {}
        self._end = 0
        core.uc.hook_add(unicorn.UC_HOOK_CODE, self._on_instruction)

    def _on_instruction(self, _uc: unicorn.Uc, address: int, size: int, _data: object) -> None:
        self.bytes |= set(range(address, address + size))
        self.followed.setdefault(self._end, set()).add(address)
        self._end = address + size


def test_the_firmware_executes_what_unicorn_says(bare_board: Board) -> None:
    """The image boots, and waits for its first frame: start-up code, digests, interrupts of SysTick."""
    image, chip = image_of("stm32h7b3"), bare_board.chip
    for base, data in image.segments:
        chip.flash.array[base - 0x0800_0000 : base - 0x0800_0000 + len(data)] = np.frombuffer(data, np.uint8)
    chip.core.code_changed()
    chip.reset()
    witness = Witness(chip.core)
    for _ in range(40):
        chip.advance(50_000)
    found = chip.core.coverage.executed()
    more = executed_bytes(found) - witness.bytes
    assert not witness.bytes - executed_bytes(found)
    assert chip.fault is None, chip.fault
    # Unicorn reports no instruction that a condition skips; such a block is executed as a whole.
    assert all(follows_it(chip, address & ~1) for address in more), [hex(address) for address in sorted(more)]
    assert len(witness.bytes) > 1500
    for end, (following, other) in outcomes(found).items():
        after = witness.followed[end]
        assert not following or end in after, f"0x{end:08X} did not follow"
        assert not other or after - {end}, f"nothing but 0x{end:08X} followed"


def test_a_loop(run: Callable[..., Board]) -> None:
    found = run(programs.LOOP).chip.core.coverage.executed()
    assert executed_bytes(found) == set(range(CODE, CODE + len(programs.LOOP)))
    assert outcomes(found)[CODE + 10] == (1, 1), "bne was taken nine times, and then not"


def test_instructions_after_a_fault_are_not_reached(bare_board: Board) -> None:
    """The undefined instruction is the second of its block; without a handler nothing after it is executed."""
    bare_board.load(programs.UDF)
    bare_board.run()
    found = executed_bytes(bare_board.chip.core.coverage.executed())
    assert found & set(range(CODE, CODE + 8)) == {CODE, CODE + 1}


def test_instructions_after_a_handled_fault_are_reached_when_they_are_executed(run: Callable[..., Board]) -> None:
    found = executed_bytes(run(programs.UDF, {3: 0x20}).chip.core.coverage.executed())
    assert found >= {*range(CODE, CODE + 2), *range(CODE + 4, CODE + 8)}
    assert not found & {CODE + 2, CODE + 3}, "the undefined instruction itself is never executed"


def test_a_refused_instruction_is_not_reached(bare_board: Board) -> None:
    """The FPU is off at reset: vmov.f32 s0, #2.0 faults; adds r0, #1 before it is executed, wfi after it is not."""
    chip = bare_board.load(bytes.fromhex("0130b0ee000a30bf"))
    for _ in range(3):
        chip.advance()
    assert executed_bytes(chip.core.coverage.executed()) == {CODE, CODE + 1}


def test_it_can_be_cleared(run: Callable[..., Board]) -> None:
    chip = run(programs.LOOP).chip
    chip.core.clear_coverage()
    assert not len(chip.core.coverage.executed().blocks)
    chip.reset()
    for _ in range(10):
        chip.advance()
    assert executed_bytes(chip.core.coverage.executed()) == set(range(CODE, CODE + len(programs.LOOP))), (
        "counts are cached"
    )


def test_a_reset_keeps_it(run: Callable[..., Board]) -> None:
    chip = run(programs.LOOP).chip
    before = executed_bytes(chip.core.coverage.executed())
    chip.reset()
    assert executed_bytes(chip.core.coverage.executed()) == before


def test_code_in_ram(bare_board: Board) -> None:
    chip: Machine = bare_board.load(programs.LOOP)
    assert isinstance(chip, Stm32H7B3)
    chip.core.poke(RAM, programs.LOOP)
    chip.core.set(c.PC, RAM)
    bare_board.run()
    found = chip.core.coverage.executed()
    assert executed_bytes(found) == set(range(RAM, RAM + len(programs.LOOP)))
    assert outcomes(found)[RAM + 10] == (1, 1)


@pytest.mark.parametrize("base", [0x0800_0000, 0x0020_0000])
def test_an_alias_of_the_flash_is_at_the_address_that_was_executed(f746: F746, base: int) -> None:
    """The STM32F746 has its flash on two buses (RM0385, 2.2.2)."""
    f746.put(0x0800_0000, struct.pack("<2I", 0x20001000, base + 0x400 | 1))
    f746.chip.contents[0x400 : 0x400 + len(programs.LOOP)] = np.frombuffer(programs.LOOP, np.uint8)
    f746.chip.core.code_changed()
    f746.chip.reset()
    for _ in range(5):
        f746.chip.advance()
    assert executed_bytes(f746.chip.core.coverage.executed()) == set(
        range(base + 0x400, base + 0x400 + len(programs.LOOP))
    )
