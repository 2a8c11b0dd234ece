"""The first screen: the sentence, what changed, and what is flaky, from the file in the folder of the run."""

import json
import re

import pytest

from hil.record import AskedTest, read_run
from hil.record.checks.copies import check_since
from hil.record.run_reader import read_recorded
from hil.record.since_last_good import FILE, NO_GOOD_NIGHT, nothing_known, write_since
from hil.record.sums import sums_of, write_sums
from hil.report import render, render_single
from hil.summary import summary_of
from hil.summary.markdown import markdown
from hil.summary.text import text_lines

from .conftest import ENERGY, make_captures, make_steps, make_trial
from .rendered import overview_of

EVIL = "<img src=x onerror=alert(1)>"


SAID = "Since the last good night 1 verdict, 2 figures changed (1 trial compared)."


def changed(folder, **fields):
    figure = {
        "test": "t.py::a", "folder": folder, "name": "energy.per_step", "unit": "J", "provenance": "modelled",
        "before": 0.0253, "before_uncertainty": 1e-4, "after": 0.0278, "after_uncertainty": 9.3e-5, "low": 0.0022,
        "high": 0.0028, "relative": 0.0988, "shown": True, "sentence": "higher",
    }  # fmt: skip
    sram = figure | {"name": "sram.total", "unit": "B", "provenance": "counted", "before": 202_524, "after": 202_532}
    sram |= {"before_uncertainty": None, "after_uncertainty": None, "low": 8, "high": 8, "relative": 8 / 202_524}
    hidden = figure | {"name": "energy.gross", "before": 0.0879, "after": 0.088, "after_uncertainty": 1e-5}
    hidden |= {"low": -0.0001, "high": 0.0003, "relative": 0.001, "shown": False, "sentence": "no difference."}
    word = {"test": EVIL, "board": EVIL, "folder": "", "what": "verdict", "before": "pass", "after": "fail"}
    flaky = {
        "test": EVIL, "board": EVIL, "bad": 2, "nights": 6, "low": 0.097, "high": 0.7, "fault": "rig",
        "stages": {EVIL: 2},
    }  # fmt: skip
    history = {"folder": folder, "name": EVIL, "unit": "s", "provenance": "modelled", "values": [0.1, 0.2]}
    return nothing_known(SAID) | {
        "good": {"run": "20261126-x", "time": "2026-11-26T22:00:00+00:00", "commit": EVIL}, "commits": "aaa..bbb", "compared": 1,
        "words": [word], "figures": [figure, sram, hidden], "flaky": [flaky], "histories": [history],
    } | fields  # fmt: skip


def with_since(folder, since):
    """Add the file to a run that has ended, as the session does."""
    facts = read_run(folder).facts
    write_since(folder, since)
    write_sums(folder, sums_of(folder, facts, False))
    return folder


def run_with(record, **fields):
    trial = make_trial(energy=ENERGY, test="t.py::a")
    failed = AskedTest(test=EVIL, board=EVIL, verdict="fail", reason="it fails.", outcome="failed")
    folder = record((trial, make_steps(5)), power=make_captures(), tests=[failed])
    return with_since(folder, changed(read_run(folder).trials[0].folder, **fields))


def test_the_page_leads_with_the_sentence_of_the_summary_then_what_changed(record):
    folder = run_with(record)
    page = overview_of(folder)
    sentence = summary_of(read_run(folder)).sentence
    places = [page.index(text) for text in (f"<h1>{sentence}</h1>", "Since the last good night", "energy.per_step")]
    assert places == sorted(places) and places[-1] < page.index('id="verdicts"')
    assert "aaa..bbb" in page and "20261126-x" in page
    assert re.search(
        r"25\.30 ± 0\.10\smJ.*27\.800 ± 0\.093\smJ.*\+9\.88 %.*2\.2\smJ to 2\.8\smJ.*higher.*modelled", page
    )
    assert re.search(r"202,524\sB.*202,532\sB.*counted", page), "a change of 8 bytes is seen"
    assert re.search(r"<summary>1 difference not shown.*88\.000 ± 0\.010\smJ", page, re.DOTALL)
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
    with_since(folder, nothing_known(NO_GOOD_NIGHT))
    page = overview_of(folder)
    section = page[page.index('id="since"') : page.index("steps compared bit for bit")]
    assert NO_GOOD_NIGHT in section and "<table" not in section


def test_the_summary_says_the_same(record):
    folder = run_with(record)
    summary = summary_of(read_run(folder))
    assert SAID in text_lines(summary) and len(text_lines(summary)) <= 10
    text = markdown(summary)
    assert f"verdict of `{EVIL}`: `pass, now fail`" in text and "Commits: `aaa..bbb`" in text
    assert "0.0253, now 0.0278 J, +9.88 % (modelled; difference 0.0022 to 0.0028; higher)" in text
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


FALSE = {
    "compared": ({"compared": 0}, "sentence is .*1 trial compared.*has .*0 trials compared"),
    "more than there are": ({"compared": 9, "sentence": SAID.replace("1 trial", "9 trials")}, "compared is 9, but results.json has '1 trials'"),
    "sentence": ({"sentence": "Nothing changed."}, "sentence is 'Nothing changed.'"),
    "no good night": ({"good": None}, r"compared \(its number\) is 1, but .*good is null"),
    "no good night, words": ({"good": None, "compared": 0, "figures": [], "commits": ""}, r"words \(its number\) is 1"),
    "no good night, commits": ({"good": None, "compared": 0, "figures": [], "words": []}, "commits is 'aaa..bbb'"),
    "no good night, sentence": ({"good": None, "compared": 0, "figures": [], "words": [], "commits": ""}, "sentence is 'Since the last"),
}  # fmt: skip


@pytest.mark.parametrize("name", FALSE)
def test_what_follows_from_its_own_rows_is_held(name, record):
    fields, said = FALSE[name]
    folder = run_with(record, **fields)
    found = " ".join(one.sentence for one in check_since(read_recorded(folder)))
    assert re.search(said, found), found
