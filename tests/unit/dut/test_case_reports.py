"""Reports of Unity, GoogleTest and CTest: real ones, cut off at every byte; and drawn ones, with other lines between theirs."""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.dut import CasesFailed, Quiet, Truncated, report_of
from hil.dut.case_reports import FORMATS, CaseReport, ReportedCase
from hil.dut.cases import judge_later, read_cases
from hil.dut.printed import lines
from hil.dut.record import DutRecord
from hil.errors import DeviceFault, RigError

FOLDER = Path(__file__).parent / "case_reports"  # what Unity 2.6, GoogleTest 1.12.1 and CTest 3.25.1 printed
REAL = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))}
WHOLE = {
    "unity-pass": "2 Unity cases passed; 2 were skipped.",
    "unity-fail": "1 of 5 Unity cases failed: test_backward (t.c:6: Expected 1 Was 2:gradient).",
    "unity-colour": "1 of 5 Unity cases failed: test_backward (t.c:6: Expected 1 Was 2:gradient).",
    "unity-fixture": "1 of 5 Unity cases failed: Dense.Backward (f.c:8: Expected 1 Was 2).",
    "googletest-pass": "2 GoogleTest cases passed; 1 was skipped.",
    "googletest-fail": "2 of 6 GoogleTest cases failed: Dense.Backward (t.cc:4: Expected equality of these values: 2 1 + 2 "
    "Which is: 3 gradient of w[3] Value of: false Actual: false Expected: true); Some/P.Odd/1 (t.cc:7: Expected equality "
    "of these values: 1 GetParam() % 2 Which is: 0).",
    "googletest-outside": "no GoogleTest case failed, but there is a failure outside of a case at t.cc:10.",
    "ctest-pass": "1 CTest case passed; 2 were skipped.",
    "ctest-fail": "7 of 10 CTest cases failed: loses weights (Failed); slow (Timeout); crashes (Exception: SegFault); and 4 more.",
}  # fmt: skip
LAST = {"unity": ("OK\n", "FAIL\n"), "googletest": ("] Dense.Update\n", "FAILED TESTS\n"), "ctest": (" sec\n",)}


def form(name: str) -> str:
    return name.partition("-")[0]


@pytest.mark.parametrize("name", WHOLE)
def test_a_real_report_is_read(name: str) -> None:
    report = report_of(form(name), REAL[name])
    assert report.sentence == WHOLE[name]
    assert report.passed == ("passed" in WHOLE[name])


def test_places_messages_times_and_lines() -> None:
    unity, google, ctest = (
        report_of(form(name), REAL[name]) for name in ("unity-colour", "googletest-fail", "ctest-fail")
    )
    assert unity.cases[2] == ReportedCase(
        "test_update", "skipped", "t.c:7", "later: soon", 0.0, "t.c:7:test_update:IGNORE: later: soon (0 ms)"
    )
    assert [case.name for case in unity] == [
        "test_forward",
        "test_backward",
        "test_update",
        "test_info",
        "test_ignored",
    ]
    assert (google.cases[2].verdict, google.cases[2].place, google.cases[2].message) == (
        "skipped",
        "t.cc:5",
        "needs a probe",
    )
    assert google.cases[0].line == "progress 1[       OK ] Dense.Forward (0 ms)"
    assert (ctest.cases[4].name, ctest.cases[4].seconds, ctest.cases[3].message) == ("slow", 0.3, "Not Run (Disabled)")
    assert [case.name for case in report_of("unity", REAL["unity-fixture"])] == [
        "Dense.Forward", "Dense.Prints", "Dense.Backward", "Dense.Later", "Dense.Never",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in WHOLE if name != "googletest-outside"])
def test_a_real_report_that_is_cut_off_at_any_byte_is_a_failure(name: str) -> None:
    """Up to the end of its last line; after it only words follow that say nothing new."""
    text, whole = REAL[name].replace("\x1b[41mFAIL\x1b[0m\n", "FAIL\n"), report_of(form(name), REAL[name])
    end = max(at + len(last) for last in LAST[form(name)] if (at := text.rfind(last)) >= 0)
    if form(name) == "ctest":
        end = text.index("\n", text.index("Total Test time")) + 1
    for length in range(len(text) + 1):
        if length < end:
            with pytest.raises(Truncated):
                report_of(form(name), text[:length])
        else:
            assert [case.name for case in report_of(form(name), text[:length])] == [case.name for case in whole]
    assert end > len(text) // 3


