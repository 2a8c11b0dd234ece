"""The variables of the page of a device test: what was compared and judged, its drift, figures and logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from hil.record import AskedTest, Run
from hil.record.device_test import Compared, DeviceTest
from hil.record.parquet import Columns, places_by_word, read_columns
from hil.record.safe_paths import check_name, safe_file, safe_folder
from hil.report.formats import figure
from hil.report.run_files import Tail, files_in, is_own, tail_of
from hil.report.style import BOARD, GREY, LIMIT, REFERENCE, THIRD, Figure, Trace, axis, styled
from hil.report.trial_figures import box

MOST_POINTS = 1000  # of a line; of more steps each point is the largest error of several
FEW_STEPS = 10  # each has a number on the axis
MOST_LINES = 12  # tensors that are drawn: those with the largest errors
COLOURS = (BOARD, REFERENCE, THIRD, LIMIT, GREY)
DASHES = ("solid", "dash", "dot")
ERRORS = {"ulp": ("max_ulp", "largest error, ulp"), "relative": ("max_relative", "largest relative error")}


def device_views(run: Run, single: bool) -> list[dict[str, Any]]:
    """Return the variables of the page of each device test, in the order of the record.

    If they are on a single page, their ids differ and no other files are linked.
    """
    tests = {test.test: test for test in run.tests}
    return [
        _view(run, record, tests.get(record.test), device_at(number) if single else "") | {"single": single}
        for number, record in enumerate(run.device_tests, start=1)
    ]


def device_at(number: int) -> str:
    """Return how the ids of a device test begin on a single page."""
    return f"d{number}-"


def _view(run: Run, record: DeviceTest, test: AskedTest | None, at: str) -> dict[str, Any]:
    folder = safe_folder(run.folder, record.folder)
    charts = [_charts(run, record, each, f"{at}{number}-") for number, each in enumerate(record.comparisons, start=1)]
    logs = [folder / name for name in ("serial.log", "bench.log", "flash.log")]
    tails: list[Tail] = [tail_of(path, folder) for path in logs if path.exists() and is_own(path, folder)]
    return {
        "d": record,
        "at": at,
        "test": test,
        "verdict": record.verdict,
        "compared": [
            {"c": each, "drift": drawn, "worst": _worst(each)}
            for each, drawn in zip(record.comparisons, charts, strict=True)
        ],
        "figures": {f"{number}-{name}": chart for number, each in enumerate(charts) for name, chart in each.items()},
        "given": [each | {"text": in_text(each)} for each in record.figures],
        "tails": [tail for tail in tails if tail.lines],
        "files": files_in(folder, deep=True) if folder.is_dir() else [],
        "cursors": None,
    }  # fmt: skip


def in_text(given: Mapping[str, Any]) -> str:
    """Return value, standard uncertainty and unit of a figure of a device test."""
    if given["unit"] != "1":
        return figure(given)
    spread = "" if given["uncertainty"] is None else f" ± {given['uncertainty']:.2g}"
    return f"{given['value']:,.6g}{spread}"


def _worst(comparison: Compared) -> list[dict[str, Any]]:
    """Return a row for each tensor: how it was compared, and its largest errors."""
    largest = {each["tensor"]: each for each in comparison["worst"]}
    none = {"max_ulp": None, "max_relative": None, "max_abs": None}
    return [dict(tensor) | none | largest.get(tensor["tensor"], {}) for tensor in comparison["tensors"]]


def _charts(run: Run, record: DeviceTest, comparison: Compared, at: str) -> dict[str, Markup]:
    """Return the charts of the drift; none if all values are equal, or there are fewer than two steps."""
    if not comparison["drift"] or not comparison["differing"]:
        return {}
    folder = safe_folder(run.folder, record.folder)
    path = safe_file(folder, check_name(comparison["drift"], f"{record.folder}: the drift"))
    if path is None:
        return {}
    table = read_columns(path, words=("tensor",))
    if len(np.unique(table["step"])) < 2:
        return {}
    found = {}
    for name, (column, title) in ERRORS.items():
        label = f"{title[0].upper()}{title[1:]} of each tensor over {comparison['steps']} steps"
        found[name] = box(drift_chart(table, column, title), f"{at}drift-{name}", label)
    return found


def drift_chart(table: Columns, column: str, title: str) -> Figure:
    """Draw the largest error of each tensor over the steps; a step without a finite error is a gap."""
    drawn = np.where(table["nonfinite"] == 0, table[column].astype(float), np.nan)
    rows = places_by_word(table["tensor"])
    order = sorted(rows, key=lambda name: -np.nan_to_num(drawn[rows[name]], nan=np.inf).max())
    drawn_rows = ((name, rows[name]) for name in order[:MOST_LINES])
    lines = [_line(number, name, table["step"][of], drawn[of]) for number, (name, of) in enumerate(drawn_rows)]
    every_step = {"dtick": 1} if len(np.unique(table["step"])) <= FEW_STEPS else {}
    return styled(lines, 260, axis("step", **every_step), title, showlegend=True)


def _line(number: int, name: str, steps: np.ndarray, values: np.ndarray) -> Trace:
    if len(steps) > MOST_POINTS:
        pieces = np.array_split(np.arange(len(steps)), MOST_POINTS)
        values = np.array([np.nan if np.isnan(values[piece]).any() else values[piece].max() for piece in pieces])
        steps = np.array([steps[piece[-1]] for piece in pieces])
    style = {"color": COLOURS[number % len(COLOURS)], "dash": DASHES[number // len(COLOURS) % len(DASHES)], "width": 2}
    mode = "lines" if len(steps) > 40 else "lines+markers"
    return {"type": "scatter", "x": steps, "y": values, "name": name, "mode": mode, "line": style}
