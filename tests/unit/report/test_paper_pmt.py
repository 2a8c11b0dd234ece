"""An iteration of MCUNet beside tables 8 and 9 of Poor Man's Training."""

from __future__ import annotations

import pytest

from hil.report import render
from hil.report.paper_pmt import pmt_rows

from .conftest import LIMITS, SRAM, make_steps, make_trial

COSTS = {"steps": 1, "steps_compared": 1, "work": {"macs": 728_698_944, "layer_runs": 911}, "network": "mcunet-128"}
PLANNED = {
    "equation": "PMT, section 4.3",
    "bytes": 143_000,
    "macs_forward": 32_000_000,
    "macs_step": 728_698_944,
    "weights": 5,
    "weights_by_zo": 5,
}


def iteration(method="poor-mans-training", train="pointwise", **others):
    settings = {"train": train, "queries": 50, "method": "poor-mans"}
    return make_trial(
        **(
            COSTS
            | {"method": method, "variant": "block3", "settings": settings, "analytic": PLANNED, "signs": None}
            | {"sram": SRAM | LIMITS | {"analytic": PLANNED["bytes"]}}
            | others
        )
    )


@pytest.mark.parametrize(("method", "train", "told"), [
    ("poor-mans-training", "all", ("668", "7,857.5", "428.50")),
    ("poor-mans-training", "pointwise", ("209", "1,162.5", "9.94")),
    ("int8-bp", "all", ("3,650", "76.2", "13.40")),
    ("mcutrain", "pointwise", ("3,650", "40.4", "495.00")),
])  # fmt: skip
def test_a_method_stands_beside_its_line(method, train, told):
    rows = pmt_rows(iteration(method, train))
    assert [row.paper.split("\N{NO-BREAK SPACE}")[0] for row in rows] == list(told)
    table = "table 8" if train == "all" else "table 9"
    assert all(table in row.what for row in rows)


def test_what_was_found_stands_with_its_words():
    memory, work, latency = pmt_rows(iteration())
    assert "202,532\N{NO-BREAK SPACE}B" in memory.here and "(counted)" in memory.here
    assert (
        "728.7\N{NO-BREAK SPACE}M executed (counted)" in work.here and "728.7\N{NO-BREAK SPACE}M planned" in work.here
    )
    assert "39,484,869 cycles" in latency.here and "(modelled)" in latency.here and "virtual" in latency.differs


def test_others_have_no_such_rows():
    assert (
        pmt_rows(iteration(network="resnet-tiny")) == []
        and pmt_rows(iteration("mezo")) == []
        and pmt_rows(make_trial()) == []
    )
    assert pmt_rows(iteration(steps_compared=0)) == []


def test_the_page_has_them_and_the_executed_work(record):
    page = next(render(record((iteration(), make_steps(1)))).parent.glob("*/index.html")).read_text()
    assert "Poor Man&#39;s Training: Zhao" in page and "1,162.5" in page and "911" in page
    assert "ElasticZO: Sugiura" not in page
