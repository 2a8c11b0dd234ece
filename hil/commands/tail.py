"""`hil tail`: follow a running session from another shell: its boards, rate, loss, power and the time left.

It reads the folder of the run and nothing else, so it may run on another computer that has the folder too.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hil.bounded_read import read_json, read_text
from hil.commands.measure_arguments import positive
from hil.commands.power import with_prefix
from hil.errors import RigError, printable
from hil.record.progress import Progress, read_progress
from hil.record.run_reader import LARGEST, LARGEST_LATEST, NAME
from hil.record.run_writer import RUNNING
from hil.record.safe_paths import PLAIN_NAME, RERUN
from hil.record.trial_writer import BEGUN
from hil.record.trial_writer import LARGEST as LARGEST_TRIAL

REPORTS = Path("reports")
SILENT_S = 30.0  # without a sign of a trial, before the view says so


@dataclass(frozen=True)
class Trial:
    """A trial that is running, and its progress if it has told any."""

    board: str
    what: str
    reality: str
    progress: Progress | None


@dataclass(frozen=True)
class Session:
    """A session as its folder shows it.

    Attributes:
        run: its id.
        state: `running`, `ended` or `interrupted`.
        begun: time of its begin.
        tests: number of all tests, and of those by verdict that have ended.
        trials: those that are running.
    """

    run: str
    state: str
    begun: str
    tests: int
    verdicts: dict[str, int]
    trials: list[Trial]


def newest_run(root: Path) -> Path:
    """Return the folder of the newest run, running or not.

    Raises:
        RigError: there is none.
    """
    runs = [path.parent for path in root.glob(f"*/{NAME}") if not path.parent.is_symlink()]
    if not runs:
        raise RigError(f"{root} holds no run: start one with `pytest --board=NAME`, or name its folder.")
    return max(runs, key=lambda folder: folder.name)


def read_session(folder: Path) -> Session:
    """Read the present state of a session.

    Args:
        folder: of the run, or `latest` as a text file beside it.

    Raises:
        RigError: it holds no run, or a file is damaged.
    """
    if folder.is_file():
        name = read_text(folder, LARGEST_LATEST, "name the folder of a run").strip()
        if not PLAIN_NAME.fullmatch(name):
            raise RigError(f"{folder} names no run: name the folder of one.")
        folder = folder.parent / name
    if not (folder / NAME).is_file():
        raise RigError(f"{folder} holds no {NAME}: name the folder of a run, such as those in {REPORTS}.")
    results = read_json(folder / NAME, LARGEST, RERUN)
    try:
        run, tests = results["run"], results["tests"]
        verdicts: dict[str, int] = {}
        for test in tests:
            if test["outcome"] is not None:
                verdicts[str(test["verdict"])] = verdicts.get(str(test["verdict"]), 0) + 1
        facts = str(run["id"]), str(run["state"]), str(run["time"])
    except (KeyError, TypeError) as error:
        raise RigError(f"{folder / NAME} is damaged ({type(error).__name__}: {error}): {RERUN}.") from error
    return Session(*facts, len(tests), verdicts, _trials(folder) if facts[1] == RUNNING else [])


def _trials(folder: Path) -> list[Trial]:
    found = []
    for path in sorted(folder.glob(f"*/{BEGUN}")):
        if path.is_symlink() or path.parent.is_symlink():
            continue
        try:
            begun: Any = read_json(path, LARGEST_TRIAL, RERUN)
        except RigError:
            if path.exists():
                raise
            continue  # the trial has just ended
        if not isinstance(begun, dict):
            raise RigError(f"{path} is damaged (it is not the record of a trial): {RERUN}.")
        what = " ".join(str(begun.get(name, "")) for name in ("network", "method", "variant"))
        board, reality = str(begun.get("board", "")), str(begun.get("reality") or "")
        found.append(Trial(board, what, reality, read_progress(path.parent)))
    return found


def picture(session: Session, now: float) -> Group:
    """Return the view of a session at a UNIX time."""
    ended = sum(session.verdicts.values())
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in session.verdicts.items())
    head = f"run {session.run}: {session.state}, {ended} of {session.tests} tests ended"
    lines: list[Any] = [Text(printable(head + (f" ({verdicts})" if verdicts else "") + _since(session, now)))]
    if session.trials:
        table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("board")
        table.add_column("trial")
        table.add_column("stage")
        for title in ("steps", "rate", "loss", "power", "left", "last sign"):
            table.add_column(title, justify="right")
        for trial in session.trials:
            table.add_row(*(Text(printable(cell)) for cell in _cells(trial, now)))
        lines.append(table)
    return Group(*lines)


def _since(session: Session, now: float) -> str:
    try:
        seconds = now - datetime.fromisoformat(session.begun).timestamp()
    except ValueError:
        return ""
    return f", {_time(seconds)} since its begin" if session.state == RUNNING else ""


def _cells(trial: Trial, now: float) -> tuple[str, ...]:
    board = f"{trial.board} ({trial.reality})" if trial.reality else trial.board
    state = trial.progress
    if state is None:
        return board, trial.what, "begins", *["-"] * 6
    silent = now - state.at
    return (
        board, trial.what, state.stage, f"{state.done:,} of {state.of:,}" if state.of else "-",
        "-" if state.rate is None else f"{state.rate:.3g}/s", "-" if state.loss is None else f"{state.loss:.4g}",
        "-" if state.power_w is None else with_prefix(state.power_w, "W"),
        "-" if state.left_s is None else _time(state.left_s),
        f"{_time(silent)} ago" if silent >= SILENT_S else "now",
    )  # fmt: skip


def _time(seconds: float) -> str:
    return str(timedelta(seconds=max(0, round(seconds))))


def main(argv: list[str]) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="hil tail", description="Follow a running session: boards, rate, loss, power, and the time left."
    )
    text = f"folder of the run (default: the newest in {REPORTS})"
    parser.add_argument("run", type=Path, nargs="?", help=text)
    parser.add_argument("--once", action="store_true", help="print the present state and end")
    text = "time between two looks (default: 1)"
    parser.add_argument("--interval", type=positive, default=1.0, metavar="SECONDS", help=text)
    options = parser.parse_args(argv)
    folder, console = options.run or newest_run(REPORTS), Console()
    session = read_session(folder)
    if options.once:
        console.print(picture(session, time.time()))
        return 0
    with Live(picture(session, time.time()), console=console, auto_refresh=False) as live:
        while session.state == RUNNING:
            time.sleep(options.interval)
            session = read_session(folder)
            live.update(picture(session, time.time()), refresh=True)
    return 0
