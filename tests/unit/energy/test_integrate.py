"""Energy between two times, against sums over a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.energy.capture import Capture
from hil.energy.integration import cells, integral

seeds = st.integers(0, 10_000)


def capture(t_s, values, aperture_s, interval_s):
    values = np.asarray(values, float)
    return Capture(
        np.asarray(t_s, float), values, values / 3.3, np.full(len(values), 3.3), aperture_s, interval_s, (), 0.1, 0
    )


@settings(deadline=None)
@given(seeds)
def test_means_without_a_gap_are_exact_for_levels_that_they_are_aligned_with(seed):
    """The truth changes its level only where a reading begins; brute force: 1000 slices of every reading, cut at the ends."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), 0.01
    levels, t = rng.uniform(0, 1, n), 5 + d * np.arange(n)
    begin, end = np.sort(rng.uniform(5, 5 + n * d, 2))
    fine = 5 + d / 1000 * (np.arange(1000 * n) + 0.5)
    inside = (fine >= begin) & (fine < end)
    brute = np.sum(np.repeat(levels, 1000)[inside]) * d / 1000
    assert integral(capture(t, levels, d, d), levels, begin, end) == pytest.approx(brute, abs=2.1 * d / 1000)


@settings(deadline=None)
@given(seeds)
def test_instants_are_exact_for_straight_lines(seed):
    """Brute force: the midpoint rule on a fine grid over np.interp; stamps are irregular."""
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.001, 0.02, int(rng.integers(3, 30))))
    values = rng.uniform(0, 1, len(t))
    begin, end = np.sort(rng.uniform(t[0], t[-1], 2))
    grid = np.linspace(begin, end, 20_001)
    brute = np.sum(np.interp((grid[1:] + grid[:-1]) / 2, t, values)) * (end - begin) / 20_000
    assert integral(capture(t, values, 0.0, 0.01), values, begin, end) == pytest.approx(brute, abs=1e-6)


@settings(deadline=None)
@given(seeds)
def test_parts_add_up(seed):
    rng = np.random.default_rng(seed)
    for aperture in (0.0, 0.008):
        t = np.cumsum(rng.uniform(0.009, 0.02, 12))
        seen = capture(t, rng.uniform(0, 1, 12), aperture, 0.01)
        a, b, c = np.sort(rng.uniform(t[0] - 0.05, t[-1] + 0.05, 3))
        whole = integral(seen, seen.power_w, a, c)
        assert integral(seen, seen.power_w, a, b) + integral(seen, seen.power_w, b, c) == pytest.approx(
            whole, abs=1e-12
        )


def test_the_time_of_a_lost_reading_is_shared_by_its_neighbours():
    seen = capture([0.0, 0.01, 0.03, 0.04], [1, 1, 3, 3], 0.01, 0.01)
    assert cells(seen) == pytest.approx([0, 0.01, 0.025, 0.04, 0.05])
    assert integral(seen, seen.power_w, 0.02, 0.03) == pytest.approx(0.005 * 1 + 0.005 * 3)


def test_a_pause_after_every_aperture_lies_half_before_and_half_behind():
    assert cells(capture([0.0, 1.0], [1, 1], 0.8, 1.0)) == pytest.approx([-0.1, 0.9, 1.9])
