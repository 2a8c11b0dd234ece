"""Edges of the marker against the power beside them, on scripted currents of known energy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.energy.capture import Capture, Edge, joined
from hil.energy.edge_check import BELOW, UNCHECKED, WrongEdges, check_changes, checked_edges
from hil.meters.meter import InvalidWindow
from hil.meters.window_edges import pieces, with_both_edges

IDLE_S, WORK_S, INTERVAL_S = 0.1, 0.4, 1e-3


def capture(
    up_s=IDLE_S,
    down_s=IDLE_S + WORK_S,
    end_s=2 * IDLE_S + WORK_S,
    *,
    work_w=0.2,
    idle_w=0.05,
    noise_w=1e-4,
    half_s=5e-4,
    seed=1,
) -> Capture:
    """Work from IDLE_S on for WORK_S, and edges where somebody says that they are."""
    t = np.arange(0, end_s, INTERVAL_S)
    busy = np.clip(np.minimum(t + INTERVAL_S, IDLE_S + WORK_S) - np.maximum(t, IDLE_S), 0, INTERVAL_S) / INTERVAL_S
    power = idle_w + (work_w - idle_w) * busy + np.random.default_rng(seed).normal(0, noise_w, len(t))
    edges = (Edge(up_s, half_s, True), Edge(down_s, half_s, False))
    return Capture(t, power, power / 3.3, np.full(len(t), 3.3), INTERVAL_S, INTERVAL_S, edges, 0.1, 0)


@settings(deadline=None, max_examples=60)
@given(st.floats(0.02, 0.9), st.integers(0, 99), st.floats(0.01, 0.5))
def test_a_bounce_anywhere_within_the_work_is_seen(share, seed, work_w):
    """The first two changes are taken for the edges: the meter stops one sleep after the bounce."""
    fall = IDLE_S + share * WORK_S
    seen = capture(
        down_s=fall, end_s=min(fall + 0.95 * IDLE_S, 2 * IDLE_S + WORK_S), work_w=work_w, idle_w=0.002, seed=seed
    )
    with pytest.raises(WrongEdges):
        checked_edges(seen, IDLE_S)


@settings(deadline=None, max_examples=60)
@given(st.floats(-4e-4, 4e-4), st.integers(0, 99), st.floats(0.06, 0.5), st.floats(0.0, 2e-3))
def test_edges_of_the_work_stay_as_they_are(off_s, seed, work_w, noise_w):
    seen = capture(IDLE_S + off_s, IDLE_S + WORK_S + off_s, work_w=work_w, noise_w=noise_w, seed=seed)
    checked = checked_edges(seen, IDLE_S)
    assert checked.edges == seen.edges and (not checked.notes or noise_w * 8 > 0.05 * (work_w - 0.05))


@pytest.mark.parametrize("late_s", [-0.03, -0.01, 0.01, 0.03])
def test_a_log_that_begins_at_another_time_than_was_thought_is_seen(late_s):
    with pytest.raises(WrongEdges, match="the power"):
        checked_edges(capture(IDLE_S + late_s, IDLE_S + WORK_S + late_s), IDLE_S)


def test_edges_that_are_known_badly_are_dated_by_the_power():
    seen = checked_edges(capture(IDLE_S + 0.03, IDLE_S + WORK_S + 0.03, half_s=0.04), IDLE_S)
    for edge, true in zip(seen.edges, (IDLE_S, IDLE_S + WORK_S), strict=True):
        assert abs(edge.t_s - true) <= edge.half_s < 0.005
    assert seen.synchronisation == "power"


def test_work_that_draws_what_the_sleep_draws_is_noted_and_less_than_it_is_checked():
    assert checked_edges(capture(work_w=0.05), IDLE_S).notes == (UNCHECKED,)
    assert checked_edges(capture(work_w=0.02), IDLE_S).notes == (BELOW,)
    with pytest.raises(WrongEdges):
        checked_edges(capture(work_w=0.02, down_s=IDLE_S + WORK_S / 2), IDLE_S)


@pytest.mark.parametrize(
    "levels", [[True, False, True, False], [True, False, True], [False, True], [True, True], [False]]
)
def test_other_changes_than_up_and_down_are_bounce(levels):
    with pytest.raises(WrongEdges, match=rf"changed {len(levels)} times in one window"):
        check_changes(levels)
    bounced = replace(capture(), edges=tuple(Edge(0.1 + 0.01 * k, 0.0, level) for k, level in enumerate(levels)))
    with pytest.raises(InvalidWindow, match="check the marker pin for bounce"):
        with_both_edges(bounced, IDLE_S)


class Streaming:
    """A meter that hands a capture over in pieces."""

    def __init__(self, whole: Capture, sizes: list[int]) -> None:
        self._whole, self._sizes = whole, sizes

    def pieces(self, deadline_s):
        at = 0
        for size in [*self._sizes, len(self._whole.t_s)]:
            part = slice(at, at + size)
            t = self._whole.t_s[part]
            if not len(t):
                return
            after = t[-1] + INTERVAL_S if at + size < len(self._whole.t_s) else np.inf
            begin = t[0] if at else -np.inf
            edges = tuple(edge for edge in self._whole.edges if begin <= edge.t_s < after)
            yield replace(
                self._whole, t_s=t, power_w=self._whole.power_w[part], current_a=self._whole.current_a[part], voltage_v=self._whole.voltage_v[part],
                edges=edges,
            )  # fmt: skip
            at += size


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=6), st.floats(0.2, 0.8))
def test_a_window_that_streams_is_checked_too(sizes, share):
    whole = capture()
    assert len(joined(list(pieces(Streaming(whole, sizes), 1.0, IDLE_S))).t_s) == len(whole.t_s)
    fall = IDLE_S + share * WORK_S
    with pytest.raises(InvalidWindow):
        list(pieces(Streaming(capture(down_s=fall, end_s=fall + 0.95 * IDLE_S), sizes), 1.0, IDLE_S))


@pytest.mark.parametrize("sizes", [[], [100], [150, 150, 1]])
def test_edges_of_a_stream_that_could_not_be_checked_are_noted(sizes):
    assert joined(list(pieces(Streaming(capture(work_w=0.05), sizes), 1.0, IDLE_S))).notes == (UNCHECKED,)
    assert joined(list(pieces(Streaming(capture(), sizes), 1.0, IDLE_S))).notes == ()
