"""Render the one page of a run: self-contained, so that it can be mailed and opened anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from hil.record import TrialRecord, read_run
from hil.report.figures import PHASES, cycle_bars, loss_curve, memory_bars

CONFIG = {"displayModeBar": False, "responsive": True}


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
    page = environment.get_template("index.html.j2").render(
        run=run.facts,
        trials=[_view(trial, steps) for trial, steps in zip(run.trials, run.steps, strict=True)],
        silicon=any(trial.reality == "hardware" for trial in run.trials),
        realities=sorted({trial.reality or "no board reached" for trial in run.trials}),
        phases=(*PHASES, "total"),
        plotly=Markup(get_plotlyjs()),
    )
    target = folder / "index.html"
    partial = folder / "index.html.part"
    partial.write_text(page, encoding="utf-8")
    partial.replace(target)
    return target


def _view(trial: TrialRecord, steps: pd.DataFrame) -> dict[str, Any]:
    figures: dict[str, Markup | None] = dict.fromkeys(("loss", "cycles", "memory"))
    if len(steps):
        figures["loss"] = _div(loss_curve(steps, trial.batch), f"Loss of board and reference over {len(steps)} steps")
        figures["cycles"] = _div(cycle_bars(trial), "Cycles a step by phase")
    if trial.sram["total"] is not None:
        figures["memory"] = _div(memory_bars(trial), "SRAM in use beside plan, formula and budget")
    return {"record": trial, "figures": figures}


def _div(figure: go.Figure, label: str) -> Markup:
    plot = figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG)
    return Markup('<figure role="img" aria-label="{}">{}</figure>').format(label, Markup(plot))


def _number(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:,}{' ' + unit if unit else ''}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1e3:,.2f} ms" if value < 1 else f"{value:,.2f} s"
