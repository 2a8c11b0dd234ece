"""junit.xml against the tests of results.json: a case for each test, its verdict, and the numbers of the suite."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hil.bounded_read import MB, read_file
from hil.errors import RigError, message_of
from hil.record.checks.recorded import RESULTS, RecordedRun
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.device_test import DeviceTest
from hil.record.run_writer import ENDED, RUNNING
from hil.record.safe_paths import RERUN, safe_file
from hil.record.trial_record import TrialRecord
from hil.record.verdicts import AskedTest

JUNIT = "junit.xml"
LARGEST = 64 * MB
BAD = ("error", "failure", "skipped")  # pytest passes a case that has none of these elements
FAIL = "fail"
TAGS = {  # by verdict (hil/session/junit.py); a case of a test that fails may be skipped, if it is marked xfail
    "pass": ("",), FAIL: ("failure", "error", "skipped"), "blocked": ("error",), "refused": ("failure",),
    "interrupted": ("error",), "skipped": ("skipped",),
}  # fmt: skip
ROUNDED_S = 0.002  # both times are rounded to a millisecond


@dataclass(frozen=True)
class JunitCase:
    """A test case of junit.xml."""

    element: ET.Element

    @cached_property
    def properties(self) -> Mapping[str, str]:
        """Its properties; none if it is not one of trainrig's tests."""
        return {each.get("name", ""): each.get("value", "") for each in self.element.iter("property")}

    @cached_property
    def tag(self) -> str:
        """What pytest says of it: one of `BAD`, or nothing if it passed."""
        return next((each.tag for each in self.element if each.tag in BAD), "")


@dataclass(frozen=True)
class Cases:
    """The cases of a file, by the last trial that they name, and by their name."""

    by_trial: Mapping[str, list[JunitCase]]
    by_name: Mapping[str, list[JunitCase]]

    @classmethod
    def of(cls, cases: Sequence[JunitCase]) -> Cases:
        """Return cases in both orders."""
        by_trial: dict[str, list[JunitCase]] = {}
        by_name: dict[str, list[JunitCase]] = {}
        for case in cases:
            by_trial.setdefault(case.properties.get("trials", "").split(" ")[-1], []).append(case)
            by_name.setdefault(case.element.get("name", ""), []).append(case)
        return cls(by_trial, by_name)

    def of_test(self, test: AskedTest) -> list[JunitCase]:
        """Return the cases of a test: with its last trial, else with its class name and name, as pytest makes them."""
        if test.trials and test.trials[-1] in self.by_trial:
            return self.by_trial[test.trials[-1]]
        path, _, inside = test.test.partition("::")
        bare, bracket, words = inside.partition("[")
        *classes, name = bare.split("::")
        place = ".".join([path.rpartition("/")[2].removesuffix(".py"), *classes])
        named = self.by_name.get(f"{name}{bracket}{words}", [])
        return [case for case in named if f".{case.element.get('classname', '')}".endswith(f".{place}")]


def check_junit(run: RecordedRun) -> Iterator[Contradiction]:
    """junit.xml has a case for each test, with verdict, board and trials of its last attempt, and counts its cases."""
    path = safe_file(run.folder, JUNIT)
    if path is None or run.results["run"]["state"] == RUNNING:
        return
    try:
        root = ET.fromstring(read_file(path, LARGEST, RERUN))
    except ET.ParseError as error:
        raise RigError(f"{path} is damaged ({message_of(error)}): {RERUN}.") from error
    trials = {trial.name: trial.record for trial in run.trials}
    cases = [JunitCase(case) for case in root.iter("testcase")]
    found, times = Cases.of(cases), []
    devices = {record.test: record for record in run.results.get("device_tests", ())}  # the last of each test
    for test in run.results["tests"]:
        own = found.of_test(test)
        if not own and test.test.isascii():  # pytest writes other names with escapes
            yield differ(RESULTS, f"the test {test.test}", "there", JUNIT, NOTHING)
        elif own and test.outcome is not None:
            yield from _of_test(test, own, trials, devices.get(test.test))
        if len(own) == 1 and test.seconds is not None:
            times.append((test, test.seconds, float(own[0].element.get("time", "0"))))
    # pytest's option junit_duration_report = call leaves out setup and teardown, then of every case
    whole = any(abs(there - here) <= ROUNDED_S for _, here, there in times)
    for test, here, there in times:
        if there - here > ROUNDED_S or (whole and here - there > ROUNDED_S):
            yield differ(RESULTS, f"seconds of {test.test}", here, JUNIT, there)
    yield from _numbers(run, root, cases)


