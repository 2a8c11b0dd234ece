"""A session that ends early, by whatever: finished trials stay, and of every other test the record says what became of it."""

from __future__ import annotations

import json

import jsonschema
import pytest
from user_project import Project

from hil.commands.main import main
from hil.record import read_run, schema
from hil.report import render

NIGHTLY = pytest.mark.tier("nightly")

THREE = """
import os, signal

def test_a(hil_board, hil_trial):
    hil_trial(spec(hil_board))

@pytest.fixture
def dies(hil_rig, monkeypatch):
    def die(*_):
        os.kill(os.getpid(), HOW)
        raise AssertionError("it goes on")
    monkeypatch.setattr(hil_rig, "take", die)

def test_b(hil_board, hil_trial, dies):
    hil_trial(spec(hil_board, steps=7))

def test_c(hil_board, hil_trial):
    hil_trial(spec(hil_board))
"""


def verdicts(run):
    return {test.test.rpartition("::")[2].partition("[")[0]: test.verdict for test in run.tests}


def assert_whole_files(folder):
    for path in folder.rglob("*.json"):
        json.loads(path.read_text())
    assert not list(folder.rglob("*.part"))


def test_a_worker_that_ends_while_it_starts(project: Project):
    """Before it has answered pytest-xdist, which knows no better than to raise: here its Python is a program that ends at once."""
    done = project.write(THREE).run("--board=stm32h7b3", "--dist=load", "--tx=popen//python=/bin/false")
    assert done.code == pytest.ExitCode.INTERRUPTED and "INTERNALERROR" not in done.out, done.out
    assert "a worker process could not start, or ended at once (" in done.out and "lack of memory" in done.out
    (folder,) = done.runs
    run = read_run(folder)
    assert (run.facts["state"], run.facts["whole"], run.facts["exit_code"]) == (
        "interrupted",
        False,
        2,
    ) and not run.trials
    assert_whole_files(folder)


def test_ctrl_c_in_a_trial(project: Project):
    ended = project.write(THREE.replace("HOW", "signal.SIGINT")).run("--board=stm32h7b3", "-k", "test_a")
    before = ended.runs
    assert (project.folder / "reports/latest").resolve() == before[0].resolve()
    done = project.run("--board=stm32h7b3")
    assert done.code == pytest.ExitCode.INTERRUPTED, done.out
    assert (project.folder / "reports/latest").resolve() == before[0].resolve(), "the last run that ended"
    (folder,) = set(done.runs) - set(before)
    run = read_run(folder)
    jsonschema.validate(json.loads((folder / "results.json").read_text()), schema())
    assert verdicts(run) == {"test_a": "blocked", "test_b": "interrupted", "test_c": "interrupted"}
    assert (run.facts["state"], run.facts["whole"], run.facts["exit_code"]) == ("interrupted", False, 2)
    trial = run.trials[1]
    assert (trial.verdict, trial.steps, trial.steps_compared) == (
        "interrupted",
        7,
        0,
    ) and "KeyboardInterrupt in stage 'bench'" in trial.reason
    assert run.tests[1].trials == [trial.folder] and run.tests[1].reason == trial.reason
    assert "it was not run" in run.tests[2].reason
    assert "3 tests with trials: 1 blocked, 2 interrupted" in done.out and "the run is incomplete" in done.out
    assert 'type="interrupted"' in (folder / "junit.xml").read_text() and (folder / "index.html").is_file()
    assert_whole_files(folder)


FAILS_FIRST = """
import os, signal, time, pytest

def test_fails(hil_board, hil_trial):
    hil_trial(spec(hil_board, budgets={"sram": "1 KiB"}))
    HOW
    time.sleep(5)
"""


@pytest.mark.parametrize(
    ("how", "options", "state"),
    [
        pytest.param("os.kill(os.getpid(), signal.SIGINT)", (), "interrupted", marks=NIGHTLY),
        pytest.param('pytest.exit("bye", returncode=0)', (), "interrupted", marks=NIGHTLY),
        ("os._exit(0)", (), "interrupted"),
        ("os.kill(os.getpid(), signal.SIGKILL)", ("-n", "1"), "ended"),
    ],
)
def test_a_session_that_ends_after_a_trial_failed(project: Project, how: str, options: tuple[str, ...], state: str):
    """The test has not ended, but what its trial found stays: no verdict is better than that of a trial."""
    options = ("--board=rp2040", "--reality=virtual", *options)
    done = project.write(FAILS_FIRST.replace("HOW", how)).run(*options)
    assert done.code != 0 and "contradicts itself" not in done.out, done.out
    run = read_run(*done.runs)
    assert (run.facts["state"], verdicts(run)) == (state, {"test_fails": "fail"})
    assert run.tests[0].reason == run.trials[0].reason and "SRAM" in run.tests[0].reason
    assert main(["verify", str(run.folder)]) == 0


