"""Compare the lengths of energy windows by the board's count and by the meter's edges, and find which is wrong."""

from __future__ import annotations

from hil.energy.capture import Capture
from hil.energy.edge_check import UNCHECKED
from hil.energy.edge_search import HOST
from hil.energy.phase_energy import Counted
from hil.energy.window import edges_of
from hil.meters.meter import InvalidWindow
from hil.training.trial.second_sources.counter import BOARD_CLOCK, TELLS
from hil.training.trial.second_sources.figures import METER, Figures

UNCOUNTED = 5_000  # cycles in a step that the agent does not count: about 600 on the virtual boards
# relative difference of the ratios of windows of different lengths if a clock is wrong; a wrong edge is off by a
# constant time
ALIKE = 0.01
FEWEST = 3  # windows of one length before another length is tried


class Lengths:
    """Compares the lengths of windows with what the board counted."""

    def __init__(self, figures: Figures, clock_hz: int) -> None:
        self._figures, self._clock_hz = figures, clock_hz
        # of successive windows that differed: steps, and length by the meter divided by length by the board
        self._ratios: list[tuple[int, float]] = []

    @property
    def another_length_needed(self) -> bool:
        """Whether windows of another length are needed to distinguish a wrong count from wrong edges."""
        return len(self._ratios) == FEWEST

    def compare(self, capture: Capture, counted: Counted | None, steps: int) -> None:
        """Compare one window.

        The tolerance is the uncertainty of the edges, the error of a board's clock, and the uncounted cycles.

        Raises:
            InvalidWindow: they differ; either may be wrong.
        """
        if counted is None or counted.total_s <= 0:
            return
        up, down = edges_of(capture)
        seen, edges = down.t_s - up.t_s, up.half_s + down.half_s
        if abs(seen - counted.total_s) > BOARD_CLOCK * counted.total_s + UNCOUNTED * steps / self._clock_hz + edges:
            if UNCHECKED not in capture.notes:
                self._ratios.append((steps, seen / counted.total_s))
            raise InvalidWindow(
                f"the edges are {seen:.6g} s apart by the meter, and the board counted {counted.total_s:.6g} s of "
                "steps between them"
            )
        self._ratios.clear()
        if capture.synchronisation != HOST and edges + BOARD_CLOCK * counted.total_s <= TELLS * counted.total_s:
            self._figures.confirmed("cycles", METER)

    def judge(self) -> None:
        """Judge the board's count: it is wrong if windows of two or more lengths differ by the same factor.

        Only windows whose power agrees with the marker are used.

        Raises:
            DeviceFault: the board's count is wrong.
        """
        ratios = [ratio for _, ratio in self._ratios]
        if len({steps for steps, _ in self._ratios}) < 2 or max(ratios) > (1 + ALIKE) * min(ratios):
            return
        factor = sum(ratios) / len(ratios)
        windows = f"{len(ratios)} windows of more than one length"
        self._figures.refuse(
            "cycles_total",
            f"for each second that the agent has counted the meter saw {factor:.4g} s between the edges of {windows}.",
        )
        self._figures.raise_if_wrong()
