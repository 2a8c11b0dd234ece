"""The board's count beside the host's clock: on silicon both tell the same time, but for the line."""

from __future__ import annotations

from hil.trial.confirm.figures import HOST_CLOCK, Figures

BOARD_CLOCK = 0.01  # how wrong a board's clock may be: an RC oscillator is within a per cent
LINE_S = 0.05  # that a request and its reply take beside the steps: USB adapters collect bytes for 16 ms, and the host is a desktop
TELLS = 0.05  # of the time: with a larger uncertainty nothing is confirmed


class HostClock:
    """Runs of autonomous steps, summed: the longer they are together, the less the line matters.

    Args:
        figures: take what is found.
        clock_hz: of the board.
    """

    def __init__(self, figures: Figures, clock_hz: int) -> None:
        self._figures, self._clock_hz = figures, clock_hz
        self._counted_s = self._least_s = self._most_s = 0.0
        self._runs = 0

    def run(self, cycles: int, least_s: float, most_s: float) -> None:
        """Take one run.

        Args:
            cycles: that the agent has counted.
            least_s, most_s: that it took by the host's clock; one number unless a frame had to be sent again.
        """
        self._counted_s += cycles / self._clock_hz
        self._least_s += least_s
        self._most_s += most_s
        self._runs += 1
        clocks, line = BOARD_CLOCK * self._counted_s, LINE_S * self._runs
        if clocks + line + self._most_s - self._least_s <= TELLS * self._counted_s:
            self._figures.confirmed("cycles", HOST_CLOCK)
        if self._most_s < self._counted_s - clocks or self._least_s > self._counted_s + clocks + line:
            counted = f"the agent has counted {self._counted_s:.6g} s at {self._clock_hz:,} Hz"
            self._figures.refuse(
                "cycles_total",
                f"{counted}, the host's clock {self._most_s:.6g} s: they may be {clocks + line:.2g} s apart.",
            )
