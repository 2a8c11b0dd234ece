"""Statistics between edges, against exact integrals of the same trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import CurrentRange, DataSheet
from hil.energy.marker_interval import IntervalSums, MarkerInterval, interval_budget
from hil.energy.uncertainty import combined
from hil.errors import Blocked


def capture(times: np.ndarray, power: np.ndarray, aperture: float, interval: float, volt: float = 2.0) -> Capture:
    return Capture(times, power, power / volt, np.full(len(power), volt), aperture, interval, (), 0.1, 0)


def between(read: Capture, begin: Edge, end: Edge) -> MarkerInterval:
    """Return the sums of a whole capture between two edges."""
    sums = IntervalSums()
    sums.add(replace(read, edges=(begin, end)))
    return sums.result()


def sheet(**limits: float) -> DataSheet:
    used = CurrentRange(
        0.1,
        limits.get("gain", 0.0),
        limits.get("offset_a", 0.0),
        limits.get("resolution_a", 0.0),
        limits.get("noise_a", 0.0),
        0.0,
        limits.get("drift_a_per_s", 0.0),
    )
    rest = [limits.get(name, 0.0) for name in ("timebase", "voltage_gain", "voltage_offset_v")]
    return DataSheet(
        "key", "name", "", "integrating", (0.001, 1), 1000, "meter", "digital", "none", False, *rest, (used,), (), (),
        limits.get("voltage_noise_v", 0.0),
    )  # fmt: skip


def test_means_are_prorated_exactly() -> None:
    """A staircase read by means: the integral between any two times is that of the staircase of means, worked out by a fine sum."""
    rng = np.random.default_rng(1)
    times, power = np.arange(100) * 0.01, rng.uniform(0, 1, 100)
    read = capture(times, power, 0.01, 0.01)
    for _ in range(50):
        begin, end = np.sort(rng.uniform(0, 1, 2))
        fine = np.linspace(begin, end, 200_001)
        middle = (fine[1:] + fine[:-1]) / 2
        exact = np.mean(power[np.minimum((middle * 100).astype(int), 99)]) * (end - begin)
        found = between(read, Edge(begin, 0, True), Edge(end, 0, False))
        assert found.energy_j == pytest.approx(exact, abs=2e-5) and found.charge_c == pytest.approx(
            exact / 2.0, abs=1e-5
        )
        assert found.duration_s == pytest.approx(end - begin) and found.energy_j / found.duration_s == pytest.approx(
            found.energy_j / found.duration_s
        )


def test_points_are_joined_by_lines_whatever_their_times() -> None:
    """Points on a straight line: its integral is known, also between points that are unevenly apart."""
    rng = np.random.default_rng(2)
    times = np.sort(rng.uniform(0, 1, 60))
    read = capture(times, 3 + 4 * times, 0.0, 1 / 60)
    begin, end = float(times[3]) + 1e-3, float(times[-4]) - 1e-3
    found = between(read, Edge(begin, 0, True), Edge(end, 0, False))
    assert found.energy_j == pytest.approx(3 * (end - begin) + 2 * (end**2 - begin**2))
    assert found.lowest_w == pytest.approx(3 + 4 * begin) and found.highest_w == pytest.approx(3 + 4 * end)


def test_stretches_add_up() -> None:
    rng = np.random.default_rng(3)
    for aperture in (0.0, 0.01):
        read = capture(np.arange(101) * 0.01, rng.uniform(0, 1, 101), aperture, 0.01)
        a, b, c = (Edge(at, 0, True) for at in (0.123, 0.4567, 0.91))
        parts = between(read, a, b).energy_j + between(read, b, c).energy_j
        assert parts == pytest.approx(between(read, a, c).energy_j)


def test_a_gap_is_shared_by_its_neighbours() -> None:
    read = capture(np.array([0.0, 0.1, 0.4]), np.array([1.0, 2.0, 5.0]), 0.1, 0.1)
    assert between(read, Edge(0, 0, True), Edge(0.5, 0, False)).energy_j == pytest.approx(0.1 + 2 * 0.2 + 5 * 0.2)


def test_apertures_that_differ_keep_their_own_ends() -> None:
    """Means between two values of a counter that is read at any times: what it counted is what is told, to the last bit of it."""
    rng = np.random.default_rng(6)
    times = np.cumsum(rng.uniform(0.01, 0.2, 50))
    counter = np.cumsum(rng.uniform(0, 1, 50))
    read = replace(capture(times[:-1], np.diff(counter) / np.diff(times), 0.1, 0.1), ends_s=times[1:])
    for first, last in ((0, 49), (3, 20), (7, 8)):
        found = between(read, Edge(float(times[first]), 0, True), Edge(float(times[last]), 0, False))
        assert found.energy_j == pytest.approx(counter[last] - counter[first]) and found.readings == last - first


@pytest.mark.parametrize("aperture", [0.0, 0.006, 0.01])
def test_pieces_are_the_whole(aperture: float) -> None:
    """However a capture is cut, what is summed up of its pieces is what the whole tells; an edge comes with the first reading behind it."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        n = int(rng.integers(4, 300))
        times = 0.01 * np.arange(n) + (rng.uniform(0, 0.003, n) if aperture == 0 else 0.0)
        read = capture(times, rng.uniform(0, 1, n), aperture, 0.01)
        begin, end = (
            Edge(float(at), 0.012, high)
            for at, high in zip(np.sort(rng.uniform(times[0], times[-1], 2)), (True, False), strict=True)
        )
        whole, running = between(read, begin, end), IntervalSums()
        cuts = np.sort(rng.integers(0, n + 1, int(rng.integers(0, 8))))
        told: list[Edge] = []
        for first, last in zip([0, *cuts], [*cuts, n], strict=True):
            edges = tuple(edge for edge in (begin, end) if edge not in told and last > np.searchsorted(times, edge.t_s))
            told += edges
            part = capture(times[first:last], read.power_w[first:last], aperture, 0.01)
            running.add(replace(part, edges=edges))
        found = running.result()
        for name in ("energy_j", "charge_c", "voltage_v", "lowest_w", "highest_w"):
            assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-9), name
        assert (found.readings, found.lost, found.changes) == (whole.readings, 0, 2)
        assert found.steps_w == pytest.approx(whole.steps_w)


