"""The variables of the pages of a run: a dict for each trial, and one for the overview."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from hil.coverage import Coverage
from hil.record import AskedTest, Run, TrialRecord, quantities
from hil.record.parquet import Columns
from hil.record.safe_paths import safe_file, safe_folder
from hil.record.since_last_good import read_since
from hil.record.soak import read_soak
from hil.report.budgets import budget_rows
from hil.report.cost_table import COLUMNS, cost_rows
from hil.report.coverage_page import NAME
from hil.report.coverage_page import sentence as coverage_sentence
from hil.report.cursors import cursor_data, limits_of
from hil.report.device_view import device_at
from hil.report.energy_windows import burden_of, flags_of, window_rows
from hil.report.figures import drawn_losses, has_queries, loss_rows
from hil.report.gradients import layer_maps, scale_bar
from hil.report.judgement import judgement_of, problems_of, sentence_of
from hil.report.log_lines import log_lines, time_scale
from hil.report.overview import banner, choices, costs, lines_of
from hil.report.paper_elasticzo import elasticzo_rows
from hil.report.paper_energy import energy_comparison
from hil.report.paper_pmt import pmt_rows
from hil.report.power import Trace, phase_rows, read_trace, zooms
from hil.report.run_files import File, files_in, tails
from hil.report.soak import soak_view
from hil.report.sparkline import nights_of
from hil.report.trial_figures import data_script, has_curve, trial_figures

View = dict[str, Any]


def overview_view(run: Run, single: bool, coverage: Coverage | str | None = None) -> View:
    """Return the variables of the overview.

    Args:
        run: the run.
        single: whether the overview is on the same page as the trials.
        coverage: of the firmware; why it cannot be shown; or None if there is none.
    """
    lines = lines_of(run)
    since = read_since(run.folder)
    folders = sorted(path.name for path in run.folder.iterdir() if path.is_dir() and not path.is_symlink())
    return {
        "single": single,
        "lines": lines,
        "addresses": {
            trial.folder: f"#{_at(number)}trial" if single else f"{quote(trial.folder)}/index.html"
            for number, trial in enumerate(run.trials, start=1)
        }
        | {
            each.folder: f"#{device_at(number)}trial" if single else f"{quote(each.folder)}/index.html"
            for number, each in enumerate(run.device_tests, start=1)
        },
        "banner": banner(run),
        "sentence": sentence_of(run, judgement_of(run), problems_of(run)),
        "since": since,
        "nights": nights_of(since),
        "choices": choices(lines),
        "costs": costs([line.found for line in lines]),
        "cost_columns": COLUMNS,
        "cost_rows": cost_rows(run.trials),
        "budgets": budget_rows(run.trials),
        "count": run.totals["tests"],
        "coverage": coverage_sentence(coverage) if isinstance(coverage, Coverage) else coverage,
        "coverage_page": NAME if isinstance(coverage, Coverage) else "",
        **soak_view(read_soak(run.folder)),
        "files": files_in(run.folder, deep=False),
        "folders": {
            name: [File(f"{name}/{file.path}", file.size, file.what) for file in files_in(run.folder / name, deep=True)]
            for name in folders
        },
    }


def trial_views(run: Run, single: bool) -> list[View]:
    """Return the variables of the page of each trial, in the order of the record.

    If they are on a single page, their ids differ and no other files are linked.
    """
    tests = {folder: test for test in run.tests for folder in test.trials}
    views = []
    for number, (trial, steps) in enumerate(zip(run.trials, run.steps, strict=True), start=1):
        at = _at(number) if single else ""
        views.append(_view(run, trial, drawn_losses(trial, steps), tests.get(trial.folder), at) | {"single": single})
    return views


def _at(number: int) -> str:
    return f"t{number}-"


def _view(run: Run, trial: TrialRecord, steps: Columns, test: AskedTest | None, at: str) -> View:
    folder = run.folder / trial.folder
    trace = _trace(run, trial)
    figures = trial_figures(trial, steps, trace, at)
    integers = trial.settings.get("loss") == "integer"
    files = files_in(folder, deep=True)
    flags, unverified = flags_of(trial.energy)
    papers = {"ElasticZO": elasticzo_rows(trial), "Poor Man's Training": pmt_rows(trial)}
    laps = trial.energy["laps_s"] if trace and trial.energy else []
    return {
        "t": trial,
        "at": at,
        "test": test,
        "verdict": test.verdict if test is not None and len(test.trials) == 1 else trial.verdict,
        "found": quantities(trial),
        "figures": figures,
        "losses": loss_rows(steps, trial.batch, integers) if has_curve(trial, steps) else [],
        "gradient_layers": layer_maps(trial),
        "gradient_scale": scale_bar(),
        "integers": integers,
        "queries": has_queries(trial),
        "papers": {name: rows for name, rows in papers.items() if rows},
        "energy_rows": energy_comparison(trial),
        "flags": flags,
        "unverified": unverified,
        "windows": window_rows(trial.energy) if trial.energy else [],
        "burden": burden_of(trial.energy) if trial.energy else 0.0,
        "trace": trace,
        "zooms": zooms(laps, trace.end_s) if trace and laps else [],
        "drawn_readings": sum(len(places) for _, places in trace.kept()) if trace else 0,
        "phase_rows": phase_rows(trace.power) if trace else [],
        **_cursors(trial.energy, trace),
        "tails": tails(folder, trial.stage) if trial.verdict != "pass" else [],
        "files": files,
        "logs": [file.path for file in files if file.path.startswith("log/")],
    }


def _trace(run: Run, trial: TrialRecord) -> Trace | None:
    folder = safe_folder(run.folder, trial.folder)
    path = safe_file(folder, "power.parquet")
    if path is None or trial.energy is None:
        return None
    trace = read_trace(path)
    if trace.request is None or not trace.edges:
        return trace
    return replace(trace, lines=log_lines(folder, trace.request, trace.end_s))


def _cursors(energy: Mapping[str, Any] | None, trace: Trace | None) -> View:
    """Return what the cursors in the power trace need, and the place of the log on its time axis."""
    if energy is None or trace is None or not trace.edges:
        return {"cursors": None, "limits": None, "time_scale": None}
    stretches = (energy.get("phases") or {}).get("first_window", [])
    lengths = energy["laps_s"], [seconds for _, seconds in stretches]
    ends = [end for each in lengths for end in itertools.accumulate(each)]
    limits = limits_of(energy)
    scale = time_scale(trace.request, trace.end_s) if trace.request is not None else None
    return {"cursors": data_script(cursor_data(trace, ends, limits)), "limits": limits, "time_scale": scale}
