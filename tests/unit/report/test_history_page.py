"""The page of the history: what its figures draw, its steps with their commits, and names that stay text."""

from __future__ import annotations

import base64
import html
import json
import math
import re
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil.history.changes import changes_of
from hil.history.nights import RunEntry
from hil.history.queries import Series, Subject
from hil.report.history_page import write_history_page

from .chromium import Chromium, find

FIRST = datetime(2026, 1, 1, 22, tzinfo=timezone.utc)
SUBJECT = Subject(
    "", "stm32h7b3", "virtual", "lenet5", "elasticzo-int8", "cls1", "fashion-mnist-1k", "0123456789abcdef"
)
EVIL = "<script>alert(1)</script><b>x</b>"


def runs_of(count: int, **fields: Any) -> list[RunEntry]:
    return [
        RunEntry(
            **{
                "number": night, "uid": str(night), "name": f"night-{night}", "bench": "", "after": None,
                "started": FIRST + timedelta(days=night), "ended": None, "placed": FIRST + timedelta(days=night),
                "commit": f"{night:040x}", "host": "", "version": "", "command": "", "state": "ended", "whole": True,
                "exit_code": 0, "imported": False, "path": "/home/me/reports",
            } | fields
        )
        for night in range(count)
    ]  # fmt: skip


def series_of(values: Any, nights: Any = None, sigma: float = math.nan, name: str = "step_time_s", unit: str = "s",
              provenance: str = "modelled", **subject: str) -> Series:  # fmt: skip
    found = np.array(values, float)
    at = np.arange(len(found)) if nights is None else np.array(nights)
    return Series(
        name, unit, provenance, SUBJECT._replace(**subject), at, at + 1, found, np.full(len(found), sigma)
    )  # fmt: skip


def page_of(tmp_path: Path, series: list[Series], runs: list[RunEntry]) -> str:
    write_history_page(series, runs, tmp_path / "page.html")
    return (tmp_path / "page.html").read_text()


def figures(page: str) -> list[dict[str, Any]]:
    return [json.loads(found) for found in re.findall(r'data-plot="[^"]+">(.*?)</script>', page)]


def numbers(packed: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["bdata"]), f"<{packed['dtype']}")


def nights_on(page: str) -> list[str]:
    found = re.search(r'<script id="nights" type="application/json">(.*?)</script>', page)
    assert found is not None
    return list(json.loads(found[1])["nights"])


def test_a_figure_has_every_night_where_it_was(tmp_path: Path) -> None:
    """Nights of other series are on the axis; a night without the trial is a gap, several trials are their median."""
    values, at = [0.1, 0.2, 0.4, 0.3, 0.5], [2, 4, 4, 4, 5]
    page = page_of(tmp_path, [series_of(values, at), series_of([1, 2], [1, 7], name="wall_s")], runs_of(9))
    assert [text.split()[1].rstrip(",") for text in nights_on(page)] == [f"night-{n}" for n in (1, 2, 4, 5, 7)]
    (trace,) = figures(page)[0]["data"]
    assert (trace["x0"], trace["dx"]) == (1, 1)
    assert numbers(trace["y"]) == pytest.approx([0.1, 0.3, 0.5], rel=1e-6)
    gap = page_of(tmp_path, [series_of([1, 2], [0, 2]), series_of([5, 6], [1, 2], variant="cls2")], runs_of(3))
    first, second = figures(gap)[0]["data"]
    assert np.isnan(numbers(first["y"])).tolist() == [False, True, False] and second["x0"] == 1


