"""`hil tail`: follow a running session from another shell: its boards, rate, loss, power and the time left.

It reads the folder of the run and nothing else, so it may run on another computer that has the folder too.
"""

from __future__ import annotations

import argparse
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hil.commands.measure_arguments import positive
from hil.commands.power import with_prefix
from hil.errors import RigError, printable
from hil.record.run_reader import NAME
from hil.record.run_writer import RUNNING
from hil.record.running import RunningSession, RunningTrial, read_session

REPORTS = Path("reports")
SILENT_S = 30.0  # without a sign of a trial, before the view says so


def newest_run(root: Path) -> Path:
    """Return the folder of the newest run, running or not.

    Raises:
        RigError: there is none.
    """
    runs = [path.parent for path in root.glob(f"*/{NAME}") if not path.parent.is_symlink()]
    if not runs:
        raise RigError(f"{root} holds no run: start one with `pytest --board=NAME`, or name its folder.")
    return max(runs, key=lambda folder: folder.name)


def picture(session: RunningSession, now: float) -> Group:
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


def _since(session: RunningSession, now: float) -> str:
    try:
        seconds = now - datetime.fromisoformat(session.begun).timestamp()
    except ValueError:
        return ""
    return f", {_time(seconds)} since its begin" if session.state == RUNNING else ""


def _cells(trial: RunningTrial, now: float) -> tuple[str, ...]:
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
