"""The perturbation stream: the plain loop, its linear algebra, and exact counts (docs/arithmetic.md, section 8)."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.network.settings import Settings
from hil.reference import prng
from hil.reference.plain import numbers as plain


@settings(max_examples=60, deadline=None)
@given(state=st.integers(1, 2**32 - 1), count=st.integers(1, 3000))
def test_words_are_those_of_the_plain_loop(state: int, count: int) -> None:
    stream, expected = prng.words(state, count), []
    for _ in range(count):
        state = plain.xorshift32(state)
        expected.append(state)
    assert stream.dtype == np.uint32
    assert stream.tolist() == expected


def test_xorshift32_of_marsaglia() -> None:
    """First outputs of the generator (13, 17, 5) from the seed of Marsaglia's paper."""
    assert prng.words(2463534242, 5).tolist() == [723471715, 2497366906, 2064144800, 2008045182, 3532304609]


def test_mix32_is_murmurhash3s_finaliser() -> None:
    assert [prng.mix32(h) for h in (0, 1, 0xFFFFFFFF)] == [0, 0x514E28B7, 0x81F16F39]


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    step=st.integers(0, 2**32 - 1),
    tensor=st.integers(0, 31),
    size=st.integers(1, 200),
    p_zero=st.integers(0, 255),
    r_max=st.integers(1, 127),
)
def test_z_is_the_specifications(seed: int, step: int, tensor: int, size: int, p_zero: int, r_max: int) -> None:
    chosen = Settings(0, seed=seed, p_zero=p_zero, r_max=r_max)
    z = prng.perturbation(seed, step, tensor, size, p_zero, r_max)
    assert z.tolist() == plain.perturbation(chosen, step, tensor, size)
    assert np.abs(z).max() <= r_max


def test_a_state_of_0_is_replaced() -> None:
    """mix32 is a bijection, so that some key leads to 0; its inverse finds a seed that does."""
    seed = _inverse_mix32((0x27D4EB2F * 1) % 2**32)
    seed = (seed - 0x9E3779B9) % 2**32
    assert prng.mix32(prng.mix32((seed + 0x9E3779B9) % 2**32) ^ 0x27D4EB2F) == 0
    assert prng.start_state(seed, 0, 0) == 0x6D2B79F5
    chosen = Settings(0, seed=seed, p_zero=0, r_max=63)
    assert prng.perturbation(seed, 0, 0, 40, 0, 63).tolist() == plain.perturbation(chosen, 0, 0, 40)


def _inverse_mix32(h: int) -> int:
    def unshift(value: int, n: int) -> int:
        result = value
        for _ in range(32 // n + 1):
            result = value ^ (result >> n)
        return result

    h = unshift(h, 16) * pow(0xC2B2AE35, -1, 2**32) % 2**32
    h = unshift(h, 13) * pow(0x85EBCA6B, -1, 2**32) % 2**32
    return unshift(h, 16)


def _rank(rows: list[int]) -> int:
    """Return the rank over GF(2) of rows that are written as integers."""
    basis: list[int] = []
    for row in rows:
        for known in basis:
            row = min(row, row ^ known)
        if row:
            basis.append(row)
    return len(basis)


@pytest.mark.parametrize("i", range(4))
def test_mask_and_value_of_a_weight_are_independent(i: int) -> None:
    """The 16 bits (A_i, B_i) are linear in the 32 bits of the state; their forms have rank 16: all pairs come equally often."""
    columns = []
    for bit in range(32):
        a, b = (int(word) for word in prng.words(1 << bit, 2))
        columns.append((a >> 8 * i & 0xFF) | (b >> 8 * i & 0xFF) << 8)
    rows = [sum((columns[bit] >> form & 1) << bit for bit in range(32)) for form in range(16)]
    assert _rank(rows) == 16


def test_the_map_of_one_step_is_a_bijection() -> None:
    assert _rank([int(prng.words(1 << bit, 1)[0]) for bit in range(32)]) == 32


def _z_of_bytes(monkeypatch: pytest.MonkeyPatch, mask: int, p_zero: int, r_max: int) -> np.ndarray:
    """Return z for all 256 value bytes and one mask byte, through the real code."""
    values = np.arange(256, dtype=np.uint8).view("<u4")
    pairs = np.stack([np.full(64, mask * 0x01010101, np.uint32), values], axis=1).ravel()
    monkeypatch.setattr(prng, "words", lambda state, count: pairs[:count])
    return prng.perturbation(1, 0, 0, 256, p_zero, r_max)


def test_z_is_symmetric_for_every_r_max(monkeypatch: pytest.MonkeyPatch) -> None:
    for r_max in range(1, 128):
        z = _z_of_bytes(monkeypatch, 255, 255, r_max)
        counts = np.bincount(z + r_max, minlength=2 * r_max + 1)
        assert len(counts) == 2 * r_max + 1, r_max  # nothing outside -r_max..r_max
        assert counts.tolist() == counts[::-1].tolist(), r_max
        assert counts.min() >= 1
        assert counts.max() - counts.min() <= 1
        if r_max == 63:
            assert set(counts) == {2, 3}


@pytest.mark.parametrize("p_zero", [0, 1, 84, 128, 230, 255])
def test_the_mask_zeroes_its_share(monkeypatch: pytest.MonkeyPatch, p_zero: int) -> None:
    unmasked = _z_of_bytes(monkeypatch, 255, 0, 7)
    for mask in range(256):
        expected = np.zeros(256) if mask < p_zero else unmasked
        np.testing.assert_array_equal(_z_of_bytes(monkeypatch, mask, p_zero, 7), expected)


def test_streams_of_steps_tensors_and_seeds_differ() -> None:
    states = {prng.start_state(*where) for where in product((0, 1, 2**32 - 1), range(50), range(5))}
    assert len(states) == 3 * 50 * 5


def test_a_shorter_tensor_has_the_beginning_of_a_longer_one() -> None:
    long = prng.perturbation(9, 4, 2, 64, 84, 7)
    for size in range(1, 64):
        assert prng.perturbation(9, 4, 2, size, 84, 7).tolist() == long[:size].tolist()
