"""Places in the committed images: lines against addr2line, return addresses against a call that an emulated core has made."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from posixpath import normpath

import numpy as np
import pytest

from hil.boards import image_of
from hil.boards.source_lines import SourceLines
from hil.boards.unwind import return_addresses
from hil.standins.virtual.chip.machine import Pace
from hil.standins.virtual.chip.stm32h7b3 import Stm32H7B3

ADDR2LINE = "arm-none-eabi-addr2line"


@pytest.mark.skipif(shutil.which(ADDR2LINE) is None, reason="the oracle is binutils': apt install binutils-arm-none-eabi")
@pytest.mark.parametrize("board", ["rp2040", "stm32h7b3", "mps2-an500"])
def test_lines_are_those_of_addr2line(board: str) -> None:
    image = image_of(board)
    ((base, data),) = image.segments
    draw = random.Random(7)
    # An image at address 0 begins where addr2line takes dropped functions to be.
    addresses = [base + 2 * draw.randrange(0x800, len(data) // 2) for _ in range(2000)]
    command = [ADDR2LINE, "-e", str(image.path), *map(hex, addresses)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    lines = SourceLines(image.path)
    known = 0
    for address, theirs in zip(addresses, said, strict=True):
        ours = lines.at(address)
        if "?" in theirs:
            assert ours is None, f"0x{address:08X}: {ours}"
            continue
        known += 1
        wanted = normpath(re.sub(r" \(discriminator \d+\)$", "", theirs))
        assert ours is not None and (wanted == ours or wanted.endswith("/" + ours)), f"0x{address:08X}: {ours}, not {wanted}"
    assert known > 1500


def test_a_place_has_address_function_and_line() -> None:
    image = image_of("stm32h7b3")
    handler = image.symbols["fault_handler"]
    assert re.fullmatch(rf"0x{handler + 2:08X} in fault_handler\+0x2 \(agent/fault\.c:\d+\)", image.place(handler + 3))
    assert image.place(0xE000E010) == "0xE000E010", "not a byte of the image: nothing is known of it"
    assert image.lines.at(0x20000000) is None


def test_the_line_of_a_return_address_is_that_of_the_call() -> None:
    """main() calls agent_poll() last thing in its loop: behind the call another line begins."""
    image = image_of("stm32h7b3")
    chip, callers = _halted_in(image.symbols["port_uart_read"])
    assert callers[0].startswith("agent_poll"), callers
    assert callers[1].startswith("main"), callers
    assert len(callers) == 3 and callers[2].startswith("reset_handler"), callers
    assert chip.fault is None


def _halted_in(address: int) -> tuple[Stm32H7B3, list[str]]:
    """Run the agent's image until it comes to a function, take some instructions more, and return who has called it."""
    image = image_of("stm32h7b3")
    chip = Stm32H7B3(np.random.default_rng(1), lambda byte: None, lambda *_: None, lambda line: None)
    for base, data in image.segments:
        chip.flash.array[base - 0x0800_0000 : base - 0x0800_0000 + len(data)] = np.frombuffer(data, np.uint8)
    chip.core.code_changed()
    chip.reset()
    end = address + 16
    while not address <= chip.halting.read_register(15) < end:
        if chip.advance(50) is Pace.WAIT:
            pytest.fail(f"the core rests at 0x{chip.halting.read_register(15):08X}")
    registers = {number: chip.halting.read_register(number) for number in range(15)}
    stack = registers[13]
    memory = chip.core.peek(stack, 0x2002_0000 - stack)

    def word(at: int) -> int | None:
        return int.from_bytes(memory[at - stack : at - stack + 4], "little") if 0 <= at - stack <= len(memory) - 4 else None

    found = return_addresses(image.path, chip.halting.read_register(15), registers, word)
    return chip, [image.function_at(back - 1) for back in found]
