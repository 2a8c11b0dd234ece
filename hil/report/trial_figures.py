"""Which figures a trial's page has, as HTML."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from hil.record import TrialRecord
from hil.report.figures import cycle_bars, layer_bars, loss_curve, power_trace
from hil.report.memory import lifetimes, memory_bars

NAMES = ("loss", "cycles", "layers", "memory", "lifetimes", "power")
CONFIG = {"displayModeBar": False, "responsive": True}


def trial_figures(trial: TrialRecord, steps: pd.DataFrame, power: pd.DataFrame | None) -> dict[str, Markup | None]:
    """Return every figure by its name on the page, None where the record has no data for it."""
    figures: dict[str, Markup | None] = dict.fromkeys(NAMES)
    if len(steps):
        integers = trial.settings.get("loss") == "integer"
        label = f"Loss of board and reference over {len(steps)} steps"
        figures["loss"] = _div(loss_curve(steps, trial.batch, integers), "loss", label)
        figures["cycles"] = _div(cycle_bars(trial), "cycles", "Cycles a step by phase")
    if trial.profile is not None:
        figures["layers"] = _div(layer_bars(trial), "layers", "Cycles a step by layer")
    if trial.sram["total"] is not None:
        figures["memory"] = _div(memory_bars(trial), "memory", "SRAM in use beside plan, formula and budget")
    if trial.memory_plan is not None:
        label = "The arena over the time slots of a step, one rectangle a buffer"
        figures["lifetimes"] = _div(lifetimes(trial.memory_plan), "lifetimes", label)
    if power is not None and trial.energy is not None:
        figures["power"] = _div(power_trace(power, trial.energy["laps_s"]), "power", "Power of the first energy window")
    return figures


def _div(figure: go.Figure, name: str, label: str) -> Markup:
    """Return the figure as HTML; the fixed name makes the page of a record the same every time."""
    plot = figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG, div_id=name)
    return Markup('<figure role="img" aria-label="{}">{}</figure>').format(label, Markup(plot))
