"""The page of a run's firmware coverage: every source file with its marks, and what was never reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from hil.coverage import Coverage, FileCoverage, Totals
from hil.coverage.source_file import percent, ranges

NAME = "coverage.html"
# The mark of a line, and what it means. The words stand on the page; the style sheet has a colour for each.
HIT, MISSED, PART, EXCLUDED, NO_CODE = "+", "!", "~", "x", " "
CLASSES = {HIT: "hit", MISSED: "missed", PART: "part", EXCLUDED: "excluded"}


@dataclass(frozen=True)
class FileView:
    """A source file on the page; without its text, `marked` is empty and `missed` has the numbers."""

    file: FileCoverage
    id: str
    shares: list[float | None]
    missed: str
    marked: Markup

    @property
    def share(self) -> float | None:
        """Share of the lines that were reached, in percent."""
        return percent(self.file.reached, len(self.file.lines))


def file_views(found: Coverage) -> list[FileView]:
    """Return the files, those with most lines that were never reached first."""
    by_board = [{file.name: file for file in board.files} for board in found.boards]
    order = sorted(found.files, key=lambda file: (-len(file.missed), file.occurred - file.outcomes, file.name))
    views = []
    for number, file in enumerate(order, start=1):
        shares = [_share(files[file.name]) if file.name in files else None for files in by_board]
        marked = _marked(file, found.sources.get(file.name, []))
        views.append(FileView(file, f"file{number}", shares, ranges(file.missed), marked))
    return views


def sentence(found: Coverage) -> str:
    """Return the coverage of a run in one sentence, without text from the record."""
    total = Totals.of(found.files)
    lines, branches = percent(total.reached, total.lines) or 0, percent(total.occurred, total.outcomes) or 0
    excluded = f"; excluded lines: {total.excluded:,}" if total.excluded else ""
    return (
        f"The trials on virtual boards reached {total.reached:,} of {total.lines:,} lines of the firmware "
        f"({lines:.1f} %) and {total.occurred:,} of {total.outcomes:,} outcomes of its branches ({branches:.1f} %)"
        f"{excluded}."
    )


def _share(file: FileCoverage) -> float | None:
    return percent(file.reached, len(file.lines))


def _marked(file: FileCoverage, source: Sequence[str]) -> Markup:
    """Return the lines as HTML. A template that looks at ten thousand lines takes longer than a short trial."""
    texts = source[:-1] if source and not source[-1] else source
    return Markup("".join(_line(file, number, text) for number, text in enumerate(texts, start=1)))


def _line(file: FileCoverage, number: int, text: str) -> str:
    mark, note = _mark(file, number)
    said = f"  <i>{escape(note)}</i>" if note else ""
    line = f"{number:5d} {mark} {escape(text)}{said}"
    return f'<span class="{CLASSES[mark]}">{line}</span>\n' if mark in CLASSES else f"{line}\n"


def _mark(file: FileCoverage, number: int) -> tuple[str, str]:
    """Return the mark of a line, and what is to be said of it."""
    if number in file.excluded:
        return EXCLUDED, f"excluded: {file.excluded[number]}"
    reached = file.lines.get(number)
    if reached is None:
        return NO_CODE, ""
    if not reached:
        return MISSED, ""
    never = [_place(to, file.name) for to, occurred in sorted(file.branches.get(number, {}).items()) if not occurred]
    return (PART, f"never to {', '.join(never)}") if never else (HIT, "")


def _place(to: str, file: str) -> str:
    """Return where a branch goes in words; a line of the same file is its number."""
    same = to.removeprefix(f"{file}:")
    return f"line {same}" if same != to else to
