"""Exact tails of the rank sum test of Mann and Whitney, which hold for any distribution of the noise."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

MOST_BEFORE = 180  # nights before a window that it is compared with
WINDOWS = (4, 5, 7, 10, 15, 28)  # lengths of the newest stretch of nights
FALSE_ALARMS_A_YEAR = 0.01  # bound for each quantity of each trial: one a year over a hundred trials
NIGHTS_A_YEAR = 365
SIDES = 2  # a value may rise or fall


def level() -> float:
    """Return the probability of a single test at which it speaks, so that the tests of a year keep their bound."""
    return FALSE_ALARMS_A_YEAR / NIGHTS_A_YEAR / (SIDES * len(WINDOWS))


@lru_cache(maxsize=4)
def most_inversions(at: float) -> np.ndarray:
    """Return how many pairs may be the wrong way round, int64[windows, MOST_BEFORE + 1]; -1: no number is rare enough.

    Of n nights before and k after, all in random order, n k - U pairs are inverted: U counts the pairs in which the
    later night is higher (Mann and Whitney, "On a test of whether one of two random variables is stochastically larger
    than the other", Annals of Mathematical Statistics 18, 1947). Entry [w, n] is the largest number of inversions whose
    probability, with that of fewer, is at most `at` for the window WINDOWS[w].
    """
    found = np.full((len(WINDOWS), MOST_BEFORE + 1), -1)
    for window, before, density in _densities():
        rare = int(np.searchsorted(np.cumsum(density), at, side="right"))
        found[WINDOWS.index(window), before] = rare - 1
    return found


@lru_cache(maxsize=1)
def _densities() -> list[tuple[int, int, np.ndarray]]:
    """Return window k, nights before n, and the probability of 0 to n k inversions, by equation (1) of the paper.

    p[n, k](U) = n / (n + k) p[n - 1, k](U - k) + k / (n + k) p[n, k - 1](U), which holds for the inversions as it does
    for U.
    """
    found = []
    shorter = [np.ones(1)] * (MOST_BEFORE + 1)
    for k in range(1, max(WINDOWS) + 1):
        row = [np.ones(1)]
        for n in range(1, MOST_BEFORE + 1):
            density = np.zeros(n * k + 1)
            density[k:] = row[-1] * (n / (n + k))
            density[: n * (k - 1) + 1] += shorter[n] * (k / (n + k))
            row.append(density)
        shorter = row
        if k in WINDOWS:
            found += [(k, n, row[n]) for n in range(1, MOST_BEFORE + 1)]
    return found
