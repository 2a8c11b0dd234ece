"""The native block hook against its reference in plain Python."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip import block_hook
from hil.standins.virtual.chip.count import MARGIN, MAX_REGIONS, STATE_LENGTH, Slot

from . import block_hook_reference as reference
from .block_hook_reference import HAS_DOUBLE, HAS_FP, HAS_SEV, MAY_UNMASK, NOT_V6M, SETS_FAULTMASK, Caches

FLAGS = SETS_FAULTMASK, HAS_DOUBLE, MAY_UNMASK, HAS_FP, HAS_SEV, NOT_V6M
SECONDS = (
    0x0000,
    0x0800,
    0x0A00,
    0x0AC0,
    0x0B00,
    0x0B10,
    0x0C00,
    0x8800,
    0x8810,
    0x8811,
    0x8812,
    0x8813,
    0x8814,
    0x8900,
    0xFFFF,
)
UC = 0x1234_5678_9ABC


def native_scan(code: np.ndarray) -> int:
    return block_hook._scan(code.tobytes(), len(code))


def test_every_first_halfword() -> None:
    for first in range(0x10000):
        wide = first >= 0xE800
        assert native_scan(np.array([first, 0], np.uint16)) == reference.scan([first, 0]), f"{first:04X}"
        for second in SECONDS if first & 0xEC00 == 0xEC00 or first & 0xFF00 == 0xF300 else (0,):
            expected = reference.wide_flags(first, second) if wide else reference.narrow_flags(first)
            assert block_hook.flags_of(first, second) == expected, f"{first:04X} {second:04X}"


def halfwords_at_random(rng: np.random.Generator, length: int) -> np.ndarray:
    """Halfwords among which all flags and instructions of 32 bits are frequent."""
    anything = rng.integers(0, 0x10000, length)
    special = rng.choice(
        [
            0xB660,
            0xB662,
            0xB662,
            0xB672,
            0xBF00,
            0xBF40,
            0xBF40,
            0xBF08,
            0xF380,
            0xF3EF,
            0xEC00,
            0xEE00,
            0xEEB7,
            0xFE00,
        ],
        length,
    )
    second = rng.choice(SECONDS, length)
    miscellaneous = rng.integers(0xB000, 0xC000, length)
    plain = rng.integers(0, 0xB000, length)
    return np.choose(
        rng.integers(0, 8, length), [anything, special, special, second, miscellaneous, plain, plain, plain]
    ).astype(np.uint16)


def test_thousands_of_blocks() -> None:
    rng = np.random.default_rng(18)
    code = halfwords_at_random(rng, 1 << 14)
    combinations = set()
    for length in (0, 1, 2, 3, 4, 5, 6, 8, 16, 40):
        for at in rng.integers(0, len(code) - length, 1400):
            block = code[at : at + length]
            expected = reference.scan(block.tolist())
            assert native_scan(block) == expected, [f"{halfword:04X}" for halfword in block]
            assert block_hook.instructions_in(block.tobytes()) == expected & 0x3FF
            combinations.add(expected & 0xF800)
    assert len(combinations) == 24, "all of five flags, but double precision with HAS_FP only"


def test_an_instruction_of_32_bits_that_the_block_cuts() -> None:
    """Its second halfword is none of the block: it does not count."""
    code = np.array([0xBF00, 0xF380, 0x8811], np.uint16)
    assert native_scan(code) == 2 | MAY_UNMASK | NOT_V6M
    assert native_scan(code[:2]) == 2
    assert native_scan(np.array([0xBF00, 0xEC00, 0x0A00], np.uint16)[:2]) == 2


class Twin:
    """The native hook and its reference, each with the same state and memories, and calls of uc_emu_stop."""

    def __init__(self, regions: list[tuple[int, int, int, bool]], rng: np.random.Generator, **slots: int) -> None:
        """`regions` has base, halfwords, memory (regions with the same number have the same bytes) and whether it is
        cached.
        """
        self.stopped: list[int] = []
        self._stop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._on_stop)
        self.codes: dict[int, np.ndarray] = {}
        total = 0
        self.native = np.full(STATE_LENGTH + 8, -77, np.int64)  # with a guard behind it
        self.native[: Slot.REGIONS] = 0
        for number, (base, length, memory, cached) in enumerate(regions):
            if memory not in self.codes:
                self.codes[memory] = halfwords_at_random(rng, length)
            slot = Slot.REGIONS + 1 + 4 * number
            index = total if cached else -1 - total
            self.native[slot : slot + 4] = base, base + 2 * length, self.codes[memory].ctypes.data, index
            total += length
        self.counts, self.sizes = np.zeros(total, np.uint16), np.zeros(total, np.uint16)
        self.reached, self.followed = np.zeros(total, np.uint16), np.zeros(2 * (total + 2 * MARGIN), np.uint8)
        self.native[Slot.REACHED], self.native[Slot.FOLLOWED] = self.reached.ctypes.data, self.followed.ctypes.data
        self.native[Slot.AFTER_LAST] = self.followed.ctypes.data
        self.native[Slot.REGIONS] = len(regions)
        self.native[Slot.FIRST_CACHED] = total
        self.native[Slot.STOP_CALL] = ctypes.cast(self._stop, ctypes.c_void_p).value or 0
        self.native[Slot.COUNTS], self.native[Slot.SIZES] = self.counts.ctypes.data, self.sizes.ctypes.data
        for name, value in slots.items():
            self.native[Slot[name]] = value
        self.state = self.native.tolist()
        self.caches = Caches(
            self.counts.tolist(), self.sizes.tolist(), self.reached.tolist(), self.followed.tolist(), self.followed.ctypes.data,
        )  # fmt: skip
        arguments = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p
        self._hook = ctypes.CFUNCTYPE(None, *arguments)(block_hook.address)

    def _on_stop(self, uc: int) -> int:
        self.stopped.append(uc)
        return 0

    def set(self, slot: Slot, value: int) -> None:
        self.native[slot] = self.state[slot] = value

    def call(self, address: int, size: int) -> bool:
        """Call both and compare all that they changed; return whether they stopped."""
        self.stopped.clear()
        self._hook(UC, address, size, self.native.ctypes.data)
        memories = {code.ctypes.data: code.tolist() for code in self.codes.values()}
        stops = reference.block_hook(self.state, memories, self.caches, address, size)
        assert self.native.tolist() == self.state, {
            slot.name: (int(self.native[slot]), self.state[slot])
            for slot in Slot
            if self.native[slot] != self.state[slot]
        }
        for name in ("counts", "sizes", "reached", "followed"):
            assert getattr(self, name).tolist() == getattr(self.caches, name), name
        assert self.stopped == [UC] * stops
        return stops


FLASH, RAM, ALIAS = 0x0800_0000, 0x2000_0000, 0xF000_0000  # above 2 GB: addresses are unsigned
REGIONS = [(FLASH, 96, 0, True), (ALIAS, 96, 0, True), (0x0000_0000, 64, 1, True), (RAM, 64, 2, False)]

flags = st.sets(st.sampled_from(FLAGS)).map(sum)
block = st.tuples(st.sampled_from([*REGIONS, (0x6000_0000, 64, 9, False)]), st.integers(0, 63), st.integers(0, 12))


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    blocks=st.lists(block, min_size=1, max_size=8),
    count=st.integers(0, 1 << 40),
    left=st.integers(-3, 40),
    watch=st.sampled_from([0, 0, MAY_UNMASK, SETS_FAULTMASK]),
    last=flags,
    refused=st.one_of(st.just(0), flags),
    event=st.integers(0, 1),
)
@example(0, [(REGIONS[0], 0, 4)], 1 << 40, 0, 0, 0, 0, 0)  # the limit is reached exactly
@example(0, [(REGIONS[0], 0, 4)], 0, 1 << 40, MAY_UNMASK, MAY_UNMASK, 0, 0)
@example(0, [(REGIONS[0], 0, 4)], 0, 1 << 40, MAY_UNMASK, HAS_FP | HAS_SEV | NOT_V6M, 0, 0)
@example(0, [(REGIONS[0], 0, 4)], 0, 1 << 40, 0, MAY_UNMASK, 0, 0)
def test_every_slot_after_every_block(
    seed: int, blocks: list, count: int, left: int, watch: int, last: int, refused: int, event: int
) -> None:
    twin = Twin(
        REGIONS, np.random.default_rng(seed), COUNT=count, LIMIT=count + left, WATCH=watch, FLAGS=last, REFUSED=refused, EVENT=event,
    )  # fmt: skip
    for (base, length, _, _), at, halfwords in blocks:
        twin.call(base + 2 * at, 2 * min(halfwords, length - at))


def test_thousands_of_hook_calls() -> None:
    """Like a run: the state stays, code is changed now and then, and the limit moves."""
    rng = np.random.default_rng(16)
    twin = Twin(REGIONS, rng, LIMIT=1 << 40)
    ended = {False: 0, True: 0}
    for turn in range(3000):
        base, length, memory, _ = REGIONS[rng.integers(len(REGIONS))]
        at = int(rng.integers(length))
        if turn % 50 == 0:  # a cached count stays until it is forgotten: both must use it
            twin.codes[memory][:] = halfwords_at_random(rng, len(twin.codes[memory]))
        if turn % 200 == 0:
            twin.counts[:] = 0
            twin.caches.counts[:] = [0] * len(twin.counts)
            twin.set(Slot.FIRST_CACHED, len(twin.counts))
            twin.set(Slot.END_CACHED, 0)
        twin.set(Slot.WATCH, int(rng.choice([0, 0, 0, 0, 0, 0, MAY_UNMASK, MAY_UNMASK | SETS_FAULTMASK])))
        twin.set(Slot.REFUSED, int(rng.choice([0, 0, 0, *FLAGS, HAS_FP | NOT_V6M])))
        twin.set(Slot.LIMIT, twin.state[Slot.COUNT] + int(rng.choice([1 << 40, 1 << 40, 1, 0, -1])))
        twin.set(Slot.EVENT, 0)
        ended[twin.call(base + 2 * at, 2 * int(rng.integers(min(12, length - at) + 1)))] += 1
    assert min(ended.values()) > 300


@pytest.mark.parametrize(
    "address", [FLASH - 2, FLASH, FLASH + 1, FLASH + 2 * 96 - 2, FLASH + 2 * 96, RAM - 2, RAM + 2 * 64, 0xFFFF_FFFE]
)
def test_the_borders_of_regions(address: int) -> None:
    twin = Twin(REGIONS, np.random.default_rng(3), LIMIT=1 << 40)
    assert not twin.call(address, 2)
    assert twin.state[Slot.COUNT] == (FLASH <= address < FLASH + 2 * 96)


def test_the_most_regions() -> None:
    regions = [(0x1000_0000 * number, 8, number, number % 3 > 0) for number in range(MAX_REGIONS)]
    twin = Twin(regions, np.random.default_rng(4), LIMIT=1 << 40)
    for base, _, _, _ in regions:
        twin.call(base + 4, 6)
    assert twin.state[Slot.COUNT] >= MAX_REGIONS


def test_the_first_of_two_regions_that_overlap() -> None:
    twin = Twin([(FLASH, 16, 0, False), (FLASH + 8, 16, 1, True)], np.random.default_rng(5), LIMIT=1 << 40)
    twin.call(FLASH + 8, 12)
    assert not twin.counts.any()
