"""`hil history`: the quantities of all nights; `hil history rebuild` and `send` write the history."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from hil.arguments import output_file
from hil.commands.history_arguments import add_choice, add_place, choice, place
from hil.commands.listing import aligned
from hil.errors import RigError
from hil.history.address import Address
from hil.history.changes import Change, changes_of
from hil.history.overview import HEADLINES, QuantityLine, last_words, lines, step_words, value_words
from hil.history.queries import History
from hil.history.store import open_to_write
from hil.history.unsent import waiting

OF_SUBJECT = ("bench", "board", "reality", "network", "method", "variant", "data", "settings")
ALWAYS = ("board", "network", "method", "variant")  # columns that are shown even if all their cells are equal

EVERY = ("*",)  # quantities of the page
WIDEST, DIGEST = 32, 8  # characters of a name, and of a digest


def main(argv: list[str]) -> int:
    """List the history or write it; return the exit code."""
    options = _parser().parse_args(argv)
    address = place(options)
    if options.what == "rebuild":
        from hil.history.rebuild import rebuild  # late, as the next: a list of the history needs no record

        count = rebuild(address, options.reports)
        print(f"{address.shown}: {count.runs} runs, {count.trials} trials, {count.written} of them new or changed")
        return _tell(count.problems)
    if options.what == "send":
        from hil.history.send import send

        problems: list[str] = []
        with open_to_write(address, problems) as store:
            count = send(store, options.reports)
        print(f"{address.shown}: {count.runs} runs sent, {len(waiting(options.reports))} still wait")
        return _tell(problems + count.problems)
    notes = _send_waiting(address, options.reports)
    with History.open(address) as history:
        if options.page is not None:
            from hil.report.history_page import write_history_page  # late: a list needs no page

            chosen = choice(options, verdict=("pass",))
            series = history.series(history.names(options.quantity or EVERY), chosen)
            write_history_page(series, history.runs, options.page)
        _list(history, options, notes)
    return 0


def _tell(problems: Sequence[str]) -> int:
    for sentence in problems:
        print(f"hil: {sentence}", file=sys.stderr)
    return int(bool(problems))


def _send_waiting(address: Address, reports: Path) -> list[str]:
    """Send the runs that the history does not have, such as one that was killed; return what went wrong."""
    if not waiting(reports):
        return []
    from hil.history.send import send

    problems: list[str] = []
    try:
        with open_to_write(address, problems) as store:
            return problems + send(store, reports).problems
    except RigError as error:
        return [str(error)]


def _list(history: History, options: argparse.Namespace, notes: list[str]) -> None:
    chosen = choice(options, verdict=("pass",))
    series = history.series(history.names(options.quantity or HEADLINES), chosen)
    found, changes = lines(series, history.runs), changes_of(series, history.runs)
    nights = [history.runs[place] for place in history.nights(chosen).values()]
    good = history.last_good(choice(options))
    notes += [
        f"the clock was wrong when {run.name} began ({run.started or 'no time'}): it is placed after {run.after}."
        for run in nights
        if run.clock_was_wrong
    ]
    if options.json:
        rows = [line.to_json() for line in found]
        answer = {
            "runs": len(nights), "last_good": good.name if good else None, "notes": notes, "quantities": rows,
            "changes": [change.to_json() for change in changes],
        }  # fmt: skip
        print(json.dumps(answer, indent=1, allow_nan=False))
        return
    last_good = f"the last good one is {good.name}" if good else "none of them is good"
    print(f"{history.store.address.shown}: {len(nights)} runs; {last_good}")
    for note in notes:
        print(f"note: {note}")
    if found:
        print()
    for text in aligned(_table(found)) if found else ():
        print(text)
    if changes:
        print("\nchanges, the newest first:")
    for change in changes:
        print(_change(change))


def _table(found: Sequence[QuantityLine]) -> list[Sequence[str]]:
    """Return the cells, with a heading.

    A column whose cells are all equal is left out unless it is in ALWAYS, and the digest of the settings unless nothing
    else tells two lines apart.
    """
    columns = [
        name for name in OF_SUBJECT if name in ALWAYS or len({getattr(line.subject, name) for line in found}) > 1
    ]
    if len({(line.name, line.provenance, line.subject._replace(settings="")) for line in found}) == len(found):
        columns = [name for name in columns if name != "settings"]
    head = ("quantity", *columns, "last", "median before", "nights", "provenance")
    rows = [
        (
            line.name, *(_cell(line, name) for name in columns), last_words(line),
            value_words(line.median, line.unit) if line.median is not None else "-", str(line.nights), line.provenance,
        )
        for line in found
    ]  # fmt: skip
    return [head, *rows]


def _change(change: Change) -> str:
    """Return a step in words, such as `step_time_s of NAME: 0.1 s -> 0.102 s (+2.0 %) between RUN and RUN`."""
    names = " ".join(str(getattr(change.series.subject, name)) for name in ALWAYS)
    return f"{change.series.name} of {names} ({change.series.provenance}): {step_words(change)}"


def _cell(line: QuantityLine, name: str) -> str:
    return str(getattr(line.subject, name))[: DIGEST if name == "settings" else WIDEST]


def _parser() -> argparse.ArgumentParser:
    text = "The last value of each quantity beside the median of the nights before, of trials that passed."
    parser = argparse.ArgumentParser(prog="hil history", description=text)
    text = (
        "nothing: list the history; rebuild: make it again from the folders of the runs; send: send the runs that it "
        "could not be reached for"
    )
    parser.add_argument("what", nargs="?", choices=("rebuild", "send"), help=text)
    add_choice(parser)
    text = f"only quantities of this name or pattern, such as 'latency.*' (repeatable; default: {', '.join(HEADLINES)})"
    parser.add_argument("--quantity", action="append", default=[], metavar="PATTERN", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    text = "also write a page with every quantity over the nights to this file"
    parser.add_argument("--page", type=output_file, default=None, metavar="FILE", help=text)
    add_place(parser)
    return parser
