"""Lines that no board can reach: a list with a reason for each, which are counted separately (docs/report.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hil.bounded_read import SMALL_TEXT, read_toml
from hil.coverage.source_file import FileCoverage
from hil.errors import RigError

LIST = Path(__file__).with_name("excluded.toml")
REQUIRED, OPTIONAL = {"file", "text", "reason"}, {"function"}


@dataclass(frozen=True)
class Exclusion:
    """A line that no board can reach: the line of `file` with this text, in `function` if one is named."""

    file: str
    text: str
    reason: str
    function: str = ""

    def line_in(self, source: Sequence[str]) -> int:
        """Return the number of the line, from 1. Raises RigError unless exactly one line has the text."""
        first, end = 0, len(source)
        if self.function:
            head = re.compile(rf"\S.*\b{re.escape(self.function)}\(|{re.escape(self.function)}\(")
            heads = [number for number, text in enumerate(source) if head.match(text) and not text.endswith(";")]
            first = heads[0] if len(heads) == 1 else end
            end = next((number for number in range(first, end) if source[number] == "}"), end)
        found = [number for number in range(first, end) if source[number].strip() == self.text]
        if len(found) != 1:
            place = f"{self.function} of {self.file}" if self.function else self.file
            raise RigError(
                f"the excluded line `{self.text}` is {len(found) or 'no'} times in {place}: "
                "correct its entry in the list of excluded lines, or delete it."
            )
        return found[0] + 1


def read_exclusions(path: Path = LIST) -> list[Exclusion]:
    """Return the entries of a list. Raises RigError if it is damaged, or an entry gives no reason."""
    _, content = read_toml(path, SMALL_TEXT, "correct it")
    entries = content.get("excluded", [])
    for number, entry in enumerate(entries, start=1):
        is_table = isinstance(entry, dict) and all(isinstance(value, str) and value for value in entry.values())
        if not is_table or not REQUIRED <= entry.keys() <= REQUIRED | OPTIONAL:
            raise RigError(
                f"{path}: entry {number} needs file, text and reason, and may have function, each a text: correct it."
            )
    return [Exclusion(**entry) for entry in entries]


def without_excluded(
    files: Iterable[FileCoverage], exclusions: Sequence[Exclusion], sources: Mapping[str, Sequence[str]]
) -> tuple[list[FileCoverage], list[str]]:
    """Take the excluded lines out of the lines and branches of files; return also a sentence for each wrong entry.

    An entry is wrong if the line is not in the source any more, or was reached. Outcomes of branches that lead to an
    excluded line, or begin there, are excluded with it.
    """
    places: dict[str, dict[int, str]] = {}
    wrong = []
    for one in exclusions:
        if one.file in sources:
            try:
                places.setdefault(one.file, {})[one.line_in(sources[one.file])] = one.reason
            except RigError as error:
                wrong.append(str(error))
    kept = []
    for file in files:
        excluded = places.get(file.name, {})
        wrong += [
            f"line {line} of {file.name} is excluded, but was reached: delete its entry in the list of excluded lines."
            for line in excluded
            if file.lines.get(line)
        ]
        gone = {line: reason for line, reason in excluded.items() if file.lines.get(line) is False}
        kept.append(_without(file, gone) if gone else file)
    return kept, wrong


def _without(file: FileCoverage, gone: Mapping[int, str]) -> FileCoverage:
    targets = {f"{file.name}:{line}" for line in gone}
    branches = {
        line: {to: occurred for to, occurred in outcomes.items() if occurred or to not in targets}
        for line, outcomes in file.branches.items()
        if line not in gone
    }
    lines = {line: reached for line, reached in file.lines.items() if line not in gone}
    return replace(file, lines=lines, branches=branches, excluded=dict(gone))
