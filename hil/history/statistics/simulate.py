"""Simulated years of nights with planted steps: `python -m hil.history.statistics.simulate [--trials N]`.

A year has 365 nights and N trials (default 100), each with one quantity. The tables show false steps a year, the share
of planted steps that are found within five nights, and how often the commit range has the planted one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hil.arguments import positive_count
from hil.history.statistics.change_points import ChangePoint, Night, change_points
from hil.history.statistics.rank_test import NIGHTS_A_YEAR

TRIALS = 100
STEPS = (0.01, 0.02, 0.05)
NOISES = (0.0, 0.002, 0.004, 0.005, 0.006, 0.007, 0.008, 0.01)
IN_TIME = 5  # nights
FIRST, LAST = 60, 340  # nights on which a step is planted
SEED = 20

Noise = Callable[[np.random.Generator, int], np.ndarray]  # n numbers of standard deviation one, or with outliers


@dataclass(frozen=True)
class Year:
    """What the nights of a year of many trials gave.

    Attributes:
        trials: number of trials, each with one planted step unless `step` is 0.
        false_alarms: steps that were not planted, of all trials.
        delays: nights from a planted step to the night at which it was found, 1 for the same night.
        ranges: how many of the found steps have the planted one in their range of commits.
    """

    trials: int
    false_alarms: int
    delays: list[int]
    ranges: int

    @property
    def in_time(self) -> float:
        """Share of the planted steps that were found within five nights."""
        return sum(delay <= IN_TIME for delay in self.delays) / self.trials


def normal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw normal noise."""
    return rng.standard_normal(n)


def heavy(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw Student's t of three degrees of freedom, scaled to the quartiles of normal noise."""
    return rng.standard_t(3, n) * 0.882


def with_outliers(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw normal noise; one night in twenty has ten times as much."""
    return rng.standard_normal(n) * np.where(rng.random(n) < 0.05, 10.0, 1.0)


def one_sided(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw exponential noise: a night may be slow, and never faster than the fastest."""
    return rng.standard_exponential(n)


def correlated(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw normal noise of which each night keeps 0.3 of that of the night before: the bound does not hold for it."""
    fresh, noise = rng.standard_normal(n), np.zeros(n)
    for night in range(n):
        noise[night] = 0.3 * noise[night - 1] + np.sqrt(1 - 0.3**2) * fresh[night] if night else fresh[night]
    return noise


NOISE: dict[str, Noise] = {
    "normal": normal, "Student's t, 3 dof": heavy, "5 % outliers": with_outliers, "exponential": one_sided,
    "correlated, 0.3": correlated,
}  # fmt: skip


def year(trials: int, step: float, noise: float, draw: Noise = normal, missing: float = 0.05, seed: int = SEED) -> Year:
    """Simulate a year.

    Args:
        trials: number of series.
        step: relative size of the step that each has, up or down; 0 for none.
        noise: standard deviation of a night over the value; 0 for a count.
        draw: the noise.
        missing: share of nights that were blocked.
        seed: of all draws.
    """
    rng = np.random.default_rng(seed)
    false_alarms, ranges, delays = 0, 0, []
    for _ in range(trials):
        at = int(rng.integers(FIRST, LAST))
        values = 1 + noise * draw(rng, NIGHTS_A_YEAR)
        values[at:] += step * rng.choice([-1, 1])
        there = np.flatnonzero(rng.random(NIGHTS_A_YEAR) >= missing)
        first = int(there[np.searchsorted(there, at)])  # the first night that can show the step
        found = change_points([Night(str(night), str(night), float(values[night])) for night in there])
        right = next((one for one in found if step and int(one.found.name) >= first), None)
        false_alarms += len(found) - (right is not None)
        if right is not None:
            delays.append(int(np.searchsorted(there, int(right.found.name)) - np.searchsorted(there, first)) + 1)
            ranges += _holds(right, at)
    return Year(trials, false_alarms, delays, ranges)


def _holds(found: ChangePoint, at: int) -> bool:
    return int(found.last_before.name) < at <= int(found.first_after.name)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Simulate years of nights with planted steps.")
    text = f"trials in each row (default: {TRIALS})"
    parser.add_argument("--trials", type=positive_count, default=TRIALS, metavar="N", help=text)
    trials = parser.parse_args(argv).trials
    print(f"{trials} trials of {NIGHTS_A_YEAR} nights in each row, 5 % of the nights blocked\n")
    print("| noise of a night | false steps a year and trial | step | found within 5 nights | found | median delay "
          "| range has the commit |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for row, noise in enumerate(NOISES):  # each row has draws of its own
        still = year(trials, 0.0, noise, seed=SEED + 10 * row)
        for step in STEPS:
            _row(f"{100 * noise:.1f} % normal", still, step, year(trials, step, noise, seed=SEED + 10 * row + 1))
    for row, (name, draw) in enumerate(NOISE.items(), start=len(NOISES)):
        still = year(trials, 0.0, 0.005, draw, seed=SEED + 10 * row)
        _row(f"0.5 % {name}", still, 0.02, year(trials, 0.02, 0.005, draw, seed=SEED + 10 * row + 1))
    return 0


def _row(name: str, still: Year, step: float, found: Year) -> None:
    delay = f"{np.median(found.delays):.0f} nights" if found.delays else "-"
    right = f"{found.ranges / len(found.delays):.0%}" if found.delays else "-"
    false = f"{still.false_alarms / still.trials:.3f}"
    print(f"| {name} | {false} | {step:.0%} | {found.in_time:.0%} | {len(found.delays) / found.trials:.0%} | {delay} "
          f"| {right} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
