"""Check the cost of a counter reading, as reported by the agent, against the intervals that include readings."""

from __future__ import annotations

from collections.abc import Sequence

from hil.training.trial.second_sources.figures import Figures

BOOKINGS = 101  # docs/link.md, `bookings`


def check_bookings(figures: Figures, cycles: Sequence[int]) -> bool:
    """Check number and values in the reply to `bookings`; return whether they are usable."""
    figures.reported("bookings")
    if len(cycles) != BOOKINGS:
        figures.refuse("bookings", f"the agent reports {len(cycles)} costs of a reading, but there must be {BOOKINGS}.")
    elif not min(cycles):
        figures.refuse(
            "bookings", "the agent reports that a reading of the counter took 0 cycles, but it takes at least 1."
        )
    return len(cycles) == BOOKINGS


def check_cost(figures: Figures, least: int, readings: int, cycles: int, of: str) -> None:
    """Check the least cost of a reading against the cycles of an interval (`of`) that includes some readings."""
    if readings * least > cycles:
        figures.refuse(
            "bookings",
            f"the agent reports that a reading of the counter takes {least:,} cycles at least, "
            f"and {of} with {readings:,} of them took {cycles:,}.",
        )
