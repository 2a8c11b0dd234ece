"""A night of a small lab with labgrid's own coordinator, against what must hold, and against queues by hand."""

from __future__ import annotations

import heapq
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")

from hil.benchmarks.lab import checks
from hil.benchmarks.lab.checks import conservation, littles_law, theory
from hil.benchmarks.lab.model import Lab, SimulatedRun, kinds_of_board
from hil.benchmarks.lab.night import LabNight, Rules, simulate

SMALL = Lab(boards=20, exporters=4, trials=300, runs=30, workers=2)
KIND = kinds_of_board()[0]
CROWDED = Lab(2, 1, 90, 90, 1, start_s=0.0, of=(KIND,))  # more work than its boards can do at once


@pytest.fixture(scope="module")
def night() -> LabNight:
    return simulate(replace(SMALL, boards=10))


def queue(runs: list[SimulatedRun], servers: int) -> list[float]:
    """Return the wait of each run, first come first served, by hand."""
    free, waits = [0.0] * servers, []
    for run in runs:
        begins = max(run.begins, heapq.heappop(free))
        waits.append(begins - run.begins)
        heapq.heappush(free, begins + run.durations[0])
    return waits


def singles(count: int, seed: int) -> list[SimulatedRun]:
    random = np.random.default_rng(seed)
    begins = np.sort(random.uniform(0, 3000, count)).tolist()
    return [SimulatedRun(number, begins[number], KIND, (float(random.exponential(100)),), 1) for number in range(count)]


def waits_of(night: LabNight) -> list[float]:
    return [wait.left - wait.created for wait in sorted(night.waits, key=lambda wait: wait.created)]


def test_nothing_is_lost_or_doubled(night: LabNight) -> None:
    assert conservation(night) == []
    assert len(night.trials) == SMALL.trials and {trial.verdict for trial in night.trials} == {"pass"}
    assert max(wait.left - wait.created for wait in night.waits) > 60, "nobody waited, so that nothing was tested"


def test_the_same_seed_is_the_same_night(night: LabNight) -> None:
    again = simulate(replace(SMALL, boards=10))
    assert again.trials == night.trials and again.waits == night.waits and again.sampled == night.sampled


def test_littles_law_holds_and_a_lost_wait_breaks_it(night: LabNight) -> None:
    found = littles_law(night)
    assert found.sampled > 0.05 and found.holds, found
    longest = max(night.waits, key=lambda wait: wait.left - wait.created)
    assert not littles_law(replace(night, waits=[wait for wait in night.waits if wait is not longest])).holds


def test_every_loss_is_said(night: LabNight) -> None:
    place, since, until = night.holds[0]
    broken = {
        "1 trials were not taken": {"trials": night.trials[1:]},
        "1 trials were taken more than once": {"trials": [*night.trials, night.trials[0]]},
        "1 trials were taken that nobody asked for": {"trials": [*night.trials, replace(night.trials[0], index=10**6)]},
        "1 reservations were forgotten": {"reservations_left": 1},
        "1 places were not given back": {"places_left": 1},
        "1 places were got and not held, or held and not got": {"holds": night.holds[1:]},
    }
    for words, fields in broken.items():
        assert conservation(replace(night, **fields)) == [words]
    twice = replace(night, holds=[*night.holds, (place, since, until)])
    assert "1 times a place was held by two workers" in conservation(twice)


@pytest.mark.parametrize("seed", [1, 2])
def test_places_are_given_first_come_first_served(seed: int) -> None:
    """Each wait is that of a queue by hand, to the microsecond: labgrid's scheduler gives a place the oldest of equals."""
    runs = singles(90, seed)
    assert waits_of(simulate(CROWDED, runs=runs)) == pytest.approx(queue(runs, 2), abs=1e-6)


def test_a_place_that_is_released_before_its_reservation_is_cancelled_stays_idle_for_a_while() -> None:
    """So did the rig: labgrid looked again at the next call, or after up to 15 s."""
    runs = singles(90, 1)
    found = waits_of(simulate(CROWDED, Rules(cancels_first=False), runs))
    late = np.array(found) - np.array(queue(runs, 2))
    assert late.max() > 5


def test_a_poll_a_second_asks_often_and_gains_nothing() -> None:
    told, polled = (simulate(CROWDED, rules, singles(90, 1)[:30]) for rules in (Rules(), Rules(poll_s=1.0, told=False)))
    calls = [night.meter.calls["PollReservation"] for night in (told, polled)]
    assert calls[0] * 5 < calls[1]
    assert sum(wait.got - wait.asked for wait in told.waits) <= sum(wait.got - wait.asked for wait in polled.waits)


def test_calls_queue_behind_the_start_of_each_serial_port_until_they_are_too_late() -> None:
    """labgrid holds one lock while an exporter starts ser2net: 40 workers at once are 40 x 0.52 s for the last one."""
    lab = Lab(40, 4, 40, 40, 1, of=(KIND,))
    runs = [SimulatedRun(number, 1.0, KIND, (600.0,), 1) for number in range(40)]
    patient = simulate(lab, Rules(deadline_s=60.0), runs)
    assert max(wait.got - wait.asked for wait in patient.waits) == pytest.approx(40 * lab.start_s, rel=0.02)
    assert conservation(patient) == []
    hasty = simulate(lab, Rules(deadline_s=15.0), runs)
    assert sum(hasty.late.values()) > 0 and {trial.verdict for trial in hasty.trials} == {"pass", "blocked"}
    assert conservation(hasty) == []


@pytest.mark.tier("nightly")
def test_the_wait_of_the_theory_is_met_and_a_wrong_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found = theory(1500, servers=3, load=0.6, seed=4)
    assert found.holds and found.error < found.analytic / 2, found
    assert not replace(found, analytic=found.analytic + 4 * found.error).holds
    assert checks.SURE < 4
