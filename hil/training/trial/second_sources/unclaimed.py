"""Check that the firmware writes no RAM that nothing in its image claims (docs/reported-figures.md)."""

from __future__ import annotations

from hil.dut import UnclaimedRam
from hil.training.trial.second_sources.figures import PROBE, Figures

FIGURE = "unclaimed_ram"


def check_unclaimed(figures: Figures, ram: UnclaimedRam | None) -> dict[int, int]:
    """Compare with the content before; name the first area that was written. Without a probe, `ram` is None.

    Returns:
        Bytes that were written by the address of each area, without areas that could not be compared.
    """
    figures.reported(FIGURE)
    areas = ram.compared() if ram is not None else []
    for area in areas:
        figures.confirmed(FIGURE, PROBE)
        if area.written:
            figures.refuse(
                FIGURE,
                f"the firmware wrote {area}, and nothing in the image claims them: place them in a section, so that "
                "they are counted (docs/memory.md).",
            )
    return {area.start: area.written for area in areas}
