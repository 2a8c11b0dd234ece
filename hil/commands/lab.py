"""`hil lab`: the boards of a lab, of all computers that share its history; quarantine of boards that fail as a rig."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from hil.arguments import output_file, positive_count
from hil.commands.history_arguments import add_place
from hil.errors import RigError, close_matches, printable
from hil.history.address import Address, address_of
from hil.history.failures import NoTables
from hil.history.health import NIGHTS, BoardKey, health
from hil.history.quarantine import put, quarantines, release, shown_name
from hil.history.queries import History
from hil.history.rows import name_of
from hil.history.store import Store
from hil.history.under_way import UnderWay
from hil.record.running import read_session
from hil.report.lab import LabView, lab_view, words, write_lab_page
from hil.report.lab.view import with_waiting
from hil.rig.holders import seats_of
from hil.rig_toml import Bench, read_bench

WAITS_S = 3.0  # at the stage `bench`, before a run counts as waiting for its board
BENCH_STAGE = "bench"
WIDTH = 200  # of a table that goes into a file


def main(argv: list[str]) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(argv)
    bench = read_bench(options.rig)
    address = address_of(bench.history.url, options.reports)
    if options.what is not None:
        return _change(options, bench, address)
    view = _view(bench, address, options.nights)
    if options.page is not None:
        write_lab_page(view, options.page)
    if options.json:
        print(json.dumps(view.to_json(), indent=1, allow_nan=False))
    else:
        _show(view)
    return 0


def _view(bench: Bench, address: Address, nights: int) -> LabView:
    """Return the lab, with a sentence for each part of it that could not be asked."""
    seats, notes = seats_of(bench)
    now = datetime.now(timezone.utc)
    own = name_of(bench.history.bench)
    try:
        with History.open(address) as history:
            view = lab_view(history, own, seats, now, nights, notes)
    except RigError as error:
        return lab_view(None, own, seats, now, nights, [*notes, str(error)])
    return with_waiting(view, _waiting_here(view, own))


def _waiting_here(view: LabView, bench: str) -> dict[BoardKey, list[str]]:
    """Return the runs of this computer that wait for a board, from the folders that it has."""
    found: dict[BoardKey, list[str]] = {}
    for run in view.runs:
        if run.silent or run.path is None or not Path(run.path).is_dir() or run.bench != bench:
            continue
        for board in _waits_for(run):
            for line in view.lines:
                if line.named and line.board == board:
                    found.setdefault(line.key, []).append(f"run {run.run}")
    return found


def _waits_for(run: UnderWay) -> set[str]:
    """Return the attached boards that trials of a run wait for; it says so by the stage at which they stay."""
    try:
        trials = read_session(Path(run.path or "")).trials
    except (RigError, OSError):  # it ends just now
        return set()
    at = time.time() - WAITS_S
    waits = {
        trial.board for trial in trials
        if trial.progress is not None and trial.progress.stage == BENCH_STAGE and trial.progress.at < at
    }  # fmt: skip
    return waits & set(run.attached)


def _show(view: LabView) -> None:
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False, soft_wrap=False)
    if view.lines:
        console.print(_table(view))
    else:
        print("no board: rig.toml names none, and no run used an attached one. Stand-ins are not listed.")
    for sentence in words.quarantine_words(view):
        print(f"quarantine: {sentence}")
    if view.runs:
        print("\nruns under way:")
    for run in view.runs:
        print(printable(words.run_words(run, view.now)))
    for note in view.notes:
        print(f"note: {note}")
    if view.lines:
        print(f"\n{words.provenance_words(view)}")


def _table(view: LabView) -> Table:
    """Return a row for each board; a column whose cells are all empty is left out."""
    columns: dict[str, list[str]] = {
        "bench": [line.bench for line in view.lines],
        "board": [line.board for line in view.lines],
        "board ID": [line.place for line in view.lines],
        "state": ["QUARANTINE" if line.quarantine is not None else "" for line in view.lines],
        "holder": [words.holder_words(line) for line in view.lines],
        "last verdict": [words.last_words(line, view.now) for line in view.lines],
        f"bad in {view.nights} runs": [words.failure_words(line.health) for line in view.lines],
        "use": [words.use_words(line.health) for line in view.lines],
        "flash cycles": [words.flash_words(line.health) for line in view.lines],
        "queue": [words.queue_words(line) for line in view.lines],
        "left": [words.left_words(line.runs, view.now) for line in view.lines],
    }
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    shown = {title: cells for title, cells in columns.items() if any(cells)}
    for title in shown:
        table.add_column(title, overflow="fold")
    for row in zip(*shown.values(), strict=True):
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _change(options: argparse.Namespace, bench: Bench, address: Address) -> int:
    """Put a board in quarantine, or release it."""
    if options.name is None:
        raise RigError(f"hil lab {options.what} needs the name of a board, its ID or its labgrid place: see `hil lab`.")
    if (not options.why) == (options.what == "quarantine"):
        cure = "leave --why out" if options.why else "say why"
        raise RigError(f'hil lab {options.what} NAME: {cure} (`hil lab quarantine NAME --why "its cable is broken"`).')
    key = _key(options, bench, _known(address))
    if address.is_file:
        address.path.parent.mkdir(parents=True, exist_ok=True)  # a bench that has no run yet
    with Store(address) as store, store.transaction() as writer:
        if options.what == "release":
            done = release(writer, key)
        else:
            put(writer, key, options.why, datetime.now(timezone.utc))
            done = True
    name = key.place or key.board
    if options.what == "release":
        print(f"{name} is released: its trials run again." if done else f"{name} is not in quarantine.")
    else:
        print(f"{name} is in quarantine: its trials are blocked until `hil lab release {shown_name(key)}`.")
    return 0


def _known(address: Address) -> set[BoardKey]:
    """Return the boards of the history; none if there is no history yet."""
    try:
        with History.open(address) as history:
            return {*health(history), *quarantines(history)}
    except NoTables:
        return set()


def _key(options: argparse.Namespace, bench: Bench, known: set[BoardKey]) -> BoardKey:
    """Return the board with a name: its id in rig.toml, its labgrid place, or the name of a board of a bench.

    Raises:
        RigError: there is none, or there are several.
    """
    name = name_of(options.name)
    of = name_of(bench.history.bench if options.bench is None else options.bench)
    if options.bench is None:
        known = known | {BoardKey("" if seat.place else of, seat.board, seat.place) for seat in seats_of(bench)[0]}
    found = [key for key in known if key.place == name or (not key.place and (key.bench, key.board) == (of, name))]
    found = found or [key for key in known if key.place and key.board == name]
    if not found:
        at = f" of the bench {of!r}" if of else ""
        names = {key.place or key.board for key in known if key.place or key.bench == of}
        cure = close_matches(name, names) if names else "there is no board yet."
        raise RigError(f"no board{at}, board ID or labgrid place is called {name!r}: {cure}")
    if len(found) > 1:
        places = ", ".join(sorted(key.place for key in found))
        raise RigError(f"there are several boards {name}: name one of them by its board ID ({places}).")
    return found[0]


def _parser() -> argparse.ArgumentParser:
    text = "The boards of a lab, of all computers that share its history: who has each, how it fares, what is left."
    parser = argparse.ArgumentParser(prog="hil lab", description=text)
    text = (
        "nothing: show the lab; quarantine: block the trials of a board until it is released; release: let it run "
        "trials again"
    )
    parser.add_argument("what", nargs="?", choices=("quarantine", "release"), help=text)
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="board of the bench, its id in rig.toml, or its labgrid place"
    )
    parser.add_argument("--why", metavar="TEXT", help="why it is in quarantine: blocked trials say so")
    text = "bench of the board, if it is not that of rig.toml"
    parser.add_argument("--bench", metavar="NAME", default=None, help=text)
    text = f"count failures in the last N runs with a board (default: {NIGHTS})"
    parser.add_argument("--nights", type=positive_count, default=NIGHTS, metavar="N", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    text = "also write a page to this file"
    parser.add_argument("--page", type=output_file, default=None, metavar="FILE", help=text)
    add_place(parser)
    return parser
