"""The order of the nights, also if clocks jump."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from hil.history.nights import places

BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def order(runs):
    """Return the numbers of runs in the order of the nights; a run is (bench, name, after, start)."""
    rows = [(number, *run) for number, run in enumerate(runs)]
    found = places(rows)
    return sorted(found, key=lambda number: (*found[number], rows[number][4] or BEGIN, number))


def recorded(clock, bench=""):
    """Return runs as a bench records them one after the other, each at the time that its clock shows."""
    names, runs = [], []
    for time in clock:
        name = f"{BEGIN + timedelta(hours=time):%Y%m%dT%H%M%SZ}-{len(names):04x}"
        runs.append((bench, name, max(names, default=None), BEGIN + timedelta(hours=time)))
        names.append(name)
    return runs


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=20, unique=True))
def test_with_right_clocks_it_is_the_order_of_the_times(times) -> None:
    times = sorted(times)
    assert order(recorded(times)) == list(range(len(times)))
    shuffled = recorded(times)[::-1]
    assert order(shuffled) == list(range(len(times)))[::-1]


@given(st.integers(1, 8), st.integers(-100_000, -1), st.integers(1, 8))
def test_one_night_on_a_clock_that_went_back_stays_in_its_place(before, back, after) -> None:
    times = [24 * each for each in range(before)] + [back] + [24 * (before + each) for each in range(after)]
    assert order(recorded(times)) == list(range(len(times)))


@given(st.integers(1, 8), st.integers(1, 100_000), st.integers(1, 8))
def test_nights_after_a_clock_that_ran_ahead_come_after_it(before, ahead, after) -> None:
    last = 24 * before
    times = (
        [24 * each for each in range(before)]
        + [last + 24 * after + ahead]
        + [last + 24 * each for each in range(after)]
    )
    assert order(recorded(times)) == list(range(len(times)))


def test_two_benches_with_runs_of_one_name_do_not_move_each_other() -> None:
    one, other = recorded([0, 24, 48], "one"), recorded([0, 24, 48], "other")
    one[1] = ("one", one[1][1], one[1][2], BEGIN - timedelta(days=9000))  # the clock of one bench went back
    names = [(one + other)[number][:2] for number in order(one + other)]
    for bench, runs in (("one", one), ("other", other)):
        assert [name for each, name in names if each == bench] == [run[1] for run in runs]


def test_runs_that_name_each_other_and_long_chains_end() -> None:
    assert sorted(order([("", "a", "b", BEGIN), ("", "b", "a", BEGIN), ("", "c", "c", None)])) == [0, 1, 2]
    chain = [("", f"{number:05}", f"{number - 1:05}", BEGIN - timedelta(hours=number)) for number in range(5000)]
    assert order(chain[::-1]) == list(range(5000))[::-1]