def test_an_edge_that_comes_too_late_is_refused() -> None:
    running = IntervalSums()
    running.add(capture(np.arange(100) * 0.01, np.ones(100), 0.01, 0.01))
    with pytest.raises(ValueError, match="an edge came after readings"):
        running.add(replace(capture(1 + np.arange(100) * 0.01, np.ones(100), 0.01, 0.01), edges=(Edge(0.5, 0, True),)))


def test_one_edge_is_no_window() -> None:
    running = IntervalSums()
    running.add(replace(capture(np.arange(100) * 0.01, np.ones(100), 0.01, 0.01), edges=(Edge(0.5, 0, True),)))
    with pytest.raises(Blocked, match="the marker changed 1 times"):
        running.result()


def test_a_current_that_is_not_told_leaves_the_charge_unknown() -> None:
    read = capture(np.arange(10) * 0.1, np.ones(10), 0.1, 0.1)
    unknown = Capture(read.t_s, read.power_w, np.full(10, np.nan), np.full(10, np.nan), 0.1, 0.1, (), 0.1, None)
    found = between(unknown, Edge(0, 0, True), Edge(1, 0, False))
    assert found.energy_j == pytest.approx(1.0) and np.isnan(found.charge_c)
    assert combined(
        interval_budget(between(unknown, Edge(0, 0, True), Edge(1, 0, False)), sheet(gain=0.01))
    ) == pytest.approx(0.01 / np.sqrt(3))


