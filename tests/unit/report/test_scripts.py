"""The policy of every page lets its own scripts run, by their digests, and no other."""

import base64
import hashlib
import re
from datetime import datetime

import pytest

from hil.energy.live_trace import LiveTrace
from hil.report import render, render_single
from hil.report.compare.comparison import compare
from hil.report.compare.page import write_page
from hil.report.compare.sides import read_side
from hil.report.power_page import WatchedMeter, power_page, watched_data
from hil.report.scripts import allowed

from .conftest import WHOLE, make_captures, make_steps, make_trial
from .test_history_page import page_of, runs_of, series_of
from .test_soak_section import made_soak

SCRIPT = re.compile(r"<script([^>]*)>(.*?)</script>", re.DOTALL)
POLICY = re.compile(r'script-src ([^;]*);.*?"')
FIGURES = {"now": 1.0, "mean": 1.0, "lowest": 1.0, "highest": 1.0, "energy": 1.0, "readings": 1}


@pytest.fixture
def pages(record, tmp_path):
    """Every kind of page by name."""
    folder = record((make_trial(**WHOLE), make_steps(60)), power=make_captures())
    found = {"overview": render(folder).read_text(), "single": render_single(folder).read_text()}
    found["trial"] = (folder / "stm32h7b3-cls1" / "index.html").read_text()
    side = read_side(str(folder), [])
    write_page(compare(side, side), tmp_path / "compare.html")
    found["compare"] = (tmp_path / "compare.html").read_text()
    data = watched_data(LiveTrace(), FIGURES, 0.0, "", 3.3)
    found["power"] = power_page(WatchedMeter("meter", "1", 3.3, "measured", datetime(2026, 1, 2)), data, 0.5)
    found["history"] = page_of(tmp_path, [series_of([0.1, 0.2, 0.4])], runs_of(3))
    made_soak().write(folder)
    found["soak"] = render(folder).read_text()
    return found


def test_a_page_allows_its_own_scripts_and_no_others(pages):
    assert "packedPlotly = " in pages["single"] and len(pages) == 7
    for name, page in pages.items():
        inline = [text for kind, text in SCRIPT.findall(page) if kind == ""]
        digests = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inline}
        sources = POLICY.search(page)[1].split()
        assert inline and {f"'sha256-{digest}'" for digest in digests} <= set(sources), name
        beside = {"'self'", "file:"} if '<script src="' in page else set()
        assert {source for source in sources if not source.startswith("'sha256-")} == beside | (
            set() if name == "overview" else {"blob:"}
        ), name
        assert len(sources) == len(digests) + len(beside) + (name != "overview"), "no digest of something else"


def test_a_page_without_scripts_allows_none():
    assert allowed([]) == "'none'" and allowed(["a"]) != allowed(["b"])
