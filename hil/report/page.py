"""Render a run: an overview, and a page a trial. Each is one file that can be mailed and opened anywhere."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from hil.record import Run, TrialRecord, quantities, read_run
from hil.report.figures import PHASES
from hil.report.paper import comparison
from hil.report.sparkline import sparkline
from hil.report.trial_figures import trial_figures

NO_BREAK = "\N{NO-BREAK SPACE}"  # between a figure and its unit
PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def render(folder: Path) -> Path:
    """Write index.html into the folder of a run and into that of each trial; return the path of the overview.

    Raises:
        RigError: the folder holds no run.
    """
    run = read_run(folder)
    environment = _environment(run)
    plotly = Markup(get_plotlyjs())
    for trial, steps in zip(run.trials, run.steps, strict=True):
        figures = trial_figures(trial, steps, _power(run, trial))
        page = environment.get_template("trial.html.j2").render(
            t=trial,
            figures=figures,
            tags=_tags(trial),
            rows=comparison(trial),
            plotly=plotly if any(figures.values()) else "",
        )
        _write(run.folder / trial.folder / "index.html", page)
    views = [
        {"record": trial, "tags": _tags(trial), "spark": sparkline(steps, trial)}
        for trial, steps in zip(run.trials, run.steps, strict=True)
    ]
    overview = run.folder / "index.html"
    _write(overview, environment.get_template("index.html.j2").render(trials=views))
    return overview


def _environment(run: Run) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hil.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    realities = {trial.reality or "" for trial in run.trials}
    environment.globals |= {
        "run": run.facts,
        "boards": list(dict.fromkeys(trial.board for trial in run.trials)),
        "silicon": "hardware" in realities,
        "stand_ins": sorted(realities - {"hardware", ""}),
        "phases": (*PHASES, "total"),
        "zip_pairs": zip,
    }
    environment.filters |= {"number": _number, "percent": _percent, "seconds": _seconds, "figure": _figure}
    return environment


def _tags(trial: TrialRecord) -> dict[str, str]:
    return {name: quantity.provenance.value for name, quantity in quantities(trial).items()}


def _power(run: Run, trial: TrialRecord) -> pd.DataFrame | None:
    path = run.folder / trial.folder / "power.parquet"
    return pd.read_parquet(path) if path.is_file() else None


def _write(target: Path, page: str) -> None:
    target.parent.mkdir(exist_ok=True)
    partial = target.with_suffix(".html.part")
    partial.write_text(page, encoding="utf-8")
    partial.replace(target)


def _number(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:,}{NO_BREAK + unit if unit else ''}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}{NO_BREAK}%"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value * 1e3:,.2f}{NO_BREAK}ms" if value < 1 else f"{value:,.2f}{NO_BREAK}s"


def _figure(quantity: dict[str, float | str | None]) -> str:
    """Write a quantity of the record with its standard uncertainty, both with one prefix."""
    value, uncertainty, unit = quantity["value"], quantity["uncertainty"], quantity["unit"]
    assert isinstance(value, (int, float))
    scale, prefix = next((pair for pair in PREFIXES if abs(value) >= pair[0]), PREFIXES[-1])
    said = f"{value / scale:,.4g}"
    if isinstance(uncertainty, (int, float)):
        said = f"{value / scale:,.3f} ± {uncertainty / scale:,.2g}"
    return f"{said}{NO_BREAK}{prefix}{unit}"
