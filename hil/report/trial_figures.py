"""The figures of a trial's page as HTML: an empty box, and JSON from which the page's script draws the figure."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from hil.record import TrialRecord
from hil.record.parquet import Columns, rows_of
from hil.report.figures import PHASES, accuracy_points, cycle_bars, difference, differs, layer_bars, loss_curve
from hil.report.latency import TOTAL, histograms
from hil.report.memory import lifetimes, memory_bars
from hil.report.power import Trace, power_trace
from hil.report.power_histogram import power_histogram
from hil.report.sparkline import sparkline
from hil.report.style import Figure

FEWEST_POINTS = 3  # of an accuracy curve; fewer are only listed


def trial_figures(trial: TrialRecord, steps: Columns, trace: Trace | None, at: str = "") -> dict[str, Markup | None]:
    """Return every figure by its name on the page, None if the record has no data for it; `at` begins their ids."""
    drawn = _drawn(trial, steps, trace)
    found: dict[str, Markup | None] = {}
    for name, label in _labels(trial, steps).items():
        figure = drawn.get(name)
        without_script = sparkline(steps, trial) if name == "loss" and figure is not None else None
        found[name] = box(figure, at + name, label, without_script) if figure is not None else None
    return found


def _drawn(trial: TrialRecord, steps: Columns, trace: Trace | None) -> dict[str, Figure | None]:
    integers = trial.settings.get("loss") == "integer"
    figures: dict[str, Figure | None] = {}
    if has_curve(trial, steps):
        figures["loss"] = loss_curve(steps, trial.batch, integers)
    if rows_of(steps) and differs(steps).any() and not integers:
        figures["difference"] = difference(steps, trial.batch)
    if trial.cycles:
        figures["cycles"] = cycle_bars(trial)
    if len(trial.evaluations) >= FEWEST_POINTS:
        figures["accuracy"] = accuracy_points(trial.evaluations)
    if trial.profile is not None:
        figures["layers"] = layer_bars(trial)
    if trial.latency is not None:
        figures |= {"latency": histograms(trial.latency, (TOTAL,)), "latency_phases": histograms(trial.latency, PHASES)}
    if trial.sram["total"] is not None:
        figures["memory"] = memory_bars(trial)
    if trial.memory_plan is not None:
        figures["lifetimes"] = lifetimes(trial.memory_plan)
    if trace is not None and trial.energy is not None:
        energy: Mapping[str, Any] = trial.energy
        stretches = (energy.get("phases") or {}).get("first_window", [])
        figures["power"] = power_trace(trace, energy["laps_s"], stretches)
        figures["power_histogram"] = power_histogram(trace)
    return figures


def _labels(trial: TrialRecord, steps: Columns) -> dict[str, str]:
    """Return the text alternative of each figure."""
    autonomous = trial.latency["steps"] if trial.latency else 0
    return {
        "loss": f"Loss a sample over {rows_of(steps)} steps",
        "difference": "Loss of the board less loss of the reference",
        "accuracy": "Accuracy on the test images, with one standard uncertainty",
        "cycles": "Cycles a step by phase",
        "layers": "Cycles a step by layer",
        "latency": f"Histogram of the cycles of {autonomous} autonomous steps",
        "latency_phases": f"Cycles of {autonomous} autonomous steps, a histogram a phase that varies",
        "memory": "SRAM in use beside plan, formula and budget",
        "lifetimes": "The arena over the time slots of a step, one rectangle a buffer",
        "power": "Power of the first energy window",
        "power_histogram": "Share of the time at each power in the first energy window",
    }


def has_curve(trial: TrialRecord, steps: Columns) -> bool:
    """Return whether there is a float loss to draw; INT8* has one only if the reference recorded it."""
    return rows_of(steps) > 0 and (trial.settings.get("loss") != "integer" or "reference_float_plus" in steps)


def box(figure: Figure, name: str, label: str, without_script: Markup | None = None) -> Markup:
    """Return a figure as HTML; `without_script` is shown until the script draws the figure."""
    return Markup(
        '<figure role="img" aria-label="{label}">'
        '<div id="plot-{name}" class="plot" style="min-height:{height}px">{instead}</div>'
        '<script type="application/json" data-plot="plot-{name}">{json}</script></figure>'
    ).format(
        label=label,
        name=name,
        height=figure["layout"]["height"],
        instead=without_script or "",
        json=htmlsafe_json_dumps(figure, dumps=_json),
    )


def data_script(data: Mapping[str, Any]) -> Markup:
    """Return data for the page's script as a JSON element."""
    return Markup('<script type="application/json">{json}</script>').format(json=Markup(data_json(data)))


def data_json(data: Mapping[str, Any]) -> str:
    """Return data as JSON that is safe within HTML; arrays are base64 of their bytes, NaN becomes null."""
    typed = {name: _typed(value) for name, value in data.items()}
    return str(htmlsafe_json_dumps(typed, dumps=_text))


def _json(figure: Figure) -> str:
    data = [{name: _typed(value) for name, value in trace.items()} for trace in figure["data"]]
    return _text(figure | {"data": data})


def _text(value: object) -> str:
    """Return JSON without spaces. NaN and infinity, which JSON does not have, become null."""
    text = json.dumps(value, separators=(",", ":"), default=_plain)
    if "NaN" in text or "Infinity" in text:
        text = json.dumps(json.loads(text, parse_constant=lambda _: None), separators=(",", ":"))
    return text


def _plain(value: Any) -> Any:
    """Return an array or a number of NumPy as Python has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__} is no part of a figure")


def _typed(value: object) -> object:
    """Return an array in the form that plotly.js reads without parsing numbers: base64 of its bytes."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "if":
        return value
    return packed(value, "<f8" if value.dtype.kind == "f" or abs(value).max(initial=0) >= 1 << 31 else "<i4")


def packed(array: np.ndarray, dtype: str) -> dict[str, str]:
    """Return an array as plotly.js reads it without parsing numbers; `dtype` is `<f4`, `<f8` or `<i4`."""
    values = array.astype(dtype)
    return {"dtype": values.dtype.str[1:], "bdata": base64.b64encode(values.tobytes()).decode()}
