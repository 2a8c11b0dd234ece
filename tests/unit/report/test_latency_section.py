"""The latency of a trial on its page, in its CSV and in its figure."""

import csv
import re

import jsonschema
import plotly.graph_objects as go
import pytest

from hil.record import schema
from hil.report.figures import PHASES
from hil.report.latency import TOTAL, histograms

from .conftest import make_latency, make_steps, make_trial
from .rendered import trial_of


def section_of(record, **changes):
    page = trial_of(record((make_trial(latency=make_latency(**changes)), make_steps(5))))
    return re.search(r'<section aria-labelledby="latency">.*?</section>', page, re.S)[0], page


def test_the_made_up_latency_is_one_that_the_schema_takes():
    jsonschema.validate(make_latency(), {"$ref": "#/$defs/Latency", "$defs": schema()["$defs"]})


def test_the_section_has_figures_histogram_and_what_the_measurement_costs(record):
    section, page = section_of(record)
    assert 'data-plot="plot-latency"' in section and '"budget of' not in section
    total = re.search(r'<th scope="row">total</th>.*?</tr>', section, re.S)[0]
    assert [re.sub("<.*?>", "", cell) for cell in re.findall(r'<td class="n">.*?</td>', total)] == [
        "100", "12,000,000", "12", "11,999,980", "11,999,985", "12,000,001", "12,000,020", "12,000,030", "12,000,039"
    ]  # fmt: skip
    assert 'data-of="latency.total.mean"' in total and "modelled" in total
    assert "42.86 ms" in section, "12 million cycles at 280 MHz"
    assert ">perturb<" not in section, "what the step does not have"
    assert "costs 8 to 10 cycles, median 8, over 101 consecutive readings" in section
    assert "backward" in section and ">fc1<" in section
    assert 'href="#latency"' in page and "budget 75 ms" in page


@pytest.mark.parametrize(
    ("judged", "budget"), [("not judged: modelled", 75), ("within", 75), ("not judged: no budget", None)]
)
def test_the_budget_says_how_it_was_judged(record, judged, budget):
    section, _ = section_of(record, judged=judged, budget_ms=budget)
    assert ("Budget: none" in section) if budget is None else (f"75 ms for 99 of 100 steps, {judged}" in section)


def test_without_latency_there_is_no_section(record):
    assert 'id="latency"' not in trial_of(record((make_trial(), make_steps(5))))


def test_the_histogram_has_a_row_for_every_phase_that_varies():
    latency = make_latency()
    latency["phases"]["update"] |= {"least": 7, "most": 7}
    figure = go.Figure(histograms(latency, PHASES))
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert [bar.name for bar in bars] == ["forward", "backward", "digest"]
    (total,) = [trace for trace in go.Figure(histograms(latency, (TOTAL,))).data if trace.type == "bar"]
    assert list(total.y) == [60, 40] and list(total.x) == [11_999_995, 12_000_025] and total.width == 30
    assert "cycles (modelled)" in figure.layout.xaxis.title.text
    assert histograms(latency, ("perturb", "update")) is None, (
        "a phase without bookings, and one that is always the same"
    )


def test_a_step_that_always_takes_the_same_is_a_sentence(record):
    phases = make_latency()["phases"]
    phases["total"] |= {"least": 12_000_000, "most": 12_000_000}
    section, _ = section_of(record, phases=phases)
    assert "Every step took 12,000,000 cycles" in section and 'data-plot="plot-latency"' not in section


def test_the_csv_has_the_same_columns_with_and_without(record):
    folder = record((make_trial(latency=make_latency()), make_steps(2)), (make_trial(board="rp2040"), make_steps(2)))
    with (folder / "results.csv").open() as lines:
        with_it, without = csv.DictReader(lines)
    assert (with_it["latency.steps"], with_it["latency.judged"], with_it["latency.total.median"]) == (
        "100",
        "not judged: modelled",
        "12000001",
    )
    assert {without[name] for name in without if name.startswith("latency.")} == {""}
