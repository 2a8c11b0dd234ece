"""junit.xml: pytest's own file with the rig's verdicts, written atomically."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.junitxml import LogXML, mangle_test_address, xml_key

from hil.record import AskedTest, atomic_file
from hil.record.device_test import DeviceTest

# Element of each verdict that pytest does not know.
ELEMENTS = {"blocked": "error", "refused": "failure", "interrupted": "error"}
COUNTED = {"errors": "error", "failures": "failure", "skipped": "skipped"}
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, "Char"


def suspend(config: pytest.Config) -> str | None:
    """Make pytest write its file to /dev/null, because a full disk would end the session there; return its path."""
    xml = config.stash.get(xml_key, None)
    if xml is None:
        return None
    path: str = xml.logfile
    xml.logfile = os.devnull
    return path


def writer_of(config: pytest.Config) -> LogXML:
    """Return pytest's writer, which is not to be found any more when the session has ended."""
    return config.stash[xml_key]


def write(
    xml: LogXML, path: Path, tests: Sequence[AskedTest], node_ids: dict[str, str], devices: Sequence[DeviceTest] = ()
) -> None:
    """Write the file with the verdicts of all tests that run trials; pytest's writer has seen all reports.

    Args:
        xml: pytest's writer.
        path: of the file.
        tests: all tests of the record.
        node_ids: pytest's node id of a test by its name in the record, if they differ.
        devices: tests of devices; each case that a device reported becomes a test case of its own.

    Raises:
        OSError: the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_file(path) as partial:
            xml.logfile = str(partial)
            xml.pytest_sessionfinish()
            tree = ET.parse(partial)
            suite = tree.getroot().find("testsuite")
            if suite is not None:
                named = [(_names(node_ids.get(test.test, test.test), xml.prefix), test) for test in tests]
                _with_verdicts(suite, named)
                last = {each.test: each for each in devices}  # a plugin may repeat a test
                for names, test in named:
                    if test.test in last:
                        _add_reported(suite, ".".join(names), last[test.test], test.expected)
            tree.write(partial, encoding="utf-8", xml_declaration=True)
    finally:
        xml.logfile = str(path)


def _names(nodeid: str, prefix: str | None) -> tuple[str, str]:
    """Return `classname` and `name` of a test case as pytest makes them."""
    *parts, name = mangle_test_address(nodeid)
    return ".".join([*([prefix] if prefix else []), *parts]), name


def _with_verdicts(suite: ET.Element, tests: Sequence[tuple[tuple[str, str], AskedTest]]) -> None:
    """Write the verdicts into the test cases, add those that pytest never ran, and correct the totals."""
    cases: dict[tuple[str, str], list[ET.Element]] = {}
    for case in suite.iter("testcase"):
        cases.setdefault((case.get("classname", ""), case.get("name", "")), []).append(case)
    for names, test in tests:
        if names not in cases:
            classname, name = names
            case = ET.SubElement(suite, "testcase", classname=classname, name=name, time="0.000")
            _set_verdict(ET.SubElement(case, "error"), test)
            continue
        _write_verdict(_last_attempt(cases[names]), test)
        if test.verdict == "pass":
            _drop_skipped(cases[names])
    suite.set("tests", str(sum(1 for _ in suite.iter("testcase"))))  # pytest also counts subtests, which have no case
    for attribute, tag in COUNTED.items():
        suite.set(attribute, str(sum(1 for _ in suite.iter(tag))))


def _last_attempt(cases: list[ET.Element]) -> list[ET.Element]:
    """Return the cases of the last attempt of a test; a plugin may repeat it.

    An attempt before it keeps its own verdict. One that did not pass, and of which pytest says nothing, becomes a
    `flakyFailure`, as Maven Surefire writes it.
    """
    before = [case for case in cases if case.find("properties/property[@name='verdict']") is not None][:-1]
    for case in before:
        own = {each.get("name", ""): each.get("value", "") for each in case.iterfind("properties/property")}
        if own["verdict"] not in ("pass", "skipped") and not any(each.tag in COUNTED.values() for each in case):
            ET.SubElement(case, "flakyFailure", type=own["verdict"], message=own.get("reason", ""))
    return [case for case in cases if case not in before]


def _write_verdict(cases: list[ET.Element], test: AskedTest) -> None:
    """Write the verdict of a test into its test cases: properties, and the element that says that it did not pass."""
    for case in cases:
        # they have others if requests came after the end of the test
        now = {"verdict": test.verdict, "outcome": test.outcome or "", "reason": NO_XML.sub("?", test.reason)}
        for name, value in now.items():
            for each in case.iterfind(f"properties/property[@name='{name}']"):
                each.set("value", value)
    if test.verdict in ELEMENTS:
        found = [each for case in cases for each in case if each.tag in COUNTED.values()]
        # a request after the end of its test: pytest has passed the test
        for element in found or [ET.SubElement(cases[-1], ELEMENTS[test.verdict])]:
            element.tag = ELEMENTS[test.verdict]
            _set_verdict(element, test)
    elif test.verdict == "skipped":
        for case in cases:  # pytest has passed a test that ran no trial: a reader must not take it for one
            if not any(each.tag in COUNTED.values() for each in case):
                _set_verdict(ET.SubElement(case, "skipped"), test)


def _drop_skipped(cases: list[ET.Element]) -> None:
    """Drop what pytest says of a subtest that was skipped: the case, which has passed, is that of the whole test."""
    for case in cases:
        for skipped in case.findall("skipped"):
            case.remove(skipped)


def _add_reported(suite: ET.Element, classname: str, device: DeviceTest, expected: bool) -> None:
    """Add the cases that a device reported; of a test that is expected to fail no case is a failure."""
    cases = [case for report in device.reports for case in report["cases"]]
    for case in cases:
        seconds = f"{case['seconds'] or 0:.3f}"
        name = NO_XML.sub("?", case["name"])
        element = ET.SubElement(suite, "testcase", classname=classname, name=name, time=seconds)
        if case["verdict"] != "pass":
            tag = "failure" if case["verdict"] == "fail" and not expected else "skipped"
            why = ": ".join(part for part in (case["place"], case["message"]) if part) or case["line"]
            bad = ET.SubElement(element, tag, type=case["verdict"], message=NO_XML.sub("?", why))
            bad.text = NO_XML.sub("?", case["line"])
    suite.set("tests", str(int(suite.get("tests", "0")) + len(cases)))
    for attribute, tag in COUNTED.items():
        suite.set(attribute, str(sum(1 for _ in suite.iter(tag))))


def _set_verdict(element: ET.Element, test: AskedTest) -> None:
    element.set("type", test.verdict)
    element.set("message", NO_XML.sub("?", test.reason))
    element.text = NO_XML.sub("?", f"{test.verdict}: {test.reason}")
