"""The parts of the simulated lab that need no labgrid: its clock, its sums, Erlang C, and how it is grown."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.benchmarks.lab.checks import erlang_c_wait
from hil.benchmarks.lab.clock import VirtualLoop
from hil.benchmarks.lab.figures import verdict
from hil.benchmarks.lab.limits import Limit, grow
from hil.benchmarks.lab.load import at_once, backlog
from hil.benchmarks.lab.model import AT_ONCE_S, LAST_S, Lab, recorded_trials, runs_of
from hil.commands.main import main


def test_hours_pass_at_once_and_in_order() -> None:
    loop, told = VirtualLoop(), []

    async def say(after: float) -> None:
        await asyncio.sleep(after)
        told.append((after, loop.time()))

    async def both() -> None:
        await asyncio.gather(say(7200.0), say(0.25), loop.run_in_executor(None, told.append, "thread"))

    try:
        loop.run_until_complete(both())
    finally:
        loop.close()
    assert told == ["thread", (0.25, 0.25), (7200.0, 7200.0)]


def test_a_simulation_that_can_never_go_on_says_so() -> None:
    loop = VirtualLoop()
    try:
        with pytest.raises(RuntimeError, match="waits for something that no timer brings about"):
            loop.run_until_complete(loop.create_future())
    finally:
        loop.close()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=20))
def test_intervals_at_once_are_those_of_a_count_at_every_moment(found: list[tuple[int, int]]) -> None:
    intervals = [(float(begin), float(begin + length)) for begin, length in found]
    assert at_once(intervals) == max(
        (sum(begin <= now < end for begin, end in intervals) for now in range(40)), default=0
    )


def test_a_backlog_grows_while_more_comes_than_is_written() -> None:
    assert backlog(np.array([0, 600, 300, 0, 900]), 1.0) == 600
    assert backlog(np.array([300, 300]), 1.0) == 0


@pytest.mark.parametrize("load", [0.3, 0.9])
def test_erlang_c_with_one_and_two_servers(load: float) -> None:
    """Closed forms: M/M/1 waits rho / (1 - rho) of a service; M/M/2 rho^2 / (1 - rho^2)."""
    assert erlang_c_wait(1, load / 50, 50) == pytest.approx(50 * load / (1 - load))
    assert erlang_c_wait(2, 2 * load / 50, 50) == pytest.approx(50 * load**2 / (1 - load**2))


def test_the_runs_of_a_night_have_every_trial_and_the_recorded_durations() -> None:
    lab = Lab(trials=1003, runs=20)
    runs = runs_of(lab)
    assert sum(len(run.durations) for run in runs) == 1003 and runs == runs_of(lab)
    assert [run.begins for run in runs] == sorted(run.begins for run in runs)
    assert sum(run.begins < AT_ONCE_S for run in runs) >= 10 and runs[-1].begins < LAST_S
    lasting = {20 * trial["wall_s"] for trial in recorded_trials()}
    assert {duration for run in runs for duration in run.durations} <= lasting
    assert Counter(Lab().kinds()).most_common(1)[0][1] == 200


def used(least: int) -> object:
    """A lab that uses up its lock at this number of boards."""
    return lambda lab: [Limit("lock", lab.boards, least, "boards", "simulated"), Limit("rest", 1, 2, "", "simulated")]


@pytest.mark.parametrize(
    ("least", "boards"), [(1000, [500, 1000]), (3500, [1000, 2000, 4000]), (300, [250, 500, 1000])]
)
def test_a_lab_is_grown_or_shrunk_to_where_it_breaks(least: int, boards: list[int]) -> None:
    sizes = grow(Lab(), used(least)(Lab()), used(least))
    assert [size.lab.boards for size in sizes] == boards
    first = next(size for size in sizes if size.broken)
    assert first.lab.boards >= least > first.lab.boards / 2
    assert verdict(sizes).startswith(f"With {first.lab.boards:,} boards") and "breaks first: lock" in verdict(sizes)


def test_a_lab_that_nothing_breaks_says_so() -> None:
    sizes = grow(Lab(), used(10**9)(Lab()), used(10**9))
    assert verdict(sizes) == "Nothing breaks up to 16,000 boards."
    assert math.isclose(sizes[-1].factor, 16)


@pytest.mark.skipif(find_spec("labgrid") is not None, reason="labgrid is installed")
def test_without_labgrid_it_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "lab", "--boards", "20"]) == 2
    said = (
        "hil: `hil bench lab` runs labgrid's coordinator, and labgrid is not here: pip install 'trainrig[labgrid]'.\n"
    )
    assert capsys.readouterr().err == said
