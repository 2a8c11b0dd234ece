"""The exact tails of the rank sum test, against all orders of a few nights."""

from itertools import combinations
from math import comb

import pytest

from hil.history.statistics.rank_test import (
    FALSE_ALARMS_A_YEAR,
    MOST_BEFORE,
    NIGHTS_A_YEAR,
    WINDOWS,
    level,
    most_inversions,
)


def inversions_of_all_orders(before, window):
    """The inversions of each way in which `window` late nights can lie among all, lowest first."""
    counts = []
    for late in combinations(range(before + window), window):
        counts.append(sum(place - nth for nth, place in enumerate(late)))  # early nights below each late one
    return sorted(before * window - above for above in counts)


@pytest.mark.parametrize("at", [0.3, 0.05, 0.004])
@pytest.mark.parametrize("before", [1, 2, 5, 9])
def test_the_tail_is_that_of_all_orders(before, at):
    window = WINDOWS[0]
    orders = inversions_of_all_orders(before, window)
    allowed = [most for most in range(before * window + 1) if sum(one <= most for one in orders) <= at * len(orders)]
    assert most_inversions(at)[0, before] == (max(allowed) if allowed else -1)


def test_few_nights_never_are_rare_enough():
    for row, window in enumerate(WINDOWS):
        for before in (1, 5, 20, 60, MOST_BEFORE):
            rare = 1 / comb(before + window, window) <= level()
            assert (most_inversions(level())[row, before] >= 0) == rare, (window, before)


def test_the_tests_of_a_year_keep_their_bound_together():
    assert level() * 2 * len(WINDOWS) * NIGHTS_A_YEAR == pytest.approx(FALSE_ALARMS_A_YEAR)
    assert FALSE_ALARMS_A_YEAR * 100 <= 1, "one false alarm a year of a quantity over a hundred trials"
