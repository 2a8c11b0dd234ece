"""Every request for a trial has a verdict: of a thread, of another process, one whose error the test catches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from user_project import Done, Project

from hil.images import image_of
from hil.record import read_entries

NIGHTLY = pytest.mark.tier("nightly")

PROJECT = """
import multiprocessing, os, queue, threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

TOO_LARGE = {"batch": 256, "settings": {"scope": "batch"}}

def in_thread(function, *arguments, daemon=False):
    threading.Thread(target=function, args=arguments, daemon=daemon).start()

def test_threads_that_pass(hil_board, hil_trial):
    for seed in (1, 2):
        in_thread(hil_trial, spec(hil_board, seed=seed))

def test_a_daemon_thread_that_is_blocked(hil_board, hil_trial):
    in_thread(hil_trial, spec(hil_board, **TOO_LARGE), daemon=True)

def test_a_pool_of_threads(hil_board, hil_trial):
    pool = ThreadPoolExecutor(2)
    pool.submit(hil_trial, spec(hil_board))
    pool.submit(hil_trial, spec(hil_board, variant="cls9"))

@pytest.fixture
def beside(hil_board, hil_trial):
    in_thread(hil_trial, spec(hil_board, **TOO_LARGE))

def test_a_thread_of_a_fixture(beside):
    pass

@pytest.fixture
def at_the_end(hil_board, hil_trial):
    yield
    in_thread(hil_trial, spec(hil_board, **TOO_LARGE))

def test_a_thread_that_starts_in_the_teardown(at_the_end):
    pass

@pytest.fixture(scope="module")
def wanted():
    waiting = queue.Queue()
    def serve():
        for hil_trial, wanted in iter(waiting.get, None):
            try:
                hil_trial(wanted)
            except Exception:
                pass
    threading.Thread(target=serve, daemon=True).start()
    yield waiting
    waiting.put(None)

def test_a_thread_of_the_module(hil_board, hil_trial, wanted):
    wanted.put((hil_trial, spec(hil_board, **TOO_LARGE)))
    while not wanted.empty():
        time.sleep(0.01)
    time.sleep(0.1)

def test_a_fork(hil_board, hil_trial):
    child = os.fork()
    if not child:
        try:
            hil_trial(spec(hil_board))
        finally:
            os._exit(0)
    os.waitpid(child, 0)

def test_a_process(hil_board, hil_trial):
    child = multiprocessing.get_context("fork").Process(target=hil_trial, args=(spec(hil_board),))
    child.start()
    child.join()

def test_a_pool_of_processes(hil_board, hil_trial):
    with ProcessPoolExecutor(1) as pool:
        pool.submit(hil_trial, spec(hil_board))

def test_a_thread_that_asks_after_the_test(hil_board, hil_trial):
    in_thread(lambda: (time.sleep(0.5), hil_trial(spec(hil_board))))

def test_a_thread_that_asks_after_the_test_and_its_trial(hil_board, hil_trial):
    hil_trial(spec(hil_board))
    in_thread(lambda: (time.sleep(0.5), hil_trial(spec(hil_board))))

def test_a_fork_that_asks_after_the_test(hil_board, hil_trial):
    if not os.fork():
        try:
            time.sleep(0.5)
            hil_trial(spec(hil_board))
        finally:
            os._exit(0)

def test_of_no_board():
    time.sleep(2)

def test_catches_what_is_refused(hil_board, hil_trial):
    for variant in ("cls-1", "cls-2", "full_bp"):
        try:
            hil_trial(spec(hil_board, variant=variant))
        except Exception as error:
            print(variant, error)

def test_catches_a_refusal_and_passes_another(hil_board, hil_trial):
    with pytest.raises(Exception):
        hil_trial(spec(hil_board, variant="cls-1"))
    hil_trial(spec(hil_board))

def test_catches_what_is_blocked(hil_board, hil_trial):
    with pytest.raises(Exception):
        hil_trial(spec(hil_board, **TOO_LARGE))
    hil_trial(spec(hil_board))

def test_skips_after_a_refusal(hil_board, hil_trial):
    with pytest.raises(Exception):
        hil_trial(spec(hil_board, variant="cls-1"))
    pytest.skip("as if nothing had been")

def test_catches_what_its_constructor_refuses(hil_board, hil_trial):
    with pytest.raises(Exception):
        spec(hil_board, batch=0)

