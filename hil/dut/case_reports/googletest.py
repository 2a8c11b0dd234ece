"""GoogleTest's report (gtest.cc: PrettyUnitTestResultPrinter)."""

from __future__ import annotations

import re

from hil.dut.case_reports.report import LONGEST, CaseReader, CaseVerdict
from hil.errors import printable

BEGUN = re.compile(r"\[ RUN      \] (\S+)\s*$")
RESULT = re.compile(r"\[ *(?P<word>OK|FAILED|SKIPPED) *\] (?P<name>[^\s,]+)(?P<param>,.*)? \((?P<ms>\d+) ms\)\s*$")
RUNNING = re.compile(r"\[==========\] Running (\d+) tests? from \d+ test (?:suite|case)s?\.")
RAN = re.compile(r"\[==========\] (\d+) tests? from \d+ test (?:suite|case)s? ran\.")
PASSED = re.compile(r"\[  PASSED  \] (\d+) tests?\.")
LISTED = re.compile(r"\[  (?P<word>SKIPPED|FAILED ) \] (?P<count>\d+) tests?, listed below:")
LISTED_ONE = re.compile(r"\[  (?P<word>SKIPPED|FAILED ) \] (?P<name>\S+)")
END_OF_FAILED = re.compile(r"\s*(\d+) FAILED TESTS?\s*$")
PLACE = re.compile(r"^(?P<place>.*?(?::\d+|\(\d+\)|unknown file)): (?P<kind>Failure|Skipped|error:?)\s*(?P<text>.*)$")
FAILED = re.compile(r"\[  FAILED  \] .*|^\s*\d+ FAILED TEST.*")  # of a case, of a suite, and of both lists of them
SUITE = re.compile(r"\[  FAILED  \] (?P<name>\S+): SetUpTest(?:Suite|Case) or TearDownTest(?:Suite|Case)")
VERDICTS: dict[str, CaseVerdict] = {"OK": "pass", "FAILED": "fail", "SKIPPED": "skipped"}


class GoogleTestReader(CaseReader):
    """Reads a report of GoogleTest."""

    format = "googletest"

    def __init__(self) -> None:
        super().__init__()
        self._open, self._place = "", ""
        self._message: list[str] = []
        self._planned: int | None = None
        self._ran: int | None = None
        self._passed: int | None = None
        self._listed: dict[str, int] = {}  # counts of the lists after the summary
        self._named = {"SKIPPED": 0, "FAILED": 0}
        self._left_open = ""  # a case that began before the last one had ended
        self._failure = ""  # place of the first failure in the case that is open
        self._belied = ""  # a case that ended well or was skipped after a failure, and the place of this

    @property
    def running(self) -> str:
        """The case that has begun and not ended."""
        return self._open

    def _read(self, line: str) -> None:
        if self._ran is not None:
            self._read_summary(line)
        elif (found := BEGUN.search(line)) is not None:
            self._left_open = self._left_open or self._open
            self._open, self._place, self._message, self._failure = found[1], "", [], ""
        elif (found := RESULT.search(line)) is not None and found["name"] == self._open:
            self._result(found, line)
        elif (found := FAILED.search(line)) is not None:
            self._note_failed(found[0].strip())
        elif (found := RUNNING.search(line)) is not None:
            self._planned = int(found[1])
        elif (found := RAN.search(line)) is not None:
            self._ran = int(found[1])
        elif (found := PLACE.match(line)) is not None:
            self._note_place(found)
        elif self._place:
            self._message.append(line)

    @property
    def _has_begun(self) -> bool:
        return self._planned is not None or bool(self.cases) or bool(self._open)

    def _result(self, found: re.Match[str], line: str) -> None:
        message = " ".join(part.strip() for part in self._message)
        verdict = VERDICTS[found["word"]]
        if self._failure and verdict != "fail":
            self._belied = self._belied or f"{self._open} ended as {found['word']} after a failure at {self._failure}"
        self._end_case(self._open, verdict, line, self._place, message, int(found["ms"]) / 1000)
        self._open = ""

    def _note_failed(self, said: str) -> None:
        """Note a line that says FAILED and is the result of no case: before the report, it is about the one before."""
        if self._has_begun:
            self.outside.append(f"a failure outside of a case: {printable(said)[:LONGEST]}")
        else:
            self.late = self.late or said

    def _note_place(self, found: re.Match[str]) -> None:
        place = found["place"].strip()
        if found["kind"] == "Failure" and not self._has_begun:
            self.late = self.late or found[0].strip()
        if not self._open:
            if found["kind"] != "Skipped":
                self.outside.append(f"a failure outside of a case at {printable(place)[:LONGEST]}")
            return
        if found["kind"] == "Failure":
            self._failure = self._failure or printable(place)[:LONGEST]
        if not self._place:  # the first failure of a case counts
            self._place, self._message = found["place"], [found["text"]] if found["text"] else []

    def _read_summary(self, line: str) -> None:
        if (found := PASSED.search(line)) is not None:
            self._passed = int(found[1])
        elif (found := LISTED.search(line)) is not None:
            self._listed[found["word"].strip()] = int(found["count"])
        elif (found := SUITE.search(line)) is not None:
            self._note_failed(found[0])
        elif (found := LISTED_ONE.search(line)) is not None:
            self._named[found["word"].strip()] += 1
        elif (found := END_OF_FAILED.match(line)) is not None:
            self._listed["END"] = int(found[1])
        skipped, failed = self._count("skipped"), self._count("fail")
        listed = self._named["SKIPPED"] >= skipped and (not failed or "END" in self._listed)
        self.ended = self._passed is not None and listed

    def _contradiction(self) -> str | None:
        if self._open or self._left_open:
            return f"{self._left_open or self._open} began and did not end"
        if self._belied:
            return self._belied
        if self._planned is None:
            return "its first line is missing, which says how many tests run"
        for what, count in (("it announced", self._planned), ("its summary counts", self._ran)):
            if count != len(self.cases):
                return f"{what} {count} tests, and {len(self.cases)} ended"
        named: dict[CaseVerdict, int | None] = {
            "pass": self._passed,
            "skipped": self._listed.get("SKIPPED", 0),
            "fail": self._listed.get("FAILED", 0),
        }
        for verdict, count in named.items():
            if count != self._count(verdict):
                return f"its summary has {count} tests with the verdict {verdict}, and its lines {self._count(verdict)}"
        if self._listed.get("END", 0) != self._count("fail") or self._named["FAILED"] < self._count("fail"):
            return "its list of failed tests is cut off"
        return None