@pytest.mark.parametrize("name", WHOLE)
def test_a_real_report_without_one_of_its_results_is_a_failure(name: str) -> None:
    for case in report_of(form(name), REAL[name]):
        lines = REAL[name].splitlines(keepends=True)
        (at, *_) = [
            n
            for n, line in enumerate(lines)
            if case.line.split("\x1b")[0][:30]
            in line.replace("\x1b[42m", "").replace("\x1b[0m", "").replace("\x1b[41m", "").replace("\x1b[43m", "")
        ]
        with pytest.raises(Truncated):
            report_of(form(name), "".join(lines[:at] + lines[at + 1 :]))


def test_what_is_no_whole_report() -> None:
    for name, said in {
        "googletest-none": "the GoogleTest report is not whole: it has no case.",
        "ctest-none": "the CTest report is not whole: it has no case.",
        "unity-dots": "of a fixture all names are needed: call UnityMain with -v.",
    }.items():
        with pytest.raises(Truncated, match=said):
            report_of(form(name), REAL[name])
    for name in FORMATS:
        with pytest.raises(Truncated, match="is cut off: its summary is missing; no case came."):
            report_of(name, "")
    with pytest.raises(Truncated, match=r"1 case ended before, and Dense.Backward began and did not end"):
        report_of("googletest", REAL["googletest-fail"].partition("Which is")[0])
    with pytest.raises(RigError, match="there is no format 'unitiy' of test reports: did you mean unity"):
        report_of("unitiy", "")


def test_a_summary_that_contradicts_its_cases_is_a_failure() -> None:
    for name, old, new in (
        ("unity-pass", "4 Tests", "5 Tests"), ("unity-pass", "0 Failures", "1 Failures"), ("unity-pass", "2 Ignored", "1 Ignored"),
        ("unity-pass", "\nOK", "\nFAIL"), ("unity-fail", "\nFAIL\n", "\nOK\n"), ("unity-pass", "4 Tests 0 Failures 2 Ignored", "0 Tests 0 Failures 0 Ignored"),
        ("googletest-pass", "[  PASSED  ] 2", "[  PASSED  ] 3"), ("googletest-pass", "Running 3", "Running 4"), ("googletest-pass", "3 tests from 2 test suites ran", "2 tests from 2 test suites ran"),
        ("googletest-fail", " 2 FAILED TESTS", " 1 FAILED TEST"), ("googletest-fail", "[  FAILED  ] 2 tests", "[  FAILED  ] 1 test"),
        ("ctest-pass", "0 tests failed out of 2", "0 tests failed out of 3"), ("ctest-pass", "0 tests failed", "1 tests failed"), ("ctest-pass", "2/3 Test #3", "1/3 Test #3"),
    ):  # fmt: skip
        assert old in REAL[name]
        with pytest.raises(Truncated, match="is not whole"):
            report_of(form(name), REAL[name].replace(old, new))


def test_a_report_in_which_all_is_skipped_has_not_passed() -> None:
    report = report_of("unity", "t.c:1:a:IGNORE\n\n-----\n1 Tests 0 Failures 1 Ignored\nOK\n")
    assert not report.passed and report.sentence == "no Unity case ran: the report has 1, and all were skipped."


# Drawn reports: written here from what the frameworks print, with other lines anywhere between.

NAMES = st.text("abcdefghijklmnopqrstuvwxyz_0123456789", min_size=1, max_size=12)
MESSAGES = st.text("abc XYZ0123456789=+-.", max_size=20).map(str.strip)
CASES = st.lists(st.tuples(NAMES, st.sampled_from(["pass", "fail", "skipped"]), MESSAGES), min_size=1, max_size=8)
NOISE = st.lists(st.tuples(st.integers(0, 200), st.text("abc XYZ019:/[]#()=.,%", max_size=30)), max_size=6)
Drawn = Sequence[tuple[str, str, str]]


def unity(cases: Drawn) -> list[str]:
    words = {"pass": "PASS", "fail": "FAIL", "skipped": "IGNORE"}
    lines = [
        f"src/t.c:{at}:{name}:{words[verdict]}" + (f": {why}" if why and verdict != "pass" else "")
        for at, (name, verdict, why) in enumerate(cases)
    ]
    count = [sum(each[1] == verdict for each in cases) for verdict in ("fail", "skipped")]
    return [
        *lines,
        "",
        "-----------------------",
        f"{len(cases)} Tests {count[0]} Failures {count[1]} Ignored ",
        "FAIL" if count[0] else "OK",
    ]


