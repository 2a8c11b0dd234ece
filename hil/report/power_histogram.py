"""The histogram of power: for which share of the time each power was read."""

from __future__ import annotations

import numpy as np

from hil.energy.integration import cells
from hil.energy.window import PHASES
from hil.report.power import STEPS, Trace
from hil.report.style import BOARD, GREY, STACKED, Figure, axis, styled

BINS = 80
ASLEEP = "asleep"


def power_histogram(trace: Trace) -> Figure:
    """Draw the share of the time at each power, while the board trained and while it slept.

    A reading counts with the time for which it stands. There is at least one reading.
    """
    capture, phases = trace.capture(), trace.power["phase"]
    seconds = np.diff(cells(capture))
    edges = np.histogram_bin_edges(capture.power_w, BINS)
    middle, width = 1e3 * (edges[:-1] + edges[1:]) / 2, 1e3 * np.diff(edges)
    bars = []
    for name, colour, chosen in (
        (STEPS, BOARD, phases == STEPS),
        (ASLEEP, GREY, np.isin(phases, [PHASES[0], PHASES[2]])),
    ):
        share = np.histogram(capture.power_w[chosen], edges, weights=seconds[chosen])[0] / seconds.sum()
        bars.append({
            "type": "bar", "x": middle, "y": 100 * share, "width": width, "name": name, "marker": {"color": colour}
        })  # fmt: skip
    return styled(bars, 240, "mW", axis("% of the time"), bargap=0, **STACKED)