def test_catches_an_unknown_field(hil_board):
    with pytest.raises(Exception):
        spec(hil_board, bach=1)

def test_catches_a_part_that_is_refused_and_passes_another(hil_board, hil_trial):
    from hil.trial import EnergyWindows
    with pytest.raises(Exception):
        EnergyWindows(windows=1)
    hil_trial(spec(hil_board))

def test_a_thread_whose_request_is_refused(hil_board, hil_trial):
    def build():
        try:
            hil_trial(spec(hil_board, seed=-1))
        except Exception:
            pass
    thread = threading.Thread(target=build)
    thread.start()
    thread.join()

def test_catches_a_look(hil_board, hil_trial):
    with pytest.raises(Exception):
        does_not_fit(spec(hil_board, variant="cls9"))

def test_of_the_constructor_alone():
    with pytest.raises(Exception):
        spec("rp2040", batch=0)

@pytest.mark.xfail(strict=True)
def test_a_strict_mark_without_a_reason(hil_board, hil_trial):
    hil_trial(spec(hil_board))

@pytest.mark.xfail(strict=True, reason="a known flip")
def test_a_strict_mark_with_a_reason(hil_board, hil_trial):
    hil_trial(spec(hil_board))

@pytest.fixture
def broken(hil_rig, monkeypatch):
    def take(board, image, log, inject=(), *more):
        from hil.errors import DeviceFault
        raise DeviceFault("the device is wrong.")
    monkeypatch.setattr(hil_rig, "take", take)

@pytest.mark.xfail(strict=True, raises=ZeroDivisionError)
def test_a_mark_that_expects_something_else(hil_board, hil_trial, broken):
    hil_trial(spec(hil_board))
    1 / 0

@pytest.mark.xfail(strict=True, raises=ZeroDivisionError)
def test_a_mark_that_expects_what_comes(hil_board, hil_trial):
    hil_trial(spec(hil_board))
    1 / 0

@pytest.mark.xfail(strict=True, raises=AssertionError)
def test_a_mark_that_expects_the_assertion(hil_board, hil_trial, broken):
    assert hil_trial(spec(hil_board)).verdict == "pass"

@pytest.mark.xfail(strict=True)
def test_a_mark_that_hides_a_refusal(hil_board, hil_trial):
    with pytest.raises(Exception):
        hil_trial(spec(hil_board, variant="cls-1"))
    assert 3 == 4

def test_calls_with_what_is_no_argument(hil_board, hil_trial):
    hil_trial(spec(hil_board))
    try:
        hil_trial(spec(hil_board), evil=1)
    except BaseException:
        pass

def test_calls_with_nothing(hil_board, hil_trial):
    try:
        hil_trial()
    except BaseException:
        pass

def test_calls_with_two(hil_board, hil_trial):
    try:
        hil_trial(spec(hil_board), spec(hil_board))
    except BaseException:
        pass

def build_in_vain(board):
    try:
        spec(board, steps=-4)
    except BaseException:
        pass

def test_builds_in_a_fork(hil_board, hil_trial):
    child = os.fork()
    if not child:
        build_in_vain(hil_board)
        os._exit(0)
    os.waitpid(child, 0)

def test_builds_in_a_process(hil_board):
    child = multiprocessing.get_context("fork").Process(target=build_in_vain, args=(hil_board,))
    child.start()
    child.join()

@pytest.fixture
def built_before(hil_board):
    child = os.fork()
    if not child:
        build_in_vain(hil_board)
        os._exit(0)
    os.waitpid(child, 0)

def test_builds_in_a_fork_of_a_fixture(built_before, hil_trial, hil_board):
    hil_trial(spec(hil_board))
