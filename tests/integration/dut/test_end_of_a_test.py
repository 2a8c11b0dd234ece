"""What a test of a device has left behind when its function has ended counts too; the board is a program in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hil.record.checks import checked
from hil.record.run_reader import read_recorded
from tests.one_process import one_process

PROGRAM = r"""
import sys
sys.stdout.write("ready\n")
PASSES = "t.c:5:test_a:PASS\n1 Tests 0 Failures 0 Ignored\nOK\n"
FAILS = "t.c:9:test_b:FAIL: no\n1 Tests 1 Failures 0 Ignored\nFAIL\n"
for line in sys.stdin:
    sys.stdout.write({"two": PASSES + FAILS, "cut": PASSES + FAILS[:30], "one": PASSES + "idle\n"}.get(line.strip(), line))
    sys.stdout.flush()
    if line.strip() in ("cut", "end"):
        break
    if line.strip() == "bad":
        sys.exit(3)
"""
TESTS = r'''
import contextlib, signal, threading, time, unittest
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import pexpect, pytest

def test_two_reports(hil_dut):
    hil_dut.serial.write(b"two\n")
    hil_dut.cases("unity")

def waits_for(device, wanted):
    while device.serial.in_waiting < wanted:
        time.sleep(0.05)

def test_report_that_nobody_has_read_before_a_reset(hil_dut):
    hil_dut.serial.write(b"two\n")
    waits_for(hil_dut, 100)
    hil_dut.reset()
    hil_dut.serial.write(b"one\n")
    hil_dut.cases("unity")

def test_report_that_nobody_has_read_before_a_flash(hil_dut):
    hil_dut.serial.write(b"two\n")
    time.sleep(1)
    hil_dut.flash()
    hil_dut.serial.write(b"one\n")
    hil_dut.cases("unity")

def test_report_that_nobody_has_read_before_a_release(hil_dut):
    waits_for(hil_dut, 6)
    hil_dut.serial.write(b"two\n")
    time.sleep(1)
    hil_dut.release()
    hil_dut.serial.write(b"one\n")
    hil_dut.cases("unity")

def test_nobody_looks_at_what_a_reset_discards(hil_dut):
    hil_dut.serial.write(b"two\n")
    time.sleep(1)
    hil_dut.reset()

def test_cut_report(hil_dut):
    hil_dut.serial.write(b"cut\n")
    hil_dut.cases("unity")

def test_one_report(hil_dut):
    hil_dut.serial.write(b"one\n")
    hil_dut.cases("unity")

def test_reads_a_report_before(hil_dut):
    hil_dut.serial.write(b"two\n")
    hil_dut.serial.expect("FAIL\n")
    hil_dut.serial.write(b"one\n")
    hil_dut.cases("unity")

def test_reads_a_report_after_a_reset(hil_dut):
    hil_dut.serial.write(b"one\n")
    hil_dut.cases("unity")
    hil_dut.reset()
    hil_dut.serial.write(b"two\n")
    hil_dut.serial.expect("FAIL\n")

def test_two_reports_and_a_reset(hil_dut):
    hil_dut.serial.write(b"two\n")
    hil_dut.cases("unity")
    hil_dut.reset()
    hil_dut.serial.write(b"one\n")
    hil_dut.cases("unity")

def ends_badly(dut):
    dut.serial.write(b"bad\n")
    dut.serial.expect("bad")
    time.sleep(0.5)

def test_ends_badly_and_is_reset(hil_dut):
    ends_badly(hil_dut)
    hil_dut.reset()
    hil_dut.serial.expect("ready")

def test_ends_badly_and_is_flashed(hil_dut):
    ends_badly(hil_dut)
    hil_dut.flash()
    hil_dut.serial.expect("ready")

def test_ends_badly_looks_and_is_reset(hil_dut):
    ends_badly(hil_dut)
    assert hil_dut.wait() == 3
    hil_dut.reset()
    hil_dut.serial.expect("ready")

@pytest.fixture
def shut_down(hil_dut):
    hil_dut.serial.expect("ready")
    yield hil_dut
    ends_badly(hil_dut)

def test_ends_badly_in_the_tear_down(shut_down):
    assert shut_down.serial.match

def test_has_its_exit_codes_discarded(hil_dut):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    hil_dut.reset()
    hil_dut.serial.write(b"bad\n")
    assert hil_dut.wait() in (0, 3)

def test_after_one_that_discards_them(hil_dut):
    ends_badly(hil_dut)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)

def in_thread(what):
    thread = threading.Thread(target=what, name="reader")
    thread.start()
    thread.join()

def test_expects_in_a_thread(hil_dut):
    hil_dut.serial.expect("ready")
    in_thread(lambda: hil_dut.serial.expect("done", timeout=0.2))

def test_asserts_in_a_thread(hil_dut):
    def look():
        hil_dut.serial.expect("ready")
        assert hil_dut.serial.match[0] == b"reedy"
    in_thread(look)

def test_is_refused_in_a_thread(hil_dut):
    hil_dut.serial.expect("ready")
    in_thread(lambda: hil_dut.serial.expect("("))

def test_expects_in_a_future(hil_dut):
    hil_dut.serial.expect("ready")
    with ThreadPoolExecutor() as pool:
        pool.submit(lambda: hil_dut.serial.expect("done", timeout=0.2))

def test_asserts_in_a_map(hil_dut):
    def look(what):
        assert hil_dut.serial.read(1) == what
    with ThreadPoolExecutor(1) as pool:
        pool.map(look, [b"r", b"x"])

def test_asks_for_the_future(hil_dut):
    hil_dut.serial.expect("ready")
    with ThreadPoolExecutor() as pool:
        first, second = (pool.submit(lambda: hil_dut.serial.expect("done", timeout=0.2)) for _ in range(2))
        with pytest.raises(pexpect.TIMEOUT):
            first.result(timeout=10)
        assert isinstance(second.exception(10), pexpect.TIMEOUT)

def test_catches_it_in_the_thread(hil_dut):
    hil_dut.serial.expect("ready")
    def look():
        with pytest.raises(pexpect.TIMEOUT):
            hil_dut.serial.expect("done", timeout=0.2)
    in_thread(look)

@pytest.fixture
def late(hil_dut):
    thread = threading.Thread(target=lambda: hil_dut.serial.expect("done", timeout=0.5), name="late")
    thread.start()
    yield
    thread.join()

def test_fails_in_a_fixtures_thread(hil_dut, late):
    pass

def test_leaves_a_thread(hil_dut):
    def fails_later():
        time.sleep(1)
        assert False, "of the test before"
    hil_dut.serial.expect("ready")
    threading.Thread(target=fails_later).start()

def test_after_it(hil_dut):
    hil_dut.serial.expect("ready")
    time.sleep(1.5)

@pytest.mark.xfail
def test_expected_in_a_thread(hil_dut):
    hil_dut.serial.expect("ready")
    in_thread(lambda: hil_dut.serial.expect("done", timeout=0.2))

class Reference:
    def step(self, index):
        return {"loss": np.float32(1)}

def differs(dut, compare):
    dut.serial.expect("ready")
    compare(Reference(), exact=True).step(0, {"loss": np.float32(2)})

def test_xfail_within(hil_dut, hil_compare):
    try:
        differs(hil_dut, hil_compare)
    except Exception:
        pytest.xfail("known")

def test_mark_added_late(hil_dut, hil_compare, request):
    request.applymarker(pytest.mark.xfail(reason="known"))
    differs(hil_dut, hil_compare)

def test_catches_what_is_blocked(hil_dut):
    hil_dut.serial.expect("ready")
    with contextlib.suppress(Exception):
        with hil_dut.energy():
            assert 1 == 2
    with contextlib.suppress(Exception):
        hil_dut.halt()
    for asks in (
        lambda: hil_dut.cycles, lambda: hil_dut.stack_peak, lambda: hil_dut.clock, lambda: hil_dut.cases("odd"),
        lambda: hil_dut.power.cycle(), lambda: hil_dut.unclaimed_ram.written(), lambda: hil_dut.serial.write("x"),
        lambda: hil_dut.lines("("), lambda: next(hil_dut.lines("(?P<n>ready)|x", dtypes={"n": np.int32})),
    ):
        with contextlib.suppress(Exception):
            hil_dut.serial.put_back(b"ready\n")
            asks()
    with pytest.raises(pexpect.TIMEOUT):
        hil_dut.serial.expect("done", timeout=0.2)

KEPT = []

def test_leaves_a_reader(hil_dut):
    hil_dut.serial.expect("ready")
    KEPT.append(hil_dut)
    threading.Thread(target=lambda: hil_dut.serial.expect("done", timeout=60), name="reader").start()

def test_keeps_a_device(hil_dut):
    hil_dut.serial.expect("ready")
    KEPT[0].serial.expect("ready")

def test_leaves_a_reset(hil_dut):
    hil_dut.serial.expect("ready")
    def resets_later():
        time.sleep(1)
        for _ in range(3):
            with contextlib.suppress(Exception):
                hil_dut.reset()
    threading.Thread(target=resets_later, name="late").start()

def test_leaves_a_step(hil_dut, hil_compare):
    hil_dut.serial.expect("ready")
    compared = hil_compare(Reference(), exact=True)
    compared.step(0, {"loss": np.float32(1)})
    def steps_later():
        time.sleep(1)
        compared.step(1, {"loss": np.float32(7)})
    threading.Thread(target=steps_later, name="late").start()

def test_leaves_a_figure(hil_dut, hil_figure):
    hil_dut.serial.expect("ready")
    def gives_later():
        time.sleep(1)
        hil_figure("loss", 7)
    threading.Thread(target=gives_later, name="late").start()

class TestOld(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _device(self, hil_dut, hil_compare):
        self.device, self.compare = hil_dut, hil_compare

    @unittest.expectedFailure
    def test_expected_failure(self):
        differs(self.device, self.compare)

    @unittest.expectedFailure
    def test_expected_to_be_blocked(self):
        self.device.serial.expect("ready")
        self.device.read("x")

    @unittest.expectedFailure
    def test_expected_to_be_refused(self):
        self.device.serial.expect([])

    @pytest.mark.xfail
    def test_marked_to_be_blocked(self):
        self.device.serial.expect("ready")
        self.device.read("x")

    def test_blocked_in_unittest(self):
        self.device.serial.expect("ready")
        with contextlib.suppress(Exception):
            self.device.serial.expect([])  # what it has caught is not what it ended with
        self.device.read("x")

    @unittest.expectedFailure
    def test_catches_it_and_fails(self):
        self.device.serial.expect("ready")
        with contextlib.suppress(Exception):
            self.device.read("x")
        self.fail("as expected")

    def test_fails_before_it_compares(self):
        self.compare(Reference(), exact=True)
        self.device.serial.expect("ready")
        self.fail("no step yet")

class Device:
    """A device as a reference or beside one; `line` is what it is sent."""

    def __init__(self, device):
        self.device, self.line = device, b"number 1\n"
        device.serial.expect("ready")

    def step(self, index):
        self.device.serial.write(self.line)
        return {"x": np.float32(next(self.device.lines(r"number (?P<x>\d+)"))["x"])}

def compares_with_a_device_that(line, hil_duts, hil_compare):
    device, reference = map(Device, hil_duts(2))
    run = hil_compare(reference, exact=True)
    run.step(0, device.step(0))
    reference.line = line
    run.step(1, device.step(1))

def test_reference_ends_badly(hil_duts, hil_compare):
    compares_with_a_device_that(b"bad\n", hil_duts, hil_compare)

def test_reference_ends(hil_duts, hil_compare):
    compares_with_a_device_that(b"end\n", hil_duts, hil_compare)

def test_reference_prints_something_else(hil_duts, hil_compare):
    with contextlib.suppress(Exception):
        compares_with_a_device_that(b"number x, number (\n" * 9, hil_duts, hil_compare)

def test_reference_is_asked_for_a_wrong_thing(hil_duts, hil_compare):
    class Asks(Device):
        def step(self, index):
            return {"x": self.device.lines("(")}
    device, reference = hil_duts(2)
    hil_compare(Asks(reference), exact=True).step(0, Device(device).step(0))

def test_second_device_is_blocked(hil_duts):
    first, second = hil_duts(2)
    second.read("x")

def test_second_device_ends_badly(hil_duts):
    first, second = map(Device, hil_duts(2))
    second.device.serial.write(b"bad\n")
    time.sleep(1)

def of_doctest():
    """
    >>> getfixture("hil_dut").read("x")
    """
'''
LATE = "after its test had ended: wait for it in the test (`join`"
VERDICTS = {
    "test_expects_in_a_thread": ("fail", "in the thread 'reader': the device did not print 'done' within 0.2 s"),
    "test_asserts_in_a_thread": ("fail", "in the thread 'reader': AssertionError: assert b'ready' == b'reedy'"),
    "test_is_refused_in_a_thread": ("refused", "in the thread 'reader': '(' is no regular expression"),
    "test_expects_in_a_future": ("fail", "in a future whose result nobody asked for: the device did not print 'done'"),
    "test_asserts_in_a_map": ("fail", "in a future whose result nobody asked for: AssertionError: assert b'e' == b'x'"),
    "test_asks_for_the_future": ("pass", ""),
    "test_catches_it_in_the_thread": ("pass", ""),
    "test_fails_in_a_fixtures_thread": ("fail", "in the thread 'late': the device did not print 'done'"),
    "test_leaves_a_thread": ("pass", ""),
    "test_after_it": ("pass", ""),
    "test_xfail_within": ("fail", "step 0, tensor loss"),
    "test_mark_added_late": ("fail", "step 0, tensor loss"),
    "test_expected_failure": ("fail", "step 0, tensor loss"),
    "test_expected_to_be_blocked": ("blocked", "stage 'probe': host has no debug probe here"),
    "test_expected_to_be_refused": ("refused", "expect has an empty list of patterns"),
    "test_marked_to_be_blocked": ("blocked", "stage 'probe': host has no debug probe here"),
    "test_blocked_in_unittest": ("blocked", "stage 'probe': host has no debug probe here"),
    "test_catches_it_and_fails": ("fail", "the test failed: expected to fail"),
    "test_fails_before_it_compares": ("fail", "the test failed: AssertionError: no step yet"),
    "test_reference_ends_badly": ("fail", "device 2: the device printed 0 lines with"),
    "test_reference_ends": ("fail", "device 2: the command ended with exit code 0"),
    "test_reference_prints_something_else": ("fail", "device 2: the device did not print a line with"),
    "test_reference_is_asked_for_a_wrong_thing": ("refused", "step 0: the reference failed ('(' is no regular expr"),
    "test_second_device_is_blocked": ("blocked", "device 2: stage 'probe': host has no debug probe here"),
    "test_second_device_ends_badly": ("fail", "device 2: the command ended with exit code 3"),
    "test_mine.of_doctest": ("blocked", "stage 'probe': host has no debug probe here"),
    "test_expected_in_a_thread": ("fail", "in the thread 'reader'"),
    "test_leaves_a_reader": ("refused", f"the device of hil_dut was used in the thread 'reader' {LATE}"),
    "test_keeps_a_device": ("refused", "used after test_mine.py::test_leaves_a_reader[host] had ended"),
    "test_leaves_a_reset": ("refused", f"the device of hil_dut was used in the thread 'late' {LATE}"),
    "test_leaves_a_step": ("refused", f"a comparison of hil_compare was used in the thread 'late' {LATE}"),
    "test_leaves_a_figure": ("refused", f"hil_figure was used in the thread 'late' {LATE}"),
    "test_two_reports_and_a_reset": ("fail", "1 of 1 Unity case failed: test_b (t.c:9: no)."),
    "test_ends_badly_and_is_reset": ("fail", "the command ended with exit code 3"),
    "test_ends_badly_and_is_flashed": ("fail", "the command ended with exit code 3"),
    "test_ends_badly_looks_and_is_reset": ("pass", ""),
    "test_ends_badly_in_the_tear_down": ("fail", "the command ended with exit code 3"),
    "test_has_its_exit_codes_discarded": ("blocked", "SIGCHLD is ignored in the process of the tests"),
    "test_after_one_that_discards_them": ("fail", "the command ended with exit code 3"),
    "test_catches_what_is_blocked": ("pass", ""),
    "test_reads_a_report_before": ("fail", "1 of 1 Unity case failed: test_b (t.c:9: no)."),
    "test_reads_a_report_after_a_reset": ("fail", "1 of 1 Unity case failed: test_b (t.c:9: no)."),
    "test_report_that_nobody_has_read_before_a_reset": ("fail", "1 of 1 Unity case failed: test_b (t.c:9: no)."),
    "test_report_that_nobody_has_read_before_a_flash": ("fail", "1 of 1 Unity case failed: test_b (t.c:9: no)."),
    "test_report_that_nobody_has_read_before_a_release": ("fail", "1 of 1 Unity case failed: test_b (t.c:9: no)."),
    "test_nobody_looks_at_what_a_reset_discards": ("skipped", "the test passed, but read nothing from the device"),
    "test_two_reports": ("fail", "1 of 1 Unity case failed: test_b (t.c:9: no)."),
    "test_cut_report": ("fail", "the device did not end its Unity report before its program ended"),
    "test_one_report": ("pass", ""),
}


def write_board(folder: Path) -> None:
    (folder / "train.py").write_text(PROGRAM)
    (folder / "rig.toml").write_text(
        f'[[board]]\nname = "host"\nreality = "host"\nelf = "train.py"\nrun = ["{sys.executable}", "-u", "{{elf}}"]\n'
    )


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process("--board=host"), "--doctest-modules",
         "test_mine.py"],
        cwd=folder, capture_output=True, text=True, timeout=300, env=dict(os.environ), check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one run."""
    folder = tmp_path_factory.mktemp("mine")
    write_board(folder)
    (folder / "test_mine.py").write_text(TESTS)
    done = run_pytest(folder)
    assert done.returncode == 1, done.stdout + done.stderr
    return folder / "reports/latest"


