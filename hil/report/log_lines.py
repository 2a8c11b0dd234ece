"""The lines of a trial's log that were written while a window was measured, on the time axis of its power."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from pathlib import Path

from hil.energy.capture import WindowRequest
from hil.report.run_files import is_own

LOG = Path("log") / "energy.log"
LINE = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d\d\d) (.+)")  # hil/training/trial/stages.py
DAY_S = 86_400
ROUNDED_S = 0.002  # the log has milliseconds
MOST_LINES, MOST_READ, WIDTH = 200, 100_000, 300


@dataclass(frozen=True)
class LogLine:
    """A line of the log; `t_s` in seconds from the first edge of the marker."""

    t_s: float
    text: str


def time_scale(request: WindowRequest, duration_s: float) -> float:
    """Return how many seconds of the host a second of the board takes, as the window shows.

    It is slightly above 1 on silicon. A stand-in has a time of its own, which runs slower or faster than the host's.
    """
    return (request.answered_s - request.asked_s) / (2 * request.idle_s + duration_s)


def log_lines(folder: Path, request: WindowRequest, duration_s: float) -> tuple[LogLine, ...]:
    """Return the lines between a request and its reply, in order.

    The request is placed where the sleep before the first edge begins, the reply where the sleep after the second edge
    ends, and every line in proportion.

    Args:
        folder: of the trial.
        request: of the window.
        duration_s: time between the two edges.
    """
    path, scale = folder / LOG, time_scale(request, duration_s)
    if not is_own(path, folder) or not 0 < scale < DAY_S:
        return ()
    found: list[LogLine] = []
    span = request.answered_s - request.asked_s
    with path.open(encoding="utf-8", errors="replace") as log:
        for text in itertools.islice(log, MOST_READ):
            line = LINE.match(text)
            if line is None or len(found) >= MOST_LINES:
                continue
            hours, minutes, seconds, milliseconds = map(int, line.groups()[:4])
            day_s = hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
            since = (day_s - request.asked_s - request.utc_offset_s + DAY_S / 2) % DAY_S - DAY_S / 2
            if -ROUNDED_S <= since <= span + ROUNDED_S:
                found.append(LogLine(since / scale - request.idle_s, line[5][:WIDTH]))
    return tuple(found)
