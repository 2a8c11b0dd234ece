"""The budgets of all trials on the overview, with margins worked out by hand."""

from hil.gates import FIGURES
from hil.quantity import share
from hil.report.budgets import budget_rows

from .conftest import ENERGY, LIMITS, SRAM, figure_of, make_steps, make_trial
from .rendered import overview_of


def gate(name, value, limit, unit, verdict="pass", **fields):
    return {
        "name": name, "source": "rig.toml", "path": FIGURES[name].path, "unit": unit, "verdict": verdict, "sentence": "A sentence.",
        "value": value, "uncertainty": None, "provenance": "counted", "limit": limit, "relative": None, "more": None,
        "more_of": "",
    } | fields  # fmt: skip


FIGURED = {  # a trial with these figures
    "verdict": "fail", "reason": "The energy of a step is beyond its budget.", "reality": "hardware",
    "cycles_provenance": "measured", "cycles": {}, "step_time_s": None,
    "sram": SRAM | LIMITS | {"arena_peak": 130_000, "total": 150_000, "budget": 200_000},
    "sram_probe": None, "accuracy": {"before": 0.1, "after": 0.6, "reference_after": 0.6, "n": 500},
    "energy": ENERGY | {"per_step": ENERGY["per_step"] | figure_of(0.03, "J", 1e-3, "measured"), "windows": [], "budget": []},
}  # fmt: skip
GATES = [
    gate("step_time", None, 0.1, "s", "not judged", provenance=None),
    gate("sram", 150_000, 200_000, "B"),
    gate("accuracy", 0.6, 0.5, "1", uncertainty=share(0.6, 500).uncertainty),
    gate("energy_per_step", 0.03, 0.02, "J", "fail", provenance="measured", uncertainty=1e-3),
]


def test_the_smallest_margin_comes_first():
    rows = budget_rows([make_trial(gates=GATES)])
    found = [(row.gate["name"], row.margin and round(row.margin, 9)) for row in rows]
    assert found == [("energy_per_step", -0.5), ("accuracy", 0.2), ("sram", 0.25), ("step_time", None)]


def test_the_page_shows_them(record):
    page = overview_of(record((make_trial(gates=GATES, network="<b>evil</b>", **FIGURED), make_steps(5))))
    table = page[page.index('id="budgets"') :]
    for text in ("-50.0 %", "+20.0 %", "+25.0 %", "not judged", "&lt;b&gt;evil", "150,000", "measured"):
        assert text in table
    assert "<b>evil" not in page


def test_a_run_without_budgets_has_no_such_table(record):
    assert 'id="budgets"' not in overview_of(record((make_trial(), make_steps(5))))