@pytest.fixture
def results(run: Path) -> dict[str, list[dict]]:
    found: dict[str, list[dict]] = json.loads((run / "results.json").read_text())
    return found


def by_name(entries: list[dict]) -> dict[str, dict]:
    return {each["test"].rpartition("::")[2].partition("[")[0]: each for each in entries}


@pytest.fixture
def entries(results: dict[str, list[dict]]) -> dict[str, dict]:
    return by_name(results["device_tests"])


@pytest.fixture
def tests(results: dict[str, list[dict]]) -> dict[str, dict]:
    return by_name(results["tests"])


@pytest.mark.parametrize("name", VERDICTS)
def test_the_verdict_and_its_reason(entries: dict[str, dict], name: str) -> None:
    verdict, reason = VERDICTS[name]
    assert entries[name]["verdict"] == verdict and reason in entries[name]["reason"], entries[name]["reason"]


def test_a_caught_error_of_the_device_is_a_warning(entries: dict[str, dict]) -> None:
    energy, halt, *others = entries["test_catches_what_is_blocked"]["warnings"]
    parts = ("which clock", "format 'odd'", "power", "unclaimed RAM", "sends bytes", "'('", "'ready'")
    assert len(others) == len(parts)  # `cycles` and `stack_peak` say what `halt` says
    for said, part in zip(others, parts, strict=True):
        assert said.startswith("the test has caught an error: ") and part in said
    assert energy.startswith("the test has caught an error: blocked: stage 'meter': host has no power meter here")
    assert halt.startswith("the test has caught an error: blocked: stage 'probe': host has no debug probe here")
    assert entries["test_catches_it_in_the_thread"]["warnings"] == []


