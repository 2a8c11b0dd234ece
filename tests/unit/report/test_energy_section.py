"""The energy section of a trial's page: units, phases, accuracies, MLPerf Tiny's form, and two papers' figures beside those of here."""

from __future__ import annotations

import re

import plotly.graph_objects as go
import pytest

from hil.energy.data_sheet import load_data_sheet
from hil.energy.step_energy import MeasuredTask, energy_of_windows
from hil.record import quantities
from hil.report.energy_windows import burden_of, flags_of, window_rows
from hil.report.paper_energy import METHODS, energy_comparison
from hil.report.power import PHASE_COLOURS, power_trace, zooms
from hil.report.style import LIMIT

from .conftest import ENERGY, WHOLE, figure_of, make_captures, make_steps, make_trace, make_trial
from .rendered import trial_of


def unit(times):
    found = {
        name: figure_of(times * value, "J", times * 1e-5)
        for name, value in (("net", 0.0278), ("idle", 0.0162), ("gross", 0.044))
    }
    return found | {"time": figure_of(times * 0.1406, "s")}


PER = {name: unit(times) for name, times in (("step", 1.0), ("sample", 1 / 8), ("epoch", 125.0))}
SPLIT = {
    "energy": figure_of(0.021, "J", 3e-4),
    "power": figure_of(0.313, "W", 2e-3),
    "seconds": 0.104,
    "stretches": 9,
    "readings_a_stretch": 31.0,
    "dof": None,
    "budget": [],
}
PHASES = {
    "seconds": {"forward": 0.104, "backward": 5e-4}, "split": {"forward": SPLIT}, "refusals": {"backward": "the phase 'backward' is too short."},
    "refused": "the phase 'backward' is too short.", "first_window": [["forward", 0.05], ["backward", 0.0005], ["forward", 0.054]],
}  # fmt: skip
TO = [
    {"steps": steps, "accuracy": accuracy, "accuracy_uncertainty": 0.02, "n": 400, **unit(steps)}
    for steps, accuracy in ((0, 0.1), (100, 0.5), (200, 0.668))
]
GOAL = {"accuracy": 0.6, "reached": True, "steps": 200, "not_yet_after": 100, **unit(200)}
FORM = {
    "windows": [{"elapsed_s": 10.1, "iterations": 72, "power_mw": 313.1, "total_uj": 3.168e6, "per_iteration_uj": 44000.0, "long_enough": True}] * 5,
    "median_uj": 44000.0, "provenance": "modelled", "windows_asked": 5, "shortest_s": 10.0, "idle_subtracted": False, "differs": ["a training step"],
}  # fmt: skip
METER = ENERGY["meter"] | {"measuring_point": "JP5", "supply_v": 3.3, "power_cycled": "yes: off and on"}
FULL = ENERGY | {
    "per": PER, "phases": PHASES, "to_accuracy": TO, "goal": GOAL, "mlperf_tiny": None, "meter": METER, "voltage": figure_of(3.3, "V"),
    "idle_power": figure_of(0.1155, "W", 5e-4), "temperature": {"ambient_c": 23.5, "meter_c": None},
}  # fmt: skip


def section_of(record, energy=FULL, **changes):
    trial = make_trial(**WHOLE | {"energy": energy} | changes)
    folder = record((trial, make_steps(60)), power=make_captures())
    page = trial_of(folder) if not changes.get("board") else ""
    return page[page.index('id="energy"') : page.index('id="paper"')]


