"""The cells of a board in words, for the terminal and the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timezone

from hil.history.health import Health
from hil.history.under_way import UnderWay
from hil.report.lab.view import BoardLine, LabView

MINUTE_S = 60


def time_words(moment: datetime | None, now: datetime) -> str:
    """Return a time in UTC, without its day if that is the present one."""
    if moment is None:
        return "at an unknown time"
    utc = moment.astimezone(timezone.utc)
    same = utc.date() == now.astimezone(timezone.utc).date()
    return f"{utc:%H:%M} UTC" if same else f"{utc:%Y-%m-%d %H:%M} UTC"


def duration_words(seconds: float) -> str:
    """Return a duration such as `1 h 12 min`."""
    if not math.isfinite(seconds):
        return "not a number"
    if seconds < 2 * MINUTE_S:
        return f"{seconds:.0f} s"
    minutes = round(seconds / MINUTE_S)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60:,} h {minutes % 60} min"


def holder_words(line: BoardLine) -> str:
    """Return who holds a board."""
    if line.holder is None:
        return "not known here"
    return line.holder or "free"


def last_words(line: BoardLine, now: datetime) -> str:
    """Return the last verdict with its stage and time."""
    last = line.health.last
    if last is None:
        return "no trial yet"
    stage = f" at {last.stage}" if last.stage else ""
    return f"{last.verdict}{stage}, {time_words(last.at, now)}"


def failure_words(health: Health) -> str:
    """Return the bad trials of the last nights by stage."""
    if not health.trials:
        return "no trial yet"
    said = ", ".join(f"{count:,} {stage}" for stage, count in health.failures.items()) or "none"
    return f"{said} of {health.trials:,}"


def use_words(health: Health) -> str:
    """Return how long the trials of a board took together."""
    return duration_words(health.use_s) if health.use_s else "-"


def flash_words(health: Health) -> str:
    """Return how often a board was programmed, and since when it is counted."""
    if health.programmed_since is None:
        return "-"
    return f"{health.programmed:,} since {health.programmed_since.astimezone(timezone.utc):%Y-%m-%d}"


def queue_words(line: BoardLine) -> str:
    """Return who waits for a board."""
    return ", ".join(line.waiting) or "-"


def left_words(runs: Sequence[UnderWay], now: datetime) -> str:
    """Return the time left of each run that goes on, `-` without any; the list of runs has their names."""
    return "; ".join(run_left(run, now) for run in runs) or "-"


def run_left(run: UnderWay, now: datetime) -> str:
    """Return how long a run may still take."""
    if run.silent:
        return f"no news since {time_words(run.heard, now)}"
    tests = sum(run.left.values())
    if not tests:
        return "all tests ended"
    if run.left_s is None:
        return "not known: no test of it has an earlier night"
    if run.left_s <= 0:
        return "takes longer than on earlier nights"
    more = f", {run.unknown} of its tests are new" if run.unknown else ""
    return f"about {duration_words(run.left_s)}{more}"


def run_words(run: UnderWay, now: datetime) -> str:
    """Return a run that goes on in one line."""
    boards = ", ".join(name if name in run.attached else f"{name} (stand-in)" for name in run.left if name)
    total = run.ended + sum(run.left.values())
    on = f" on {boards}" if boards else ""
    bench = f"bench {run.bench}, " if run.bench else ""
    began = time_words(run.began, now)
    done = f"{run.ended} of {total} tests ended"
    return f"{run.run}{on}: {bench}began {began}, {done}; left: {run_left(run, now)}"


def quarantine_words(view: LabView) -> list[str]:
    """Return a sentence for each board in quarantine."""
    return [line.quarantine.sentence(line.key) for line in view.lines if line.quarantine is not None]


def provenance_words(view: LabView) -> str:
    """Return what the figures are, and where they are from."""
    return (
        f"Failures (of the last {view.nights} runs with the board), use and flash cycles are counted from the history; "
        "holder and queue are declared by locks and labgrid; the time left is modelled from earlier nights."
    )
