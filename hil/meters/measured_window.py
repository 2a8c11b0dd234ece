"""Measure one window of the user's own firmware: choose the range, read, and measure again what was spoiled."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any, Protocol

from hil.energy.capture import Capture
from hil.energy.current_ranges import first_range, next_range, range_with_headroom
from hil.energy.marker_interval import MarkerInterval
from hil.errors import Blocked
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.meters.window_edges import pieces

MOST_TRIES = 5  # spoiled windows before giving up
FEWEST = 4  # readings in a window: a shorter pulse may be bounce, and the uncertainty of its edges dominates
DEADLINE_S = 120.0  # for a user to start the firmware, plus twice the window
IDLE_S, IDLE_READINGS = 0.2, 40  # idle time, as in a trial


class WindowRecorder(Protocol):
    """What keeps the readings of a window while they arrive, and returns the sums between its edges."""

    def __call__(self, window: Iterable[Capture], about: dict[str, Any], fewest: int) -> MarkerInterval:
        """Return the sums of a window's pieces; `about` the meter, `fewest` readings between the edges.

        Raises:
            InvalidWindow: there are fewer readings.
        """
        ...


def take(meter: Meter, options: argparse.Namespace, record: WindowRecorder, host: Host) -> MarkerInterval:
    """Measure and record one good window; print the reason of each spoiled one.

    Without a given range it begins on the largest range, and measures again on the smallest one that has headroom
    above the largest reading. A window with readings at the end of its range is measured again on the next range. After
    a spoiled window the work may still continue. So the next window begins later by the length of a window; otherwise a
    falling pin could be taken for a rising one.

    Args:
        meter: an open meter.
        options: volt, range, interval, idle, window, deadline.
        record: is given the window (hil/record/interval_trace.py).
        host: clock and sleep.

    Raises:
        RigError: the recorder cannot write.
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
        what = (
            f"within {deadline_s:g} s let the board sleep {idle_s:g} s, raise the pin, work, lower it, and sleep again"
        )
        if meter.sheet.marker == "none":
            what = f"let the board sleep {idle_s:g} s, work, and sleep again, within {options.window + 2 * idle_s:g} s"
        print(
            f"{meter.sheet.name} ({meter.identity}) reads on its range of {used.amperes:g} A: {what}.", file=sys.stderr
        )
        try:
            taken = record(pieces(meter, deadline_s, idle_s), about, FEWEST)
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
