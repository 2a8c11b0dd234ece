"""Energy of a trial: every figure that follows from the windows, the budget of uncertainty and the accuracy curve."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hil.quantity import share
from hil.record.checks.entries import close, different
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.contradiction import Contradiction, differ

NET, IDLE, GROSS = "net", "idle", "gross"
BURDENS = {
    NET: ("burden",),
    IDLE: ("idle_burden",),
    GROSS: ("burden", "idle_burden"),
}  # hil/energy/step_budget.py
MEANS = {"idle_power": "W", "active_power": "W", "duration": "s", "charge": "C", "voltage": "V"}
ROUNDED_FACTOR = 5e-4 + 1e-9  # of the coverage factor, which the record has with three digits
Figures = Mapping[str, Any]


def check_energy(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The energy of a step is that of the windows, and its uncertainty that of the budget (docs/energy.md)."""
    energy, file = trial.record.energy, trial.source
    if energy is None:
        return
    for field, here, place, there in _values(energy, trial.record.batch):
        if not close(here, there):
            yield differ(file, f"energy.{field}", here, f"{file} (energy.{place})", there, trial.name)


def check_derived(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Units, uncertainties, energies of samples and epochs, shares and the curve of energy follow from the others."""
    energy, file = trial.record.energy, trial.source
    if energy is None:
        return
    for field, here, place, there in _parts(energy):
        if not close(here, there):
            yield differ(file, f"energy.{field}", here, f"{file} (energy.{place})", there, trial.name)
    wanted = _derived(energy, trial)
    for name, there in wanted.items():
        found: Any = energy.get(name)
        if found is None:
            continue  # a record of an older version has fewer figures
        for place, one, other in different(found, _as_far(found, there), f"energy.{name}"):
            yield differ(file, place, one, f"{file} (energy and evaluations)", other, trial.name)


def _values(energy: Figures, batch: int) -> Iterator[tuple[str, float, str, float]]:
    """Yield field, value, the place from which it follows, and the value that follows; only where all are there."""
    steps, windows = energy.get("steps_per_window"), energy.get("windows", [])
    by_rules = bool(energy.get("rules"))
    needed = {name for names in BURDENS.values() for name in names} | {*BURDENS, "burden_share", "duration"}
    if not steps or not windows or any(not _numbers(window, needed) for window in windows):
        return
    of = {
        name: [window[name] - window["burden_share"] * sum(window[burden] for burden in burdens) for window in windows]
        for name, burdens in BURDENS.items()
    }
    middle, headline = (statistics.median, GROSS) if by_rules else (statistics.fmean, NET)
    yield "per_step.value", energy["per_step"]["value"], f"windows, {headline}", middle(of[headline]) / steps
    for name, values in of.items():
        yield f"{name}.value", energy[name]["value"], f"windows, {name}", statistics.fmean(values)
    for name in MEANS:
        if name in energy and all(_numbers(window, {name}) for window in windows):
            mean = statistics.fmean(window[name] for window in windows)
            yield f"{name}.value", energy[name]["value"], f"windows, {name}", mean
    per_step = energy["per_step"]["value"]
    if "per_sample" in energy:
        yield "per_sample.value", energy["per_sample"]["value"], "per_step over the batch", per_step / batch
    for name in BURDENS if "per" in energy else ():
        yield f"per.step.{name}.value", energy["per"]["step"][name]["value"], name, energy[name]["value"] / steps
    budget = energy.get("budget", ())
    counted = [part["standard_uncertainty"] for part in budget if part.get("counted", True)]
    uncertainty = energy["per_step"]["uncertainty"]
    if counted and uncertainty is not None:
        yield "per_step.uncertainty", uncertainty, "budget", math.sqrt(sum(one**2 for one in counted))


def _parts(energy: Figures) -> Iterator[tuple[str, float, str, float]]:
    """Yield the same for what follows within a window, within the budget, and within the headline."""
    windows, budget = energy.get("windows", []), energy.get("budget", ())
    for number, window in enumerate(windows):
        if _numbers(window, {"idle_power", "active_power", "duration", *BURDENS}):
            place = f"windows[{number}]"
            yield f"{place}.gross", window[GROSS], f"{place}, net and idle", window[NET] + window[IDLE]
            yield f"{place}.idle", window[IDLE], place, window["idle_power"] * window["duration"]
            yield f"{place}.gross", window[GROSS], place, window["active_power"] * window["duration"]
    total = sum(part["standard_uncertainty"] ** 2 for part in budget if part.get("counted", True))
    for number, part in enumerate(budget):
        if "share" in part:
            right = part["standard_uncertainty"] ** 2 / total if total and part.get("counted", True) else 0.0
            yield f"budget[{number}].share", part["share"], "budget", right
    yield from _interval(energy["per_step"])


def _interval(per_step: Figures) -> Iterator[tuple[str, float, str, float]]:
    """Yield both ends of the GUM's interval, if the coverage factor does not give them as far as it was rounded."""
    factor, ends, u = per_step.get("coverage_factor"), per_step.get("interval_gum"), per_step["uncertainty"]
    if factor is None or ends is None or u is None:
        return
    for number, sign in enumerate((-1, 1)):
        there = per_step["value"] + sign * factor * u
        if abs(ends[number] - there) > ROUNDED_FACTOR * u:
            yield f"per_step.interval_gum[{number}]", ends[number], "per_step", there


def _derived(energy: Figures, trial: RecordedTrial) -> dict[str, Any]:
    """Return the parts of an energy that follow from its other parts, as the record has them.

    The uncertainty of net, idle and gross energy is taken from `per.step`; all others follow from it.
    """
    steps, rules = energy.get("steps_per_window"), bool(energy.get("rules"))
    found: dict[str, Any] = {name: {"unit": unit} for name, unit in MEANS.items()}
    found |= {"statistic": "median" if rules else "mean", "subtracts_idle": not rules}
    headline, per = energy["per_step"], energy.get("per")
    found["per_step"] = {"unit": "J"}
    card, batch = trial.record.data_card, trial.record.batch
    times = {"step": 1.0, "sample": 1.0 / batch}
    if card is not None:
        times["epoch"] = sum(one["train"] for one in card["classes"]) / batch
    for unit, name in (("sample", "per_sample"), ("epoch", "per_epoch")):
        found[name] = _scaled(headline, times[unit]) if unit in times else {"unit": "J"}
    if per is None or not steps:
        return found
    step = {name: per["step"][name] for name in (NET, IDLE, GROSS)}
    duration = energy["duration"]["value"]
    step["time"] = {"value": duration / steps, "unit": "s", "uncertainty": None}
    found["per"] = {unit: {name: _scaled(figure, by) for name, figure in step.items()} for unit, by in times.items()}
    own = {name: _only(figure, "uncertainty", steps) for name, figure in step.items() if name != "time"}
    for name, value in own.items():
        found[name] = {"unit": "J", "uncertainty": value}
    for name, of in (("idle_power", IDLE), ("active_power", GROSS)):
        found[name] |= {"uncertainty": None if own[of] is None or not duration else own[of] / duration}
    used = own[GROSS if rules else NET]
    found["per_step"] |= {"uncertainty": None if used is None else used / steps}
    found["to_accuracy"] = list(_points(per["step"], trial))
    return found


def _only(figure: Figures, name: str, by: float) -> Any:
    return None if figure[name] is None else figure[name] * by


def _scaled(figure: Figures, by: float) -> dict[str, Any]:
    unit = figure["unit"] if figure["unit"] == "s" else "J"
    return {"value": figure["value"] * by, "unit": unit, "uncertainty": _only(figure, "uncertainty", by)}


def _points(step: Figures, trial: RecordedTrial) -> Iterator[dict[str, Any]]:
    """Yield energy and time up to each point of the accuracy curve (docs/energy.md)."""
    curve: Sequence[Figures] = trial.record.evaluations
    table = trial.steps
    if table is None or not len(table.get("step", ())):
        return
    first = int(table["step"][0])
    for point in curve:
        steps, n = point["step"] - first, point["n"]
        yield {
            "steps": steps, "accuracy": point["board"], "n": n,
            "accuracy_uncertainty": share(point["board"], n).uncertainty if n and 0 <= point["board"] <= 1 else None,
            **{name: _scaled(step[name], steps) for name in (NET, IDLE, GROSS, "time")},
        }  # fmt: skip


def _as_far(found: Any, there: Any) -> Any:
    """Return what was found with the values that follow; what does not follow stays as it is, at any depth."""
    if isinstance(found, dict) and isinstance(there, dict):
        return found | {name: _as_far(found[name], value) for name, value in there.items() if name in found}
    if isinstance(found, list) and isinstance(there, list) and len(found) == len(there):
        return [_as_far(one, other) for one, other in zip(found, there, strict=True)]
    return there


def _numbers(window: Figures, names: set[str]) -> bool:
    return all(isinstance(window.get(name), (int, float)) for name in names)
