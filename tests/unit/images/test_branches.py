"""Conditional branches of the committed images, beside those of objdump."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

from hil import boards
from hil.images import image_of
from hil.images.armv6m import foreign_instructions
from hil.images.branches import conditional_branches
from hil.images.executed import Executed
from hil.images.line_map import ELSEWHERE, LineMap

OBJDUMP = "arm-none-eabi-objdump"
CONDITION = "(?:eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|hs|lo)"
JUMP = re.compile(rf"(?:b{CONDITION}|cbn?z|bl?x?{CONDITION})(?:\.[nw])?")
LOAD = re.compile(rf"(?:pop|ldmia|ldmdb|ldr|mov|add){CONDITION}(?:\.[nw])?")


def of_objdump(path: str) -> dict[int, int | None]:
    """Return the target by address; None if it is not in the instruction."""
    command = [OBJDUMP, "-d", "--no-show-raw-insn", path]
    found: dict[int, int | None] = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        match = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*([^@;]*)", line)
        if match is None:
            continue
        address, name, operands = int(match[1], 16), match[2], match[3]
        into_pc = "pc" in operands if name[:3] in ("pop", "ldm") else operands.startswith("pc,")
        if JUMP.fullmatch(name):
            target = re.search(r"([0-9a-f]+) <", operands)
            found[address] = int(target[1], 16) if target else None
        elif LOAD.fullmatch(name) and into_pc:
            found[address] = None
    return found


@pytest.mark.skipif(shutil.which(OBJDUMP) is None, reason="the oracle is binutils': apt install binutils-arm-none-eabi")
@pytest.mark.parametrize("board", boards.names())
def test_branches_and_targets_are_those_of_objdump(board: str) -> None:
    path = image_of(board).path
    found = conditional_branches(path)
    assert {branch.address: branch.target for branch in found} == of_objdump(str(path))
    assert len(found) > 5000
    assert {branch.following - branch.address for branch in found} <= {2, 4}


@pytest.mark.skipif(shutil.which(OBJDUMP) is None, reason="as above")
def test_mapping_symbols_of_debug_sections_are_no_addresses() -> None:
    """mps2-an385's debug sections have $d symbols whose values lie in its code: it was taken for data."""
    path = image_of("mps2-an385").path
    branches = {branch.address for branch in conditional_branches(path)}
    function = image_of("mps2-an385").symbols["tflite8_run_chain"]
    assert sum(function + 0x100 <= address < function + 0x490 for address in branches) > 15
    assert list(foreign_instructions(path)) == []


def names(*files: str) -> np.ndarray:
    return np.frombuffer("".join(f"{file}\n" for file in files).encode(), np.uint8)


def line_map(branches: list[tuple[int, tuple[int, int], tuple[int, int], tuple[int, int]]]) -> LineMap:
    """A map of branches, each with the address after it, its place, that of the next instruction, and of its target."""
    nothing = np.zeros(0, np.int32)
    after, begin, following, target = zip(*branches, strict=True)
    to = np.array([*zip(following, target, strict=True)], np.int32)
    return LineMap(
        names("a.c", "b.h"), nothing, nothing, nothing, nothing, np.array(after, np.uint32), np.array(begin, np.int32), to
    )  # fmt: skip


def executed(**after: tuple[int, int]) -> Executed:
    ends = sorted(int(name[1:]) for name in after)
    return Executed(
        np.zeros((0, 2), np.uint32),
        np.array(ends, np.uint32),
        np.array([after[f"_{end}"] for end in ends], np.uint8).reshape(-1, 2),
    )


def test_an_outcome_is_a_pair_of_lines() -> None:
    """The copies of line 3 are one branch, although the compiler has turned the condition of the second round."""
    lines = line_map([(10, (0, 3), (0, 4), (0, 9)), (20, (0, 3), (0, 9), (0, 4)), (30, (1, 3), (-1, 0), (0, 5))])
    assert lines.branches(executed(_10=(1, 0), _20=(1, 0))) == {
        "a.c": {3: {"a.c:4": True, "a.c:9": True}},
        "b.h": {3: {ELSEWHERE: False, "a.c:5": False}},
    }
    assert lines.branches(executed(_20=(0, 1), _30=(1, 0))) == {
        "a.c": {3: {"a.c:4": True, "a.c:9": False}},
        "b.h": {3: {ELSEWHERE: True, "a.c:5": False}},
    }
    assert not any(any(to.values()) for of in lines.branches(executed()).values() for to in of.values())


def test_arrays_that_do_not_go_together() -> None:
    arrays = line_map([(10, (0, 3), (0, 4), (0, 9))]).arrays()
    assert LineMap.from_arrays(arrays).branches(executed(_10=(1, 1)))
    with pytest.raises(ValueError, match="differ in length"):
        LineMap.from_arrays(arrays | {"branch_end": np.zeros(2, np.uint32)})
    with pytest.raises(ValueError, match="names no line"):
        LineMap.from_arrays(arrays | {"branch_from": np.array([[0, -3]], np.int32)})
    with pytest.raises(ValueError, match="names no file"):
        LineMap.from_arrays(arrays | {"branch_to": np.full((1, 2, 2), 2, np.int32)})