def googletest(cases: Drawn) -> list[str]:
    words = {"pass": "      OK", "fail": " FAILED ", "skipped": " SKIPPED"}
    lines = [f"[==========] Running {len(cases)} tests from 1 test suite."]
    for name, verdict, why in cases:
        lines += [f"[ RUN      ] S.{name}"]
        lines += [f"t.cc:7: {'Failure' if verdict == 'fail' else 'Skipped'}", why] if verdict != "pass" else []
        lines += [f"[ {words[verdict]} ] S.{name} (3 ms)"]
    lines += [f"[==========] {len(cases)} tests from 1 test suite ran. (9 ms total)"]
    lines += [f"[  PASSED  ] {sum(each[1] == 'pass' for each in cases)} tests."]
    for verdict, word in (("skipped", " SKIPPED"), ("fail", " FAILED ")):
        named = [name for name, said, _ in cases if said == verdict]
        lines += (
            [f"[ {word} ] {len(named)} tests, listed below:", *(f"[ {word} ] S.{name}" for name in named)]
            if named
            else []
        )
        lines += ["", f" {len(named)} FAILED TESTS"] if named and verdict == "fail" else []
    return lines


def ctest(cases: Drawn) -> list[str]:
    words = {"pass": "   Passed ", "fail": "***Failed ", "skipped": "***Skipped "}
    lines = []
    for at, (name, verdict, _) in enumerate(cases, 1):
        lines += [f"    Start {at}: {name}", f"{at}/{len(cases)} Test #{at}: {name} ......{words[verdict]}   0.01 sec"]
    failed = sum(each[1] == "fail" for each in cases)
    return [
        *lines,
        "",
        f"{100 - failed}% tests passed, {failed} tests failed out of {len(cases)}",
        "",
        "Total Test time (real) =   0.01 sec",
    ]


WRITERS = {"unity": unity, "googletest": googletest, "ctest": ctest}


@pytest.mark.parametrize("name", WRITERS)
@given(cases=CASES, noise=NOISE)
def test_other_lines_may_stand_between_those_of_a_report(name: str, cases: Drawn, noise: list[tuple[int, str]]) -> None:
    lines = WRITERS[name](cases)
    for at, text in noise:
        lines.insert(at % len(lines), f"other: {text}")  # never after the last line
    report = report_of(name, "".join(f"{line}\r\n" for line in lines))
    prefix = "S." if name == "googletest" else ""
    assert [(case.name, case.verdict) for case in report] == [(prefix + each, verdict) for each, verdict, _ in cases]
    assert report.passed == ("fail" not in {each[1] for each in cases} and "pass" in {each[1] for each in cases})


@pytest.mark.parametrize("name", WRITERS)
@given(cases=CASES, data=st.data())
def test_a_report_without_one_line_that_counts_is_a_failure(name: str, cases: Drawn, data: st.DataObject) -> None:
    lines = WRITERS[name](cases)
    known = ("other", "", "-----------------------", "    Start")
    counts = [
        at for at, line in enumerate(lines) if line.strip() not in known and not line.startswith(("    Start", "t.cc"))
    ]
    whys = {each[2] for each in cases}
    at = data.draw(st.sampled_from([at for at in counts if name != "googletest" or lines[at] not in whys]))
    with pytest.raises(Truncated):
        report_of(name, "".join(f"{line}\n" for line in lines[:at] + lines[at + 1 :]))


@pytest.mark.parametrize("name", FORMATS)
@given(text=st.text())
def test_any_other_text_is_cut_off(name: str, text: str) -> None:
    with pytest.raises(Truncated):
        report_of(name, text + "\n")


def test_errors_go_to_another_process() -> None:
    report = report_of("unity", REAL["unity-fail"])
    error = pickle.loads(pickle.dumps(CasesFailed(report.sentence, report)))
    assert isinstance(error, DeviceFault) and str(error) == report.sentence and error.report == report