@pytest.mark.parametrize(("begin", "end"), [(0.5, 0.5), (0.6, 0.5), (-0.1, 0.5), (0.5, 1.01)])
def test_edges_that_the_readings_do_not_hold(begin: float, end: float) -> None:
    with pytest.raises(Blocked):
        between(capture(np.arange(10) * 0.1, np.ones(10), 0.1, 0.1), Edge(begin, 0, True), Edge(end, 0, False))


@pytest.mark.parametrize(("limit", "value", "spoil"), [
    ("gain", 0.01, lambda r, d: Capture(r.t_s, r.power_w * (1 + d), r.current_a * (1 + d), r.voltage_v, r.aperture_s, r.interval_s, (), 0.1, 0)),
    ("offset_a", 1e-3, lambda r, d: Capture(r.t_s, r.power_w + d * 2.0, r.current_a + d, r.voltage_v, r.aperture_s, r.interval_s, (), 0.1, 0)),
    ("voltage_gain", 0.01, lambda r, d: Capture(r.t_s, r.power_w * (1 + d), r.current_a, r.voltage_v * (1 + d), r.aperture_s, r.interval_s, (), 0.1, 0)),
    ("voltage_offset_v", 0.01, lambda r, d: Capture(r.t_s, r.current_a * (2.0 + d), r.current_a, r.voltage_v + d, r.aperture_s, r.interval_s, (), 0.1, 0)),
    ("timebase", 1e-3, lambda r, d: Capture(r.t_s * (1 + d), r.power_w, r.current_a, r.voltage_v, r.aperture_s * (1 + d), r.interval_s * (1 + d), (), 0.1, 0)),
    ("drift_a_per_s", 1e-3, lambda r, d: Capture(r.t_s, r.power_w + 2.0 * d * r.t_s, r.current_a, r.voltage_v, r.aperture_s, r.interval_s, (), 0.1, 0)),
])  # fmt: skip
def test_each_contribution_is_the_effect_of_its_limit(limit: str, value: float, spoil: object) -> None:
    """Spoil the readings by the whole limit: the energy moves by sqrt(3) times the standard uncertainty that the budget gives it."""
    read = capture(np.arange(1000) * 0.001, np.random.default_rng(4).uniform(0.05, 0.1, 1000), 0.001, 0.001)
    begin, end = Edge(0.0, 0.0, True), Edge(1.0, 0.0, False)
    stretched = end if limit != "timebase" else Edge(1.0 + value, 0.0, False)
    moved = between(spoil(read, value), begin, stretched).energy_j - between(read, begin, end).energy_j  # type: ignore[operator]
    assert combined(interval_budget(between(read, begin, end), sheet(**{limit: value}))) == pytest.approx(
        abs(moved) / np.sqrt(3), rel=2e-2
    )


def test_white_noise_scatters_the_energy_as_the_budget_says() -> None:
    rng = np.random.default_rng(5)
    noise_a, volt, t = 1e-4, 2.0, 1.0
    energies = []
    for _ in range(400):
        amps = 0.03 + rng.normal(0, noise_a / np.sqrt(0.01), 100)
        read = capture(np.arange(100) * 0.01, amps * volt, 0.01, 0.01)
        energies.append(between(read, Edge(0, 0, True), Edge(t, 0, False)).energy_j)
    assert np.std(energies) == pytest.approx(
        combined(interval_budget(between(read, Edge(0, 0, True), Edge(t, 0, False)), sheet(noise_a=noise_a))), rel=0.12
    )


def test_an_edge_that_is_not_sharp_counts_with_the_step_of_power_there() -> None:
    power = np.where(np.arange(100) < 50, 0.02, 0.08)
    read = capture(np.arange(100) * 0.01, power, 0.01, 0.01)
    found = interval_budget(between(read, Edge(0.5, 0.004, True), Edge(0.9, 0.0, False)), sheet())
    assert combined(found) == pytest.approx(0.06 * 0.004 / np.sqrt(3))
