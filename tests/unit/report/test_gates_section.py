"""The budgets on the page of a trial and in the terminal."""

from __future__ import annotations

import re

from hil.gates import FIGURES
from hil.record import quantities
from hil.report import render
from hil.session.verdict_table import verdict_table

from .conftest import make_steps, make_trial


def gate(name, limit, verdict, sentence):
    """A budget with the figure of the trial, if it has one."""
    figure = quantities(make_trial()).get(FIGURES[name].path)
    value, uncertainty = (figure.value, figure.uncertainty) if figure is not None else (None, None)
    return {
        "name": name, "source": "in rig.toml", "path": FIGURES[name].path, "unit": FIGURES[name].unit,
        "verdict": verdict, "sentence": sentence, "value": value, "uncertainty": uncertainty,
        "provenance": figure.provenance.value if figure is not None else None, "limit": limit, "relative": None,
        "more": None, "more_of": "",
    }  # fmt: skip


GATES = [
    gate("sram", 262_144, "pass", "SRAM is <b>small</b>."),
    gate("accuracy", 0.65, "inconclusive", "the uncertainty does not allow a verdict."),
    gate("energy_per_step", 0.03, "not judged", "the trial has no such figure."),
]


def test_the_page_has_a_line_for_each_budget(record):
    folder = record((make_trial(gates=GATES), make_steps(3)))
    render(folder)
    page = (folder / "stm32h7b3-cls1" / "index.html").read_text()
    section = re.search(r'<section aria-labelledby="budgets">.*?</section>', page, re.S)[0]
    assert re.findall(r'<span class="verdict \w+">([\w ]+)</span>', section) == ["pass", "inconclusive", "not judged"]
    assert "&lt;b&gt;small&lt;/b&gt;" in section and section.count('data-of="') == 2
    assert '<a href="#budgets">Budgets</a>' in page


def test_a_trial_without_budgets_has_no_section(record):
    folder = record((make_trial(), make_steps(3)))
    render(folder)
    assert "budgets" not in (folder / "stm32h7b3-cls1" / "index.html").read_text()


def test_the_terminal_names_what_is_inconclusive():
    from hil.record import AskedTest

    trial = make_trial(gates=GATES, folder="one")
    lines = verdict_table([AskedTest(test="t", verdict="pass", reason="", trials=["one"])], [trial], 120)
    assert [line for line in lines if line.startswith("inconclusive")] == [
        "inconclusive: stm32h7b3 cls1: the uncertainty does not allow a verdict."
    ]


def test_the_terminal_warns_of_a_trial_in_which_nothing_moved():
    from hil.record import AskedTest

    still = "nothing moved: after 2 steps every trained number is what it was before: give more steps."
    trial = make_trial(warnings=["virtual board: cycles are modelled.", still], folder="one")
    lines = verdict_table([AskedTest(test="t", verdict="pass", reason="", trials=["one"])], [trial], 120)
    assert [line for line in lines if line.startswith("warning")] == [f"warning: stm32h7b3 cls1: {still}"]