@pytest.mark.skipif(shutil.which("ctest") is None, reason="cmake is not installed")
def test_a_run_of_ctest(tmp_path: Path) -> None:
    (tmp_path / "CTestTestfile.cmake").write_text('add_test(good "true")\nadd_test("not so good" "false")\n')
    done = subprocess.run(
        ["ctest", "-j2"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False
    )
    assert sorted((case.name, case.verdict) for case in report_of("ctest", done.stdout)) == [
        ("good", "pass"),
        ("not so good", "fail"),
    ]


# On a line.


def record() -> DutRecord:
    return DutRecord("b", "qemu", "mine.elf", "0" * 64, True, 1)


def test_what_comes_after_a_report_can_be_read(line) -> None:
    line.prints(b"boot\r\n" + REAL["unity-pass"].replace("\n", "\r\n").encode() + b"bye")
    noted = record()
    report = read_cases(line.serial, noted, "unity")
    assert isinstance(report, CaseReport) and len(report) == 4 and noted.reports == [report]
    assert line.serial.read(3) == b"bye"
    assert noted.to_json()["reports"][0]["cases"][0] == dataclasses.asdict(report.cases[0])


def test_a_failed_case_raises_with_the_report(line) -> None:
    line.prints(REAL["unity-fail"].encode())
    with pytest.raises(CasesFailed, match="1 of 5 Unity cases failed: test_backward") as failed:
        read_cases(line.serial, record(), "unity")
    assert [case.name for case in failed.value.report.of("fail")] == ["test_backward"]


def test_a_report_that_stops_is_the_devices_fault(line) -> None:
    """Also on a line that could be cut: the device has printed, so that it is no matter of the cable."""
    line.prints(REAL["unity-fail"].partition("t.c:7")[0].encode() + b"t.c:7:te")
    noted = record()
    said = "did not end its Unity report within 0.2 s: 2 cases came, the last is test_backward; the last line is cut off: 't.c:7:te'."
    with pytest.raises(Truncated, match=said):
        read_cases(line.serial, noted, "unity", 0.2)
    assert noted.reports == [] and len(noted.cut_off) == 1


def test_a_heartbeat_does_not_extend_the_time(line) -> None:
    child = subprocess.Popen(["sh", "-c", "while :; do echo alive; sleep 0.01; done"], stdout=line.device)
    try:
        with pytest.raises(Truncated, match="did not end its Unity report within 0.3 s: no case came"):
            read_cases(line.serial, record(), "unity", 0.3)
    finally:
        child.kill()
        child.wait()


def test_silence_is_what_it_is_for_expect(line) -> None:
    with pytest.raises(Quiet, match="printed nothing within 0.1 s: a line of a Unity report was expected on"):
        read_cases(line.serial, record(), "unity", 0.1)


PASSES, FAILS = (
    "t.c:5:test_a:PASS\n1 Tests 0 Failures 0 Ignored\nOK\n",
    ("t.c:9:test_b:FAIL: no\n1 Tests 1 Failures 0 Ignored\nFAIL\n"),
)


@pytest.mark.parametrize(
    ("later", "reports", "cut_off"),
    [
        ("ready\n", [True], 0),
        (PASSES, [True], 0),  # after a reset: the same again
        ("boot\n" + PASSES.replace("test_a", "test_c") + "ready\n", [True, True], 0),
        (PASSES + FAILS + PASSES, [True, False], 0),
        ("t.c:5:test_a:PASS\n", [True], 1),
        ("t.c:5:test_a:PASS\n0 Tests 0 Failures 0 Ignored\nOK\n", [True], 1),
    ],
)
def test_reports_that_come_after_the_one_that_was_read_are_judged(line, later, reports, cut_off, monkeypatch) -> None:
    monkeypatch.setattr("hil.dut.cases.TIMEOUT_S", 0.3)
    record = DutRecord("host", "host", "train", "", True, None)
    line.prints((PASSES + later).encode())
    read_cases(line.serial, record, "unity")
    judge_later(line.serial, record)
    assert ([each.passed for each in record.reports], len(record.cut_off)) == (reports, cut_off)


@pytest.mark.parametrize("name", [name for name in REAL if name in WHOLE])
def test_what_ends_a_real_report_is_no_begin_of_another(line, name: str) -> None:
    record = DutRecord("host", "host", "train", "", True, None)
    line.prints(REAL[name].encode())
    with contextlib.suppress(CasesFailed):
        read_cases(line.serial, record, form(name))
    judge_later(line.serial, record)
    assert len(record.reports) == 1 and not record.cut_off


def test_all_reports_of_a_text_are_one() -> None:
    both = report_of("unity", PASSES + "boot\n" + FAILS)
    assert [case.verdict for case in both] == ["pass", "fail"] and not both.passed
    assert "1 of 2 Unity cases failed" in both.sentence
    with pytest.raises(Truncated, match="cut off"):
        report_of("unity", PASSES + FAILS[:40])
    for first, second in ((PASSES, FAILS), (FAILS, PASSES)):
        assert not report_of("unity", first + second).passed


def test_a_later_report_that_is_on_its_way_is_awaited(line) -> None:
    record = DutRecord("host", "host", "train", "", True, None)
    line.prints((PASSES + FAILS[:30]).encode())
    read_cases(line.serial, record, "unity")
    threading.Timer(0.6, lambda: line.prints(FAILS[30:].encode())).start()
    judge_later(line.serial, record)
    assert [each.passed for each in record.reports] == [True, False] and not record.cut_off


def test_a_device_that_reports_without_end_is_left(line, monkeypatch) -> None:
    monkeypatch.setattr("hil.dut.cases.MOST_S", 0.5)
    record, ended = DutRecord("host", "host", "train", "", True, None), threading.Event()

    def report() -> None:
        while not ended.wait(0.01):
            line.prints(PASSES.encode())

    thread = threading.Thread(target=report)
    thread.start()
    read_cases(line.serial, record, "unity")
    judge_later(line.serial, record)
    ended.set()
    thread.join()
    assert [each.passed for each in record.reports] == [True] and not record.cut_off


# Reports that say in some line that something failed, and pass by all others.

RUN_OF_ONE = "[==========] Running 1 test from 1 test suite.\n[ RUN      ] A.x\n"
OK_OF_ONE = "[       OK ] A.x (0 ms)\n"
RAN_ONE = "[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n"
SUITE_FAILED = "[  FAILED  ] A: SetUpTestSuite or TearDownTestSuite\n\n 1 FAILED TEST SUITE\n"
THROWN = 'unknown file: Failure\nC++ exception with description "x" thrown in TearDownTestSuite().\n'
CTEST_OF_ONE = (
    "    Start 1: a\n1/1 Test #1: a ....   Passed    0.00 sec\n{}100% tests passed, 0 tests failed out of 1\n"
    "Total Test time (real) =   0.01 sec\n{}"
)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("googletest", RUN_OF_ONE + OK_OF_ONE + THROWN + RAN_ONE + SUITE_FAILED, "outside of a case at unknown file"),
        ("googletest", RUN_OF_ONE + OK_OF_ONE + RAN_ONE + SUITE_FAILED, "after its end .*: SetUpTestSuite or TearDown"),
        ("googletest", RUN_OF_ONE + OK_OF_ONE + RAN_ONE + "[  FAILED  ] 0 tests, listed below:\n", "0 tests, listed"),
        ("googletest", RUN_OF_ONE + OK_OF_ONE + RAN_ONE + " 1 FAILED TEST SUITE\n", "1 FAILED TEST SUITE"),
        ("googletest", RUN_OF_ONE + OK_OF_ONE + RAN_ONE + "t.cc:3: Failure\nno\n", "after its end .*t.cc:3: Failure"),
        ("googletest", RUN_OF_ONE + "t.cc:3: Failure\n" + OK_OF_ONE + RAN_ONE, "A.x ended as OK after a .* t.cc:3"),
        ("googletest", RUN_OF_ONE + "unknown file: Failure\n" + OK_OF_ONE + RAN_ONE, "after a failure at unknown file"),
        ("googletest", RUN_OF_ONE + OK_OF_ONE + "[  FAILED  ] A.y (0 ms)\n" + RAN_ONE, "outside of a case: .*A.y"),
        ("unity", "t.c:5:a:PASS\n1 Tests 0 Failures 0 Ignored\nt.c:6:b:FAIL: no\nOK\n", "its lines are 2, 1 and 0"),
        ("unity", "t.c:5:a:PASS\nt.c:6::FAIL: no\n1 Tests 0 Failures 0 Ignored\nOK\n", "outside of a case at t.c:6"),
        ("ctest", CTEST_OF_ONE.format("", "The following tests FAILED:\n"), "after its end .*tests FAILED:"),
        ("ctest", CTEST_OF_ONE.format("The following tests FAILED:\n", ""), "its lines have no failed test"),
        ("ctest", CTEST_OF_ONE.format("", "Errors while running CTest\n"), "after its end .*Errors while running"),
    ],
)  # fmt: skip
def test_a_line_that_says_a_failure_is_believed(line, name: str, text: str, said: str) -> None:
    try:
        sentence = report_of(name, text).sentence
        assert not report_of(name, text).passed
    except Truncated as truncated:
        sentence = str(truncated)
    assert re.search(said, sentence)
    noted = record()
    line.prints(text.encode())
    with contextlib.suppress(CasesFailed, Truncated):
        read_cases(line.serial, noted, name)
    judge_later(line.serial, noted)
    assert noted.cut_off or not all(each.passed for each in noted.reports)
    assert len(noted.cut_off) <= 1


