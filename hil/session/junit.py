"""junit.xml: pytest's own file, with the rig's verdicts in it, whole or not at all."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.junitxml import xml_key

from hil.record import AskedTest, atomic_file

ELEMENTS = {"blocked": "error", "refused": "failure", "interrupted": "error"}  # of a verdict that pytest does not know
COUNTED = {"errors": "error", "failures": "failure", "skipped": "skipped"}
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, "Char"


def hold_back(config: pytest.Config) -> str | None:
    """Let pytest write its file nowhere, for a full disk would end the session there; return where it belongs, None where none is written."""
    xml = config.stash.get(xml_key, None)
    if xml is None:
        return None
    path: str = xml.logfile
    xml.logfile = os.devnull
    return path


def write(config: pytest.Config, path: str, tests: Sequence[AskedTest], tell: dict[str, str]) -> None:
    """Write the file with the verdicts.

    Args:
        config: of the session; pytest's writer has seen all reports.
        path: of the file.
        tests: every test that asked for a trial.
        tell: pytest's node id of a test by its name in the record, where they differ.

    Raises:
        OSError: the disk takes no more.
    """
    xml = config.stash[xml_key]
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_file(target) as partial:
            xml.logfile = str(partial)
            xml.pytest_sessionfinish()
            tree = ET.parse(partial)
            suite = tree.getroot().find("testsuite")
            if suite is not None:
                _with_verdicts(suite, [(_names(tell.get(test.test, test.test), xml.prefix), test) for test in tests])
            tree.write(partial, encoding="utf-8", xml_declaration=True)
    finally:
        xml.logfile = path


def _names(nodeid: str, prefix: str | None) -> tuple[str, str]:
    """Return `classname` and `name` of a testcase as pytest makes them."""
    path, bracket, parameters = nodeid.partition("[")
    *parts, name = path.split("::")
    parts[:1] = [re.sub(r"\.py$", "", part.replace("/", ".")) for part in parts[:1]]
    return ".".join([*([prefix] if prefix else []), *parts]), name + bracket + parameters


def _with_verdicts(suite: ET.Element, tests: Sequence[tuple[tuple[str, str], AskedTest]]) -> None:
    """Give every test that has not passed its own element, add those that pytest never ran, and count again."""
    cases: dict[tuple[str, str], list[ET.Element]] = {}
    for case in suite.iter("testcase"):
        cases.setdefault((case.get("classname", ""), case.get("name", "")), []).append(case)
    for names, test in tests:
        if names not in cases:
            classname, name = names
            case = ET.SubElement(suite, "testcase", classname=classname, name=name, time="0.000")
            _reported(ET.SubElement(case, "error"), test)
            suite.set("tests", str(int(suite.get("tests", "0")) + 1))
        elif test.verdict in ELEMENTS:
            for element in (each for case in cases[names] for each in case if each.tag in COUNTED.values()):
                element.tag = ELEMENTS[test.verdict]
                _reported(element, test)
    for attribute, tag in COUNTED.items():
        suite.set(attribute, str(sum(1 for _ in suite.iter(tag))))


def _reported(element: ET.Element, test: AskedTest) -> None:
    element.set("type", test.verdict)
    element.set("message", NO_XML.sub("?", test.reason))
    element.text = NO_XML.sub("?", f"{test.verdict}: {test.reason}")
