"""The truth about a virtual board's supply, against a sum over every picosecond's level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.supply import Activity, Currents, Supply
from hil.standins.virtual.meter.truth import mean_current

CURRENTS = Currents(0.09, 0.03, 0.01, 3.3, "of this test")
LENGTH = 200

gaps = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=10)


def sleeps_of(turns):
    found, at = [], 0
    for awake, asleep in turns:
        found.append((at + awake, at + awake + asleep))
        at += awake + asleep
    return found


@given(turns=gaps, begin=st.integers(0, 150), length=st.integers(1, 40), dropped=st.integers(0, 3))
def test_charge_and_current_are_those_of_the_core(turns, begin, length, dropped):
    sleeps = sleeps_of(turns)
    level = np.full(LENGTH, CURRENTS.awake_a)
    for first, last in sleeps:
        level[first:last] = CURRENTS.asleep_a
    dropped = min(dropped, sum(last <= begin for _, last in sleeps))  # the clock keeps the latest only
    slept = sum(last - first for first, last in sleeps)
    supply = Supply(CURRENTS, lambda: Activity(LENGTH, tuple(sleeps[dropped:]), False, False, slept))
    assert supply.now() == LENGTH
    mean = mean_current(supply, np.array([begin]), length)
    assert mean[0] == pytest.approx(np.mean(level[begin : begin + length]))
    times = np.arange(begin, LENGTH)
    assert np.array_equal(supply.current(times), level[begin:])
    assert supply.charge(np.array([begin]))[0] == pytest.approx(np.sum(level[:begin]) / PS_PER_S, abs=1e-24)


def test_a_stopped_core_and_edges_to_come():
    now = [5]
    supply = Supply(CURRENTS, lambda: Activity(now[0], (), False, True))
    supply.edge(4, 1)
    supply.edge(9, 0)
    assert supply.now() == 5 and list(supply.edges()) == [(4, 1)]
    assert supply.current(np.array([3, 5])).tolist() == [CURRENTS.awake_a, CURRENTS.stopped_a]
    now[0] = 9
    assert list(supply.edges()) == [(4, 1)], "as of the latest look"
    assert supply.now() == 9 and len(supply.edges()) == 2
