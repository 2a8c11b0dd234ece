"""How long windows of steps took, by the board's count and by the edges that the meter saw: who is wrong where they differ."""

from __future__ import annotations

from hil.measure.capture import Capture
from hil.measure.edge_check import UNCHECKED
from hil.measure.phases import Counted
from hil.measure.synchronise import HOST
from hil.measure.window import edges_of
from hil.meters.meter import Spoiled
from hil.trial.confirm.clock import BOARD_CLOCK, TELLS
from hil.trial.confirm.figures import METER, Figures

UNCOUNTED = 5_000  # cycles a step that the agent does not count: some 600 between the phases and the laps, on the virtual boards
ALIKE = 0.01  # by how much ratios of windows of several lengths may differ where a clock is wrong: an edge that is wrong is so by a time
FEWEST = 3  # windows of one length before another is tried


class Lengths:
    """Compares windows.

    Args:
        figures: take what is found.
        clock_hz: of the board; 0 where it has no counter.
    """

    def __init__(self, figures: Figures, clock_hz: int) -> None:
        self._figures, self._clock_hz = figures, clock_hz
        self._ratios: list[
            tuple[int, float]
        ] = []  # of windows one after the other that differed: steps, meter over board

    @property
    def want_another(self) -> bool:
        """Whether windows of another length would tell a wrong count from wrong edges."""
        return len(self._ratios) == FEWEST

    def compare(self, capture: Capture, counted: Counted | None, steps: int) -> None:
        """Compare one window.

        The bound is what is known: the edges' uncertainty, how wrong a board's clock may be, and what a firmware does between the phases that it counts.

        Raises:
            Spoiled: they differ; either may be wrong.
        """
        if counted is None or counted.total_s <= 0:
            return
        up, down = edges_of(capture)
        seen, edges = down.t_s - up.t_s, up.half_s + down.half_s
        if abs(seen - counted.total_s) > BOARD_CLOCK * counted.total_s + UNCOUNTED * steps / self._clock_hz + edges:
            if UNCHECKED not in capture.notes:
                self._ratios.append((steps, seen / counted.total_s))
            raise Spoiled(
                f"the edges are {seen:.6g} s apart by the meter, and the board counted {counted.total_s:.6g} s of "
                "steps between them"
            )
        self._ratios.clear()
        if capture.synchronisation != HOST and edges + BOARD_CLOCK * counted.total_s <= TELLS * counted.total_s:
            self._figures.confirmed("cycles", METER)

    def judge(self) -> None:
        """Say whose count is wrong: the board's, where windows of two lengths at least differ by the same factor, and the power agrees with the marker.

        Raises:
            DeviceFault: it is.
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
        self._figures.insist()
