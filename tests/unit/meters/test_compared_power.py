"""Power beside current times voltage: one comparison, for a plugin's capture and for a file."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.meters.reading_checks import compare_power


@pytest.mark.parametrize(("power", "apart"), [(3.0, 0.0), (3.3, 1 / 11), (2.7, 0.1), (-3.0, 2.0), (0.0, 1.0)])
def test_means_are_compared_by_the_larger_one(power: float, apart: float) -> None:
    means = compare_power(np.full(4, power), np.ones(4), np.full(4, 3.0))
    assert means is not None and math.isclose(means.apart, apart, abs_tol=1e-12)


def test_only_readings_with_all_three_count() -> None:
    power, current, volt = np.array([1.0, 9.0, 9.0]), np.array([1.0, np.nan, 1.0]), np.array([1.0, 1.0, np.nan])
    means = compare_power(power, current, volt)
    assert means is not None and (means.power_w, means.product_w) == (1.0, 1.0)
    assert compare_power(power[1:], current[1:], volt[1:]) is None
    nothing = compare_power(np.zeros(2), np.zeros(2), np.zeros(2))
    assert nothing is not None and nothing.apart == 0.0
