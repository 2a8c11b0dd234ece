"""The costs of a step by network, method and board, worked out by hand."""

import re

import pytest

from hil.record.clients import clients
from hil.report.cost_table import cost_rows
from hil.report.formats import in_unit

from .conftest import ENERGY, LIMITS, SRAM, blocked_trial, make_latency, make_steps, make_trial
from .rendered import overview_of
from .test_budget_table import gate


def table_of(page):
    return page[page.index('id="costs"') : page.index('id="verdicts"')]


def cells(trials, row=0):
    return {cell.column.unit: cell for cell in cost_rows(trials)[row].cells}


def test_trials_that_differ_in_seed_alone_share_a_row_with_their_range():
    trials = [make_trial(seed=seed, step_time_s=seconds) for seed, seconds in ((1, 0.15), (2, 0.1411), (3, 1.25))]
    (row,) = cost_rows(trials)
    time = cells(trials)["ms"]
    assert len(row.trials) == 3 and (time.text, time.words) == ("141.1 to 1,250", ("modelled",))


@pytest.mark.parametrize(
    "changes", [{"network": "mbednet-mixed"}, {"method": "mezo"}, {"variant": "cls2"}, {"board": "rp2040"},
    {"batch": 4}, {"reality": "hardware", "cycles_provenance": "measured"}, {"settings": {"loss": "integer"}}],
)  # fmt: skip
def test_what_makes_another_row(changes):
    rows = cost_rows([make_trial(), make_trial(**changes)])
    assert [len(row.trials) for row in rows] == [1, 1]
    assert all(len(cell.words) <= 1 for row in rows for cell in row.cells), "no row mixes modelled and measured"


def test_every_cell_has_its_value_and_its_word(record):
    """27.8 mJ with u = 0.093 mJ; 66.8 % of 500 with u = sqrt(.668 .332 / 500) = 2.1 %; 202,532 B = 197.8 KiB."""
    trial = make_trial(energy=ENERGY)
    found = {unit: (cell.text, cell.words) for unit, cell in cells([trial]).items()}
    assert found == {
        "ms": ("141.0", ("modelled",)), "mJ": ("27.800 ± 0.093", ("modelled",)), "KiB": ("197.8", ("counted",)),
        "%": ("66.8 ± 2.1", ("counted",)),
    }  # fmt: skip
    table = table_of(overview_of(record((trial, make_steps(5)))))
    assert len(re.findall('class="tag', table)) == 4 and "not measured" not in table


def test_what_was_not_measured_is_said_and_no_trial_is_left_out(record):
    table = table_of(overview_of(record((make_trial(), make_steps(5)), (blocked_trial("no board."), make_steps(0)))))
    assert table.count("not measured") == 3 and table.count("not counted") == 2, "of two rows"
    assert "not reached" in table


GATES = [
    gate("sram", 150_000, 200_000, "B"),
    gate("sram", 150_000, 160_000, "B", source="beside the test"),
    gate("latency", 0.13, 0.1, "s", "not judged", provenance="modelled"),
    gate("step_time", 0.14, 0.28, "s"),
    gate("energy_per_step", 0.03, None, "J", "not judged"),
]


JUDGED = {  # the same budgets of figures that the trial has
    "sram": SRAM | LIMITS | {"arena_peak": 130_000, "total": 150_000, "budget": 160_000}, "sram_probe": None,
    "latency": make_latency(budget_ms=100),
    "gates": [
        GATES[0], GATES[1],
        gate("latency", 12_000_030 / 280e6, 12_000_030 / 280e6 / 1.3, "s", "not judged", provenance="modelled"),
    ],
}  # fmt: skip


def test_of_several_budgets_the_smallest_margin_stands_in_the_cell(record):
    """SRAM: (160,000 - 150,000) / 160,000 = 6.25 %, 156.2 KiB; time: (0.1 - 0.13) / 0.1 = -30 % of 100 ms."""
    trials = [make_trial(gates=GATES, energy=ENERGY), make_trial(seed=2)]
    found = {unit: (cell.limit, cell.budget and cell.budget.margin) for unit, cell in cells(trials).items()}
    assert found == {
        "ms": ("100.0", pytest.approx(-0.3)), "mJ": ("", None), "KiB": ("156.2", pytest.approx(0.0625)), "%": ("", None)
    }  # fmt: skip
    text = overview_of(record(*((trial, make_steps(5)) for trial in [make_trial(**JUDGED), make_trial(seed=2)])))
    table = table_of(text)
    text = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", table))
    assert "p99 budget 32.97, margin -30.0 % not judged" in text and "budget 156.2, margin +6.2 %" in text


def formats_of(trial):
    return cost_rows([trial])[0].formats


@pytest.mark.skipif(not list(clients()), reason="no client knows the number formats of the networks")
def test_the_formats_are_those_of_the_named_network():
    assert formats_of(make_trial(network="mbednet-mixed")) == "affine8, float32"
    assert formats_of(make_trial(network="lenet5@4-classes")) == "bfp8"
    assert formats_of(make_trial(network="mine.hnet")) == ""
    mine = {"file": "lenet5", "sha256": "a" * 64, "model": None, "trained_sha256": None}
    assert formats_of(make_trial(network="lenet5", network_file=mine)) == "", "a file may have any name"


@pytest.mark.parametrize(
    ("value", "scale", "uncertainty", "text"),
    [(0.141, 1e-3, None, "141.0"), (1.5, 1e-3, None, "1,500"), (2e-9, 1e-3, None, "2e-06"), (0, 1024, None, "0"),
    (1e300, 1e-3, None, "1e+303"), (0.0278, 1e-3, 9.3e-5, "27.800 ± 0.093"), (25.0, 1, 12.0, "25 ± 12")],
)  # fmt: skip
def test_a_figure_in_the_unit_of_its_column(value, scale, uncertainty, text):
    assert in_unit(value, scale, uncertainty) == text
