"""The worst data cache against a cache by brute force, and the faults of drivers that it shows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.data_cache import LINE, CachedMemory, CacheShape, DataCache

from .brute_force_cache import UNCACHED, WRITE_BACK, WRITE_THROUGH, BruteForceCache

LINES, BASE = 6, 0x24000000
SIZE = LINES * LINE
places = st.integers(0, SIZE - 1)
kinds = st.lists(st.sampled_from([UNCACHED, WRITE_THROUGH, WRITE_BACK]), min_size=LINES, max_size=LINES)
some_lines = st.lists(st.integers(0, LINES - 1), min_size=1, max_size=LINES, unique=True)
# The model cannot see that the core stores the value that was there: each store has a new one.
steps = st.lists(
    st.one_of(
        st.tuples(st.just("core stores"), places),
        st.tuples(st.just("other stores"), places, st.integers(1, 70)),
        st.tuples(st.just("change"), kinds),
        st.tuples(st.just("maintain"), some_lines, st.booleans(), st.booleans()),
    ),
    max_size=40,
)


class Both:
    """The model and the oracle, with the same contents. `fresh` is a byte that no place has now."""

    def __init__(self, writable: bool) -> None:
        contents = np.random.default_rng(5).integers(0, 100, SIZE, np.uint8)
        self.view, self.writable = contents.copy(), writable
        self.model, self.oracle = CachedMemory(BASE, self.view, writable), BruteForceCache(contents.tobytes())
        self._next = 0

    def fresh(self) -> int:
        self._next = (self._next + 1) % 156
        return 100 + self._next

    def core_stores(self, at: int) -> None:
        byte = self.fresh()
        self.view[at] = byte
        self.oracle.core_store(at, byte)

    def other_stores(self, at: int, size: int) -> None:
        data = bytes(self.fresh() for _ in range(min(size, SIZE - at)))
        self.model.store(at, data)
        self.oracle.other_store(at, data)

    def change(self, wanted: list[int]) -> None:
        # From write-back to write-through with stored bytes is not compared: the model writes them at once.
        old = self.model.kinds
        wanted = [
            WRITE_BACK if was == WRITE_BACK and new == WRITE_THROUGH else new
            for was, new in zip(old, wanted, strict=True)
        ]
        dirty_outside = [line for line, held in self.oracle.lines.items() if held.dirty and old[line] == UNCACHED]
        wanted = [
            WRITE_BACK if line in dirty_outside and new == WRITE_THROUGH else new for line, new in enumerate(wanted)
        ]
        self.model.change(np.array(wanted, np.uint8))
        self.oracle.change(wanted)

    def maintain(self, lines: list[int], clean: bool, invalidate: bool) -> None:
        self.model.maintain(np.array(lines), clean, invalidate)
        for line in lines:
            self.oracle.maintain(line, clean, invalidate)

    def compare(self) -> None:
        assert self.view.tolist() == [self.oracle.core_load(at) for at in range(SIZE)]
        assert self.model.load(0, SIZE)[0] == bytes(self.oracle.memory)
        for at in range(0, SIZE, 7):
            assert self.model.load(at, 1)[0][0] == self.oracle.other_load(at)


@settings(max_examples=400, deadline=None)
@given(steps)
def test_core_and_others_see_what_a_cache_by_brute_force_shows(taken: list[tuple]) -> None:
    both = Both(writable=True)
    for name, *arguments in taken:
        getattr(both, name.replace(" ", "_"))(*arguments)
        both.compare()


@settings(max_examples=200, deadline=None)
@given(steps)
def test_a_memory_that_the_core_cannot_write(taken: list[tuple]) -> None:
    both = Both(writable=False)
    for name, *arguments in taken:
        if name != "core stores":
            getattr(both, name.replace(" ", "_"))(*arguments)
        both.compare()


class Driver:
    """A driver that sends and receives by a DMA through write-back memory."""

    def __init__(self) -> None:
        self.view = np.zeros(4 * LINE, np.uint8)
        self.said: list[str] = []
        self.cache = DataCache([CachedMemory(BASE, self.view, True)], CacheShape(128, 4), self.said.append)
        self.cache.memories[0].change(np.full(4, WRITE_BACK, np.uint8))

    def receive(self, data: bytes, at: int = 0) -> None:
        self.cache.store(BASE + at, data, "the DMA")

    def send(self, size: int, at: int = 0) -> bytes:
        sent = self.cache.load(BASE + at, size, "the DMA")
        assert sent is not None
        return sent

    def clean(self, at: int = 0) -> None:
        self.cache.by_address(BASE + at, clean=True, invalidate=False)

    def invalidate(self, at: int = 0) -> None:
        self.cache.by_address(BASE + at, clean=False, invalidate=True)


def test_a_right_driver_sends_and_receives() -> None:
    driver = Driver()
    driver.view[:5] = list(b"hello")
    driver.clean(at=3)  # any address of the line
    assert driver.send(5) == b"hello"
    driver.invalidate()
    driver.receive(b"world")
    driver.invalidate()
    assert driver.view[:5].tobytes() == b"world" and not driver.said


def test_bytes_that_are_not_cleaned_are_not_sent() -> None:
    driver = Driver()
    driver.view[:5] = list(b"hello")
    assert driver.send(5) == bytes(5)
    assert len(driver.said) == 1 and "the DMA reads 0x24000000 and sees 5 of 5" in driver.said[0]


def test_bytes_that_are_not_invalidated_are_not_seen() -> None:
    driver = Driver()
    driver.invalidate()  # before the transfer only: the core may fetch the line again meanwhile
    driver.receive(b"world")
    assert not driver.view.any()


def test_a_line_that_is_shared_with_what_the_core_writes_is_lost() -> None:
    driver = Driver()
    driver.view[20] = 1
    driver.receive(b"world")
    driver.invalidate()
    assert driver.view[:21].tolist() == [0] * 20 + [1] and "loses 1 lines" in driver.said[0]


def test_an_invalidation_loses_the_neighbours() -> None:
    driver = Driver()
    driver.receive(b"world")
    driver.view[20] = 1
    driver.invalidate()
    assert driver.view[:21].tobytes() == b"world" + bytes(16) and "1 bytes that the core has written" in driver.said[0]


def test_set_and_way_act_on_all_lines_after_the_last_way() -> None:
    driver = Driver()
    driver.view[:] = 7
    assert not driver.cache.invalidated
    for way in range(4):
        assert driver.send(4 * LINE) == bytes(4 * LINE)
        for number in range(128):
            driver.cache.by_set(number << 5 | way << 30, clean=True, invalidate=True)
    assert driver.send(4 * LINE) == bytes([7]) * 4 * LINE and driver.cache.invalidated
    driver.cache.begin()
    assert not driver.cache.invalidated


@pytest.mark.parametrize(("ccsidr", "sets", "ways"), [(0xF00FE019, 128, 4), (0xF003E019, 32, 4), (0xF01FE019, 256, 4)])
def test_the_shapes_of_caches_of_16_4_and_32_kilobytes(ccsidr: int, sets: int, ways: int) -> None:
    shape = CacheShape.from_ccsidr(ccsidr)
    assert (shape.sets, shape.ways) == (sets, ways)
