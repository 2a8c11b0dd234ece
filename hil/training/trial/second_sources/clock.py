"""Compare the board's cycle count with the host's clock; on silicon they differ only by the time on the line."""

from __future__ import annotations

from hil.training.trial.second_sources.figures import HOST_CLOCK, Figures

BOARD_CLOCK = 0.01  # largest relative error of a board's clock: an RC oscillator is within one per cent
LINE_S = 0.05  # for a request and its reply: USB adapters buffer bytes for 16 ms, and the host is not real-time
TELLS = 0.05  # relative uncertainty of the time above which nothing is confirmed


class HostClock:
    """Sums runs of autonomous steps: the longer they are, the less the time on the line matters.

    Behind a network a reply may be late by any time. So a time that is too long refutes nothing there. One that agrees
    confirms: else its delay would equal the error of the count.
    """

    def __init__(self, figures: Figures, clock_hz: int, networked: bool = False) -> None:
        self._figures, self._clock_hz, self._networked = figures, clock_hz, networked
        self._counted_s = self._least_s = self._most_s = 0.0
        self._runs = 0

    def run(self, cycles: int, least_s: float, most_s: float) -> None:
        """Add a run: the agent's cycles, and bounds of its duration, equal unless a frame was sent again."""
        counted_s = cycles / self._clock_hz
        self._counted_s += counted_s
        self._least_s += min(least_s, counted_s) if self._networked else least_s
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