def test_what_came_after_the_end_has_changed_no_record(entries: dict[str, dict], run: Path) -> None:
    entry = entries["test_leaves_a_step"]
    assert entry["comparisons"][0]["steps"] == 1 and entry["judged"] == []
    assert (run / entry["folder"] / "tensors.npz").is_file()
    assert entries["test_leaves_a_figure"]["figures"] == [] and entries["test_leaves_a_reset"]["resets"] == 1


@pytest.mark.parametrize("name", [each for each in VERDICTS if "nobody" in each])
def test_the_log_has_what_nobody_has_read_and_a_reset_has_discarded(
    entries: dict[str, dict], run: Path, name: str
) -> None:  # fmt: skip
    log = (run / entries[name]["folder"] / "serial.log").read_text()
    assert "test_b:FAIL: no" in log and log.index("test_a:PASS") < log.index("test_b:FAIL: no")


def test_the_record_agrees_with_itself(run: Path) -> None:
    assert [one for each in checked(read_recorded(run)) for one in each.found] == []


REPEATS = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        item._initrequest()
        for report in reports:
            report.outcome = "rerun" if report.failed else report.outcome
            item.ihook.pytest_runtest_logreport(report=report)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
FLAKY = """
STARTS = []

def test_flaky(hil_dut, hil_compare):
    STARTS.append(1)
    hil_dut.serial.expect("ready")
    run = hil_compare(type("One", (), {"step": lambda self, index: {"w": 1}})(), exact=True)
    run.step(0, {"w": 2 if len(STARTS) == 1 else 1})
"""


