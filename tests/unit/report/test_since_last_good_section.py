"""The first screen: the sentence, what changed, and what is flaky, from the file in the folder of the run."""

import json
import re

from hil.record import read_run
from hil.record.since_last_good import FILE, nothing_known, write_since
from hil.report import render, render_single
from hil.summary import summary_of
from hil.summary.markdown import markdown
from hil.summary.text import text_lines

from .conftest import make_steps, make_trial
from .test_report_page import overview_of

EVIL = "<img src=x onerror=alert(1)>"


def changed(folder, **fields):
    figure = {
        "test": "t.py::a", "folder": folder, "name": "energy.per_step", "unit": "J", "provenance": "measured",
        "before": 0.02, "before_uncertainty": 1e-4, "after": 0.022, "after_uncertainty": 1e-4, "low": 0.0017,
        "high": 0.0023, "relative": 0.1, "shown": True, "sentence": "higher",
    }  # fmt: skip
    sram = figure | {"name": "sram.total", "unit": "B", "provenance": "counted", "before": 202_532, "after": 202_540}
    sram |= {"before_uncertainty": None, "after_uncertainty": None, "low": 8, "high": 8, "relative": 8 / 202_532}
    hidden = figure | {"after": 0.0201, "low": -0.0002, "high": 0.0004, "shown": False, "sentence": "no difference."}
    word = {"test": EVIL, "board": EVIL, "folder": "", "what": "verdict", "before": "pass", "after": "fail"}
    flaky = {
        "test": EVIL, "board": EVIL, "bad": 2, "nights": 6, "low": 0.097, "high": 0.7, "fault": "rig",
        "stages": {EVIL: 2},
    }  # fmt: skip
    history = {"folder": folder, "name": EVIL, "unit": "s", "provenance": "modelled", "values": [0.1, 0.2]}
    return nothing_known("Since the last good night something changed.") | {
        "good": {"run": "20261126-x", "time": "2026-11-26T22:00:00+00:00", "commit": EVIL}, "commits": "aaa..bbb",
        "words": [word], "figures": [figure, sram, hidden], "flaky": [flaky], "histories": [history],
    } | fields  # fmt: skip


def run_with(record, **fields):
    folder = record((make_trial(), make_steps(5)))
    write_since(folder, changed(read_run(folder).trials[0].folder, **fields))
    return folder


def test_the_page_leads_with_the_sentence_of_the_summary_then_what_changed(record):
    folder = run_with(record)
    page = overview_of(folder)
    sentence = summary_of(read_run(folder)).sentence
    places = [page.index(text) for text in (f"<h1>{sentence}</h1>", "Since the last good night", "energy.per_step")]
    assert places == sorted(places) and places[-1] < page.index('id="verdicts"')
    assert "aaa..bbb" in page and "20261126-x" in page
    assert re.search(r"20\.00 ± 0\.10\smJ.*22\.00 ± 0\.10\smJ.*\+10 %.*1\.7\smJ to 2\.3\smJ.*higher.*measured", page)
    assert re.search(r"202,532\sB.*202,540\sB.*counted", page), "a change of 8 bytes is seen"
    assert re.search(r"<summary>1 difference not shown.*20\.10 ± 0\.10\smJ", page, re.DOTALL)
    assert re.search(r"2 of 6<br><small>9\.7\s% to 70\.0\s%</small>.*rig", page)


def test_names_are_inert_on_the_page(record):
    folder = run_with(record)
    for page in (overview_of(folder), render_single(folder).read_text()):
        assert EVIL not in page and page.count("&lt;img src=x") >= 4


def test_a_run_that_did_not_ask_the_history_has_no_such_section(record):
    folder = record((make_trial(), make_steps(5)))
    assert 'id="since"' not in overview_of(folder) and summary_of(read_run(folder)).since is None


def test_without_a_good_night_the_page_has_one_sentence(record):
    folder = record((make_trial(), make_steps(5)))
    write_since(folder, nothing_known("No earlier good night."))
    page = overview_of(folder)
    section = page[page.index('id="since"') : page.index("steps compared bit for bit")]
    assert "No earlier good night." in section and "<table" not in section


def test_the_summary_says_the_same(record):
    folder = run_with(record)
    summary = summary_of(read_run(folder))
    assert "Since the last good night something changed." in text_lines(summary) and len(text_lines(summary)) <= 10
    text = markdown(summary)
    assert f"verdict of `{EVIL}`: `pass, now fail`" in text and "Commits: `aaa..bbb`" in text
    assert "0.02, now 0.022 J, +10 % (measured; difference 0.0017 to 0.0023; higher)" in text
    assert "no difference." not in text and "bad in 2 of 6 nights (10 to 70 %), fault: rig" in text


def test_a_damaged_file_is_one_sentence(record):
    folder = run_with(record)
    kept = json.loads((folder / FILE).read_text())
    for wrong in ({"compared": -1}, {"words": [{}]}, {"figures": None}):
        (folder / FILE).write_text(json.dumps(kept | wrong))
        try:
            render(folder)
        except Exception as error:
            assert type(error).__name__ == "RigError" and FILE in str(error) and "is damaged" in str(error)
        else:
            raise AssertionError("the page was made from a damaged file")
