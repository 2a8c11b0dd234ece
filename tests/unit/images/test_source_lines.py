"""Places in the committed images: lines against addr2line, return addresses against a call that an emulated core has made."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from posixpath import normpath

import numpy as np
import pytest

from hil.images import image_of
from hil.images.source_lines import SourceLines
from hil.images.unwind import call_chain
from hil.standins.virtual.chip.debug import C_DEBUGEN
from hil.standins.virtual.chip.stm32h7b3.chip import Stm32H7B3

ADDR2LINE = "arm-none-eabi-addr2line"


@pytest.mark.skipif(
    shutil.which(ADDR2LINE) is None, reason="the oracle is binutils': apt install binutils-arm-none-eabi"
)
@pytest.mark.parametrize("board", ["rp2040", "stm32h7b3", "mps2-an500"])
def test_lines_are_those_of_addr2line(board: str) -> None:
    image = image_of(board)
    base, data = image.segments[0]  # what runs in place; code that is copied to RAM is another
    draw = random.Random(7)
    # An image at address 0 begins where addr2line takes dropped functions to be.
    addresses = [base + 2 * draw.randrange(0x800, len(data) // 2) for _ in range(2000)]
    command = [ADDR2LINE, "-e", str(image.path), *map(hex, addresses)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    lines = SourceLines(image.path)
    known = 0
    for address, theirs in zip(addresses, said, strict=True):
        ours = lines.at(address)
        if "?" in theirs:  # what it says of a library's assembly depends on what it was asked before
            continue
        known += 1
        wanted = normpath(re.sub(r" \(discriminator \d+\)$", "", theirs))
        assert ours is not None and (wanted == ours or wanted.endswith("/" + ours)), (
            f"0x{address:08X}: {ours}, not {wanted}"
        )
    assert known > 1500


def test_a_place_has_address_function_and_line() -> None:
    image = image_of("stm32h7b3")
    handler = image.symbols["fault_handler"]
    assert re.fullmatch(rf"0x{handler + 2:08X} in fault_handler\+0x2 \(agent/fault\.c:\d+\)", image.place(handler + 3))
    assert image.place(0xE000E010) == "0xE000E010", "not a byte of the image: nothing is known of it"
    assert image.lines.at(0x20000000) is None


def test_callers_are_those_that_the_firmware_has() -> None:
    """main() calls agent_init(), that takes the image's digest: every instruction of it is unwound."""
    image = image_of("stm32h7b3")
    chip = Stm32H7B3(np.random.default_rng(1), lambda byte: None, lambda *_: None, lambda line: None, hse_hz=24_000_000)
    for base, data in image.segments:
        chip.flash.array[base - 0x0800_0000 : base - 0x0800_0000 + len(data)] = np.frombuffer(data, np.uint8)
    chip.core.code_changed()
    chip.reset()
    chip.debug.value["DHCSR"] |= C_DEBUGEN  # a breakpoint halts
    chip.core.set_breakpoints({image.symbols["xxh32"]})
    for _ in range(100):
        chip.advance()
        if chip.stopped:
            break
    chip.core.set_breakpoints(set())
    assert chip.halting.read_register(15) == image.symbols["xxh32"]
    for _ in range(100):
        inside = image.function_at(chip.halting.read_register(15)).partition("+")[0]
        found = _callers(chip, image.path)
        names = [image.function_at(back - 1).partition("+")[0] for back in found]
        # memory_image_digest() jumps to the digest, and main() saves nothing: it never returns.
        assert names == [*([] if inside == "xxh32" else ["xxh32"]), "agent_init", "main"], inside
        assert re.search(r"\(trainer/main\.c:\d+\)$", image.place(found[-1], call=True))
        chip.step()


def _callers(chip: Stm32H7B3, path: Path) -> list[int]:
    registers = {number: chip.halting.read_register(number) for number in range(15)}
    stack = registers[13]
    memory = chip.core.peek(stack, 0x2002_0000 - stack)

    def word(at: int) -> int | None:
        return (
            int.from_bytes(memory[at - stack : at - stack + 4], "little")
            if 0 <= at - stack <= len(memory) - 4
            else None
        )

    return [each.address for each in call_chain(path, chip.halting.read_register(15), registers, word)]


def test_functions_of_one_name_are_told_apart() -> None:
    """`execute` is a static function of the agent and of the trainer."""
    image = image_of("rp2040")
    places = [address for address, name in image.functions if name == "execute"]
    assert len(places) == 2
    assert [image.function_at(place + 2) for place in places] == ["execute+0x2"] * 2
