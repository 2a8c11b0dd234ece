"""Attributes from MPU registers against the rules of ARM DDI 0403E.e, line by line; and what the core then sees."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.data_cache import LINE
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.memory_attributes import kinds

from . import programs
from .conftest import CODE, Board

CCR, CTRL, RNR, RBAR, RASR, CACR = 0xE000ED14, 0xE000ED94, 0xE000ED98, 0xE000ED9C, 0xE000EDA0, 0xE000EF9C
ICIALLU, DCIMVAC, DCISW, DCCMVAC, DCCISW = 0xE000EF50, 0xE000EF5C, 0xE000EF60, 0xE000EF68, 0xE000EF74
DC, IC, ENABLE, HFNMIENA, PRIVDEFENA = 1 << 16, 1 << 17, 1, 2, 4
AXI, SRD, DTCM, LINES = 0x24000000, 0x38000000, 0x20000000, 64
UNCACHED, THROUGH, BACK = 0, 1, 2
# B3.5.7, tables B3-12 and B3-13: inner attributes by TEX, C and B of Normal memory that is not shareable; the rest of
# the encodings are devices, reserved, or Normal memory that is not cacheable.
INNER = {
    (0, 1, 0): THROUGH, (0, 1, 1): BACK, (1, 1, 1): BACK,
    **{(tex, b >> 1, b & 1): kind for tex in (4, 5, 6, 7) for b, kind in ((1, BACK), (2, THROUGH), (3, BACK))},
}  # fmt: skip


def expected(address: int, control: int, regions: list[tuple[int, int]], cacr: int) -> int:
    """Return the attribute of one address: that of the highest region that matches it (B3.5.3)."""
    kind = {0: THROUGH, 1: BACK, 3: BACK, 4: THROUGH}.get(address >> 29, UNCACHED)
    kind = THROUGH if kind == BACK and cacr & 4 else kind
    if not control & ENABLE:
        return kind
    for rbar, rasr in reversed(regions):
        size = 1 << (rasr >> 1 & 0x1F) + 1
        offset = address - rbar // size * size
        off = size >= 256 and rasr >> 8 + offset * 8 // size & 1 if 0 <= offset < size else True
        if rasr & 1 and not off:
            kind = INNER.get((rasr >> 19 & 7, rasr >> 17 & 1, rasr >> 16 & 1), UNCACHED)
            if rasr >> 18 & 1 and kind != UNCACHED:
                return THROUGH if cacr & 1 else UNCACHED
            return THROUGH if kind == BACK and cacr & 4 else kind
    return kind if control & PRIVDEFENA else UNCACHED


region = st.builds(
    lambda at, attributes, off, size, on: (AXI - 0x400 + 32 * at, attributes << 16 | off << 8 | size << 1 | on),
    st.integers(0, 160), st.integers(0, 63), st.one_of(st.just(0), st.integers(0, 255)), st.integers(4, 12),
    st.sampled_from([1, 1, 1, 0]),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([0, 1, 3, 5, 7]), st.lists(region, max_size=6), st.sampled_from([0, 1, 4, 5]))
def test_every_line_has_the_attribute_of_its_highest_region(
    control: int, regions: list[tuple[int, int]], cacr: int
) -> None:
    found = kinds(AXI, LINES, control, regions, cacr)
    assert found.tolist() == [expected(AXI + LINE * line, control, regions, cacr) for line in range(LINES)]


@pytest.mark.parametrize("base", [0x08000000, 0x24000000, 0x60000000, 0x90000000, 0xA0000000, 0xC0000000])
def test_the_default_map(base: int) -> None:
    assert set(kinds(base, 4, 0, [], 0)) == {expected(base, 0, [], 0)}


def enable(board: Board) -> None:
    """Invalidate the caches and enable them."""
    for way in range(4):
        for number in range(128):
            board.bus_write(DCISW, way << 30 | number << 5)
    board.bus_write(ICIALLU, 0)
    board.bus_write(CCR, 0x40200 | DC | IC)


def set_region(board: Board, number: int, base: int, size: int, attributes: int) -> None:
    board.bus_write(RNR, number)
    board.bus_write(RBAR, base)
    board.bus_write(RASR, attributes << 16 | (size.bit_length() - 2) << 1 | 1)


def core_writes(board: Board, address: int, data: bytes) -> None:
    board.chip.core.store(address, data)


def sent(board: Board, address: int, size: int) -> bytes:
    return board.chip.core.load_main(address, size, "a DMA")


def test_a_cache_is_invalidated_before_it_is_enabled(bare_board: Board) -> None:
    with pytest.raises(ModelFault, match="SCB_CCR.DC is set before"):
        bare_board.bus_write(CCR, 0x40200 | DC)
    with pytest.raises(ModelFault, match="SCB_CCR.IC is set before"):
        bare_board.bus_write(CCR, 0x40200 | IC)
    enable(bare_board)
    bare_board.chip.reset()
    with pytest.raises(ModelFault, match="SCB_CCR.DC is set before"):
        bare_board.bus_write(CCR, 0x40200 | DC)


def test_only_what_the_mpu_makes_cacheable_is_cached(bare_board: Board) -> None:
    set_region(bare_board, 0, AXI, 0x1000, 0b001011)  # write-back, write-allocate
    set_region(bare_board, 1, AXI + 0x1000, 0x1000, 0b000010)  # write-through
    set_region(bare_board, 2, AXI + 0x2000, 0x1000, 0b001000)  # Normal, not cacheable
    set_region(bare_board, 3, AXI + 0x3000, 0x1000, 0b001111)  # write-back, shareable: not cached
    bare_board.bus_write(CTRL, ENABLE | PRIVDEFENA | HFNMIENA)
    before = [sent(bare_board, AXI + 0x1000 * i, 4) for i in range(4)]
    enable(bare_board)
    for i in range(4):
        core_writes(bare_board, AXI + 0x1000 * i, b"new!")
    assert sent(bare_board, AXI, 4) == before[0]
    assert [sent(bare_board, AXI + 0x1000 * i, 4) for i in (1, 2, 3)] == [b"new!"] * 3
    core_writes(bare_board, DTCM, b"new!")
    assert sent(bare_board, DTCM, 4) == b"new!"
    bare_board.bus_write(DCCMVAC, AXI + 3)
    assert sent(bare_board, AXI, 4) == b"new!"


def test_a_cache_that_is_disabled_without_being_cleaned_hides_what_was_written(bare_board: Board) -> None:
    enable(bare_board)
    before = sent(bare_board, AXI, 4)
    core_writes(bare_board, AXI, b"new!")
    bare_board.bus_write(CCR, 0x40200)
    assert bare_board.chip.core.peek(AXI, 4) == before
    for way in range(4):
        for number in range(128):
            bare_board.bus_write(DCCISW, way << 30 | number << 5)
    assert bare_board.chip.core.peek(AXI, 4) == b"new!"


def test_a_reset_shows_memory_and_not_the_cache(bare_board: Board) -> None:
    bare_board.load(programs.LOOP)
    enable(bare_board)
    before = sent(bare_board, AXI, 4)
    core_writes(bare_board, AXI, b"new!")
    bare_board.chip.reset()
    assert bare_board.chip.core.peek(AXI, 4) == before


def test_flash_that_was_read_through_the_cache_stays_old_there(bare_board: Board) -> None:
    bare_board.load(programs.LOOP)
    enable(bare_board)
    at = 0x08004000
    bare_board.chip.core.store_main(at, b"programmed", "the flash controller")
    assert bare_board.chip.core.peek(at, 10) == b"\xff" * 10
    bare_board.bus_write(DCIMVAC, at)
    assert bare_board.chip.core.peek(at, 10) == b"programmed"
    bare_board.chip.core.store_main(at, b"x", "the flash controller")
    bare_board.chip.show_main()
    assert bare_board.chip.contents[0x4000:0x400A].tobytes() == b"xrogrammed"


def test_registers_name_the_place_of_a_hazard(bare_board: Board) -> None:
    bare_board.load(programs.LOOP)
    enable(bare_board)
    core_writes(bare_board, AXI, b"new!")
    for _ in range(3):
        sent(bare_board, AXI, 4)
    said = [line for line in bare_board.log if line.startswith("hazard")]
    assert len(said) == 1 and f"at 0x{CODE:08X}: a DMA reads 0x24000000" in said[0]


@pytest.mark.parametrize(("control", "seen"), [(ENABLE | PRIVDEFENA, 1), (ENABLE | PRIVDEFENA | HFNMIENA, 2)])
def test_with_faultmask_the_mpu_acts_only_with_hfnmiena(bare_board: Board, control: int, seen: int) -> None:
    """B3.5.4: a region that is not cacheable is cached by the default map, and its line has what it had before."""
    bare_board.load(programs.FAULTMASKED)
    core = bare_board.chip.core
    core.store(AXI, (1).to_bytes(4, "little"))
    enable(bare_board)  # by the default map, AXI SRAM is cached from here on
    set_region(bare_board, 0, AXI, 0x1000, 0b001000)
    bare_board.bus_write(CTRL, control)
    core.store(AXI, (2).to_bytes(4, "little"))
    core.set(c.R[0], AXI)
    bare_board.run()
    assert [bare_board.r(i) for i in (1, 2, 3)] == [2, seen, 2]


def test_an_nmi_runs_without_the_mpu_too(bare_board: Board) -> None:
    bare_board.load(programs.LOAD + bytes(0x18) + programs.LOAD, handlers={2: 0x20})
    core = bare_board.chip.core
    core.store(AXI, (1).to_bytes(4, "little"))
    enable(bare_board)
    set_region(bare_board, 0, AXI, 0x1000, 0b001000)
    bare_board.bus_write(CTRL, ENABLE | PRIVDEFENA)
    core.store(AXI, (2).to_bytes(4, "little"))
    core.set(c.R[0], AXI)
    bare_board.bus_write(0xE000ED04, 1 << 31)
    bare_board.run()
    assert bare_board.r(1) == 1
