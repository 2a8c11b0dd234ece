"""CTest's report on its standard output (cmCTestRunTest.cxx, cmCTestTestHandler.cxx)."""

from __future__ import annotations

import re

from hil.dut.case_reports.report import CaseReader

RESULT = re.compile(
    r"^\s*(?P<index>\d+)/(?P<total>\d+) +Test +#\d+: (?P<name>.*?) ?\.*\s*"
    r"(?P<word>Passed|\*\*\*\S.*?)(?:\s+(?P<seconds>\d+\.\d+) sec)?\s*$"
)
STARTED = re.compile(r"^\s*Start +\d+: (?P<name>.*?)\s*$")
SUMMARY = re.compile(r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)\s*$")
END = re.compile(r"^Total Test time \(real\) = +\d+\.\d+ sec\s*$")
NONE = re.compile(r"^No tests were found!!!")
FAILED = re.compile(r"^(?:The following tests FAILED:|Errors while running CTest)")
SKIPPED, DISABLED = "Skipped", "Not Run (Disabled)"


class CTestReader(CaseReader):
    """Reads a report of CTest."""

    format = "ctest"

    def __init__(self) -> None:
        super().__init__()
        self._started: list[str] = []
        self._disabled = 0
        self._places: list[tuple[int, int]] = []  # index and number of tests, of each result
        self._summary: tuple[int, int] | None = None
        self._said_failed = ""

    @property
    def running(self) -> str:
        """The first case that has begun and not ended; several may run side by side."""
        return self._started[0] if self._started else ""

    def _read(self, line: str) -> None:
        if (found := RESULT.match(line)) is not None:
            self._result(found, line)
        elif (found := STARTED.match(line)) is not None:
            self._started.append(found["name"])
        elif (found := FAILED.match(line)) is not None:
            if self.cases or self._started:
                self._said_failed = found[0]
            else:
                self.late = self.late or found[0]
        elif (found := SUMMARY.match(line)) is not None:
            self._summary = int(found["failed"]), int(found["total"])
        elif NONE.match(line) is not None or (self._summary is not None and END.match(line) is not None):
            self.ended = True

    def _result(self, found: re.Match[str], line: str) -> None:
        name, why = found["name"], found["word"].lstrip("*").strip()
        if name in self._started:
            self._started.remove(name)
        self._disabled += why == DISABLED
        self._places.append((int(found["index"]), int(found["total"])))
        seconds = float(found["seconds"]) if found["seconds"] is not None else None
        if found["word"] == "Passed":
            self._end_case(name, "pass", line, seconds=seconds)
        else:
            self._end_case(name, "skipped" if why in (SKIPPED, DISABLED) else "fail", line, "", why, seconds)

    def _contradiction(self) -> str | None:
        if self._started:
            return f"{self.running} began and did not end"
        if self._summary is None or not self.cases:
            return "it has no case"
        failed, total = self._summary
        came = (self._count("fail"), len(self.cases) - self._disabled)  # disabled tests do not count in the summary
        if (failed, total) != came:
            return f"its summary counts {failed} failed of {total} tests, and its lines are {came[0]} of {came[1]}"
        if self._said_failed and not failed:
            return f"it says {self._said_failed!r}, and its lines have no failed test"
        if sorted(self._places) != [(index, len(self.cases)) for index in range(1, len(self.cases) + 1)]:
            return f"its {len(self.cases)} results are not numbered 1 to {len(self.cases)}"
        return None