def test_a_test_that_is_repeated_keeps_what_its_first_attempt_was(tmp_path: Path) -> None:
    """As a plugin that repeats a failed test does (pytest-rerunfailures)."""
    write_board(tmp_path)
    (tmp_path / "conftest.py").write_text(REPEATS)
    (tmp_path / "test_mine.py").write_text(FLAKY)
    done = run_pytest(tmp_path)
    assert done.returncode == 0 and "1 tests: 1 pass; 1 of them on a device." in done.stdout, done.stdout
    assert "attempt 1 of the test: fail: step 0, tensor w" in done.stdout
    suite = ElementTree.parse(tmp_path / "reports/latest/junit.xml").getroot()[0]
    first, last = suite.iter("testcase")
    said = [{each.get("name"): each.get("value") for each in case.iter("property")} for case in (first, last)]
    assert [each["verdict"] for each in said] == ["fail", "pass"] and [suite.get("tests"), suite.get("failures")] == [
        "2",
        "0",
    ]
    assert [each.tag for each in first] == ["properties", "flakyFailure"] and "step 0" in first[1].get("message", "")
    assert [each.tag for each in last] == ["properties"]
    assert [one for each in checked(read_recorded(tmp_path / "reports/latest")) for one in each.found] == []


def test_no_other_test_ran(entries: dict[str, dict]) -> None:
    assert set(entries) == set(VERDICTS)


def test_every_way_to_expect_a_failure_counts_as_a_mark(tests: dict[str, dict]) -> None:
    expected = {name for name, test in tests.items() if test["expected"]}
    assert expected == {
        "test_xfail_within", "test_mark_added_late", "test_expected_failure", "test_expected_in_a_thread",
        "test_catches_it_and_fails",
    }  # fmt: skip