def test_every_unit_phase_and_accuracy_stands_there_with_its_word(record):
    section = section_of(record)
    for said in ("27.800 ± 0.010 mJ", "3.4750 ± 0.0013 mJ", "3.4750 ± 0.0013 J", "44.000 ± 0.010 mJ", "17.57 s"):
        assert said in section, said
    assert "21.00 ± 0.30 mJ" in section and "the phase &#39;backward&#39; is too short." in section
    assert "60.0 % were reached after 200 steps, and not yet after 100: 5.5600 ± 0.0020 J above idle" in section
    assert (
        section.count('data-of="energy.to_accuracy.') == 3 and 'data-of="energy.phases.split.forward.energy"' in section
    )
    assert "yes: off and on" in section and "23.5 °C" in section and "JP5" in section
    assert set(re.findall(r'class="tag (\w+)"', section)) == {"modelled", "declared"}, "declared: of the battery"


def test_the_form_of_mlperf_tiny_is_said_to_be_none_of_its_results(record):
    headline = {"per_step": ENERGY["per_step"] | figure_of(0.044, "J", 9.3e-5)}
    section = section_of(record, FULL | {"mlperf_tiny": FORM, "rules": "mlperf-tiny"} | headline)
    assert (
        "Median energy cost is 44000.0000 µJ an iteration" in section
        and "no result of MLPerf Tiny: a training step." in section
    )
    assert section.count("3168000.000 µJ") == 5 and "10.100 s" in section
    assert "Median energy cost" not in section_of(record)


def test_a_goal_that_was_not_reached_says_so(record):
    assert "90.0 % were not reached; the best of the evaluations is 66.8 %." in section_of(
        record, FULL | {"goal": {"accuracy": 0.9, "reached": False, "best": 0.668}}
    )


def test_every_figure_has_its_path_among_the_quantities():
    found = quantities(make_trial(energy=FULL))
    assert (
        found["energy.per.epoch.gross"].value == pytest.approx(5.5) and found["energy.to_accuracy.1.time"].unit == "s"
    )
    assert (
        found["energy.phases.split.forward.power"].uncertainty == 2e-3
        and found["energy.goal.net"].provenance.value == "modelled"
    )


def test_the_trace_is_shaded_by_phase_and_the_legend_names_the_colours():
    figure = go.Figure(
        power_trace(make_trace(0.1045), [0.1045], [("forward", 0.05), ("backward", 0.0005), ("forward", 0.054)])
    )
    shades = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert [(round(shape.x0, 4), round(shape.x1, 4), shape.fillcolor) for shape in shades] == [
        (0.0, 0.05, PHASE_COLOURS["forward"]), (0.05, 0.0505, PHASE_COLOURS["backward"]), (0.0505, 0.1045, PHASE_COLOURS["forward"]),
    ]  # fmt: skip
    assert [trace.name for trace in figure.data[:2]] == ["forward", "backward"]


def test_a_window_of_more_steps_than_are_told_ends_where_the_meter_says():
    long = FULL | {"laps_s": [0.05] * 32, "steps_per_window": 200, "windows": [{"duration": 10.1}]}
    figure = go.Figure(power_trace(make_trace(10.1), long["laps_s"]))
    red = [shape.x0 for shape in figure.layout.shapes if shape.line.color == LIMIT]
    assert red == [0.0, 10.1] and len(figure.layout.shapes) == 2 + 32
    assert zooms(long["laps_s"], 10.1)[-1].high == pytest.approx(10.1 + 0.15 * 0.05)


def rows_of(board, reality="virtual"):
    return energy_comparison(make_trial(board=board, reality=reality, energy=FULL))


def test_the_table_of_fqt_stands_beside_its_three_chips_and_says_where_it_is_circular():
    (row,) = rows_of("rp2040")
    assert (row.paper.replace("\u00a0", " "), row.here.replace("\u00a0", " "), row.path) == (
        "31.24 mA",
        "35.00 ± 0.15 mA",
        "energy.idle_power",
    )
    assert "this very figure: nothing is confirmed by it" in row.differs and "no silicon" in row.differs
    assert "is assumed" in rows_of("nrf52840")[0].differs
    (row,) = rows_of("imxrt1062", "hardware")
    assert row.paper.startswith("108.26") and "stand-in" not in row.differs and "at: JP5" in row.differs
    assert rows_of("mps2-an500") == []