def _of_test(
    test: AskedTest, cases: Sequence[JunitCase], trials: Mapping[str, TrialRecord], device: DeviceTest | None
) -> Iterator[Contradiction]:
    """Compare a test with its cases: several attempts of one test are cases of one name, and the last one counts."""
    number = max((number for number, case in enumerate(cases) if case.properties), default=0)
    told = cases[number].properties
    if told:
        named = [name for name in told.get("trials", "").split(" ") if name]
        own = [trials[name] for name in named if name in trials]
        runs: list[TrialRecord | DeviceTest] = [*own, *([device] if device is not None else [])]
        wanted = {
            "verdict": test.verdict,
            "board": test.board or ", ".join(dict.fromkeys(each.board for each in runs if each.board)) or "none",
            "reality": ", ".join(dict.fromkeys(each.reality or "none" for each in runs)) or "none",
            "stage": next((each.stage for each in runs if each.stage), ""),
            "steps_compared": str(sum(each.steps_compared for each in runs)),
        }
        if device is not None:
            wanted["device_test"] = device.folder
        if test.reason.isascii():
            wanted["reason"] = test.reason
        if "outcome" in told:  # older versions did not write it
            wanted["outcome"] = test.outcome or ""
        for field, here in wanted.items():
            if here != told.get(field):
                yield differ(RESULTS, f"{field} of {test.test}", here, JUNIT, told.get(field, NOTHING))
        if named != test.trials[len(test.trials) - len(named) :]:
            yield differ(RESULTS, f"trials of {test.test}", " ".join(test.trials), JUNIT, " ".join(named))
    tags = [case.tag for case in cases[number:] if case.tag] or [""]
    right = TAGS[test.verdict]
    if test.expected:
        right = ("skipped",) if test.verdict == FAIL else ("skipped", *right)
    if not set(tags) & set(right):
        yield differ(RESULTS, f"verdict of {test.test}", test.verdict, JUNIT, tags[0] or "a case that passed")


def _numbers(run: RecordedRun, root: ET.Element, cases: Sequence[JunitCase]) -> Iterator[Contradiction]:
    """Compare the numbers of the suite with its cases, and failures with the exit code of the run."""
    suite = root.find("testsuite")
    if suite is None:
        yield differ(JUNIT, "its testsuite", NOTHING, RESULTS, f"{len(run.results['tests'])} tests")
        return
    counts = {"errors": "error", "failures": "failure", "skipped": "skipped"}
    for attribute, tag in counts.items():
        there = sum(1 for _ in suite.iter(tag))
        if suite.get(attribute) != str(there):
            yield differ(JUNIT, attribute, suite.get(attribute), f"{JUNIT} (its cases)", there)
    # pytest counts a test whose teardown failed twice, in one case
    errors, tests = sum(case.tag == "error" for case in cases), int(suite.get("tests", "0"))
    if not len(cases) - errors <= tests <= len(cases) + errors:
        yield differ(JUNIT, "tests", tests, f"{JUNIT} (its cases)", len(cases))
    facts = run.results["run"]
    bad = next((case for case in cases if case.tag in ("error", "failure")), None)
    if facts["state"] == ENDED and facts["exit_code"] == 0 and bad is not None:
        yield differ(RESULTS, "run.exit_code", 0, JUNIT, f"{bad.tag} of {bad.element.get('name')}")
