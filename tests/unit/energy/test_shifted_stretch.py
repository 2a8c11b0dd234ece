"""Readings that are at another level for a while, with the range and the resolution of the others."""

from __future__ import annotations

import numpy as np
import pytest

from hil.energy.bursts import shifted_stretch

NOISE_A = 20e-6


def work(kind: str, count: int, random: np.random.Generator) -> np.ndarray:
    """Readings of steps of a board: level, two phases, a ramp, or bursts; with a period that fits no whole reading."""
    phase = np.arange(count) / 9.7 % 1
    level = {
        "plain": np.full(count, 0.06),
        "phases": np.where(phase < 0.7, 0.07, 0.03),
        "ramp": 0.04 + 0.03 * phase,
        "bursts": np.where(phase < 0.1, 0.2, 0.05),
        "long steps": np.where(np.arange(count) / 151.3 % 1 < 0.6, 0.07, 0.03),
    }[kind]
    return level + random.normal(0, NOISE_A, count)


@pytest.mark.parametrize("count", [160, 400, 1200, 4000])
@pytest.mark.parametrize("kind", ["plain", "phases", "ramp", "bursts", "long steps"])
def test_work_that_repeats_has_none(kind: str, count: int) -> None:
    random = np.random.default_rng(5)
    assert [shifted_stretch(work(kind, count, random)) for _ in range(50)] == [(0, 0.0)] * 50


@pytest.mark.parametrize("by_a", [0.003, -0.003, 0.0005])
@pytest.mark.parametrize("row", [20, 30, 80])
def test_a_row_of_readings_with_an_offset(row: int, by_a: float) -> None:
    random = np.random.default_rng(6)
    for _ in range(20):
        current = work("plain", 400, random)
        begin = int(random.integers(0, 400 - row))
        current[begin : begin + row] += by_a
        count, found = shifted_stretch(current)
        assert abs(count - row) <= 12 and found == pytest.approx(by_a, rel=0.1)


def test_an_offset_larger_than_the_swing_of_the_steps_shows_too() -> None:
    random = np.random.default_rng(7)
    current = work("ramp", 800, random)
    current[300:330] += 0.02
    assert shifted_stretch(current)[0] >= 8


@pytest.mark.parametrize("current", [np.empty(0), np.full(159, 0.06), np.full(1000, 0.06)])
def test_too_few_readings_or_none_that_differ(current: np.ndarray) -> None:
    assert shifted_stretch(current) == (0, 0.0)
