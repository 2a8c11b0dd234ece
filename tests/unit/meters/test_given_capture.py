"""Readings of a plugin's meter that are not what the interface says are named, and right ones are not."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import load_data_sheet
from hil.meters.given_capture import wrong_capture

SHEET = load_data_sheet("keithley-2450")
COUNT, INTERVAL_S = 400, 0.001


def capture(**changes: Any) -> Capture:
    current = np.full(COUNT, 0.01)
    given = Capture(
        np.arange(COUNT) * INTERVAL_S, 3.0 * current, current, np.full(COUNT, 3.0), 0.0, INTERVAL_S,
        (Edge(0.1, 1e-5, True), Edge(0.3, 1e-5, False)), SHEET.ranges[-1].amperes, 0,
    )  # fmt: skip
    return replace(given, **changes)


@pytest.mark.parametrize(
    "given",
    [
        capture(),
        capture(current_a=np.full(COUNT, np.nan), voltage_v=np.full(COUNT, np.nan)),
        capture(power_w=np.full(COUNT, 0.031)),  # a meter of power that is a little off its product
        capture(edges=()),  # a piece of a stream
    ],
)
def test_right_ones(given: Capture) -> None:
    assert wrong_capture(given, SHEET) == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "it is no Capture but NoneType"),
        (capture(t_s=np.arange(5.0)), "its power_w has 400 readings and its t_s 5"),
        (capture(t_s=np.zeros(0)), "its t_s has 0 readings"),
        (capture(power_w=[0.03] * COUNT), "its power_w is no array of floats with one axis"),
        (capture(power_w=np.array(["a"] * COUNT)), "its power_w is no array of floats"),
        (capture(current_a=np.full((COUNT, 1), 0.01)), "its current_a is no array of floats with one axis"),
        (capture(power_w=np.full(COUNT, np.nan)), "a value that is no finite number"),
        (capture(t_s=np.arange(COUNT)[::-1] * INTERVAL_S), "its t_s does not ascend"),
        (capture(edges=(Edge(math.nan, 1e-5, True),)), "has no finite time, or no half width of at least 0"),
        (capture(edges=(Edge(0.1, -1.0, True),)), "half_s=-1.0.* has no finite time, or no half width of at least 0"),
        (capture(range_a=77.0), "its range_a is 77 A, which the data sheet keithley-2450 does not have"),
        (capture(unseen_s=math.nan), "its unseen_s is nan"),
        (
            capture(power_w=np.full(COUNT, 30.0)),
            "its power has the mean 30 W, and its current times its voltage 0.03 W",
        ),
    ],
)
def test_wrong_ones(given: object, words: str) -> None:
    assert re.search(words, wrong_capture(given, SHEET))