def test_a_report_after_one_that_failed_late_is_one_of_its_own(line) -> None:
    noted = record()
    line.prints((RUN_OF_ONE + OK_OF_ONE + RAN_ONE + SUITE_FAILED + RUN_OF_ONE + OK_OF_ONE + RAN_ONE).encode())
    for _ in range(2):
        assert read_cases(line.serial, noted, "googletest").passed
    assert len(noted.cut_off) == 1 and "SetUpTestSuite" in noted.cut_off[0]


# Reports that a test takes by other means than `cases`.


@pytest.mark.parametrize(
    "take",
    [
        lambda serial: serial.read(10_000),
        lambda serial: serial.expect("FAIL\n"),
        lambda serial: serial.expect("1 Failures"),  # in the middle of the report
        lambda serial: list(lines(serial, "FAIL$", count=1)),
        lambda serial: serial.reset_input_buffer(),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_a_later_report_is_judged_whoever_took_it(line, take, again: bool) -> None:
    noted = record()
    line.prints((PASSES + FAILS).encode())
    read_cases(line.serial, noted, "unity")
    take(line.serial)
    if again:
        line.serial.reset_input_buffer()
        line.prints(PASSES.replace("test_a", "test_c").encode())
        read_cases(line.serial, noted, "unity")
    judge_later(line.serial, noted)
    assert sorted(each.passed for each in noted.reports) == [False, True, True][: 2 + again] and not noted.cut_off


def test_a_report_that_a_reset_ended_is_no_part_of_the_next(line) -> None:
    noted = record()
    line.prints((PASSES + FAILS[:30]).encode())
    read_cases(line.serial, noted, "unity")
    line.serial.reset_input_buffer()
    line.prints(PASSES.replace("test_a", "test_c").encode())
    judge_later(line.serial, noted)
    assert [each.passed for each in noted.reports] == [True, True] and not noted.cut_off


def test_too_much_after_a_report_is_a_warning(line, monkeypatch) -> None:
    monkeypatch.setattr("hil.dut.followed.MOST", len(FAILS))
    noted = record()
    line.prints((PASSES + FAILS + FAILS).encode())
    read_cases(line.serial, noted, "unity")
    line.serial.read(10_000)
    judge_later(line.serial, noted)
    assert [each.passed for each in noted.reports] == [True, False]
    assert "no report in what follows is judged" in line.serial.lines_seen.warnings[0]


def test_a_report_of_which_the_test_has_read_a_part_says_so(line) -> None:
    record = DutRecord("host", "host", "train", "", True, None)
    line.serial.follow()
    line.prints(b"t.c:1:test_a:PASS\nt.c:2:test_b:PASS\nt.c:3:test_c:PASS\n3 Tests 0 Failures 0 Ignored\nOK\n")
    taken = lines(line.serial, ":PASS")
    next(taken), next(taken)
    with pytest.raises(Truncated, match=r"; the test had read 2 cases before, by dut.lines, expect or read: call dut."):
        read_cases(line.serial, record, "unity", 0.2)
    assert "the test had read 2 cases before" in record.cut_off[0]


def test_a_report_that_the_device_has_cut_off_does_not(line) -> None:
    record = DutRecord("host", "host", "train", "", True, None)
    line.prints(b"t.c:1:test_a:PASS\n3 Tests 0 Failures 0 Ignored\nOK\n")
    with pytest.raises(Truncated) as seen:
        read_cases(line.serial, record, "unity", 0.2)
    assert "the test had read" not in str(seen.value)
