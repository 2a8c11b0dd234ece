"""Thinning by peaks, against what every bucket must keep."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hil.energy.live_trace import keep_peaks

TRACES = arrays(np.float64, st.integers(0, 400), elements=st.floats(-1e6, 1e6))


@settings(max_examples=150, deadline=None)
@given(TRACES, st.integers(1, 60))
def test_the_extremes_of_every_bucket_survive(values: np.ndarray, buckets: int) -> None:
    kept = keep_peaks(values, buckets)
    assert np.all(np.diff(kept) > 0) and len(kept) <= max(len(values), 0)
    if len(values) <= 2 * buckets + 2:
        assert np.array_equal(kept, np.arange(len(values)))
        return
    assert len(kept) <= 2 * buckets + 2 and kept[0] == 0 and kept[-1] == len(values) - 1
    size = -(-len(values) // buckets)
    for begin in range(0, len(values), size):
        bucket = values[begin : begin + size]
        inside = values[kept[(kept >= begin) & (kept < begin + size)]]
        assert inside.min() == bucket.min() and inside.max() == bucket.max()


def test_a_single_peak_among_a_million_readings() -> None:
    values = np.full(1_000_000, 0.01)
    values[654_321] = 0.5
    kept = keep_peaks(values, 1000)
    assert 654_321 in kept and len(kept) <= 2002


def test_a_gap_stays_a_gap() -> None:
    values = np.ones(1000)
    values[300:700] = np.nan
    kept = keep_peaks(values, 10)
    assert np.isnan(values[kept]).any() and np.isfinite(values[kept]).any()
