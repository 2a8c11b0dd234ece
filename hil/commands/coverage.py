"""`hil coverage`: which source lines of the firmware the trials of a run reached (docs/report.md)."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hil import __version__
from hil.arguments import different_files, output_file
from hil.commands.listing import aligned
from hil.coverage import Coverage, FileCoverage, Totals, read_coverage
from hil.coverage.exports import cobertura, lcov
from hil.coverage.source_file import percent, ranges
from hil.record import write_atomic
from hil.report.escapes import line

LATEST = Path("reports/latest")


def main(argv: list[str]) -> int:
    """Print the coverage of runs or trials."""
    text = "Show which source lines of the firmware the trials of a run reached, and which they never reached."
    parser = argparse.ArgumentParser(prog="hil coverage", description=text)
    text = "folder of a run or a trial; several are joined (default: reports/latest)"
    parser.add_argument("run", type=Path, nargs="*", metavar="RUN", help=text)
    text = "ELF file that the trials ran, of which the run does not hold the lines (repeatable)"
    parser.add_argument("--elf", type=Path, action="append", default=[], metavar="FILE", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    for option, what in (("page", "the sources with marks"), ("lcov", "lcov.info"), ("cobertura", "Cobertura's XML")):
        text = f"also write {what} to this file"
        parser.add_argument(f"--{option}", type=output_file, default=None, metavar="FILE", help=text)
    options = parser.parse_args(argv)
    different_files(parser, {f"--{option}": getattr(options, option) for option in ("page", "lcov", "cobertura")})
    runs = options.run or [LATEST]
    found = read_coverage(runs, options.elf)
    if options.lcov is not None:
        write_atomic(options.lcov, lcov(found.files))
    if options.cobertura is not None:
        write_atomic(options.cobertura, cobertura(found.files, __version__))
    if options.page is not None:
        from hil.report.page import coverage_html  # late: plotly loads slowly

        write_atomic(options.page, coverage_html(found, ", ".join(dict.fromkeys(run.resolve().name for run in runs))))
    if options.json:
        print(json.dumps(_as_json(found), indent=1))
    else:
        _show(found)
    return 0


def _show(found: Coverage) -> None:
    for board in found.boards:
        print(f"{board.board}: {board.trials} trials, {len(board.images)} images: {_counts(board.files)}")
    for reason, trials in found.without.items():
        print(f"no coverage: {trials:,} x the trial {reason}")
    for sentence in found.wrong:
        print(line(sentence))
    several = [board.board for board in found.boards] if len(found.boards) > 1 else []
    rows = [("file", "lines", "reached", "percent", *several, "branches", "occurred", "never reached")]
    by_board = [{file.name: file for file in board.files} for board in found.boards]
    for file in found.files:
        shares = [_share(files.get(file.name)) for files in by_board] if several else []
        counts = str(len(file.lines)), str(file.reached), _share(file)
        branches = str(file.outcomes), str(file.occurred)
        rows.append((line(file.name), *counts, *shares, *branches, ranges(file.missed)))
    print()
    for text in aligned(rows):
        print(text)
    print(f"\nall files: {_counts(found.files)}")


def _counts(files: list[FileCoverage]) -> str:
    total = Totals.of(files)
    lines, branches = percent(total.reached, total.lines) or 0, percent(total.occurred, total.outcomes) or 0
    parts = [
        f"{total.reached:,} of {total.lines:,} lines reached ({lines:.1f} %)",
        f"{total.occurred:,} of {total.outcomes:,} branch outcomes ({branches:.1f} %)",
    ]
    return ", ".join(parts + [f"{total.excluded:,} lines excluded"] * bool(total.excluded))


def _share(file: FileCoverage | None) -> str:
    return "-" if file is None else f"{percent(file.reached, len(file.lines)) or 0:.1f}"


def _as_json(found: Coverage) -> dict[str, Any]:
    return {
        "boards": [
            {"board": board.board, "trials": board.trials, "images": list(board.images), "files": _files(board.files)}
            for board in found.boards
        ],
        "without": [{"reason": reason, "trials": trials} for reason, trials in found.without.items()],
        "wrong_exclusions": found.wrong,
        "totals": asdict(Totals.of(found.files)),
        "files": _files(found.files),
    }


def _files(files: list[FileCoverage]) -> list[dict[str, Any]]:
    return [
        {
            "file": file.name,
            "lines": len(file.lines),
            "reached": file.reached,
            "percent": percent(file.reached, len(file.lines)),
            "missed": file.missed,
            "outcomes": file.outcomes,
            "occurred": file.occurred,
            "branches": [
                {"line": number, "to": to, "occurred": occurred}
                for number, outcomes in file.branches.items()
                for to, occurred in outcomes.items()
            ],
            "excluded": [{"line": number, "reason": reason} for number, reason in file.excluded.items()],
        }
        for file in files
    ]
