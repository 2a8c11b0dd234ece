"""Which figures a trial's page has, as HTML: an empty box, and the figure as JSON for the page's script to draw into it."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from hil.record import TrialRecord
from hil.report.figures import accuracy_points, cycle_bars, difference, differs, layer_bars, loss_curve
from hil.report.latency import histograms
from hil.report.memory import lifetimes, memory_bars
from hil.report.power import end_of, power_trace
from hil.report.sparkline import sparkline

NAMES = ("loss", "difference", "accuracy", "cycles", "layers", "latency", "memory", "lifetimes", "power")


def trial_figures(trial: TrialRecord, steps: pd.DataFrame, power: pd.DataFrame | None) -> dict[str, Markup | None]:
    """Return every figure by its name on the page, None where the record has no data for it."""
    figures: dict[str, Markup | None] = dict.fromkeys(NAMES)
    if len(steps):
        figures |= _of_steps(trial, steps)
        figures["cycles"] = _box(cycle_bars(trial), "cycles", "Cycles a step by phase")
    if trial.evaluations:
        label = "Accuracy on the test images, with one standard uncertainty"
        figures["accuracy"] = _box(accuracy_points(trial.evaluations), "accuracy", label)
    if trial.profile is not None:
        figures["layers"] = _box(layer_bars(trial), "layers", "Cycles a step by layer")
    if trial.latency is not None:
        label = f"Cycles of {trial.latency['steps']} autonomous steps, a histogram a phase"
        figures["latency"] = _box(histograms(trial.latency), "latency", label)
    if trial.sram["total"] is not None:
        figures["memory"] = _box(memory_bars(trial), "memory", "SRAM in use beside plan, formula and budget")
    if trial.memory_plan is not None:
        label = "The arena over the time slots of a step, one rectangle a buffer"
        figures["lifetimes"] = _box(lifetimes(trial.memory_plan), "lifetimes", label)
    if power is not None and trial.energy is not None:
        phases = (trial.energy.get("phases") or {}).get("first_window", [])
        figures["power"] = _box(power_trace(power, trial.energy["laps_s"], end_of(trial.energy), phases), "power", "Power of the first energy window")
    return figures


def has_curve(trial: TrialRecord, steps: pd.DataFrame) -> bool:
    """Return whether there is a loss in floats to draw: INT8* has one only where the reference recorded it."""
    return len(steps) > 0 and (trial.settings.get("loss") != "integer" or "reference_float_plus" in steps)


def _of_steps(trial: TrialRecord, steps: pd.DataFrame) -> dict[str, Markup | None]:
    figures: dict[str, Markup | None] = {}
    integers = trial.settings.get("loss") == "integer"
    if has_curve(trial, steps):
        label = f"Loss a sample over {len(steps)} steps"
        figures["loss"] = _box(loss_curve(steps, trial.batch, integers), "loss", label, sparkline(steps, trial))
    if differs(steps).any() and not integers:
        label = "Loss of the board less loss of the reference"
        figures["difference"] = _box(difference(steps, trial.batch), "difference", label)
    return figures


def _box(figure: go.Figure, name: str, label: str, instead: Markup | None = None) -> Markup:
    """Return the figure as HTML: `instead` is what a reader without scripts sees."""
    return Markup(
        '<figure role="img" aria-label="{label}"><div id="plot-{name}" class="plot" style="min-height:{height}px">{instead}</div>'
        '<script type="application/json" data-plot="plot-{name}">{json}</script></figure>'
    ).format(
        label=label,
        name=name,
        height=figure.layout.height,
        instead=instead or "",
        json=htmlsafe_json_dumps(figure, dumps=lambda whole: whole.to_json()),
    )