def test_the_tables_of_poor_man_s_give_energy_and_power_of_an_iteration():
    """By hand: 8.60e2 kJ over 4.97e5 s are 1.73 W, and 9.939 s of that are 17.2 J."""
    energy, power, more, _ = (
        row.paper.replace("\u00a0", " ") for row in rows_of("stm32f746")[2:] + rows_of("stm32f746")[:2]
    )
    assert (energy, power, more) == ("17.2 J", "1.73 W", "0.87 J")
    assert [method.table for method in METHODS["stm32h7b3"]] == [8, 8]
    first = rows_of("stm32h7b3")[0]
    assert (
        "not marked as measured" in first.differs
        and "MCUNet" in first.differs
        and first.path == "energy.per.step.gross"
    )
    assert "not marked" not in rows_of("stm32f746")[0].differs


def test_a_record_from_before_has_no_comparison():
    assert energy_comparison(make_trial(energy=ENERGY)) == [] and energy_comparison(make_trial()) == []


def test_the_figures_of_the_section_agree_with_each_other():
    """The windows carry the corrections of the headline: half of the meter's own share is taken off each of them."""
    task = MeasuredTask(2, 0.1, 3.3)
    captures = [make_captures(first_s)[0] for first_s in (7.0, 8.001, 9.0007)]
    sheet = load_data_sheet("keysight-34465a")
    result = energy_of_windows(captures, task, sheet, sheet.ranges[-1], {}, "modelled")
    energy = result.to_json()
    rows = window_rows(energy)
    assert burden_of(energy) > 1e-5, "a meter that takes a share of its own"
    for name in ("net", "idle", "gross"):
        assert sum(getattr(row, name) for row in rows) / len(rows) == pytest.approx(energy[name]["value"])
    assert all(row.gross == pytest.approx(row.net + row.idle) for row in rows)
    assert energy["per_step"]["value"] == pytest.approx(sum(row.net for row in rows) / len(rows) / task.steps)


def test_the_windows_of_the_page_have_their_mean_above_them(record):
    section = section_of(record)
    for said in ("55.6000 mJ", "32.4000 mJ", "88.0000 mJ"):
        assert section.count(said) == 6, said
    assert "100 µJ of the gross energy of a window" in section


def test_what_the_data_sheet_leaves_open_is_known_by_the_words_of_the_measurement():
    sheet = load_data_sheet("keithley-2450")
    assert sheet.unverified
    found = energy_of_windows(
        [make_captures()[0]] * 6, MeasuredTask(2, 0.1, 3.3), sheet, sheet.ranges[-1], {}, "modelled"
    ).to_json()
    said, unverified = flags_of(found)
    assert (
        len(unverified) == 1 and sheet.unverified[0] in unverified[0] and not any("unverified" in flag for flag in said)
    )


def test_an_edge_is_shaded_as_wide_as_what_is_known_of_it_and_the_page_says_so(record):
    shades = [
        shape
        for shape in go.Figure(power_trace(make_trace(half_s=1.25e-3), [0.14, 0.141])).layout.shapes
        if shape.type == "rect"
    ]
    assert [(shape.x0, shape.x1) for shape in shades] == [(-0.00125, 0.00125), (0.281 - 0.00125, 0.281 + 0.00125)]
    section = section_of(record)
    assert "A reading is the mean of" not in section, "the meter of this record is not known to average"
    section = section_of(record, FULL | {"meter": METER | {"aperture_s": 0.00225}})
    assert "A reading is the mean of 2.25 ms" in section and "rise up to 2.25 ms before the board began" in section


def test_the_line_of_a_phase_goes_on_to_where_the_next_one_begins():
    before, steps, after = go.Figure(power_trace(make_trace(), [0.14, 0.141])).data[-3:]
    assert before.x[-1] == steps.x[0] and steps.x[-1] == after.x[0], "no gap at an edge"
