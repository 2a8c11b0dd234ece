"""The truth about the board's supply: a small model of the current that flows, which only the meter sees.

The figures are invented, of the order of the datasheet's (DS13195, typical current in Run and Sleep mode with SMPS). They make
the measuring chain testable; they say nothing about silicon.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

VOLTAGE_V = 3.3
BOARD_A = 0.020  # what the rest of the board draws
ACTIVE_A_PER_HZ = 0.090 / 280e6
SLEEP_A_PER_HZ = 0.030 / 280e6
STOPPED_A = 0.003  # core halted or in reset


@dataclass(frozen=True)
class Activity:
    """Virtual time in seconds since power-on, awake and asleep, the core clock in Hz, and what the core does now."""

    awake_s: float
    asleep_s: float
    clock_hz: int
    asleep: bool
    stopped: bool


class Supply:
    """Args:
        activity: returns the present Activity.
    """

    def __init__(self, activity: Callable[[], Activity]) -> None:
        self._activity = activity

    def observe(self) -> Activity:
        return self._activity()

    def mean_current(self, before: Activity, after: Activity) -> float:
        """Return the mean current in amperes over the virtual time between two observations.

        When no virtual time has passed (the core waits for its host, or is stopped), it is that of the present state.
        """
        if after.stopped:
            return BOARD_A + STOPPED_A
        awake, asleep = after.awake_s - before.awake_s, after.asleep_s - before.asleep_s
        if awake + asleep <= 0:
            awake, asleep = (0.0, 1.0) if after.asleep else (1.0, 0.0)
        share = awake / (awake + asleep)
        return BOARD_A + after.clock_hz * (ACTIVE_A_PER_HZ * share + SLEEP_A_PER_HZ * (1 - share))
