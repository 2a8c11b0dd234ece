"""The ranges of the virtual PPK2: against a loop over single samples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.meter.ppk2_ranges import RangeSwitch, Settling

LEVELS = [0.0, 1e-6, 39e-6, 41e-6, 49e-6, 60e-6, 450e-6, 3e-3, 4.5e-3, 20e-3, 45e-3, 95e-3, 0.9]
SPANS = [50e-6, 500e-6, 5e-3, 50e-3, 1.0]  # Nordic's user guide

levels = st.lists(st.tuples(st.sampled_from(LEVELS), st.integers(1, 25)), min_size=1, max_size=12)


def one_by_one(amps: list[float]) -> list[int]:
    """Up at once; down by one range after ten samples below 0.8 of the smaller range's span."""
    place, patience, found = 4, 10, []
    for now in amps:
        if now > SPANS[place]:
            while now > SPANS[place]:
                place += 1
            patience = 10
        elif place and now <= 0.8 * SPANS[place - 1]:
            if patience == 0:
                place, patience = place - 1, 10
        else:
            patience = 10
        if place and now <= 0.8 * SPANS[place - 1]:
            patience -= 1
        else:
            patience = 10
        found.append(place)
    return found


def cut(rng: np.random.Generator, length: int) -> list[slice]:
    edges = sorted({0, length, *rng.integers(0, length, 4).tolist()})
    return [slice(a, b) for a, b in pairwise(edges)]


@settings(max_examples=40)
@given(levels, st.integers(0, 2**32 - 1))
def test_ranges_are_those_of_single_samples_however_they_are_cut(turns, seed):
    amps = np.repeat([level for level, _ in turns], [count for _, count in turns])
    switch = RangeSwitch()
    parts = [switch.follow(amps[part]) for part in cut(np.random.default_rng(seed), len(amps))]
    assert np.concatenate(parts).tolist() == one_by_one(amps.tolist())


@settings(max_examples=40)
@given(levels, st.integers(0, 2**32 - 1))
def test_a_switch_disturbs_three_samples_however_they_are_cut(turns, seed):
    rng = np.random.default_rng(seed)
    amps = np.repeat([level for level, _ in turns], [count for _, count in turns])
    ranges = RangeSwitch().follow(amps)
    volts = amps * np.array([1000.0, 100.0, 10.0, 1.0, 0.05])[ranges]
    whole, settling = Settling().disturb(volts, ranges), Settling()
    parts = [settling.disturb(volts[part], ranges[part]) for part in cut(rng, len(amps))]
    assert np.concatenate(parts) == pytest.approx(whole, abs=1e-15)
    switched = np.flatnonzero(np.diff(ranges)) + 1
    near = np.zeros(len(amps), bool)
    for later in range(3):
        near[np.minimum(switched + later, len(amps) - 1)] = True
    assert np.array_equal(whole[~near], volts[~near])
    for at in switched:
        if not np.any(near[max(at - 3, 0) : at]):  # no earlier switch is heard
            assert whole[at] == pytest.approx(volts[at] + 0.15 * (volts[at - 1] - volts[at]), abs=1e-15)
