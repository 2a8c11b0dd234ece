"""The soak of a run on its overview: in its text, and in a real browser at two widths, on light and on dark."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import plotly.graph_objects as go
import pytest

from hil.errors import RigError
from hil.record.soak import FILE, Soak, SoakRow, read_soak
from hil.report import render, render_single
from hil.report.soak import PANELS, process_rows, soak_figure

from .chromium import Chromium, find
from .conftest import make_steps, make_trial
from .test_in_a_browser import ALL_DRAWN, BLANKS, COLLISIONS, DRAW_ALL, UNREADABLE

BOARDS = ["stm32h7b3", "rp2040"]
SAID = "rig of rp2040: descriptors: 31 after 3,000 s and 400 trials, at most 24 in the warm-up: 7 too many."


def made_soak(**changes):
    rows = [
        SoakRow(30.0 * number, process, board, 100_000 + 10 * number, 24, 7, 2, 7 if process == "rig" else None, number)
        for number in range(1, 121)
        for process in ("rig", "bench", "probe")
        for board in BOARDS
    ]
    kinds = {"nothing": {"pass": 120}, "port: gone and back under another name": {"blocked": 100, "wrong verdict": 20}}
    return Soak(7, 60.0, "c" * 40 + "+", BOARDS, 360.0, {"pass": 120}, kinds, [], [], True, rows, **changes)


@pytest.fixture
def run(record):
    def write(soak):
        folder = record((make_trial(), make_steps(5)))
        soak.write(folder)
        return folder

    return write


def test_a_soak_is_read_as_it_was_written(run):
    soak = made_soak()
    folder = run(soak)
    assert read_soak(folder) == soak
    assert json.loads((folder / FILE).read_text())["rows"][0]["process"] == "rig"


def test_the_overview_has_plot_table_and_kinds(run):
    page = render(run(made_soak())).read_text()
    assert 'id="plot-soak"' in page and '<script src="plotly.js">' in page
    assert "60.0 minutes, seed 7, on stm32h7b3 and rp2040" in page and "are flat. Memory is flat." in page
    assert (
        "bench of rp2040" in page
        and "port: gone and back under another name" in page
        and "100 blocked, 20 wrong verdict" in page
    )


def test_what_is_not_flat_is_said_in_a_banner(run):
    soak = made_soak()
    soak.not_flat, soak.wrong, soak.memory_judged = [SAID], ["stm32h7b3, trial 9: <b>hang</b>"], False
    page = render(run(soak)).read_text()
    assert SAID in page and "&lt;b&gt;hang&lt;/b&gt;" in page and "are flat" not in page


def test_a_run_that_is_no_soak_has_no_section_and_does_not_ask_for_plotly(record):
    page = render(record((make_trial(), make_steps(5)))).read_text()
    assert "Soak" not in page and "plotly" not in page and page.count("<script") == 1, "that of the tables"


def test_a_soak_without_a_row_has_no_plot(run):
    soak = made_soak()
    soak.rows = []
    page = render(run(soak)).read_text()
    assert 'aria-labelledby="soak"' in page and "plot-soak" not in page


@pytest.mark.parametrize("change", [{"rows": [{"seconds": 1}]}, {"seed": "x"}, {"more": 1}, {"counts": [1]}])
def test_a_damaged_soak_is_one_sentence(run, change):
    folder = run(made_soak())
    said = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps(said | change))
    with pytest.raises(RigError, match=r"soak\.json is damaged.*run the soak again"):
        render(folder)


def test_the_figure_has_a_line_a_process_in_every_panel_with_units():
    figure = go.Figure(soak_figure(made_soak()))
    assert len(figure.data) == 6 * len(PANELS) and len({line.name for line in figure.data}) == 6
    assert [axis.title.text for axis in (figure.layout.yaxis, figure.layout.yaxis2, figure.layout.yaxis3)] == [
        "memory, MB", "descriptors", "threads"
    ]  # fmt: skip
    assert figure.layout.xaxis3.title.text == "minutes since the soak began"
    assert figure.data[0].x[-1] == 60.0 and figure.data[0].y[-1] == round(101_200 / 1024, 2)


def test_the_table_has_the_most_before_and_after_the_warm_up():
    (rig,) = (one for one in process_rows(made_soak()) if one.process == "rig of stm32h7b3")
    assert rig.rows == 108 and rig.most["descriptors"] == (24, 24)
    assert rig.memory == (100_260.0, 101_070.0)


@pytest.mark.skipif(find() is None, reason="needs Chromium: apt-get install chromium")
def test_the_section_is_whole_at_every_width_on_light_and_on_dark(run, tmp_path):
    soak = made_soak()
    soak.not_flat = [SAID]
    folder = run(soak)
    pages: list[Path] = [render(folder), render_single(folder)]
    with Chromium(tmp_path / "profile") as browser:
        for path in pages:
            for width in (390, 1280):
                for scheme in ("light", "dark"):
                    with closing(browser.open(path, width, scheme)) as page:
                        page.evaluate(DRAW_ALL)
                        page.until(ALL_DRAWN)
                        assert page.evaluate("document.querySelectorAll('#plot-soak .main-svg').length") > 0
                        assert page.evaluate("document.documentElement.scrollWidth") <= width
                        assert page.evaluate(COLLISIONS) == [] and page.evaluate(BLANKS) == []
                        assert page.evaluate(UNREADABLE) == [] and page.faults == []