def test_a_step_is_drawn_and_listed_with_its_commits(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    values = np.where(np.arange(80) < 50, 0.1, 0.102) * (1 + 1e-3 * random.standard_normal(80))
    series, runs = series_of(values), runs_of(80)
    (change,) = changes_of([series], runs)
    page = page_of(tmp_path, [series], runs)
    field, line = figures(page)[0]["layout"]["shapes"]
    place = {run.name: number for number, run in enumerate(runs)}
    assert (field["x0"], field["x1"]) == (place[change.point.last_before.name], place[change.point.first_after.name])
    assert line["x0"] == line["x1"] == place[change.point.likeliest.name] == 50
    first, last = change.point.commits.split("..")
    assert f"<code>{first[:12]}..{last[:12]}</code>" in page and f"commits {first}..{last}" in page
    table = page[: page.index("</section>")]
    assert "+2.0 %" in table and 'href="#figure-0"' in table and 'id="figure-0"' in page
    assert "between night-" in page and table.count("<tr>") == 2


def test_what_never_changed_is_in_the_table_alone(tmp_path: Path) -> None:
    series = [series_of([7, 7, 7], name="sram.total", unit="B", provenance="counted")]
    page = html.unescape(page_of(tmp_path, series, runs_of(3)))
    assert "<script" not in page and "script-src 'none'" in page and "No quantity took a step." in page
    assert "sram.total" in page and "7 B" in page


def test_groups_are_by_board_network_and_method_and_headlines_come_first(tmp_path: Path) -> None:
    ways = [
        {}, {"variant": "cls2"}, {"method": "mezo"}, {"network": "resnet-tiny"}, {"board": "rp2040"},
    ]  # fmt: skip
    series = [
        series_of([1, 2, n], name=name, **way) for n, way in enumerate(ways) for name in ("cycles.total", "step_time_s")
    ]
    page = page_of(tmp_path, series, runs_of(3))
    assert len(re.findall(r"<h2 id=\"board-", page)) == 2
    assert len(re.findall(r"<details class=\"trial\"", page)) == 4
    assert [len(figure["data"]) for figure in figures(page)] == [1, 1, 2, 2, 1, 1, 1, 1], "variants share a figure"
    assert page.index("step_time_s <span") < page.index("cycles.total <span")
    assert sorted(trace["name"] for trace in figures(page)[2]["data"]) == ["cls1", "cls2"]


def test_provenances_never_share_a_figure(tmp_path: Path) -> None:
    series = [series_of([1, 2, 3], reality="hardware", provenance="measured"), series_of([1, 2, 3])]
    page = page_of(tmp_path, series, runs_of(3))
    assert [[trace["name"] for trace in figure["data"]] for figure in figures(page)] == [
        ["hardware cls1"],
        ["virtual cls1"],
    ]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_numbers_are_counted_and_not_drawn(tmp_path: Path, bad: float) -> None:
    page = page_of(tmp_path, [series_of([1, bad, 3]), series_of([bad] * 3, name="wall_s")], runs_of(3))
    (figure,) = figures(page)
    drawn = numbers(figure["data"][0]["y"])
    assert np.isfinite(drawn).tolist() == [True, False, True]
    assert "cls1: 1 values are not numbers, and not drawn." in page
    assert ">wall_s</th>" in page, "nothing is lost"


def test_names_stay_text(tmp_path: Path) -> None:
    evil = dict.fromkeys(SUBJECT._fields, EVIL)
    series = [
        series_of([1, 2, 3], name=EVIL, **evil),
        series_of([1, 2, 4], name=EVIL, **evil | {"variant": EVIL + "2"}),
    ]
    page = page_of(tmp_path, series, runs_of(3, name=EVIL, commit=EVIL, started=None))
    outside = re.sub(r"packedPlotly = .*", "", page)
    assert "<script>alert" not in page and "<b>x" not in outside
    for text in [*nights_on(page), *(trace["name"] for figure in figures(page) for trace in figure["data"])]:
        assert "<" not in text and EVIL[:10] in html.unescape(text), "plotly takes tags for marks"
    assert all("<" not in text for figure in figures(page) for text in figure["layout"]["xaxis"]["ticktext"])


def test_the_page_says_nothing_of_this_computer(tmp_path: Path) -> None:
    page = page_of(tmp_path, [series_of([1, 2, 3])], runs_of(3))
    assert "/home/me" not in page and str(tmp_path) not in page
    assert not re.search(r"https?:", re.sub(r"packedPlotly = .*", "", page))


def test_uncertainties_are_drawn_and_counts_are_exact(tmp_path: Path) -> None:
    counts = [28_000_001, 28_000_003, 28_000_005]
    series = [series_of(counts, name="x", unit="1", provenance="counted"), series_of([1, 2, 3], sigma=0.25)]
    by_name = {
        len(figure["data"][0].get("error_y", {})) > 0: figure["data"][0]
        for figure in figures(page_of(tmp_path, series, runs_of(3)))
    }
    assert numbers(by_name[False]["y"]).tolist() == counts
    assert numbers(by_name[True]["error_y"]["array"]).tolist() == [0.25] * 3


def test_an_empty_history_is_a_page(tmp_path: Path) -> None:
    assert "History of 0 nights" in page_of(tmp_path, [], [])


@pytest.mark.tier("nightly")
@pytest.mark.skipif(find() is None, reason="needs Chromium: apt-get install chromium")
def test_a_browser_draws_it_and_executes_no_name(tmp_path: Path) -> None:
    runs = [replace(run, commit=EVIL) for run in runs_of(80)]
    values = np.where(np.arange(80) < 50, 0.1, 0.102) * (1 + 1e-3 * np.random.default_rng(1).standard_normal(80))
    page_of(tmp_path, [series_of(values, variant=EVIL), series_of(values, name="other", variant=EVIL)], runs)
    with Chromium(tmp_path / "profile") as browser, closing(browser.open(tmp_path / "page.html", 1280)) as page:
        # Figures are numbered by name: `step_time_s` is a main quantity, `other` is folded until a link leads to it.
        page.until("document.querySelector('#plot-figure-1 .scatterlayer .trace') !== null")
        assert page.evaluate("document.querySelector('#plot-figure-0 .trace')") is None
        page.evaluate("location.hash = 'figure-0'")
        page.until("document.querySelector('#plot-figure-0 .scatterlayer .trace') !== null")
        assert page.evaluate("document.querySelector('.plot b, .plot script')") is None
        labels = page.evaluate("document.getElementById('plot-figure-1').data[0].text.length")
        assert labels == 80 and page.faults == []
