"""Differences of figures, and the median of the last good nights."""

import numpy as np
import pytest

from hil.errors import RigError
from hil.history.statistics import FEWEST_NIGHTS, MOST_NIGHTS, difference, median_of_last
from hil.quantity import Quantity


def joule(value, uncertainty=None, word="measured"):
    return Quantity(value, "J", word, uncertainty)


def test_uncertainties_add_in_squares():
    found = difference(joule(2.0, 0.03), joule(2.5, 0.04))
    assert (found.quantity.value, found.quantity.uncertainty, found.relative) == (0.5, pytest.approx(0.05), 0.25)
    assert (found.low, found.high) == (pytest.approx(0.402), pytest.approx(0.598))
    assert found.sentence == "higher"


def test_an_interval_with_zero_says_so():
    assert difference(joule(2.0, 0.2), joule(2.1, 0.2)).sentence == "the interval includes 0: no difference is shown"
    assert difference(joule(2.0, 0.0), joule(2.0, 0.1)).sentence.startswith("the interval includes 0")


def test_counts_are_compared_exactly():
    assert difference(Quantity(7, "B", "counted"), Quantity(7, "B", "counted")).sentence == "equal"
    found = difference(Quantity(7, "B", "counted"), Quantity(5, "B", "counted"))
    assert (found.low, found.high, found.sentence) == (-2, -2, "lower")
    modelled = difference(Quantity(7, "cycle", "modelled"), Quantity(9, "cycle", "modelled"))
    assert modelled.sentence == "higher, uncertainty not evaluated"


@pytest.mark.parametrize(
    ("first", "second", "weaker"),
    [("measured", "modelled", "modelled"), ("counted", "measured", "measured"), ("declared", "modelled", "declared")],
)
def test_the_weaker_provenance_holds_for_the_difference(first, second, weaker):
    assert difference(joule(1, word=first), joule(2, word=second)).quantity.provenance.value == weaker
    assert difference(joule(1, word=second), joule(2, word=first)).quantity.provenance.value == weaker


def test_units_must_agree():
    with pytest.raises(RigError, match="one unit"):
        difference(joule(1), Quantity(1, "s", "measured"))


def test_nothing_over_zero():
    assert difference(joule(0.0), joule(2.0)).relative is None


def test_the_interval_covers():
    rng = np.random.default_rng(3)
    a, b = 5 + 0.3 * rng.standard_normal(2000), 4 + 0.4 * rng.standard_normal(2000)
    found = [difference(joule(x, 0.3), joule(y, 0.4)) for x, y in zip(a, b, strict=True)]
    assert 0.94 < np.mean([one.low <= -1 <= one.high for one in found]) < 0.96


def test_the_median_needs_five_nights_and_takes_fourteen():
    nights = [joule(float(n)) for n in range(40)]
    assert median_of_last(nights[: FEWEST_NIGHTS - 1]) is None
    assert median_of_last(nights[:FEWEST_NIGHTS]).value == 2
    assert median_of_last(nights).value == 40 - (MOST_NIGHTS + 1) / 2
    assert "14 good nights" in median_of_last(nights).note


def test_the_uncertainty_of_the_median_is_its_scatter():
    rng = np.random.default_rng(5)
    found = [median_of_last([joule(value, 0.9) for value in 3 + 0.2 * rng.standard_normal(14)]) for _ in range(1500)]
    scatter = np.std([one.value for one in found])
    assert np.mean([one.uncertainty for one in found]) == pytest.approx(scatter, rel=0.1)


def test_equal_nights_have_no_scatter_and_one_outlier_little():
    assert median_of_last([joule(4096)] * 10).uncertainty == 0
    found = median_of_last([joule(4096)] * 9 + [joule(9999)])
    assert found.value == 4096 and 0 < found.uncertainty < 300


def test_unlike_nights_have_no_median():
    with pytest.raises(RigError, match="one unit and provenance"):
        median_of_last([joule(1.0)] * 9 + [joule(1.0, word="modelled")])
