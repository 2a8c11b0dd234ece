"""Unity's report (ThrowTheSwitch, unity.c: UnityConcludeTest, UnityEnd), with or without its extra `fixture`."""

from __future__ import annotations

import re

from hil.dut.case_reports.report import CaseReader, CaseVerdict
from hil.errors import printable

RESULT = re.compile(
    r"(?P<file>(?:[A-Za-z]:)?[^\s:]*):(?P<line>\d+):(?P<name>[^:]*):(?P<word>PASS|FAIL|IGNORE)(?P<rest>[ :].*)?$"
)
FIXTURE = re.compile(r"(?P<ignored>IGNORE_)?TEST\((?P<group>[^,()]+),\s*(?P<name>[^()]+)\)")
PASSED = re.compile(r"(?:^|\s)PASS(?:\s\((?P<ms>\d+(?:\.\d+)?) ?ms\))?$")
ONLY_DOTS = re.compile(r"[.!]+")
TIME = re.compile(r" \((\d+(?:\.\d+)?) ?ms\)$")
SUMMARY = re.compile(r"(\d+) Tests (\d+) Failures (\d+) Ignored\s*$")
VERDICTS: dict[str, CaseVerdict] = {"PASS": "pass", "FAIL": "fail", "IGNORE": "skipped"}
DOTS = "; of a fixture all names are needed: call UnityMain with -v"


class UnityReader(CaseReader):
    """Reads a report of Unity."""

    format = "unity"

    def __init__(self) -> None:
        super().__init__()
        self._open = ""  # a case of a fixture whose name has come, and not its verdict
        self._counts: tuple[int, int, int] | None = None
        self._said_ok = False
        self._dots = False  # a fixture without -v prints a dot for each case, and a name only for those that fail

    @property
    def running(self) -> str:
        """The case of a fixture that has begun and not ended."""
        return self._open

    def _read(self, line: str) -> None:
        if self._counts is not None:
            if line.rstrip() in ("OK", "FAIL", "FAILED"):
                self._said_ok, self.ended = line.rstrip() == "OK", True
            elif (found := RESULT.search(line)) is not None:
                self._result(found, line)
            return
        if (found := SUMMARY.match(line)) is not None:
            self._counts = (int(found[1]), int(found[2]), int(found[3]))
            return
        begun = FIXTURE.search(line)
        if begun is not None and not line[: begun.start()].rstrip().endswith(":"):  # else the name in a result
            self._begin(begun, line)
            line = line[begun.end() :]
            if begun["ignored"]:
                return
        if (found := RESULT.search(line)) is not None:
            self._result(found, line)
        elif ONLY_DOTS.fullmatch(line):
            self._dots = True
        elif self._open and (passed := PASSED.search(line)) is not None:
            self._end_case(self._take_open(), "pass", line, seconds=_seconds(passed["ms"]))

    def _begin(self, begun: re.Match[str], line: str) -> None:
        name = f"{begun['group'].strip()}.{begun['name'].strip()}"
        if begun["ignored"]:
            self._end_case(name, "skipped", line)
        else:
            self._open = name

    def _result(self, found: re.Match[str], line: str) -> None:
        name, rest = found["name"], found["rest"] or ""
        if (of_fixture := FIXTURE.fullmatch(name)) is not None:
            name, self._open = f"{of_fixture['group'].strip()}.{of_fixture['name'].strip()}", ""
            self._dots = True
        elif not name:
            if not self._open:
                if found["word"] == "FAIL":
                    self.outside.append(f"a failure outside of a case at {printable(found['file'])}:{found['line']}")
                return
            name = self._take_open()
        taken = TIME.search(rest)
        message = rest if taken is None else rest[: taken.start()]
        place = f"{found['file']}:{found['line']}"
        ms = taken[1] if taken is not None else None
        self._end_case(name, VERDICTS[found["word"]], line, place, message.lstrip(": "), _seconds(ms))

    def _take_open(self) -> str:
        name, self._open = self._open, ""
        return name

    def _contradiction(self) -> str | None:
        tests, failures, ignored = self._counts or (0, 0, 0)
        came = (len(self.cases), self._count("fail"), self._count("skipped"))
        if self._open:
            return f"{self._open} began and did not end"
        if came != (tests, failures, ignored):
            more = DOTS if self._dots and came[0] < tests else ""
            return (
                f"its summary counts {tests} tests, {failures} failures and {ignored} ignored, and its lines are "
                f"{came[0]}, {came[1]} and {came[2]}{more}"
            )
        if self._said_ok != (failures == 0):
            return f"its last line is {'OK' if self._said_ok else 'FAIL'}, and its summary counts {failures} failures"
        return None


def _seconds(ms: str | None) -> float | None:
    return float(ms) / 1000 if ms is not None else None
