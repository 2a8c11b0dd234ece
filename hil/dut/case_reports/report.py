"""What a test framework reports: its cases with their verdicts, and whether the report is whole."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hil.errors import DeviceFault, printable, shown

CaseVerdict = Literal["pass", "fail", "skipped"]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # ECMA-48, 8.3.117: select graphic rendition
LONGEST = 300  # characters of a message that are kept
NAMED = 3  # failed cases that a sentence names


class Truncated(DeviceFault):
    """The report is not whole: its summary is missing or contradicts its cases, or there are no cases."""


class CasesFailed(DeviceFault):
    """Cases have failed. `report` has all of them."""

    def __init__(self, message: str, report: CaseReport | None = None) -> None:
        super().__init__(message)
        self.report = report


@dataclass(frozen=True)
class ReportedCase:
    """One case.

    Attributes:
        name: with its group or suite before it: `Group.name`.
        verdict: `pass`, `fail` or `skipped`.
        place: file and line in the source (`test_fc.c:12`); empty if the report does not say it.
        message: why it failed or was skipped; empty if the report does not say it.
        seconds: that it took, by the report; None if it does not say it.
        line: that of the report with the verdict.
    """

    name: str
    verdict: CaseVerdict
    place: str
    message: str
    seconds: float | None
    line: str


@dataclass(frozen=True)
class CaseReport:
    """A whole report.

    Attributes:
        format: `unity`, `googletest` or `ctest`.
        cases: all cases, in the order in which they ended.
        outside: failures outside of a case, such as of the set-up of a suite: one sentence each.
    """

    format: str
    cases: tuple[ReportedCase, ...]
    outside: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[ReportedCase]:
        return iter(self.cases)

    def __len__(self) -> int:
        return len(self.cases)

    def of(self, verdict: CaseVerdict) -> list[ReportedCase]:
        """Return the cases with a verdict."""
        return [case for case in self.cases if case.verdict == verdict]

    @property
    def passed(self) -> bool:
        """Whether a case has passed, and none has failed."""
        return bool(self.of("pass")) and not self.of("fail") and not self.outside

    @property
    def sentence(self) -> str:
        """What the report says, in one sentence."""
        title, failed, skipped = TITLES[self.format], self.of("fail"), self.of("skipped")
        also = f"; {len(skipped):,} {'was' if len(skipped) == 1 else 'were'} skipped" if skipped else ""
        if self.passed:
            return f"{len(self.of('pass')):,} {title} {_cases(len(self.of('pass')))} passed{also}."
        if not failed and not self.outside:
            return f"no {title} case ran: the report has {len(skipped):,}, and all were skipped."
        if not failed:
            return f"no {title} case failed, but there is {'; '.join(self.outside[:NAMED])}."
        named = "; ".join([*map(_in_words, failed[:NAMED]), *self.outside[:NAMED]])
        more = f"; and {len(failed) - NAMED:,} more" if len(failed) > NAMED else ""
        return f"{len(failed):,} of {len(self.cases):,} {title} {_cases(len(self.cases))} failed: {named}{more}."

    def to_json(self) -> dict[str, Any]:
        """Return the report for the record."""
        return {
            "format": self.format, "verdict": "pass" if self.passed else "fail", "sentence": self.sentence,
            "cases": [asdict(case) for case in self.cases], "outside": list(self.outside),
        }  # fmt: skip


TITLES: Mapping[str, str] = {"unity": "Unity", "googletest": "GoogleTest", "ctest": "CTest"}


def _cases(count: int) -> str:
    return "case" if count == 1 else "cases"


def _in_words(case: ReportedCase) -> str:
    why = ": ".join(part for part in (case.place, case.message) if part)
    return f"{case.name} ({why})" if why else case.name


class CaseReader(ABC):
    """Reads a report line by line. Other lines may stand between those of the report.

    Attributes:
        format: a key of `TITLES`.
        cases: that have ended so far.
        outside: failures outside of a case so far.
        ended: whether the last line of the report has come.
        late: a line that came before the report began, and says that one before it failed; empty if none.
    """

    format: str

    def __init__(self) -> None:
        self.cases: list[ReportedCase] = []
        self.outside: list[str] = []
        self.ended = False
        self.late = ""

    def feed(self, line: str) -> bool:
        """Read a line, without its end; return whether it was the last one of the report."""
        self._read(COLOURS.sub("", line).rstrip("\r"))
        return self.ended

    @abstractmethod
    def _read(self, line: str) -> None:
        """Read a line without colours."""

    @abstractmethod
    def _contradiction(self) -> str | None:
        """Return how a report that has ended contradicts itself, as the end of a sentence; None if it does not."""

    @property
    def running(self) -> str:
        """The case that has begun and not ended; empty if none, or if the format does not say it."""
        return ""

    @property
    def late_sentence(self) -> str:
        """That a report which passed had failed, by what came after its end."""
        return (
            f"the {TITLES[self.format]} report contradicts itself: it passed, and after its end the device printed "
            f"{shown(self.late)}."
        )

    @property
    def so_far(self) -> str:
        """What has come of a report that has not ended, as the end of a sentence."""
        count = len(self.cases)
        if self.running:
            return f"{count:,} {_cases(count)} ended before, and {self.running} began and did not end"
        return f"{count:,} {_cases(count)} came, the last is {self.cases[-1].name}" if count else "no case came"

    def report(self) -> CaseReport:
        """Return the report.

        Raises:
            Truncated: it has not ended, has no case, or contradicts itself.
        """
        title = TITLES[self.format]
        if not self.ended:
            raise Truncated(f"the {title} report is cut off: its summary is missing; {self.so_far}.")
        wrong = self._contradiction()
        if wrong is None and not self.cases:
            wrong = "it has no case"
        if wrong is not None:
            raise Truncated(f"the {title} report is not whole: {wrong}.")
        return CaseReport(self.format, tuple(self.cases), tuple(self.outside))

    def _end_case(
        self, name: str, verdict: CaseVerdict, line: str, place: str = "", message: str = "",
        seconds: float | None = None,
    ) -> None:  # fmt: skip
        texts = [printable(text.strip())[:LONGEST] for text in (name, place, message, line)]
        self.cases.append(ReportedCase(texts[0] or "?", verdict, texts[1], texts[2], seconds, texts[3]))

    def _count(self, verdict: CaseVerdict) -> int:
        return sum(case.verdict == verdict for case in self.cases)
