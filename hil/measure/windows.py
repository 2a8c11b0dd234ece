"""Measure one window of the user's own firmware: choose the range, read, and record the trace."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hil.energy.capture import Capture
from hil.energy.current_ranges import first_range, next_range, range_with_headroom
from hil.energy.marker_interval import IntervalSums, MarkerInterval
from hil.errors import Blocked, RigError
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.meters.window_edges import pieces
from hil.record.power_trace import TraceWriter

MOST_TRIES = 5  # spoiled windows before giving up
FEWEST = 4  # readings in a window: a shorter pulse may be bounce, and the uncertainty of its edges dominates
DEADLINE_S = 120.0  # for a user to start the firmware, plus twice the window
IDLE_S, IDLE_READINGS = 0.2, 40  # idle time, as in a trial


def take(meter: Meter, options: argparse.Namespace, folder: Path, host: Host) -> MarkerInterval:
    """Measure one good window, and write its trace to a folder; print the reason of each spoiled one.

    Without a given range it begins on the largest range, and measures again on the smallest one that has headroom
    above the largest reading. A window with readings at the end of its range is measured again on the next range. After
    a spoiled window the work may still continue. So the next window begins later by the length of a window; otherwise a
    falling pin could be taken for a rising one.

    Args:
        meter: an open meter.
        options: volt, range, interval, idle, window, deadline.
        folder: for `trace.parquet`.
        host: clock and sleep.

    Raises:
        RigError: the folder cannot be written.
        Blocked: the meter failed, or too many windows were spoiled.
    """
    used = meter.sheet.range_for(options.range) if options.range else first_range(meter.sheet)
    searching = not options.range
    deadline_s = options.deadline or DEADLINE_S + 2 * options.window
    idle_s = options.idle or max(IDLE_S, IDLE_READINGS * max(options.interval, 1 / meter.sheet.fastest_hz))
    about = {"name": meter.sheet.name, "identity": meter.identity, "data_sheet": meter.sheet.key}
    tries = MOST_TRIES + searching
    for _ in range(tries):
        meter.configure(Setting(options.volt, used.amperes, options.interval, idle_s, options.window))
        meter.arm()
        what = f"let the board sleep {idle_s:g} s, raise the pin, work, lower it, and sleep again"
        if meter.sheet.marker == "none":
            what = f"let the board sleep {idle_s:g} s, work, and sleep again, within {options.window + 2 * idle_s:g} s"
        print(
            f"{meter.sheet.name} ({meter.identity}) reads on its range of {used.amperes:g} A: {what}.", file=sys.stderr
        )
        try:
            taken = recorded(pieces(meter, deadline_s, idle_s), folder, about, FEWEST)
        except InvalidWindow as spoiled:
            print(f"discarded: {str(spoiled).rstrip('.')}.", file=sys.stderr)
            if spoiled.beyond_range:
                above = next_range(meter.sheet, used.amperes)
                if above is None:
                    raise Blocked(
                        "meter", f"{str(spoiled).rstrip('.')}; that is its largest range: measure with another meter."
                    ) from spoiled
                used, searching = above, False
            host.sleep(options.window)
            continue
        better = range_with_headroom(meter.sheet, taken.peak_a) if searching else used
        if better.amperes >= used.amperes:
            return taken
        print(
            f"at most {taken.peak_a:.3g} A were read: measuring again on the range of {better.amperes:g} A, "
            "which is more accurate.",
            file=sys.stderr,
        )
        used, searching = better, False
    raise Blocked("meter", f"none of {tries} windows is usable: see the reasons above.")


def recorded(window: Iterable[Capture], folder: Path, about: dict[str, Any], fewest: int = 0) -> MarkerInterval:
    """Write a window's trace while its pieces arrive, and return its sums. A window that fails leaves no trace.

    Args:
        window: pieces of the window.
        folder: for `trace.parquet`.
        about: facts about the meter, for the trace.
        fewest: least number of readings between the edges.

    Raises:
        RigError: the folder cannot be written.
        Blocked, InvalidWindow: raised by the pieces; or there are not two edges, or too few readings between them.
    """
    running = IntervalSums()
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TraceWriter(folder / "trace.parquet", about) as trace:
            for piece in window:
                about.update(range_a=piece.range_a, aperture_s=piece.aperture_s)
                trace.append(piece)
                running.add(piece)
            found = running.result()
            if found.readings < fewest:
                raise InvalidWindow(
                    f"the pin changed back after {found.duration_s:.3g} s, and only {found.readings} readings lie "
                    "between: check the pin for bounce, or choose a shorter --interval"
                )
    return found


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Raise RigError with the folder's name if writing to it fails."""
    try:
        yield
    except OSError as error:
        raise RigError(f"{folder} cannot be written ({error}): name another folder with --out.") from error
