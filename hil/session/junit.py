"""junit.xml: pytest's own file with the rig's verdicts, written atomically."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.junitxml import mangle_test_address, xml_key

from hil.record import AskedTest, atomic_file

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


def write(config: pytest.Config, path: Path, tests: Sequence[AskedTest], node_ids: dict[str, str]) -> None:
    """Write the file with the verdicts of all tests that run trials; pytest's writer has seen all reports.

    `node_ids` has pytest's node id of a test by its name in the record, if they differ.

    Raises:
        OSError: the disk is full.
    """
    xml = config.stash[xml_key]
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
            suite.set("tests", str(int(suite.get("tests", "0")) + 1))
        elif test.verdict in ELEMENTS:
            for element in (each for case in cases[names] for each in case if each.tag in COUNTED.values()):
                element.tag = ELEMENTS[test.verdict]
                _set_verdict(element, test)
        elif test.verdict == "skipped":
            for case in cases[names]:  # pytest has passed a test that ran no trial: a reader must not take it for one
                if not any(each.tag in COUNTED.values() for each in case):
                    _set_verdict(ET.SubElement(case, "skipped"), test)
    for attribute, tag in COUNTED.items():
        suite.set(attribute, str(sum(1 for _ in suite.iter(tag))))


def _set_verdict(element: ET.Element, test: AskedTest) -> None:
    element.set("type", test.verdict)
    element.set("message", NO_XML.sub("?", test.reason))
    element.text = NO_XML.sub("?", f"{test.verdict}: {test.reason}")
