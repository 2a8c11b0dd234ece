"""What a reading of the counter costs, by the agent: each one is part of what it ends, which cannot have been shorter."""

from __future__ import annotations

from collections.abc import Sequence

from hil.trial.confirm.figures import Figures

BOOKINGS = 101  # docs/link.md, `bookings`


def check_bookings(figures: Figures, cycles: Sequence[int]) -> bool:
    """Check number and values of the reply to `bookings`; return whether they can be used."""
    figures.reported("bookings")
    if len(cycles) != BOOKINGS:
        figures.refuse("bookings", f"the agent reports {len(cycles)} costs of a reading, and there must be {BOOKINGS}.")
    elif not min(cycles):
        figures.refuse(
            "bookings", "the agent reports that a reading of the counter took 0 cycles, and it takes 1 at least."
        )
    return len(cycles) == BOOKINGS


def check_cost(figures: Figures, least: int, readings: int, cycles: int, of: str) -> None:
    """Hold the least cost of a reading against something that so many readings were part of.

    Args:
        figures: take what is found.
        least: cycles of a reading, by the agent.
        readings: that ended pieces of it.
        cycles: that it took.
        of: what it is, for the sentence.
    """
    if readings * least > cycles:
        figures.refuse(
            "bookings",
            f"the agent reports that a reading of the counter takes {least:,} cycles at least, "
            f"and {of} with {readings:,} of them took {cycles:,}.",
        )
