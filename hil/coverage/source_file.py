"""The coverage of one source file, that of several boards together, and where the file is on this computer.

A line table names a file as the compiler did: it is there, or in the checkout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hil.bounded_read import read_file
from hil.errors import RigError
from hil.packaged import PACKAGE

FIRMWARE = PACKAGE.parent / "firmware"  # of a checkout; a wheel has no sources
LARGEST = 1 << 20  # bytes of a source file
NOTHING: Mapping[int, Mapping[str, bool]] = {}


@dataclass(frozen=True)
class FileCoverage:
    """The coverage of a source file.

    Attributes:
        name: of the file, as in the line tables.
        lines: the lines with code, by number, each with whether it was reached.
        branches: the outcomes of the conditional branches of each line, by where they go, with whether they occurred.
        excluded: lines that no board can reach, with the reason; they and outcomes that lead to them are not in the
            others.
    """

    name: str
    lines: Mapping[int, bool]
    branches: Mapping[int, Mapping[str, bool]] = field(default_factory=lambda: NOTHING)
    excluded: Mapping[int, str] = field(default_factory=dict)

    @property
    def reached(self) -> int:
        """Number of lines that were reached."""
        return sum(self.lines.values())

    @property
    def missed(self) -> list[int]:
        """Numbers of the lines that were never reached, ascending."""
        return sorted(line for line, reached in self.lines.items() if not reached)

    @property
    def outcomes(self) -> int:
        """Number of outcomes of all branches."""
        return sum(len(outcomes) for outcomes in self.branches.values())

    @property
    def occurred(self) -> int:
        """Number of outcomes that occurred."""
        return sum(sum(outcomes.values()) for outcomes in self.branches.values())


@dataclass(frozen=True)
class Totals:
    """Lines with code and outcomes of branches, and how many of them were reached, of several files."""

    lines: int
    reached: int
    outcomes: int
    occurred: int
    excluded: int

    @classmethod
    def of(cls, files: Iterable[FileCoverage]) -> Totals:
        """Add up the files."""
        all_files = list(files)
        return cls(
            sum(len(file.lines) for file in all_files), sum(file.reached for file in all_files),
            sum(file.outcomes for file in all_files), sum(file.occurred for file in all_files),
            sum(len(file.excluded) for file in all_files),
        )  # fmt: skip


def merged(parts: Iterable[FileCoverage]) -> list[FileCoverage]:
    """Return one entry a file by name: a line or an outcome is reached if it is in one of the parts."""
    lines: dict[str, dict[int, bool]] = {}
    branches: dict[str, dict[int, dict[str, bool]]] = {}
    for part in parts:
        of_file = lines.setdefault(part.name, {})
        for line, reached in part.lines.items():
            of_file[line] = of_file.get(line, False) or reached
        for line, outcomes in part.branches.items():
            of_line = branches.setdefault(part.name, {}).setdefault(line, {})
            for to, occurred in outcomes.items():
                of_line[to] = of_line.get(to, False) or occurred
    return [
        FileCoverage(name, dict(sorted(found.items())), dict(sorted(branches.get(name, {}).items())))
        for name, found in sorted(lines.items())
    ]


def percent(reached: int, lines: int) -> float | None:
    """Return the share in percent; None of nothing."""
    return 100 * reached / lines if lines else None


def ranges(lines: Iterable[int]) -> str:
    """Return ascending numbers in brief, such as `3, 7-9`."""
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def located(name: str) -> Path | None:
    """Return the path of a source file, None if it is not on this computer."""
    for path in (FIRMWARE / name, Path(name)):
        if path.is_file():
            return path
    return None


def texts_of(names: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of the source files that are on this computer, by name."""
    found = {}
    for name in sorted(set(names)):
        path = located(name)
        if path is not None:
            try:
                found[name] = read_file(path, LARGEST, "make it smaller")
            except RigError:
                continue  # a page shows its line numbers alone
    return found
