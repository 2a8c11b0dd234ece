"""The coverage of a run on two boards with two workers: in the report, by the command, and for forges."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from user_project import Done, Project

pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
TESTS = """
def test_integers(hil_trial, hil_board):
    hil_trial(spec(hil_board))

def test_that_fits_one_board(hil_trial, hil_board):
    hil_trial(spec(hil_board, variant="full-bp"))
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    project = Project(tmp_path_factory.mktemp("project")).write(TESTS)
    return project.run("--board=stm32h7b3", "--board=rp2040", "--reality=virtual", "-n", "2")


def coverage(done: Done, *options: str) -> str:
    command = [sys.executable, "-m", "hil.commands.main", "coverage", *options]
    return subprocess.run(command, cwd=done.folder, capture_output=True, text=True, check=True).stdout


def test_the_trials_of_all_workers_are_joined_by_board(done: Done) -> None:
    found = json.loads(coverage(done, "--json"))
    assert {board["board"]: board["trials"] for board in found["boards"]} == {"stm32h7b3": 2, "rp2040": 1}, done.out
    trained = [file for file in found["files"] if file["file"] == "methods/elasticzo_int8.c"]
    assert trained[0]["percent"] > 50 and trained[0]["occurred"] > 10
    by_board = [{file["file"] for file in board["files"]} for board in found["boards"]]
    assert "kernels/weighted_rows_dsp.c" in by_board[0] ^ by_board[1], "the boards have kernels of their own"
    assert found["without"] and found["wrong_exclusions"] == []


def test_the_table_has_a_column_for_each_board(done: Done) -> None:
    head = next(line for line in coverage(done).splitlines() if line.startswith("file "))
    assert head.split()[:6] == ["file", "lines", "reached", "percent", "rp2040", "stm32h7b3"]


def test_the_report_has_the_page_with_the_sources(done: Done) -> None:
    run = done.folder / "reports" / "latest"
    assert 'href="coverage.html"' in (run / "index.html").read_text()
    page = (run / "coverage.html").read_text()
    assert "void max_pool_s8(" in page, "the text of the sources"
    assert 'data-head="rp2040"' in page


def test_files_for_forges(done: Done, tmp_path: Path) -> None:
    coverage(done, "--lcov", str(tmp_path / "lcov.info"), "--cobertura", str(tmp_path / "cobertura.xml"))
    assert (tmp_path / "lcov.info").read_text().count("end_of_record") > 200
    assert "<!DOCTYPE coverage" in (tmp_path / "cobertura.xml").read_text()