def test_a_session_that_is_killed(project: Project):
    done = project.write(THREE.replace("HOW", "signal.SIGKILL")).run("--board=stm32h7b3")
    assert done.code == -9
    (folder,) = done.runs
    assert not (project.folder / "reports/latest").exists()
    run = read_run(folder)
    assert verdicts(run) == {"test_a": "blocked", "test_b": "interrupted", "test_c": "interrupted"}
    assert [(trial.verdict, trial.steps) for trial in run.trials] == [("blocked", 1), ("interrupted", 7)]
    assert (run.facts["state"], run.facts["whole"]) == ("running", False)
    assert render(folder).is_file()
    assert_whole_files(folder)


def test_a_worker_that_is_killed(project: Project):
    done = project.write(THREE.replace("HOW", "signal.SIGKILL")).run("--board=stm32h7b3", "-n", "1")
    assert done.code == 1, done.out
    run = read_run(project.folder / "reports/latest")
    assert verdicts(run) == {"test_a": "blocked", "test_b": "interrupted", "test_c": "blocked"}, (
        "another worker did the rest"
    )
    assert "crashed" in run.tests[1].reason and run.tests[1].trials
    assert (run.facts["state"], run.facts["whole"]) == ("ended", False)
    found = done.cases()
    assert [(each.tag, each.get("type")) for each in found["test_b"] if each.tag != "properties"] == [
        ("error", "interrupted")
    ]
    assert int(done.suite().get("tests")) == 3


@pytest.mark.parametrize("options", [("-x",), ("--maxfail=1", "-n", "1")])
def test_what_x_left_out_is_said(project: Project, options):
    text = "def test_z(hil_board, hil_trial):\n    assert 0\n" + THREE.replace("HOW", "signal.SIGKILL").replace(
        ", dies)", ")"
    )
    done = project.write(text).run("--board=stm32h7b3", *options)
    found = done.tests()
    assert done.code in (1, 2) and found["test_z"]["verdict"] == "fail"
    assert (
        found["test_c"]["verdict"] == "interrupted"
        and "it was not run: stopping after 1 failures" in found["test_c"]["reason"]
    )
    assert done.results()["run"]["state"] == "ended" and not done.results()["run"]["whole"]
    assert int(done.suite().get("tests")) == len(done.cases()) == 4


def test_a_first_blocked_trial_with_x_is_still_nothing_but_blocked(project: Project):
    done = project.write(THREE.replace("HOW", "signal.SIGKILL")).run("--board=stm32h7b3", "-x")
    assert done.code == 75, done.out


def test_what_could_not_be_collected_is_missing(project: Project):
    project.write(THREE.replace(", dies)", ")").replace("HOW", "9")).write(
        "import nothing_of_that_name\n", "test_typo.py"
    )
    done = project.run("--board=stm32h7b3", paths=("test_mine.py", "test_typo.py"))
    run = done.results()["run"]
    assert done.code == pytest.ExitCode.INTERRUPTED and not run["whole"]
    assert any("test_typo.py" in sentence and "collected" in sentence for sentence in run["missing"])
    assert "MISSING from the record: the tests of test_typo.py" in done.out
    assert {test["verdict"] for test in done.results()["tests"]} == {"interrupted"}


def test_deselected_tests_are_no_one_s(project: Project):
    done = project.write(THREE.replace("HOW", "9")).run(
        "--board=stm32h7b3", "--deselect", "test_mine.py::test_b", "-k", "test_a or test_b"
    )
    assert set(done.tests()) == {"test_a"} and done.results()["run"]["whole"]


def test_a_wrong_command_line_leaves_no_run(project: Project):
    done = project.write(THREE.replace("HOW", "9")).run("--board=stm32h7b3", paths=("test_of_no_name.py",))
    assert done.code == pytest.ExitCode.USAGE_ERROR and done.runs == [] and "INTERNALERROR" not in done.out


def test_a_defect_in_a_hook_hides_no_verdict(project: Project):
    project.write("def pytest_runtest_logfinish(nodeid, location):\n    assert 'test_b' not in nodeid\n", "conftest.py")
    done = project.write(THREE.replace(", dies)", ")").replace("HOW", "9")).run("--board=stm32h7b3")
    assert done.code == pytest.ExitCode.INTERNAL_ERROR
    assert "3 tests with trials: 2 blocked, 1 interrupted" in done.out
    run = read_run(done.runs[0])
    assert run.facts["state"] == "interrupted" and not run.facts["whole"]


AGAIN = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    runtestprotocol(item, log=False, nextitem=nextitem)  # as plugins do that run a failed test again
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""


def test_a_test_that_is_run_again_has_the_verdict_of_its_last_attempt_and_all_its_trials(project: Project):
    text = "runs = []\n\ndef test_a(hil_board, hil_trial):\n    runs.append(1)\n    assert len(runs) < 2, 'mine'\n    hil_trial(spec(hil_board))\n"
    done = project.write(text).write(AGAIN, "conftest.py").run("--board=stm32h7b3")
    test = done.tests()["test_a"]
    assert (test["verdict"], len(test["trials"])) == ("fail", 1) and "before it ran a trial" in test["reason"]
    assert [trial["verdict"] for trial in done.results()["trials"]] == ["blocked"] and done.code == 1
