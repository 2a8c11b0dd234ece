"""What the noise promises, proved: every bit of it is a linear form, over GF(2), of the 32 bits of a start state (docs/arithmetic.md, section 8).

All of it is exact for a start state that is uniform over all 2^32; xorshift32 never sees the state 0, which changes a mean by 2^-32.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest

from hil.training.methods import prng

WORDS = 87_382  # of a stream: a tensor of a million weights, more than any of the boards holds
Generator = Callable[[int, int], np.ndarray]


def forms(outputs: list[int], bits: int) -> list[int]:
    """Return the linear form of each output bit as a 32-bit mask of the state, given the outputs of the 32 states of one bit."""
    return [sum((output >> bit & 1) << k for k, output in enumerate(outputs)) for bit in range(bits)]


def relations(rows: list[int]) -> list[int]:
    """Return every sum of rows that is 0 over GF(2), the empty one first; a sum is a mask of the rows."""
    basis: list[tuple[int, int]] = []
    found = [0]
    for k, row in enumerate(rows):
        mask = 1 << k
        for known, of in basis:
            if row ^ known < row:
                row, mask = row ^ known, mask ^ of
        if row:
            basis = sorted([*basis, (row, mask)], reverse=True)
        else:
            found += [one ^ mask for one in found]
    return found


def test_relations_of_rows_that_have_some() -> None:
    assert sorted(relations([0b011, 0b110, 0b101, 0b1000])) == [0, 0b0111]


def test_the_map_of_one_step_is_a_bijection() -> None:
    assert relations(forms([int(prng.words(1 << bit, 1)[0]) for bit in range(32)], 32)) == [0]


def mask_and_value(bit: int, i: int) -> int:
    """Return the 16 bits (A_i, B_i) of a pool's entry after the state of one bit."""
    a, b = (int(word) for word in prng.words(1 << bit, 2))
    return (a >> 8 * i & 0xFF) | (b >> 8 * i & 0xFF) << 8


@pytest.mark.parametrize("i", range(4))
def test_mask_and_value_of_a_number_are_independent(i: int) -> None:
    """No relation between the 16 bits: all pairs come equally often, so that the mean and the share of zeros are exact."""
    assert relations(forms([mask_and_value(bit, i) for bit in range(32)], 16)) == [0]


def walsh(function: np.ndarray) -> np.ndarray:
    """Return the Walsh spectrum: the mean of function(x) (-1)^(x . r), over all x, for each r."""
    spectrum, half = function.astype(float), 1
    while half < len(function):
        pairs = spectrum.reshape(-1, 2, half)
        spectrum = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return spectrum / len(function)


@pytest.mark.parametrize(("p_zero", "r_max"), [*product((0, 84, 128, 230, 255), (1, 7, 63)), (0, 127)])
def test_the_numbers_of_an_entry_are_all_but_uncorrelated(p_zero: int, r_max: int) -> None:
    """They share the sign, so that their own correlation is left; it is a sum over the relations between their bits.

    A mean of f(x) g(y) over x, y with linear relations r . x = s . y is the sum over the relations of the product of the spectra.
    """
    mask, value = np.arange(65536) & 0xFF, np.arange(65536) >> 8
    z = np.where(mask < p_zero, 0, ((value * (2 * r_max + 1) + r_max) >> 8) - r_max)
    spectrum = walsh(z)
    assert spectrum[0] == 0
    for i, j in combinations(range(4), 2):
        outputs = [mask_and_value(bit, i) | mask_and_value(bit, j) << 16 for bit in range(32)]
        both = np.array(relations(forms(outputs, 32)))
        correlation = (spectrum[both & 0xFFFF] * spectrum[both >> 16]).sum() / (z * z).mean()
        assert abs(correlation) < 0.0031, (i, j)  # the largest of any p_zero is 0.0030: places 0 and 2, p_zero 254


def test_a_correlation_by_its_relations_is_that_of_all_states() -> None:
    """The formula above, against a count over all states of a toy generator of 8 bits."""
    rng = np.random.default_rng(1)
    f, g = rng.integers(-9, 10, 64), rng.integers(-9, 10, 64)
    outputs = rng.integers(0, 4096, 8).tolist()
    counted = 0
    for state in range(256):
        both = 0
        for k in range(8):
            both ^= outputs[k] if state >> k & 1 else 0
        counted += int(f[both & 63] * g[both >> 6])
    related = np.array(relations(forms(outputs, 12)))
    assert len(related) >= 16
    assert (walsh(f)[related & 63] * walsh(g)[related >> 6]).sum() == pytest.approx(counted / 256)


def pairs_of_groups_without_a_free_sign(words: Generator, count: int) -> int:
    """Count the pairs of groups whose signs' product is not uniform where both draw the same entry.

    The nine forms of the difference of their fields must be independent: eight of them 0 then leave the ninth free. The
    first group is one of word 0 and the second one of any word from there: only the distance matters.
    """
    images = np.stack([words(1 << bit, count) for bit in range(32)])
    fields = np.zeros((27, count), np.uint32)  # the form of each of the 27 bits that a word gives, by word
    for bit, form in product(range(32), range(27)):
        fields[form] |= (images[bit] >> np.uint32(form) & 1) << np.uint32(bit)
    bad = 0
    for first, second in product(range(3), repeat=2):
        rows = fields[9 * second : 9 * second + 9] ^ fields[9 * first : 9 * first + 9, :1]
        if second <= first:
            rows = rows[:, 1:]  # in word 0 itself, each pair once
        bad += int((~_independent(rows)).sum())
    return bad


def _independent(rows: np.ndarray) -> np.ndarray:
    """Return for each column whether its rows are independent over GF(2)."""
    rows, whole = rows.copy(), np.ones(rows.shape[1], bool)
    for k, row in enumerate(rows):
        whole &= row != 0
        pivot = row & (~row + np.uint32(1))  # its lowest bit
        for other in rows[k + 1 :]:
            other ^= np.where(other & pivot, row, np.uint32(0))
    return whole


def test_groups_that_draw_the_same_entry_have_independent_signs() -> None:
    """So the z of any two groups of a tensor are uncorrelated, exactly: what the sign is for."""
    assert pairs_of_groups_without_a_free_sign(prng.words, WORDS) == 0


def test_of_a_rotating_word_they_have_not() -> None:
    def rotated(state: int, count: int) -> np.ndarray:
        return np.array([(state << n % 32 | state >> 32 - n % 32) & 0xFFFFFFFF for n in range(1, count + 1)], np.uint32)

    assert pairs_of_groups_without_a_free_sign(rotated, 64) > 0
