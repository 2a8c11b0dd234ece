"""The board's cycle counter read through the probe, before and after a request: what the agent has counted meanwhile lies between."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from hil.boards import Board, Image
from hil.targets.probe import Probe
from hil.trial.confirm.figures import PROBE, Figures

CYCCNT, SYST_RVR, SYST_CVR = (
    0xE0001004,
    0xE000E014,
    0xE000E018,
)  # ARM DDI 0403E.e, C1.8.8, B3.3.4 and B3.3.5; SysTick is the same on ARMv6-M
SLEEP_TICK = "sleep_tick_handler"  # symbol of firmware/ports/sleep: SysTick, by the clock of the core, ends each millisecond of a sleep
WRAPS = "wraps"  # symbol of firmware/ports/ticks: rounds of SysTick
ROUND, TICKS = 1 << 32, 1 << 24
BESIDE = 50_000  # cycles that a request or its copy, its reply and what is between two phases take beside the steps; 14,000 to 24,000 on the virtual boards
BESIDE_SHARE = 0.01  # of the steps, besides: interrupts, and the many small pieces of a long step (0.1 % at most on the virtual boards)
APART_S = 0.01
T = TypeVar("T")


class ProbeCounter:
    """The counter that the agent counts by, as the probe reads it.

    It is of use where it stands still while the core sleeps: else the time on the line is in it. CYCCNT does on the virtual boards; on silicon it is tried out,
    for a debugger may keep the clocks on. SysTick is stopped by the firmware itself.

    Args:
        probe: reads memory while the chip runs.
        board: its catalogue entry.
        image: the ELF file that runs.
    """

    def __init__(self, probe: Probe, board: Board, image: Image) -> None:
        self._probe, self._dwt, self._wraps = probe, board.counter == "dwt", image.symbols.get(WRAPS)
        self._sleep_tick = SLEEP_TICK in image.symbols
        self.readable = self._dwt or (board.counter == "systick" and self._wraps is not None)
        self.stands_still = self.readable and self._stands_still()
        self.sleeps = (
            self._dwt and self.stands_still
        )  # SysTick counts on in a sleep of the firmware's that another timer ends

    def _stands_still(self) -> bool:
        before = self.read()
        time.sleep(APART_S)
        return self.read() == before

    def read(self) -> int:
        """Return the count, modulo 2^32."""
        if self._dwt:
            return self._word(CYCCNT)
        assert self._wraps is not None
        return (self._word(self._wraps) * TICKS + (-self._word(SYST_CVR)) % TICKS) % ROUND

    def cycles_a_tick(self) -> int | None:
        """Return the cycles after which SysTick ends a piece of a sleep; None where the firmware does not sleep by it."""
        return self._word(SYST_RVR) + 1 if self._sleep_tick else None

    def _word(self, address: int) -> int:
        return int.from_bytes(self._probe.read(address, 4), "little")

    def around(self, call: Callable[[], T]) -> tuple[T, int]:
        """Return what a call returns, and how far the counter went on meanwhile, modulo 2^32."""
        before = self.read()
        result = call()
        return result, (self.read() - before) % ROUND


def check_counted(figures: Figures, counted: int, gone_on: int, of: str, frames: int = 1) -> None:
    """Hold the cycles that the agent has counted against what its counter went on by.

    Args:
        figures: take what is found.
        counted: cycles_total.
        gone_on: by the probe, modulo 2^32: longer steps are told from shorter ones by what is left over.
        of: the step, for the sentence.
        frames: that the agent handled for it.
    """
    figures.confirmed("cycles", PROBE)
    beside = (gone_on - counted) % ROUND
    if beside > frames * BESIDE + BESIDE_SHARE * counted:
        seen = gone_on + (counted - gone_on + ROUND // 2) // ROUND * ROUND
        figures.refuse(
            "cycles_total",
            f"the agent reports {counted:,} {of}, and its counter, read through the probe, went on by {seen:,}.",
        )


def check_costs(figures: Figures, costs: list[int] | tuple[int, ...], gone_on: int) -> None:
    """Hold the costs of many readings against what the counter went on by while they were made."""
    figures.confirmed("bookings", PROBE)
    if sum(costs) > gone_on:
        took, went = (
            f"the agent reports {len(costs)} readings of the counter that took {sum(costs):,} cycles",
            f"went on by {gone_on:,}",
        )
        figures.refuse("bookings", f"{took}, and the counter, read through the probe, {went}.")
