"""Energy and time to an accuracy: counted steps times what one takes, and what is said of an accuracy that was asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hil.training.trial.energy_record import energy_json, to_accuracies
from hil.training.trial.spec import EnergyWindows, TrialSpec

STEP = {name: {"value": value, "unit": unit, "uncertainty": u, "provenance": "measured"} for name, value, unit, u in (
    ("net", 0.01, "J", 1e-4), ("idle", 0.005, "J", 2e-4), ("gross", 0.015, "J", 2e-4), ("time", 0.05, "s", None),
)}  # fmt: skip
CURVE = [
    {"step": step, "board": board, "reference": board, "n": 100}
    for step, board in ((40, 0.1), (60, 0.5), (80, 0.45), (100, 0.7))
]


def entry(accuracy):
    result = SimpleNamespace(to_json=lambda: {"per": {"step": STEP}}, task=SimpleNamespace(laps_s=(0.05,)))
    spec = TrialSpec("stm32h7b3", "cls1", first_step=40, energy=EnergyWindows(accuracy=accuracy))
    return energy_json(result, CURVE, spec)


def test_a_point_of_the_curve_costs_its_steps_and_keeps_the_word():
    points = to_accuracies(STEP, CURVE, 40)
    assert [point["steps"] for point in points] == [0, 20, 40, 60], (
        "a continued training counts from where it began here"
    )
    assert points[1]["net"] == {
        "value": pytest.approx(0.2),
        "unit": "J",
        "uncertainty": pytest.approx(2e-3),
        "provenance": "measured",
    }
    assert (
        points[3]["gross"]["value"] == pytest.approx(0.9)
        and points[3]["time"]["value"] == pytest.approx(3.0)
        and points[3]["time"]["uncertainty"] is None
    )
    assert points[1]["accuracy_uncertainty"] == pytest.approx(0.05)


@pytest.mark.parametrize(("wanted", "steps", "before"), [(0.05, 0, 0), (0.4, 20, 0), (0.6, 60, 40)])
def test_a_goal_is_reached_at_the_first_evaluation_that_has_it(wanted, steps, before):
    goal = entry(wanted)["goal"]
    assert (goal["reached"], goal["steps"], goal["not_yet_after"]) == (True, steps, before)
    assert goal["net"]["value"] == pytest.approx(0.01 * steps) and goal["time"]["value"] == pytest.approx(0.05 * steps)


def test_a_goal_that_was_not_reached_and_none():
    assert entry(0.9)["goal"] == {"accuracy": 0.9, "reached": False, "best": 0.7}
    assert entry(None)["goal"] is None and entry(None)["mlperf_tiny"] is None and entry(None)["laps_s"] == [0.05]


def test_without_an_evaluation_there_is_no_point():
    assert to_accuracies(STEP, [], 0) == []