"""
EXPECTED = {
    "test_threads_that_pass": ("pass", 2), "test_a_daemon_thread_that_is_blocked": ("blocked", 1),
    "test_a_pool_of_threads": ("refused", 1), "test_a_thread_of_a_fixture": ("blocked", 1),
    "test_a_thread_that_starts_in_the_teardown": ("blocked", 1), "test_a_thread_of_the_module": ("blocked", 1),
    "test_a_fork": ("refused", 0), "test_a_process": ("refused", 0), "test_a_pool_of_processes": ("refused", 0),
    "test_a_thread_that_asks_after_the_test": ("refused", 0),
    "test_a_thread_that_asks_after_the_test_and_its_trial": ("refused", 1),
    "test_a_fork_that_asks_after_the_test": ("refused", 0),
    "test_catches_what_is_refused": ("refused", 0), "test_catches_a_refusal_and_passes_another": ("refused", 1),
    "test_catches_what_is_blocked": ("blocked", 2), "test_skips_after_a_refusal": ("refused", 0),
    "test_catches_what_its_constructor_refuses": ("refused", 0), "test_catches_an_unknown_field": ("refused", 0),
    "test_catches_a_part_that_is_refused_and_passes_another": ("refused", 1),
    "test_a_thread_whose_request_is_refused": ("refused", 0), "test_catches_a_look": ("refused", 0),
    "test_a_strict_mark_without_a_reason": ("fail", 1), "test_a_strict_mark_with_a_reason": ("fail", 1),
    "test_a_mark_that_expects_something_else": ("fail", 1), "test_a_mark_that_expects_what_comes": ("fail", 1),
    "test_a_mark_that_expects_the_assertion": ("fail", 1), "test_a_mark_that_hides_a_refusal": ("refused", 0),
    "test_calls_with_what_is_no_argument": ("refused", 1), "test_calls_with_nothing": ("refused", 0),
    "test_calls_with_two": ("refused", 0), "test_builds_in_a_fork": ("refused", 0),
    "test_builds_in_a_process": ("refused", 0), "test_builds_in_a_fork_of_a_fixture": ("refused", 0),
}  # fmt: skip
EXPECTED_FAILURES = {"test_a_mark_that_expects_what_comes", "test_a_mark_that_expects_the_assertion"}
OPTIONS = ("--board=rp2040", "--reality=virtual")


@pytest.fixture(
    scope="module",
    params=[pytest.param("0", id="one process", marks=NIGHTLY), pytest.param("1", id="a worker")],
)
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Done:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    project = Project(tmp_path_factory.mktemp("project")).write(PROJECT)
    return project.run(*OPTIONS, "-n", request.param, "-W", "ignore")


def test_the_verdict_is_the_worst_of_all_requests(done: Done) -> None:
    assert {name: (test["verdict"], len(test["trials"])) for name, test in done.tests().items()} == EXPECTED, done.out
    assert done.code == 1


def test_no_mark_hides_a_trial_that_it_does_not_expect(done: Done) -> None:
    assert {name for name, test in done.tests().items() if test["expected"]} == EXPECTED_FAILURES
    assert done.tests()["test_a_mark_that_expects_something_else"]["outcome"] == "failed"


def test_every_reason_names_the_cure(done: Done) -> None:
    tests = done.tests()
    assert "in the process that runs the test" in tests["test_a_fork"]["reason"]
    assert "cannot be sent to another process" in tests["test_a_pool_of_processes"]["reason"]
    assert (
        "after its test had ended: wait for it in the test" in tests["test_a_thread_that_asks_after_the_test"]["reason"]
    )
    assert "no variant 'cls-1'" in tests["test_catches_what_is_refused"]["reason"]
    assert "TrialSpec: batch is 0: choose" in tests["test_catches_what_its_constructor_refuses"]["reason"]
    assert "evil=1: give it one TrialSpec, and nothing else" in tests["test_calls_with_what_is_no_argument"]["reason"]
    assert "hil_trial was given nothing: give it one" in tests["test_calls_with_nothing"]["reason"]
    expected = "passed, but was expected to fail (xfail, strict): "
    assert tests["test_a_strict_mark_without_a_reason"]["reason"].endswith(f"{expected}no reason given")
    assert tests["test_a_strict_mark_with_a_reason"]["reason"].endswith(f"{expected}a known flip")


def test_junit_has_the_verdicts(done: Done) -> None:
    for name, case in done.cases().items():
        if name in EXPECTED and EXPECTED[name][0] in ("blocked", "refused"):
            assert EXPECTED[name][0] in [each.get("type") for each in case], name


def test_nothing_is_left_of_the_requests(done: Done) -> None:
    assert not list((done.folder / "reports").rglob("refused_requests.jsonl"))


def test_the_record_agrees_with_itself(done: Done) -> None:
    folder = done.folder / "reports/latest"
    assert len(read_entries(folder).tests) == len(EXPECTED)
    assert "refused_requests.jsonl" not in (folder / "SHA256SUMS").read_text()


@pytest.mark.parametrize("workers", [pytest.param("0", marks=NIGHTLY), "1"])
def test_a_thread_that_asks_after_the_session(project: Project, workers: str) -> None:
    """The trial before it is blocked at once: the board of the project is gone. The request is an own one, of a test
    without a trial, which pytest has passed.
    """
    test = """
