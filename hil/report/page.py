"""Render the one page of a run: self-contained, so that it can be mailed and opened anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from hil.record import TrialRecord, quantities, read_run
from hil.report.figures import PHASES, cycle_bars, loss_curve, memory_bars

CONFIG = {"displayModeBar": False, "responsive": True}
NO_BREAK = "\N{NO-BREAK SPACE}"  # between a figure and its unit


def render(folder: Path) -> Path:
    """Write index.html into the folder of a run and return its path.

    Raises:
        RigError: the folder holds no run.
    """
    run = read_run(folder)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hil.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals["zip_pairs"] = zip
    environment.filters |= {"number": _number, "percent": _percent, "seconds": _seconds}
    realities = {trial.reality or "" for trial in run.trials}
    page = environment.get_template("index.html.j2").render(
        run=run.facts,
        trials=[_view(n, *pair) for n, pair in enumerate(zip(run.trials, run.steps, strict=True), start=1)],
        boards=list(dict.fromkeys(trial.board for trial in run.trials)),
        silicon="hardware" in realities,
        stand_ins=sorted(realities - {"hardware", ""}),
        phases=(*PHASES, "total"),
        plotly=Markup(get_plotlyjs()),
    )
    target = run.folder / "index.html"
    partial = run.folder / "index.html.part"
    partial.write_text(page, encoding="utf-8")
    partial.replace(target)
    return target


def _view(number: int, trial: TrialRecord, steps: pd.DataFrame) -> dict[str, Any]:
    figures: dict[str, Markup | None] = dict.fromkeys(("loss", "cycles", "memory"))
    if len(steps):
        label = f"Loss of board and reference over {len(steps)} steps"
        figures["loss"] = _div(loss_curve(steps, trial.batch), f"loss-{number}", label)
        figures["cycles"] = _div(cycle_bars(trial), f"cycles-{number}", "Cycles a step by phase")
    if trial.sram["total"] is not None:
        label = "SRAM in use beside plan, formula and budget"
        figures["memory"] = _div(memory_bars(trial), f"memory-{number}", label)
    tags = {name: quantity.provenance.value for name, quantity in quantities(trial).items()}
    return {"record": trial, "figures": figures, "tags": tags}


def _div(figure: go.Figure, name: str, label: str) -> Markup:
    """Return the figure as HTML; the fixed name makes the page of a record the same every time."""
    plot = figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG, div_id=name)
    return Markup('<figure role="img" aria-label="{}">{}</figure>').format(label, Markup(plot))


def _number(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:,}{NO_BREAK + unit if unit else ''}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}{NO_BREAK}%"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1e3:,.2f}{NO_BREAK}ms" if value < 1 else f"{value:,.2f}{NO_BREAK}s"
