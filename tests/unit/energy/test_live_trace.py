"""The trace that grows while a meter is watched: bounded, and exact in its sums."""

from __future__ import annotations

import numpy as np
import pytest

from hil.energy.live_trace import CLASSES, MOST_BINS, LiveTrace, PowerHistogram


def test_sums_and_extremes_stay_when_bins_are_joined():
    """Every bin agrees with the readings that lie in it, after many joins."""
    rng, trace = np.random.default_rng(1), LiveTrace()
    times, powers, begin = [], [], 0.0
    for _ in range(600):
        n, seconds = int(rng.integers(1, 60)), float(rng.uniform(0.4, 0.6))
        power = rng.uniform(0.01, 1, n)
        trace.add(power, seconds)
        times.append(begin + (np.arange(n) + 0.5) * seconds / n)
        powers.append(np.stack([power, np.full(n, seconds / n)]))
        begin += seconds
    t, energy, lowest, highest = trace.columns()
    middle, (power, each) = np.concatenate(times), np.concatenate(powers, axis=1)
    assert MOST_BINS / 4 < len(lowest) <= MOST_BINS and t[-1] == pytest.approx(begin)
    assert energy[-1] == pytest.approx(np.sum(power * each))
    place = np.searchsorted(t, middle) - 1
    for bin_ in rng.choice(len(lowest), 200, replace=False):
        inside = place == bin_
        assert energy[bin_ + 1] - energy[bin_] == pytest.approx(np.sum((power * each)[inside]), rel=1e-9)
        assert (lowest[bin_], highest[bin_]) == (power[inside].min(), power[inside].max())


def test_what_is_missed_has_no_power_and_what_is_silent_goes_on():
    trace = LiveTrace()
    trace.add(np.array([2.0]), 1.0)
    trace.add(np.empty(0), 1.0)
    trace.miss(1.0)
    trace.add(np.array([1.0, 3.0]), 1.0)
    t, energy, lowest, highest = trace.columns()
    assert t.tolist() == [0, 1, 2, 3, 3.5, 4] and energy.tolist() == [0, 2, 4, 4, 4.5, 6]
    assert np.isnan(lowest).tolist() == [False, False, True, False, False] and highest[-1] == 3


def test_the_histogram_counts_every_reading_once_however_its_classes_grow():
    rng, histogram = np.random.default_rng(2), PowerHistogram()
    seen = [rng.lognormal(-6 + k, 1, 50) for k in range(8)]
    for power in seen:
        histogram.add(power)
    power = np.concatenate(seen)
    expected = np.histogram(power, np.arange(CLASSES + 1) * histogram.width_w)[0]
    assert np.array_equal(histogram.counts, expected) and histogram.counts.sum() == len(power)
    assert power.max() >= histogram.width_w * CLASSES / 2, "no wider than needed"


def test_no_power_negative_power_and_no_numbers():
    histogram = PowerHistogram()
    for power in ([], [0.0, 0.0], [-1.0], [np.nan, np.inf], [1.0]):
        histogram.add(np.array(power))
    assert histogram.counts.sum() == 4 and histogram.counts[0] == 3
