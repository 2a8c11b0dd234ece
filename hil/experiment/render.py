"""The files of an experiment: results.json, results.csv, table.md and index.html, each whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from hil.experiment.chart import chart
from hil.experiment.curve import write_whole
from hil.experiment.paper import ROWS, TITLES
from hil.experiment.summary import CellResult, Order, Summary

CELL_FIELDS = (
    "data",
    "column",
    "row",
    "seeds",
    "mean",
    "spread",
    "paper",
    "right_signs",
    "r_max",
    "train_s",
    "steps_per_s",
)


def write(summary: Summary, folder: Path) -> None:
    """Write all four files into the folder."""
    write_whole(folder / "results.json", json.dumps(summary.to_json(), indent=1) + "\n")
    write_whole(folder / "results.csv", as_csv(summary.cells))
    write_whole(folder / "table.md", as_markdown(summary))
    write_whole(folder / "index.html", as_page(summary))


def as_csv(cells: Sequence[CellResult]) -> str:
    """Return one line a cell; accuracies in percent, `right_signs` a fraction, `train_s` seconds of one seed."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(CELL_FIELDS)
    for cell in cells:
        values = vars(cell) | {"seeds": len(cell.values)}
        lines.writerow(["" if values[field] is None else values[field] for field in CELL_FIELDS])
    return text.getvalue()


def as_markdown(summary: Summary) -> str:
    """Return the table as the README of a result would show it."""
    columns = summary.table.columns
    lines = [f"# {summary.table.title}", ""]
    lines += [
        "Test accuracy in percent, mean ± sample standard deviation over the seeds; the paper's value in brackets.",
        "",
    ]
    lines.append("| | " + " | ".join(f"{data} {TITLES[column]}" for data, column in columns) + " |")
    lines.append("|---|" + "---:|" * len(columns))
    for row in summary.table.rows:
        entries = (summary.cell(data, column, row) for data, column in columns)
        lines.append(f"| {TITLES[row]} | " + " | ".join(accuracy(cell) for cell in entries) + " |")
    lines += ["", "Order Full BP > Cls1 > Cls2 > Full ZO:", ""]
    lines += [f"- {order.data} {TITLES[order.column]}: {said(order)}" for order in summary.orders]
    lines += ["", "What differs from the paper:", "", *(f"- {sentence}" for sentence in summary.table.differences)]
    lines += ["", "Certified on the board, bit for bit:", ""]
    lines += [
        f"- {one.verdict}: {one.run}, {one.steps} steps from step {one.first_step} on {one.board} ({one.reality or 'not reached'})"
        + (f": {one.reason}" if one.reason else "")
        for one in summary.certificates
    ] or ["- nothing yet"]
    return "\n".join(lines) + "\n"


def accuracy(cell: CellResult) -> str:
    """Return the text of a cell."""
    spread = "" if cell.spread is None else f" ± {cell.spread:.2f}"
    ours = "–" if cell.mean is None else f"{cell.mean:.2f}{spread}"
    return f"{ours} ({'–' if cell.paper is None else f'{cell.paper:.2f}'})"


def said(order: Order) -> str:
    """Say in words whether the order holds."""
    if order.holds is None:
        return "not all rows are trained"
    return "holds" if order.holds else "does not hold: " + ", ".join(order.broken)


def as_page(summary: Summary) -> str:
    """Return the page: self-contained, without a script."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hil.experiment"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    charts = [(data, column, _curves(summary, data, column)) for data, column in summary.table.columns]
    template = environment.get_template("experiment.html.j2")
    return template.render(s=summary, titles=TITLES, charts=charts, accuracy=accuracy, said=said)


def _curves(summary: Summary, data: str, column: str) -> Markup:
    """Return the chart of a column: test accuracy by epoch, a line a row, the mean of the seeds that are complete."""
    lines = {}
    for row in ROWS:
        curves = [summary.curves[run.name] for run in summary.table.cells[data, column, row]]
        curves = [curve for curve in curves if curve and len(curve) == max(map(len, curves))]
        if curves:
            points = zip(*curves, strict=True)
            lines[TITLES[row]] = [100 * sum(one.test_accuracy for one in point) / len(curves) for point in points]
    return chart(lines, f"Test accuracy by epoch, {data} {TITLES[column]}")