import threading, time

def test_mine(hil_board, hil_trial):
    def later():
        while threading.main_thread().is_alive():
            time.sleep(0.05)
        hil_trial(spec(hil_board))
    if LATE:
        threading.Thread(target=later).start()
"""
    done = project.write("LATE = False" + test).run("--board=stm32h7b3", "-n", workers)
    assert done.code == 0 and done.tests()["test_mine"]["verdict"] == "skipped", done.out
    if workers == "0":  # a worker's threads end with it
        done = project.write("LATE = True" + test).run("--board=stm32h7b3", "-n", workers)
        assert done.code == 1 and "trainrig: refused: " in done.out, done.out
        assert done.tests()["test_mine"]["verdict"] == "refused" and done.results()["run"]["exit_code"] == 1
        assert read_entries(done.folder / "reports/latest").facts["exit_code"] == 1


SKIPS_BY_UNITTEST = """
import unittest

def caught(ask, wanted):
    try:
        ask(wanted)
    except BaseException:
        pass

def test_raises(hil_board, hil_trial):
    caught(hil_trial, spec(hil_board, variant="nope"))
    raise unittest.SkipTest("mine")

@pytest.fixture
def asks(hil_board, hil_trial):
    caught(hil_trial, spec(hil_board, variant="nope"))
    raise unittest.SkipTest("mine")

def test_in_a_fixture(asks):
    pass

