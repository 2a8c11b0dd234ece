"""The page of the firmware coverage: marks, notes, and names that stay text."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from hil.coverage import BoardCoverage, Coverage
from hil.coverage.source_file import FileCoverage
from hil.images import image_of
from hil.images.executed import Executed
from hil.record import RunWriter, TrialExtras, read_run
from hil.report import render, render_single
from hil.report.coverage_page import sentence
from hil.report.page import coverage_html
from hil.summary import summary_of
from hil.summary.markdown import markdown
from hil.summary.text import text_lines
from tests.unit.report.conftest import agreeing, list_again, make_steps, make_trial

EVIL = "<script>alert(1)</script>"


def coverage() -> Coverage:
    first = FileCoverage(
        f"a{EVIL}.c", {1: True, 2: True, 4: False}, {2: {f"a{EVIL}.c:4": False, "b.h:7": True}}, {3: f"never {EVIL}"}
    )
    second = FileCoverage("b.h", {7: True})
    boards = [BoardCoverage("stm32h7b3", 2, ("aa",), [first, second]), BoardCoverage("rp2040", 1, ("bb",), [second])]
    sources = {first.name: ["int a;", f"if (a) {EVIL}", "return;", "b();", ""]}
    return Coverage(boards, {"ran on qemu, which records none": 4}, [first, second], sources, [])


def test_every_line_has_its_mark() -> None:
    page = coverage_html(coverage(), "run", "index.html")
    lines = [re.sub(r"<[^>]*>", "", line) for line in page.splitlines()]
    evil = "&lt;script&gt;alert(1)&lt;/script&gt;"
    assert "    1 + int a;" in lines
    assert f"    2 ~ if (a) {evil}  never to line 4" in lines
    assert f"    3 x return;  excluded: never {evil}" in lines
    assert "    4 ! b();" in lines
    assert "4 × the trial ran on qemu, which records none" in page
    assert EVIL not in page, "names and sources of a record are text"


def test_boards_have_a_column_each() -> None:
    page = coverage_html(coverage(), "run")
    assert re.search(
        r'data-head="stm32h7b3" data-value="100.0">100.0 %</td><td class="n" data-head="rp2040" data-value="100.0"',
        page,
    )
    assert '<td class="n" data-head="rp2040"></td>' in page, "the board has no code of the first file"


def test_without_the_text_of_a_source_the_numbers_are_there() -> None:
    found = coverage()
    page = coverage_html(Coverage(found.boards, {}, found.files, {}, []), "run")
    assert "The run did not keep the text of this file. Lines never reached: 4." in page


def test_the_page_asks_no_host_and_runs_its_own_script_only() -> None:
    page = coverage_html(coverage(), "run")
    policy = re.search(r"script-src ([^;]*);", page)
    assert policy is not None and re.fullmatch(r"'sha256-[A-Za-z0-9+/=]+'", policy[1])
    assert not re.search(r'(src|href)="(https?:)?//', page)


def recorded(folder: Path, ran: Executed | None) -> Path:
    run = RunWriter.begin(folder)
    sha256 = image_of("stm32h7b3").sha256
    trial, steps = agreeing(make_trial(image_sha256=sha256), make_steps(200))
    run.write_trial(trial, steps, run.trial_folder("trial"), TrialExtras(executed=ran))
    run.finish()
    return run.folder


def executed() -> Executed:
    base, code = image_of("stm32h7b3").segments[0]
    blocks = np.array([[base, len(code) // 2 * 2]], np.uint32)
    return Executed(blocks, np.zeros(0, np.uint32), np.zeros((0, 2), np.uint8))


def test_the_report_links_the_page(tmp_path: Path) -> None:
    run = recorded(tmp_path, executed())
    page = render(run).read_text()
    assert re.search(r"reached 7,\d{3} of 7,\d{3} lines of the firmware \(\d+\.\d %\)", page)
    assert '<a href="coverage.html">Lines never reached' in page
    assert "kernels/max_pool_s8.c" in (run / "coverage.html").read_text()
    single = render_single(run).read_text()
    assert "lines of the firmware" in single and "coverage.html" not in single


def test_without_coverage_the_report_says_nothing_of_it(tmp_path: Path) -> None:
    run = recorded(tmp_path, None)
    assert "Firmware coverage" not in render(run).read_text()
    assert not (run / "coverage.html").exists()
    assert summary_of(read_run(run)).coverage == ""


def test_coverage_that_cannot_be_read_does_not_take_the_report(tmp_path: Path) -> None:
    run = recorded(tmp_path, executed())
    (run / "trial" / "coverage.npz").write_bytes(b"")
    list_again(run)
    assert "Coverage cannot be shown: " in render(run).read_text()
    assert "is not known" in summary_of(read_run(run)).coverage


def test_the_summary_has_one_sentence_of_it(tmp_path: Path) -> None:
    summary = summary_of(read_run(recorded(tmp_path, executed())))
    assert summary.coverage.startswith("The trials on virtual boards reached 7,")
    assert summary.coverage in text_lines(summary) and summary.coverage in markdown(summary)


def test_the_sentence_counts_excluded_lines() -> None:
    assert sentence(coverage()) == (
        "The trials on virtual boards reached 3 of 4 lines of the firmware (75.0 %) and 1 of 2 outcomes of its branches "
        "(50.0 %); excluded lines: 1."
    )
