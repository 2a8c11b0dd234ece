"""Intervals against published quantiles and against what they claim to cover."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.energy import monte_carlo
from hil.energy.uncertainty import (
    Contribution,
    combined,
    coverage_factor,
    effective_dof,
    least_variance,
    rectangular,
    student_coverage,
)


def test_contributions_are_combined_as_the_guide_says():
    parts = [Contribution("a", "A", 3.0, 5), Contribution("b", "B", 4.0), Contribution("c", "B", 9.0, counted=False)]
    assert combined(parts) == 5.0
    assert effective_dof(parts) == pytest.approx(5**4 / (3**4 / 5))
    assert effective_dof(parts[1:]) == math.inf


@pytest.mark.parametrize(
    ("dof", "t"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (5, 2.571),
        (10, 2.228),
        (16, 2.120),
        (30, 2.042),
        (100, 1.984),
        (1e9, 1.960),
    ],
)
def test_coverage_factors_are_those_of_the_guide_s_table(dof, t):
    """GUM, table G.2, column 95 %; and 2.120 of its example H.3."""
    assert coverage_factor(dof) == pytest.approx(t, abs=6e-4)


def test_student_s_distribution_by_brute_force():
    for dof in (1.0, 2.7, 5.0, 40.0):
        x = np.linspace(-2, 2, 200_001)
        density = (
            math.exp(math.lgamma((dof + 1) / 2) - math.lgamma(dof / 2))
            / math.sqrt(dof * math.pi)
            * (1 + x * x / dof) ** (-(dof + 1) / 2)
        )
        assert student_coverage(2.0, dof) == pytest.approx(
            np.sum(density[1:] + density[:-1]) / 2 * (x[1] - x[0]), abs=1e-8
        )


def test_one_rectangle_gives_its_middle_95_percent_and_the_guide_s_is_wider():
    parts = [Contribution("gain", "B", rectangular(1.0))]
    low, high = monte_carlo.interval(10.0, parts, 6)
    assert (low, high) == (pytest.approx(9.05, abs=0.005), pytest.approx(10.95, abs=0.005))
    assert 2 * coverage_factor(effective_dof(parts)) * combined(parts) / (high - low) == pytest.approx(1.19, abs=0.01)


def test_scatter_alone_gives_the_interval_of_student():
    parts = [Contribution("scatter", "A", 2.0, 5, "scatter")]
    low, high = monte_carlo.interval(0.0, parts, 6)
    assert high == pytest.approx(2.571 * 2, rel=0.01) and low == pytest.approx(-high, rel=0.02)


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_scatter_of_either_statistic_covers_what_it_claims(statistic):
    """4000 samples of five normal numbers; 95 % +- three standard errors."""
    rng = np.random.default_rng(7)
    samples = rng.normal(0, 3, (4000, 5))
    values = np.median(samples, axis=1) if statistic == "median" else np.mean(samples, axis=1)
    u = monte_carlo.efficiency(5, statistic)
    low, high = monte_carlo.interval(0.0, [Contribution("scatter", "A", u, 4, "scatter")], 5, statistic)
    s = np.std(samples, axis=1, ddof=1)
    assert np.mean((values + s * low <= 0) & (values + s * high >= 0)) == pytest.approx(0.95, abs=0.0105)


@pytest.mark.parametrize("windows", [2, 6, 12, 24])
def test_five_percent_of_samples_vary_less_than_the_least_variance(windows):
    """40,000 samples; three standard errors."""
    samples = np.random.default_rng(windows).standard_normal((40_000, windows))
    assert np.mean(np.var(samples, axis=1, ddof=1) < least_variance(windows)) == pytest.approx(0.05, abs=0.0033)


def test_the_median_of_five_scatters_as_its_density_says():
    """The median of five has the density 30 F^2 (1 - F)^2 f."""
    x = np.linspace(-8, 8, 20_001)
    below = np.array([(1 + math.erf(value / math.sqrt(2))) / 2 for value in x])
    density = 30 * (below * (1 - below)) ** 2 * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    variance = np.sum(x * x * density) * (x[1] - x[0])
    assert monte_carlo.efficiency(5, "median") ** 2 == pytest.approx(variance, rel=0.01)


@pytest.mark.parametrize(("windows", "known"), [(6, 0.1), (6, 0.5), (6, 1.0), (6, 3.0), (12, 0.5)])
def test_what_both_intervals_cover_where_scatter_meets_limits_of_error(windows, known):
    """By brute force: the mean of n normal windows, its standard deviation one, and two limits of error, `known` both together.

    Welch and Satterthwaite's formula is an approximation: of six windows and limits of half the scatter its interval covers 94.4 %. That of drawing
    covers 95 % or more. 200,000 samples, whose standard error is 0.05 %.
    """
    rng = np.random.default_rng(windows)
    limit, dof = known * math.sqrt(3 / 2), windows - 1
    scatter = np.sqrt(rng.chisquare(dof, 200_000) / dof)  # as the windows show it
    errors = np.abs(rng.standard_normal(scatter.size) + rng.uniform(-limit, limit, (2, scatter.size)).sum(axis=0))
    some = np.geomspace(scatter.min(), scatter.max(), 40)
    widths = np.array([_half_widths(one, dof, known) for one in some])
    gum, by_drawing = (np.mean(errors <= np.interp(scatter, some, column)) for column in widths.T)
    assert 0.942 < gum < 0.963 and 0.947 < by_drawing < 0.963, (gum, by_drawing)


def _half_widths(scatter, dof, known):
    limits = [Contribution(name, "B", known / math.sqrt(2)) for name in ("gain", "burden")]
    parts = [Contribution("scatter", "A", scatter, dof, "scatter"), *limits]
    low, high = monte_carlo.interval(0.0, parts, dof + 1, draws=20_000)
    return coverage_factor(effective_dof(parts)) * combined(parts), (high - low) / 2
