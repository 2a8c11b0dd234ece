"""Statistics over nights, from arrays and small data classes only (docs/history.md)."""

from hil.history.statistics.change_points import ChangePoint, Night, change_points
from hil.history.statistics.difference import FigureDifference, difference
from hil.history.statistics.flaky import Flakiness, Result, Share, flakiness, wilson
from hil.history.statistics.spread import FEWEST_NIGHTS, MOST_NIGHTS, median_of_last

__all__ = [
    "FEWEST_NIGHTS",
    "MOST_NIGHTS",
    "ChangePoint",
    "FigureDifference",
    "Flakiness",
    "Night",
    "Result",
    "Share",
    "change_points",
    "difference",
    "flakiness",
    "median_of_last",
    "wilson",
]
