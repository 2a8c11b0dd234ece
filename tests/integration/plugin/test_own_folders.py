"""A test that deletes the working folder or the folder of the run, or ends the process: named as what it is."""

from __future__ import annotations

import json

import pytest
from user_project import Project

from hil.commands.main import main as hil
from hil.record import read_run

WORKING = """
import os

def test_mine(hil_board, hil_trial, tmp_path):
    (tmp_path / "here").mkdir()
    os.chdir(tmp_path / "here")
    os.rmdir(tmp_path / "here")
    hil_trial(spec(hil_board))
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_the_working_folder(project: Project, workers: str) -> None:
    done = project.write(WORKING).run("--board=stm32h7b3", "-n", workers)
    assert done.code == 75, done.out
    assert done.tests()["test_mine"]["reason"] == (
        "stage 'test': the working folder was deleted, by a test or another program: let it stay, or change to another "
        "one (os.chdir)."
    )


RUN = """
import shutil

def test_before(hil_board, hil_trial, run_record):
    shutil.rmtree(run_record.folder)
    hil_trial(spec(hil_board))

def test_after(hil_board, hil_trial, run_record):
    try:
        hil_trial(spec(hil_board))
    finally:
        shutil.rmtree(run_record.folder)

def test_all_else(hil_board, run_record):
    shutil.rmtree(run_record.folder)
"""


@pytest.mark.parametrize(("name", "code"), [("before", 75), ("after", 75), ("all_else", 1)])
def test_the_folder_of_the_run(project: Project, name: str, code: int) -> None:
    done = project.write(RUN).run("--board=stm32h7b3", "-n", "0", "-k", f"test_{name}")
    assert done.code == code, done.out
    assert "MISSING from the record: the folder reports/2" in done.out, done.out
    assert "was deleted while the run went on, by a test or another program" in done.out
    assert "check the disk" not in done.out and "contradicts itself" not in done.out and "Traceback" not in done.out


ENDS = """
import ctypes, os

def test_a(hil_board, hil_trial):
    pass

def test_b(hil_board, hil_trial):
    if not os.fork():
        os._exit(0)
    END

def test_c(hil_board, hil_trial):
    pass
"""


@pytest.mark.parametrize(("status", "code"), [(0, 1), (7, 7)])
def test_os_exit_is_not_green(project: Project, status: int, code: int) -> None:
    done = project.write(ENDS.replace("END", f"os._exit({status})")).run("--board=stm32h7b3", "-n", "0")
    sentence = (
        f"trainrig: test_mine.py::test_b[stm32h7b3] ended the process of pytest by os._exit({status}), so that no "
    )
    assert done.code == code and sentence in done.out and "run with -n 1" in done.out, done.out
    (folder,) = done.runs
    run = read_run(folder)
    assert [test.verdict for test in run.tests] == ["skipped", "interrupted", "interrupted"]
    assert run.facts["state"] == "interrupted" and run.facts["exit_code"] == code
    assert all("os._exit" in test.reason for test in run.tests[1:])


def test_a_worker_that_ends_so_is_a_failure(project: Project) -> None:
    done = project.write(ENDS.replace("END", "os._exit(0)")).run("--board=stm32h7b3", "-n", "1")
    assert done.code == 1 and "crashed" in done.tests()["test_b"]["reason"], done.out
    assert done.tests()["test_c"]["verdict"] == "skipped"


def test_an_end_that_python_does_not_see_is_named_by_every_reader(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    done = project.write(ENDS.replace("END", "ctypes.CDLL(None)._exit(0)")).run("--board=stm32h7b3", "-n", "0")
    assert done.code == 0, done.out
    (folder,) = done.runs
    assert json.loads((folder / "results.json").read_text())["run"]["state"] == "running"
    assert hil(["verify", str(folder)]) == 2
    assert "did not end, so that its record is not complete" in capsys.readouterr().err
    assert hil(["summary", str(folder)]) == 0
    assert "Not fine: the run did not end" in capsys.readouterr().out
    assert hil(["report", str(folder)]) == 0
    assert "did not end" in (folder / "index.html").read_text()
