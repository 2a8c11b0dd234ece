"""The noise of a step: three forms of the text against each other, and exact counts (docs/arithmetic.md, section 8).

What the linear algebra of the generator proves is in test_noise_algebra.py, what only many steps show in test_noise_statistics.py.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.methods import prng
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from tests.oracle import numbers as plain

WORD = 2**32
EDGES = [0, 1, 2, 84, 127, 128, 230, 254, 255]  # of p_zero


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


def vectorised(seed: int, step: int, tensor: int, size: int, p_zero: int, r_max: int) -> list[int]:
    pool = prng.signed_pool(seed, step, p_zero, r_max)
    return prng.perturbation(pool, seed, step, tensor, size).tolist()


def looped(seed: int, step: int, tensor: int, size: int, p_zero: int, r_max: int) -> list[int]:
    return plain.perturbation(ElasticZoSettings(0, seed=seed, p_zero=p_zero, r_max=r_max), step, tensor, size)


def of_one_weight(seed: int, step: int, tensor: int, index: int, p_zero: int, r_max: int) -> int:
    """Return z of one weight from nothing but its place: products, quotients and remainders, no shift and no array."""

    def exclusive_or(a: int, b: int) -> int:
        return sum(2**k * ((a // 2**k + b // 2**k) % 2) for k in range(32))

    def mixed(h: int) -> int:
        for divisor, factor in ((2**16, 2246822507), (2**13, 3266489909)):
            h = exclusive_or(h, h // divisor) * factor % WORD
        return exclusive_or(h, h // 2**16)

    def word(stream: int, number: int) -> int:
        x = mixed(exclusive_or(mixed((seed + 2654435769 * (step + 1)) % WORD), 668265263 * stream % WORD))
        x = x if x else 1831565813
        for _ in range(number + 1):
            x = exclusive_or(x, x * 2**13 % WORD)
            x = exclusive_or(x, x // 2**17)
            x = exclusive_or(x, x * 2**5 % WORD)
        return x

    group, place = divmod(index, 4)
    number, j = divmod(group, 3)
    negative, entry = divmod(word(tensor + 1, number) // 512**j % 512, 256)
    mask, value = (word(0, 2 * entry + half) // 256**place % 256 for half in (0, 1))
    if mask < p_zero:
        return 0
    z = (value * (2 * r_max + 1) + r_max) // 256 - r_max
    return -z if negative else z


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    step=st.integers(0, 2**32 - 1),
    tensor=st.integers(0, 31),
    size=st.integers(1, 30),
    p_zero=st.integers(0, 255) | st.sampled_from(EDGES),
    r_max=st.integers(1, 127),
)
def test_z_is_the_specifications(seed: int, step: int, tensor: int, size: int, p_zero: int, r_max: int) -> None:
    where = seed, step, tensor, size, p_zero, r_max
    z = vectorised(*where)
    assert z == looped(*where)
    assert max(map(abs, z)) <= r_max


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    step=st.integers(0, 2**32 - 1),
    tensor=st.integers(0, 31),
    index=st.integers(0, 29),
    p_zero=st.sampled_from(EDGES),
    r_max=st.integers(1, 127),
)
def test_z_of_a_weight_by_its_place_alone(
    seed: int, step: int, tensor: int, index: int, p_zero: int, r_max: int
) -> None:
    expected = of_one_weight(seed, step, tensor, index, p_zero, r_max)
    assert vectorised(seed, step, tensor, 30, p_zero, r_max)[index] == expected
    assert looped(seed, step, tensor, 30, p_zero, r_max)[index] == expected


@pytest.mark.parametrize("p_zero", EDGES)
def test_every_r_max(p_zero: int) -> None:
    for r_max in range(1, 128):
        where = 1000 * p_zero + r_max, r_max, r_max % 5, 1 + r_max % 30, p_zero, r_max
        assert vectorised(*where) == looped(*where), where


def test_a_long_tensor() -> None:
    assert vectorised(3, 8, 2, 9001, 84, 7) == looped(3, 8, 2, 9001, 84, 7)


@pytest.mark.parametrize("i", [0, 1, 5])
def test_a_state_of_0_is_replaced(i: int) -> None:
    """mix32 is a bijection, so that some key leads to 0, of the pool and of every stream; its inverse finds a seed that does."""
    mixed = 0x27D4EB2F * i % WORD
    seed = (_inverse_mix32(mixed) - 0x9E3779B9) % WORD
    assert prng.mix32(prng.mix32((seed + 0x9E3779B9) % WORD) ^ mixed) == 0
    assert prng.start_state(seed, 0, i) == 0x6D2B79F5
    for tensor in range(6):
        assert vectorised(seed, 0, tensor, 40, 0, 63) == looped(seed, 0, tensor, 40, 0, 63)


def _inverse_mix32(h: int) -> int:
    def unshift(value: int, n: int) -> int:
        result = value
        for _ in range(32 // n + 1):
            result = value ^ (result >> n)
        return result

    h = unshift(h, 16) * pow(0xC2B2AE35, -1, WORD) % WORD
    h = unshift(h, 13) * pow(0x85EBCA6B, -1, WORD) % WORD
    return unshift(h, 16)


def _z_of_bytes(monkeypatch: pytest.MonkeyPatch, mask: int, p_zero: int, r_max: int) -> np.ndarray:
    """Return the pool's numbers for all 256 value bytes, four times over, and one mask byte, through the real code."""
    values = np.tile(np.arange(256, dtype=np.uint8), 4).view("<u4")
    pairs = np.stack([np.full(256, mask * 0x01010101, np.uint32), values], axis=1).ravel()
    monkeypatch.setattr(prng, "words", lambda state, count: pairs[:count])
    pool = prng.signed_pool(1, 0, p_zero, r_max)
    np.testing.assert_array_equal(pool[256:], -pool[:256])
    return pool[:256].ravel()


def test_the_pool_is_symmetric_for_every_r_max(monkeypatch: pytest.MonkeyPatch) -> None:
    for r_max in range(1, 128):
        z = _z_of_bytes(monkeypatch, 255, 255, r_max)[:256]
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
        expected = np.zeros(1024) if mask < p_zero else unmasked
        np.testing.assert_array_equal(_z_of_bytes(monkeypatch, mask, p_zero, 7), expected)


def test_a_field_is_nine_bits_of_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any nine bits reach their own entry, whatever the other bits are; the ninth one negates."""
    rng = np.random.default_rng(3)
    fields = rng.integers(0, 512, (700, 3))
    drawn = (fields @ [1, 2**9, 2**18] + (rng.integers(0, 32, 700) << 27)).astype(np.uint32)
    monkeypatch.setattr(prng, "words", lambda state, count: drawn[:count])
    pool = rng.integers(-63, 64, (256, 4)).astype(np.int16)
    z = prng.perturbation(np.concatenate([pool, -pool]), 0, 0, 0, 12 * 700)
    expected = pool[fields.ravel() % 256] * np.where(fields.ravel() < 256, 1, -1)[:, None]
    np.testing.assert_array_equal(z, expected.ravel())


def test_streams_and_pools_of_steps_tensors_and_seeds_differ() -> None:
    states = {prng.start_state(*where) for where in product((0, 1, 2**32 - 1), range(50), range(6))}
    assert len(states) == 3 * 50 * 6


def test_a_shorter_tensor_has_the_beginning_of_a_longer_one() -> None:
    long = vectorised(9, 4, 2, 64, 84, 7)
    for size in range(1, 64):
        assert vectorised(9, 4, 2, size, 84, 7) == long[:size]
