"""Edges from power, from two clocks and from the host, against scripted truths: the truth lies in every bracket."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.energy.capture import Edge
from hil.energy.edge_search import (
    HOST,
    POWER,
    HostTimes,
    NoEdges,
    Stamped,
    edges_by_host,
    edges_by_power,
    narrow,
    synchronise,
)

IDLE_S = 0.4


def scripted(rng: np.random.Generator):
    """A window as the firmware makes it: (times, levels) of the power, the true edges, what the host is told."""
    asked = float(rng.uniform(5, 6))
    up = asked + float(rng.uniform(0.0, 0.02)) + IDLE_S * float(rng.uniform(0.98, 1.02))
    step, steps = float(rng.uniform(0.01, 0.06)), int(rng.integers(20, 60))
    phases = rng.uniform(0.3, 1.8, 3) * rng.choice([0.05, 0.5])  # watts above idle of forward, backward, update
    down = up + step * steps
    starts = up + step * (np.arange(steps)[:, None] + np.array([0.0, 0.3, 0.8])).ravel()
    digest = float(rng.uniform(0.01, 0.1))
    idle = float(rng.uniform(0.01, 0.2))
    slept = down + IDLE_S
    times = np.concatenate([[0.0, asked], starts, [down, slept, slept + digest]])
    levels = np.concatenate([[idle + 0.4, idle], np.tile(idle + phases, steps), [idle, idle + 0.5, idle]])
    return (times, levels), (up, down), HostTimes(IDLE_S, asked, slept + digest + float(rng.uniform(0.001, 0.02)))


def mean_power(trace, begins: np.ndarray, aperture: float) -> np.ndarray:
    times, levels = trace
    charge = np.concatenate([[0.0], np.cumsum(np.diff(times) * levels[:-1])])

    def upto(at):
        place = np.searchsorted(times, at, side="right") - 1
        return charge[place] + levels[place] * (at - times[place])

    return (upto(begins + aperture) - upto(begins)) / aperture


def readings(trace, told: HostTimes, rng: np.random.Generator, kind: str) -> Stamped:
    times, levels = trace
    interval = float(rng.uniform(0.002, 0.015))
    noise = float(rng.choice([0.0, 1e-4, 0.01, 0.05]))
    end = told.answered_s + 0.2
    if kind == "point":
        half = float(rng.uniform(0, 0.003))
        t = 4.5 + np.cumsum(rng.uniform(0.5, 1.5, int((end - 4.5) / interval)) * interval)
        power = levels[np.searchsorted(times, t + rng.uniform(-half, half, len(t)), side="right") - 1]
        return Stamped(t, power + rng.normal(0, noise, len(t)), np.full(len(t), half), 0.0)
    aperture = interval * float(rng.uniform(0.7, 1.0))
    t = np.arange(4.5, end, interval)
    return Stamped(t, mean_power(trace, t, aperture) + rng.normal(0, noise, len(t)), np.zeros(len(t)), aperture)


@pytest.mark.parametrize("kind", ["point", "integrating"])
def test_the_truth_lies_in_both_brackets(kind):
    """400 windows: steps of three phases, jitter, wrong time stamps, noise up to the work itself (those are refused)."""
    told_apart = missed = 0
    widths = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        trace, truth, told = scripted(rng)
        try:
            edges = edges_by_power(readings(trace, told, rng, kind), told)
        except NoEdges:
            continue
        told_apart += 1
        missed += any(abs(edge.t_s - true) > edge.half_s + 1e-9 for edge, true in zip(edges, truth, strict=True))
        widths.append(max(edge.half_s for edge in edges))
        assert [edge.high for edge in edges] == [True, False]
    assert told_apart > 270
    assert missed == 0
    assert np.median(widths) < 0.012


def test_samples_that_arrive_and_digests_are_not_the_window():
    """Work before the request and behind the second sleep is as high as the steps, and is left out."""
    rng = np.random.default_rng(1)
    trace, truth, told = scripted(rng)
    edges = edges_by_power(readings(trace, told, np.random.default_rng(8), "integrating"), told)
    assert edges[1].t_s - edges[0].t_s == pytest.approx(truth[1] - truth[0], abs=0.03)


def test_pauses_within_steps_widen_the_brackets():
    """Half of each step looks asleep; a window may then begin with such a pause."""
    t = np.arange(0, 3, 0.002)
    window = (t >= 1.0) & (t < 2.0)
    busy = window & (((t - 1.0) % 0.1) >= 0.05)  # each step begins with 50 ms that look asleep
    power = np.where(busy, 1.0, 0.1) + np.random.default_rng(0).normal(0, 1e-3, len(t))
    first, second = edges_by_power(Stamped(t, power, np.zeros(len(t)), 0.0), HostTimes(1.0, 0.0, 3.0))
    assert first.t_s - first.half_s <= 1.0 <= first.t_s + first.half_s
    assert second.t_s - second.half_s <= 2.0 <= second.t_s + second.half_s
    assert 0.02 < first.half_s < 0.06


def test_the_boards_own_duration_narrows_the_brackets():
    first, second = narrow(
        Edge(1.0, 0.1, True), Edge(3.05, 0.1, False), HostTimes(0.5, duration_s=2.0, duration_half_s=1e-4)
    )
    assert first.t_s + first.half_s == pytest.approx(1.1)
    assert first.t_s - first.half_s == pytest.approx(0.95, abs=2e-4)
    assert second.t_s - first.t_s == pytest.approx(2.0, abs=2e-4)
    with pytest.raises(NoEdges, match=r"2\.05 s apart, and the board counted 2\.5 s"):
        narrow(Edge(1.0, 0.1, True), Edge(3.05, 0.1, False), HostTimes(0.5, duration_s=2.5))


def test_power_that_does_not_change_leaves_the_host_and_says_so():
    t = np.arange(0, 4, 0.01)
    flat = Stamped(t, np.random.default_rng(3).normal(0.3, 0.05, len(t)), np.zeros(len(t)), 0.0)
    told = HostTimes(1.0, 0.1, 3.9, duration_s=1.5, duration_half_s=0.001)
    (first, second), method = synchronise(flat, told)
    assert method == HOST
    assert first.t_s - first.half_s == pytest.approx(1.0)  # the board may wake a tenth of its sleep early
    assert second.t_s + second.half_s == pytest.approx(3.0)
    assert second.t_s - first.t_s == pytest.approx(1.5, abs=0.01)
    with pytest.raises(NoEdges, match="start, end or length of the window"):
        synchronise(flat, HostTimes(1.0, 0.1, 3.9))
    with pytest.raises(NoEdges, match="before the window could be over"):
        edges_by_host(HostTimes(1.0, 0.1, 3.9, duration_s=3.0))


def test_power_comes_before_all_else():
    rng = np.random.default_rng(5)
    trace, truth, told = scripted(rng)
    edges, method = synchronise(readings(trace, told, rng, "integrating"), told)
    assert method == POWER
    assert abs(edges[0].t_s - truth[0]) <= edges[0].half_s


def test_an_unknown_time_is_infinite():
    assert math.isinf(HostTimes(1.0).answered_s)


@pytest.mark.parametrize("off", [0.0, 1e-9, -3e-9])
def test_readings_without_noise_are_told_apart(off):
    """All alike but for the last digit of an answer, as those of an instrument without errors are."""
    t = np.arange(0, 0.7, 1e-3)
    power = np.where((t >= 0.1) & (t < 0.6), 0.2, 0.031472215532999996)
    power[t >= 0.6] *= 1 + off
    first, second = edges_by_power(Stamped(t, power, np.zeros(len(t)), 0.0), HostTimes(0.1))
    assert (first.t_s, second.t_s) == (pytest.approx(0.1, abs=2e-3), pytest.approx(0.6, abs=2e-3))
