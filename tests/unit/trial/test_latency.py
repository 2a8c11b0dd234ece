"""Latency: the figures of many cycle counts, what a budget makes of them, and a round of the counter that was lost."""

import itertools
import random
import statistics

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil import boards
from hil.errors import Blocked
from hil.quantity import Provenance
from hil.record import quantities, schema
from hil.training.trial.latency import check_wraps
from hil.training.trial.latency_counts import LAP_PHASES, CountedLatency
from hil.training.trial.latency_figures import MOST_BINS, BookingCost, ReadingCost, figures
from hil.training.trial.lockstep_outcome import PHASES, LockStepOutcome, StepRow
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import latency_table, trial_record
from hil.trial import LatencySteps, TrialSpec

FREE = BookingCost.of([0])
CYCLES = st.lists(st.integers(0, 2**40), min_size=1, max_size=60)


def quantile(values, q):
    """By hand: linear between the two neighbours of rank q (n - 1)."""
    ordered, rank = sorted(values), q * (len(values) - 1)
    low = int(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (rank - low) * (ordered[high] - ordered[low])


@given(cycles=CYCLES)
def test_figures_are_those_of_the_statistics_module(cycles):
    found = figures(cycles, ReadingCost.of(0, FREE))
    assert found.mean == pytest.approx(statistics.fmean(cycles))
    assert found.median == pytest.approx(statistics.median(cycles))
    assert found.sd == pytest.approx(statistics.stdev(cycles) if len(cycles) > 1 else 0, rel=1e-9, abs=1e-6)
    assert (found.n, found.least, found.most) == (len(cycles), min(cycles), max(cycles))
    assert [found.p5, found.p95, found.p99] == pytest.approx([quantile(cycles, q) for q in (0.05, 0.95, 0.99)])


@given(cycles=CYCLES)
def test_the_histogram_counts_every_step_once_in_its_bin(cycles):
    histogram = figures(cycles, ReadingCost.of(0, FREE)).histogram
    edges, counts = histogram["edges"], histogram["counts"]
    assert len(edges) == len(counts) + 1 <= MOST_BINS + 1
    assert len({right - left for left, right in itertools.pairwise(edges)}) == 1, "one width"
    assert counts == [sum(low <= c < high for c in cycles) for low, high in itertools.pairwise(edges)]
    assert sum(counts) == len(cycles)


@given(cycles=CYCLES, bookings=st.integers(0, 500), costs=st.lists(st.integers(1, 99), min_size=3, max_size=3))
def test_what_the_bookings_cost_is_subtracted_and_the_rest_bounded(cycles, bookings, costs):
    booking = BookingCost.of(costs)
    assert booking == BookingCost(3, *sorted(costs))
    found, raw = figures(cycles, ReadingCost.of(bookings, booking)), figures(cycles, ReadingCost.of(0, FREE))
    assert found.subtracted == bookings * min(costs) and found.bound == bookings * (max(costs) - min(costs))
    assert found.mean == pytest.approx(raw.mean - found.subtracted) and found.least == raw.least - found.subtracted
    assert found.sd == pytest.approx(raw.sd, rel=1e-9, abs=1e-3)


def latency_outcome(reality, slowest_ms, board="rp2040", variant="cls1", steps=200):
    """An outcome whose p99 lies near `slowest_ms`."""
    spec = TrialSpec(board, variant, steps=1, latency=LatencySteps(steps))
    found = LockStepOutcome(prepare(spec), reality, boards.load(board).clock_hz)
    found.steps = [StepRow(0, 1, 1, 1, 1, 1, 1, 1, True, True, 0, dict.fromkeys(PHASES, 1))]
    word = Provenance.MEASURED if reality == "hardware" else Provenance.MODELLED
    latency = CountedLatency(BookingCost.of([20, 21, 26]), "systick", word)
    most = int(slowest_ms * found.clock_hz / 1e3)
    rng = random.Random(1)
    for _ in range(steps):
        lap = [most // 100, rng.randrange(most // 2, most * 9 // 10), most // 50, most // 100]
        for phase, cycles in zip((*LAP_PHASES, "total"), (*lap, sum(lap)), strict=True):
            latency.laps[phase].append(cycles)
    latency.digests = [1000, 1001]
    found.latency = latency
    outcome = Outcome(spec, reality=reality, compared=found)
    outcome.judge()
    return outcome


BUDGET_MS = boards.load("rp2040").latency_budget_ms("cls1", 8, "sample")


def test_silicon_is_held_against_the_budget():
    assert (
        latency_outcome("hardware", BUDGET_MS * 0.9).verdict,
        latency_outcome("hardware", BUDGET_MS * 1.5).verdict,
    ) == ("pass", "fail")
    beyond = latency_outcome("hardware", BUDGET_MS * 1.5)
    assert (
        "99 of 100 steps take up to" in beyond.reason and f"the budget of rp2040 is {BUDGET_MS:g} ms" in beyond.reason
    )
    assert trial_record(beyond).latency["judged"] == "beyond"
    assert trial_record(latency_outcome("hardware", BUDGET_MS * 0.9)).latency["judged"] == "within"


@pytest.mark.parametrize("reality", ["virtual", "qemu", "renode"])
@pytest.mark.parametrize("times", [0.1, 10])
def test_a_modelled_latency_is_never_judged(reality, times):
    outcome = latency_outcome(reality, BUDGET_MS * times)
    assert outcome.verdict == "pass"
    found = trial_record(outcome).latency
    assert (found["judged"], found["budget_ms"], found["provenance"]) == ("not judged: modelled", BUDGET_MS, "modelled")
    assert {q.provenance for name, q in quantities(trial_record(outcome)).items() if name.startswith("latency.")} == {
        Provenance.MODELLED
    }


def test_no_budget_no_judgement():
    outcome = latency_outcome("hardware", 1e6, board="mps2-an386")
    assert outcome.verdict == "pass" and trial_record(outcome).latency["judged"] == "not judged: no budget"


def test_the_record_fits_the_schema_and_the_table_holds_every_step():
    outcome = latency_outcome("virtual", 5.0)
    outcome.latency.layers = {
        way: {layer.name: [7] * 200 for layer in outcome.prepared.method.network.layers}
        for way in ("forward", "backward")
    }
    found = trial_record(outcome).latency
    jsonschema.validate(found, {"$ref": "#/$defs/Latency", "$defs": schema()["$defs"]})
    table = latency_table(outcome)
    assert len(table["total"]) == 200 and (sum(table[phase] for phase in LAP_PHASES) == table["total"]).all()
    assert {"forward.conv1", "backward.fc3"} < set(table)
    assert latency_table(Outcome(outcome.spec)) is None and trial_record(Outcome(outcome.spec)).latency is None


def test_a_round_of_the_counter_that_was_lost_is_found():
    clock_hz = 600_000_000
    check_wraps(cycles=100_000_000, clock_hz=clock_hz, wall_s=3.0)  # a slow link loses no round
    with pytest.raises(Blocked, match="longer than the counter's"):
        check_wraps(cycles=100_000_000, clock_hz=clock_hz, wall_s=100_000_000 / clock_hz + 2**32 / clock_hz)


def test_what_the_board_counted_is_subtracted_from_the_whole_and_bounds_its_parts():
    """Every true figure lies between what is told and that less its bound, whichever phase the readings were of."""
    booking = BookingCost.of([20, 21, 26])
    whole, part = ReadingCost.counted([90, 100], booking), ReadingCost.among([90, 100], booking)
    for n in (90, 100):
        for each in (20, 21, 26):
            assert 0 <= n * each - whole.subtracted <= whole.bound
            assert all(0 <= of_part * each <= part.bound for of_part in (0, 1, n))
    assert part.subtracted == 0 and whole.subtracted == 90 * 20
