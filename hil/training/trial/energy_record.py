"""The entry `energy` of a trial's record: figures of the windows, and what follows from them for the trial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hil.energy import MLPERF_TINY
from hil.energy.mlperf_tiny import form
from hil.energy.step_energy import EnergyResult
from hil.quantity import share
from hil.training.trial.spec import TrialSpec

Evaluations = Sequence[dict[str, float | int | None]]
TIMES = ("net", "idle", "gross", "time")


def energy_json(result: EnergyResult, evaluations: Evaluations, spec: TrialSpec) -> dict[str, Any]:
    """Return the entry of windows, time of each step of the last one, and points of the accuracy curve."""
    found = result.to_json()
    to = to_accuracies(found["per"]["step"], evaluations, spec.first_step)
    entry = found | {
        "laps_s": list(result.task.laps_s),
        "to_accuracy": to,
        "goal": _goal(to, spec),
        "mlperf_tiny": None,
    }
    return (
        entry | {"mlperf_tiny": form(result)} if spec.energy is not None and spec.energy.rules == MLPERF_TINY else entry
    )


def to_accuracies(step: dict[str, Any], evaluations: Evaluations, first_step: int) -> list[dict[str, Any]]:
    """Return energy and time of the steps up to every point of the accuracy curve.

    They are the number of steps times the figures of one step. Sending samples to the board and the evaluations are not
    included. The uncertainty is that of a step's energy times the number of steps, because the same instrument measured
    all of them. The provenance is that of the energy. `step` has net, idle and gross energy and time of a step.
    """
    points = []
    for point in evaluations:
        steps, accuracy = int(point["step"] or 0) - first_step, float(point["board"] or 0.0)
        n = int(point["n"] or 0)
        figures = {}
        for name in TIMES:
            scaled = {key: step[name][key] for key in ("value", "uncertainty") if step[name][key] is not None}
            figures[name] = step[name] | {key: steps * value for key, value in scaled.items()}
        standard = share(accuracy, n).uncertainty if n else None
        points.append({"steps": steps, "accuracy": accuracy, "accuracy_uncertainty": standard, "n": n} | figures)
    return points


def _goal(points: list[dict[str, Any]], spec: TrialSpec) -> dict[str, Any] | None:
    """Return energy and time until the first evaluation with the requested accuracy; None if none was requested.

    The accuracy was reached after the evaluation before that one.
    """
    wanted = spec.energy.accuracy if spec.energy is not None else None
    if wanted is None:
        return None
    reached = next((number for number, point in enumerate(points) if point["accuracy"] >= wanted), None)
    if reached is None:
        best = max((point["accuracy"] for point in points), default=None)
        return {"accuracy": wanted, "reached": False, "best": best}
    before = points[reached - 1]["steps"] if reached else 0
    return {"accuracy": wanted, "reached": True, "not_yet_after": before} | {
        name: points[reached][name] for name in ("steps", *TIMES)
    }
