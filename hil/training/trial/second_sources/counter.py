"""Compare the cycles that the agent reports with its cycle counter, read through the probe, and with the host's clock.

On silicon the clocks differ only by the time on the line. Also the cost of a reading of the counter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from hil.boards import Board
from hil.dut import CoreProbe
from hil.images import Image
from hil.training.trial.second_sources.figures import HOST_CLOCK, PROBE, Figures

BOARD_CLOCK = 0.01  # largest relative error of a board's clock: an RC oscillator is within one per cent
LINE_S = 0.05  # for a request and its reply: USB adapters buffer bytes for 16 ms, and the host is not real-time
TELLS = 0.05  # relative uncertainty of the time above which nothing is confirmed
# ARM DDI 0403E.e, C1.8.8, B3.3.4 and B3.3.5; SysTick is the same on ARMv6-M
CYCCNT, SYST_RVR, SYST_CVR = 0xE0001004, 0xE000E014, 0xE000E018
# symbol of firmware/ports/sleep: SysTick, clocked by the core, ends each millisecond of a sleep
SLEEP_TICK = "sleep_tick_handler"
WRAPS = "wraps"  # symbol of firmware/ports/ticks: wraps of SysTick
ROUND, TICKS = 1 << 32, 1 << 24  # counts before CYCCNT and SysTick wrap
# cycles outside the steps: a request or its copy, its reply, code between phases; 14,000 to 24,000 on virtual boards
BESIDE = 50_000
# and as a share of the steps: interrupts, and the many small parts of a long step; at most 0.1 % on virtual boards
BESIDE_SHARE = 0.01
APART_S = 0.01  # between two readings of a counter that should be stopped
BOOKINGS = 101  # docs/link.md, `bookings`
T = TypeVar("T")


class ProbeCounter:
    """The agent's cycle counter, read through the probe.

    It is usable if it stops while the core sleeps; else it includes the time on the line. CYCCNT stops on
    the virtual boards; on silicon this is tested, since a debugger may keep the clocks on. The firmware stops SysTick.
    """

    def __init__(self, probe: CoreProbe, board: Board, image: Image) -> None:
        self._probe, self._dwt, self._wraps = probe, board.counter == "dwt", image.symbols.get(WRAPS, 0)
        self._sleep_tick = SLEEP_TICK in image.symbols
        self.readable = self._dwt or (board.counter == "systick" and WRAPS in image.symbols)
        self.stands_still = self.readable and self._stands_still()
        # SysTick continues during a sleep that another timer ends
        self.sleeps = self._dwt and self.stands_still

    def _stands_still(self) -> bool:
        before = self.read()
        time.sleep(APART_S)
        return self.read() == before

    def read(self) -> int:
        """Return the count, modulo 2^32."""
        if self._dwt:
            return self._word(CYCCNT)
        return (self._word(self._wraps) * TICKS + (-self._word(SYST_CVR)) % TICKS) % ROUND

    def cycles_a_tick(self) -> int | None:
        """Return the cycles of a SysTick period in a sleep; None if the firmware does not sleep by SysTick."""
        return self._word(SYST_RVR) + 1 if self._sleep_tick else None

    def _word(self, address: int) -> int:
        return int.from_bytes(self._probe.read(address, 4), "little")

    def around(self, call: Callable[[], T]) -> tuple[T, int]:
        """Return the result of a call, and the cycles that it took, modulo 2^32."""
        before = self.read()
        result = call()
        return result, (self.read() - before) % ROUND


def check_counted(figures: Figures, counted: int, gone_on: int, of: str, frames: int = 1) -> None:
    """Compare the cycles that the agent has `counted` with those by the probe, modulo 2^32; `of` names the step."""
    figures.confirmed("cycles", PROBE)
    beside = (gone_on - counted) % ROUND
    if beside > frames * BESIDE + BESIDE_SHARE * counted:
        seen = gone_on + (counted - gone_on + ROUND // 2) // ROUND * ROUND
        figures.refuse(
            "cycles_total",
            f"the agent reports {counted:,} {of}, and its counter, read through the probe, advanced by {seen:,}.",
        )


def check_costs(figures: Figures, costs: list[int] | tuple[int, ...], gone_on: int) -> None:
    """Compare the costs of many readings with the cycles that the probe has read meanwhile."""
    figures.confirmed("bookings", PROBE)
    if sum(costs) > gone_on:
        figures.refuse(
            "bookings",
            f"the agent reports {len(costs)} readings of the counter that took {sum(costs):,} cycles, "
            f"and the counter, read through the probe, advanced by {gone_on:,}.",
        )


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