class TestOfAClass(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def rig(self, hil_board, hil_trial):
        self.ask = lambda: caught(hil_trial, spec(hil_board, variant="nope"))

    def test_in_a_method(self):
        self.ask()
        self.skipTest("mine")

class TestThatTearsDown(unittest.TestCase):
    rig = TestOfAClass.rig

    def tearDown(self):
        self.ask()

    def test_before_a_tear_down(self):
        self.skipTest("mine")

def test_that_asks_nothing(hil_board, hil_trial):
    raise unittest.SkipTest("mine")
"""
REWRITES = """
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.outcome == "failed":
        report.outcome, report.longrepr = "passed", None
"""


@pytest.mark.parametrize("rewritten", [False, True], ids=["skipped", "rewritten"])
def test_no_skip_of_unittest_and_no_hook_hides_a_refusal(project: Project, rewritten: bool) -> None:
    project.write(SKIPS_BY_UNITTEST)
    if rewritten:
        project.write("import pytest\n" + REWRITES, "conftest.py")
    done = project.run("--board=stm32h7b3", "--reality=virtual", "-n", "0")
    verdicts = {name: test["verdict"] for name, test in done.tests().items()}
    assert verdicts.pop("test_that_asks_nothing") == "skipped" and done.code == 1, done.out
    assert len(verdicts) == 4 and set(verdicts.values()) == {"refused"}, done.out
    assert (
        int(done.suite().get("failures")) + int(done.suite().get("errors")) == 4 and done.suite().get("skipped") == "1"
    )


def test_without_the_plugin_of_junit_there_is_a_record(project: Project) -> None:
    done = project.write(SKIPS_BY_UNITTEST).run("--board=stm32h7b3", "-p", "no:junitxml", "-k", "asks_nothing")
    assert done.code == 0 and done.tests()["test_that_asks_nothing"]["verdict"] == "skipped", done.out


def test_every_copy_of_a_verdict_that_changes_after_the_session(tmp_path: Path) -> None:
    """junit.xml and SHA256SUMS are written again, so that they do not contradict results.json."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    test = """
import threading, time

def test_mine(hil_board, hil_trial):
    hil_trial(spec(hil_board))
    def later():
        while threading.main_thread().is_alive():
            time.sleep(0.05)
        hil_trial(spec(hil_board))
    threading.Thread(target=later).start()
"""
    done = Project(tmp_path).write(test).run(*OPTIONS, "-n", "0")
    assert done.code == 1 and done.tests()["test_mine"]["verdict"] == "refused", done.out
    assert "refused" in [each.get("type") for each in done.cases()["test_mine"]]
    assert read_entries(done.folder / "reports/latest").tests[0].verdict == "refused"


def test_a_test_that_is_skipped_when_it_is_run_again_keeps_its_failed_trial(project: Project) -> None:
    """As a plugin that repeats a failed test does (pytest-rerunfailures)."""
    project.write(
        """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
""",
        "conftest.py",
    )
    test = """
TRIED = []

def test_mine(hil_board, hil_trial):
    if TRIED:
        pytest.skip("it was tried")
    TRIED.append(1)
    hil_trial(spec(hil_board))
"""
    done = project.write(test).run("--board=stm32h7b3")
    assert done.tests()["test_mine"]["verdict"] == "blocked" and done.code == 1, done.out


MOVES = """
import os

def test_mine(hil_board, hil_trial, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hil_trial(spec(hil_board))

def test_says(hil_board, hil_trial):
    raise AssertionError("\\n\\n   what is wrong\\nand more")
"""


def test_a_test_that_changes_the_folder_and_an_assertion_that_begins_with_a_newline(project: Project) -> None:
    (project.folder / "firmware").mkdir()
    shutil.copy(image_of("stm32h7b3").path, project.folder / "firmware/mine.elf")
    options = ("--board=stm32h7b3", "--report-dir=records", "--elf=firmware/mine.elf")
    done = project.write(MOVES).run(*options)
    run = json.loads((project.folder / "records/latest/results.json").read_text())
    (trial,), (mine, says) = run["trials"], run["tests"]
    assert "is not attached" in trial["reason"] and trial["stage"] == "bench", done.out
    assert (
        says["reason"].endswith("before it ran a trial: AssertionError: what is wrong")
        and "report: records/" in done.out
    )
    assert "--elf=firmware/mine.elf" in mine["repeat"] and "--elf=firmware/mine.elf" in run["run"]["command"]
    assert str(project.folder) not in json.dumps(run)


SHADOWS = ("random", "serial", "usb", "queue", "socket", "logging", "json", "pyocd", "unicorn")


@pytest.mark.parametrize("workers", [pytest.param("0", marks=NIGHTLY), "1"])
def test_files_with_names_of_libraries_beside_the_tests(project: Project, workers: str) -> None:
    """`pytest` of a project whose folder has a random.py: only the tests' own imports may find it."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    (project.folder / "rig.toml").unlink()
    (project.folder / "tests").mkdir()
    for name in SHADOWS:
        (project.folder / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the working folder was run')\n")
    project.write("def test_mine(hil_board, hil_trial):\n    hil_trial(spec(hil_board))\n", "tests/test_mine.py")
    command = [Path(sys.executable).with_name("pytest"), "-p", "no:cacheprovider", *OPTIONS, "-n", workers, "tests"]
    done = subprocess.run(
        command,
        cwd=project.folder,
        capture_output=True,
        text=True,
        timeout=400,
        env=os.environ | {"TMPDIR": str(project.folder)},
    )
    assert done.returncode == 0 and "of the working folder" not in done.stdout + done.stderr, done.stdout + done.stderr


INTERRUPTED = """
import os, signal, threading, time

def test_mine(hil_board, hil_trial, hil_rig, monkeypatch):
    begun = threading.Event()
    def take(*_):
        begun.set()
        threading.Event().wait()
    monkeypatch.setattr(hil_rig, "take", take)
    threading.Thread(target=hil_trial, args=(spec(hil_board),), daemon=True).start()
    begun.wait()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""


def test_ctrl_c_waits_for_no_thread(project: Project) -> None:
    done = project.write(INTERRUPTED).run("--board=stm32h7b3")
    assert done.code == pytest.ExitCode.INTERRUPTED, done.out
    (run,) = done.runs
    assert [test["verdict"] for test in done.results(run.name)["tests"]] == ["interrupted"]


REFUSED_AND_INTERRUPTED = """
import os, signal, time

def test_mine(hil_board, hil_trial):
    try:
        spec(hil_board, steps=-4)
    except BaseException:
        pass
    HOW()
    time.sleep(60)
"""


@pytest.mark.parametrize("how", ["lambda: os.kill(os.getpid(), signal.SIGINT)", "lambda: os._exit(0)"])
def test_a_refusal_before_ctrl_c_or_an_early_exit_is_kept(project: Project, how: str) -> None:
    done = project.write(f"HOW = {how}\n" + REFUSED_AND_INTERRUPTED).run("--board=stm32h7b3")
    assert done.code != 0, done.out
    (test,) = done.results(done.runs[0].name)["tests"]
    assert test["verdict"] == "refused" and "steps is -4" in test["reason"], done.out
    assert read_entries(done.runs[0]).tests[0].verdict == "refused"
