"""Which tests --board runs, and what is said of those that it would have run."""

from __future__ import annotations

import shlex

import pytest
from user_project import GONE, Project

MINE = "def test_one(hil_board, hil_trial):\n    hil_trial(spec(hil_board))\n\ndef test_two(hil_trial):\n    hil_trial(spec('stm32h7b3'))\n"
SUITE_TEST = "test_elasticzo_int8"


@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_without_a_board_the_tests_that_did_not_run_are_named(project: Project, options):
    done = project.write(MINE).run(*options)
    assert done.code == 0
    for name in ("test_one", "test_two"):
        assert any(line.startswith("NOT RUN: ") and name in line for line in done.out.splitlines()), done.out
    assert "2 tests need a board and ran on none" in done.out and "--require-board" in done.out


@pytest.mark.parametrize("options", [(), ("-n", "1"), ("-q",)])
def test_with_require_board_that_is_an_error(project: Project, options):
    done = project.write(MINE).run("--require-board", *options)
    assert done.code == pytest.ExitCode.USAGE_ERROR and "2 tests need a board" in done.out


def test_require_board_changes_nothing_with_a_board_or_without_such_tests(project: Project):
    project.write(MINE).write("def test_other():\n    pass\n", "test_other.py")
    assert project.run("--board=stm32h7b3", "--require-board").code == 75
    done = project.run("--require-board", paths=("test_other.py",))
    assert done.code == 0 and "no board was named" not in done.out


def collected(project: Project, *options: str) -> str:
    return project.run("--board=stm32h7b3", "--collect-only", "-q", *options, paths=()).out


def test_a_project_s_own_testpaths_stay(project: Project):
    project.write(MINE, "checks/test_mine.py").write("def test_elsewhere():\n    pass\n", "test_elsewhere.py")
    project.write("[pytest]\ntestpaths = checks\n", "pytest.ini")
    found = collected(project)
    assert "test_mine.py::test_one" in found and SUITE_TEST not in found and "test_elsewhere" not in found


def test_a_project_without_testpaths_runs_its_own_tests_and_the_bench_tests(project: Project):
    found = collected(project.write(MINE))
    assert "test_mine.py::test_one" in found and SUITE_TEST in found


def test_a_project_may_say_what_a_board_runs(project: Project):
    project.write(MINE, "board/test_mine.py").write("def test_elsewhere():\n    pass\n", "checks/test_elsewhere.py")
    project.write("[pytest]\ntestpaths = checks\nboard_testpaths = board\n", "pytest.ini")
    found = collected(project)
    assert "test_mine.py::test_one" in found and SUITE_TEST not in found and "test_elsewhere" not in found


def test_a_path_on_the_command_line_is_what_runs(project: Project):
    found = collected(project.write(MINE), "test_mine.py")
    assert "test_mine.py::test_one" in found and SUITE_TEST not in found
    found = collected(project, "--pyargs", "hil.suite")
    assert "test_mine.py::test_one" not in found and SUITE_TEST in found


def test_this_checkout_runs_the_bench_tests_alone(request: pytest.FixtureRequest, tmp_path):
    found = collected(Project(request.config.rootpath), f"--report-dir={tmp_path}")
    assert SUITE_TEST in found and "test_what_runs" not in found


def test_the_recorded_command_names_what_was_chosen(project: Project):
    """From the project's folder on, without the folders above it."""
    project.write("def test_one(hil_board):\n    pass\n", "checks/test_mine.py").write("[pytest]\n", "pytest.ini")
    done = project.run("--board=stm32h7b3", "-k", "one or two", paths=("checks/test_mine.py::test_one",))
    assert done.results()["run"]["command"] == "pytest --board=stm32h7b3 -k 'one or two' checks/test_mine.py::test_one"
    done = project.run("--board=stm32h7b3", paths=(str(project.folder / "checks"),))
    assert done.results()["run"]["command"] == "pytest --board=stm32h7b3 checks"


def test_the_command_of_every_test_runs_this_test_and_no_other(project: Project):
    """As a shell reads it: of a test of the bench suite two words stood in one pair of quotes."""
    project.write(MINE).write(GONE, "rig.toml")
    done = project.run("--board=stm32h7b3", "-k", "test_one or (test_elasticzo_int8 and cls2)", paths=())
    tests = done.results()["tests"]
    assert {test["test"].partition("/")[0] for test in tests} == {"hil", "test_mine.py::test_one[stm32h7b3]"}
    for test in tests:
        program, *words = shlex.split(test["repeat"])
        found = [
            line for line in project.run(*words, "--collect-only", "-q", paths=()).out.splitlines() if "::" in line
        ]
        assert program == "pytest" and len(found) == 1, (test["repeat"], found)
        assert found[0].partition("::")[2] == test["test"].partition("::")[2]
