"""Cases that a firmware on QEMU reports as Unity does: verdicts of the tests, record, page, JUnit and checks."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from hil.record import read_run
from hil.record.contradiction import Contradicted
from hil.report import render_single
from tests.foreign import CASES, build

BOARD = "mps2-an386"
TESTS = """
import pytest
from hil.dut import CasesFailed


def ask(dut, command):
    dut.serial.expect("ready")
    dut.serial.write(command)


def test_passes(hil_dut):
    ask(hil_dut, b"a")
    report = hil_dut.cases("unity", timeout=60)
    assert [case.name for case in report.of("skipped")] == ["test_later"]
    hil_dut.serial.expect("bye")


def test_one_fails(hil_dut):
    ask(hil_dut, b"f")
    hil_dut.cases("unity", timeout=60)


def test_catches(hil_dut):
    ask(hil_dut, b"f")
    with pytest.raises(CasesFailed):
        hil_dut.cases("unity", timeout=60)
    hil_dut.serial.write(b"a")
    hil_dut.cases("unity", timeout=60)


@pytest.mark.xfail
def test_known_to_fail(hil_dut):
    ask(hil_dut, b"f")
    hil_dut.cases("unity", timeout=60)


def test_hangs(hil_dut):
    ask(hil_dut, b"c")
    hil_dut.cases("unity", timeout=2)


def test_loses_a_line(hil_dut):
    ask(hil_dut, b"l")
    hil_dut.cases("unity", timeout=60)


def test_has_no_case(hil_dut):
    ask(hil_dut, b"n")
    try:
        hil_dut.cases("unity", timeout=60)
    except Exception:
        pass


def test_another_format(hil_dut):
    hil_dut.cases("junit")
"""
FAILED = "1 of 2 Unity cases failed: test_dot (cases.c:"


@pytest.fixture(scope="module")
def done(strange: Callable, tmp_path_factory: pytest.TempPathFactory):
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed")
    folder: Path = tmp_path_factory.mktemp("cases")
    elf = build(folder, BOARD, "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard", source=CASES)
    return strange(folder, TESTS, f"--board={BOARD}", f"--elf={elf}")


def test_verdicts(done) -> None:
    assert done.verdict("test_passes") == ("pass", "")
    assert done.entry("test_passes").judged[0] == "1 Unity case passed; 1 was skipped."
    for name in ("test_one_fails", "test_catches", "test_known_to_fail"):
        verdict, reason = done.verdict(name)
        assert verdict == "fail" and FAILED in reason
    for name, said in {
        "test_hangs": "did not end its Unity report within 2 s: 2 cases came, the last is test_later; the last line is cut off: 'cases.c:99:test_ha'",
        "test_loses_a_line": "its summary counts 3 tests, 0 failures and 1 ignored, and its lines are 2, 0 and 1.",
        "test_has_no_case": "the Unity report is not whole: it has no case.",
    }.items():
        verdict, reason = done.verdict(name)
        assert verdict == "fail" and said in reason, reason
    assert done.verdict("test_another_format")[0] == "refused"


def test_the_record_has_every_case(done) -> None:
    (report,) = done.entry("test_one_fails").reports
    assert [(case["name"], case["verdict"], case["message"]) for case in report["cases"]] == [
        ("test_dot", "fail", "Expected 12 Was 11"),
        ("test_later", "skipped", "not yet"),
    ]
    assert re.fullmatch(r"cases\.c:\d+:test_dot:FAIL: Expected 12 Was 11", report["cases"][0]["line"])
    assert len(done.entry("test_catches").reports) == 2 and done.entry("test_hangs").reports == []


def test_every_case_is_a_test_case_of_junit(done) -> None:
    suite = ET.parse(done.run / "junit.xml").getroot().find("testsuite")
    cases = {
        (case.get("classname").rpartition(".")[2].partition("[")[0], case.get("name")): [
            each.tag for each in case if each.tag != "properties"
        ]
        for case in suite.iter("testcase")
    }
    assert cases["test_passes", "test_dot"] == [] and cases["test_passes", "test_later"] == ["skipped"]
    assert cases["test_one_fails", "test_dot"] == ["failure"]
    assert cases["test_known_to_fail", "test_dot"] == ["skipped"]  # the test is expected to fail
    assert int(suite.get("tests")) == len(list(suite.iter("testcase"))) == 8 + 2 * 5
    assert int(suite.get("failures")) == len(list(suite.iter("failure")))


def test_the_page_shows_the_cases(done) -> None:
    page = render_single(done.run).read_text(encoding="utf-8")
    assert "Cases: Unity" in page and "Expected 12 Was 11" in page and "1 Unity case passed; 1 was skipped." in page


def test_the_run_agrees_with_itself(done) -> None:
    read_run(done.run)  # refuses a record that contradicts itself


def test_a_changed_verdict_of_a_case_is_a_contradiction(done, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(done.run, tmp_path / done.run.name))
    for path in (copy / "results.json", *copy.glob("*/device_test.json")):
        text = path.read_text(encoding="utf-8")
        changed = re.sub(r'("name": "test_dot",\s*"verdict": )"fail"', r'\1"pass"', text)
        path.write_text(changed, encoding="utf-8")
    with pytest.raises(Contradicted, match="verdict of the unity report"):
        read_run(copy)
