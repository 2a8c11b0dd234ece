"""Render a run: an overview, and a page a trial. Each is one file that can be mailed and opened anywhere."""

from __future__ import annotations

import base64
import gzip
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from plotly.offline import get_plotlyjs

from hil.record import Run, TrialRecord, quantities, read_run, write_whole
from hil.report import formats
from hil.report.energy_papers import energy_comparison
from hil.report.figures import PHASES, asks_queries, drawn_losses
from hil.report.losses import loss_rows
from hil.report.paper_elasticzo import elasticzo_rows
from hil.report.paper_pmt import pmt_rows
from hil.report.power import end_of, phase_rows, zooms
from hil.report.sparkline import sparkline
from hil.report.trial_figures import has_curve, trial_figures


def render(folder: Path) -> Path:
    """Write index.html into the folder of a run and into that of each trial; return the path of the overview.

    Raises:
        RigError: the folder holds no run.
    """
    run = read_run(folder)
    environment = _environment(run)
    pairs = [(trial, drawn_losses(trial, steps)) for trial, steps in zip(run.trials, run.steps, strict=True)]
    for trial, steps in pairs:
        view = _view(trial, steps, _power(run, trial))
        _write(run.folder / trial.folder / "index.html", environment.get_template("trial.html.j2").render(view))
    views = [{"t": trial, "found": quantities(trial), "spark": sparkline(steps, trial)} for trial, steps in pairs]
    overview = run.folder / "index.html"
    _write(overview, environment.get_template("index.html.j2").render(trials=views))
    return overview


def _view(trial: TrialRecord, steps: pd.DataFrame, power: pd.DataFrame | None) -> dict[str, Any]:
    """Return what the page of a trial is made from."""
    figures = trial_figures(trial, steps, power)
    integers = trial.settings.get("loss") == "integer"
    return {
        "t": trial,
        "found": quantities(trial),
        "figures": figures,
        "losses": loss_rows(steps, trial.batch, integers) if has_curve(trial, steps) else [],
        "integers": integers,
        "queries": asks_queries(trial),
        "papers": {name: rows for name, rows in (("ElasticZO", elasticzo_rows(trial)), ("Poor Man's Training", pmt_rows(trial))) if rows},
        "energy_rows": energy_comparison(trial),
        "zooms": zooms(trial.energy["laps_s"], end_of(trial.energy)) if figures["power"] and trial.energy and trial.energy["laps_s"] else [],
        "phase_rows": phase_rows(power) if figures["power"] and power is not None else [],
        "plotly": _plotly() if any(figures.values()) else "",
    }


@cache
def _plotly() -> str:
    """Return plotly.js as gzip in base64: a page is 2 MB with it, and 5 MB with the plain text."""
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()


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
    environment.filters |= {
        name: getattr(formats, name) for name in ("number", "percent", "seconds", "figure")
    }
    return environment


def _power(run: Run, trial: TrialRecord) -> pd.DataFrame | None:
    path = run.folder / trial.folder / "power.parquet"
    return pd.read_parquet(path, filters=[("window", "==", 0)]) if path.is_file() else None


def _write(target: Path, page: str) -> None:
    target.parent.mkdir(exist_ok=True)
    write_whole(target, page)
