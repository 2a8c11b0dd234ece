"""Executed blocks as ranges of memory, and their union, against sets of addresses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.images import image_of
from hil.images.executed import Executed, union
from hil.images.line_map import line_map
from hil.images.source_lines import SourceLines


def executed(blocks: list[tuple[int, int]], after: dict[int, tuple[int, int]] | None = None) -> Executed:
    ends = sorted(after or {})
    return Executed(
        np.array(sorted(blocks), np.uint32).reshape(-1, 2),
        np.array(ends, np.uint32),
        np.array([(after or {})[end] for end in ends], np.uint8).reshape(-1, 2),
    )


def addresses(blocks: list[tuple[int, int]]) -> set[int]:
    return {each for first, size in blocks for each in range(first, first + size)}


blocks = st.lists(st.tuples(st.integers(0, 60).map(lambda half: 2 * half), st.integers(1, 8).map(lambda half: 2 * half)), max_size=12)  # fmt: skip
afters = st.dictionaries(st.integers(0, 9), st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=5)


@given(blocks, st.lists(st.tuples(st.integers(0, 140), st.integers(1, 9)), min_size=1, max_size=9))
def test_a_range_is_touched_if_a_byte_of_it_was_executed(found: list, ranges: list) -> None:
    first, size = np.array(ranges, np.int64).T
    expected = [bool(addresses(found) & set(range(at, at + length))) for at, length in ranges]
    assert executed(found).touches(first, first + size).tolist() == expected


@given(blocks, blocks, afters, afters)
def test_the_union_has_what_one_of_them_has(one: list, other: list, after_one: dict, after_other: dict) -> None:
    found = union([executed(one, after_one), executed(other, after_other)])
    assert addresses(found.blocks.tolist()) == addresses(one) | addresses(other)
    expected = {
        end: [max(pair) for pair in zip(after_one.get(end, (0, 0)), after_other.get(end, (0, 0)), strict=True)]
        for end in after_one.keys() | after_other.keys()
    }
    assert dict(zip(found.ends.tolist(), found.followed.tolist(), strict=True)) == expected


@given(blocks, afters)
def test_it_comes_back_from_json(found: list, after: dict) -> None:
    first = executed(found, after)
    second = Executed.from_json(first.to_json())
    for name in ("blocks", "ends", "followed"):
        assert getattr(second, name).tolist() == getattr(first, name).tolist()


def test_of_nothing() -> None:
    assert union([]).touches(np.array([0]), np.array([1 << 32])).tolist() == [False]


@pytest.mark.parametrize("board", ["stm32h7b3", "mps2-an385"])
def test_the_line_of_an_executed_instruction_is_reached(board: str) -> None:
    """One instruction after the other, beside the lines of `SourceLines`, which are those of addr2line."""
    image = image_of(board)
    lines, source = line_map(image), SourceLines(image.path)
    base, code = image.segments[0]
    known = 0
    for address in range(base + 0x1000, base + len(code) - 2, 4098):
        reached = {
            f"{file}:{line}"
            for file, found in lines.reached(executed([(address, 2)])).items()
            for line, is_reached in found.items()
            if is_reached
        }
        place = source.at(address)
        if place is not None and not place.endswith(":0"):
            known += 1
            assert place in reached, f"0x{address:08X}"
        assert len(reached) <= 3, "lines of inlined functions may share an instruction"
    assert known > 30


def test_every_line_of_the_image_is_reached_if_all_of_it_is_executed() -> None:
    image = image_of("rp2040")
    everything = executed([(base, len(data)) for base, data in image.segments])
    found = line_map(image).reached(everything)
    missed = {name for name, lines in found.items() if not all(lines.values())}
    assert missed == {"ports/rp2/flash.c", "ports/rp2040/flash_id.c"}, "their code is copied to RAM, and runs there"
