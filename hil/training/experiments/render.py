"""Write the files of an experiment, each atomically: results as JSON and CSV, curves, table, and page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import jinja2

from hil.atomic_write import write_atomic
from hil.report.escapes import latex as escaped
from hil.report.page import environment, packed_library
from hil.report.scripts import allowed, script
from hil.training.experiments.charts import charts
from hil.training.experiments.costs import table_line
from hil.training.experiments.curve import CURVES_FILE, write_curves
from hil.training.experiments.rate_search import search_remarks
from hil.training.experiments.summary import CellResult, ExperimentSummary, Order

CELL_FIELDS = (
    "data", "column", "row", "seeds", "mean", "spread", "paper", "right_signs", "chosen", "train_s", "steps_per_s",
    "failed", "backward_macs",
)  # fmt: skip

SPARSE = "Multiply-accumulates of the backward pass of a sample, mean over the whole training and the seeds (counted)"
MEMORY = "Memory by plan in bytes (analytic), one sample at a time"
Text = Callable[[ExperimentSummary, str, str, str], str]  # of a cell: data set, column, row


def write(summary: ExperimentSummary, folder: Path) -> None:
    """Write all six files into the folder."""
    write_atomic(folder / "results.json", as_json(summary))
    write_curves(folder / CURVES_FILE, summary.curves)
    write_atomic(folder / "results.csv", as_csv(summary.cells))
    write_atomic(folder / "table.md", as_markdown(summary))
    write_atomic(folder / "table.tex", as_latex(summary))
    write_atomic(folder / "index.html", as_page(summary))


def as_json(summary: ExperimentSummary) -> str:
    """Return everything but the curves as JSON, each cell, run, search and certificate on a line of its own."""
    return "{\n" + ",\n".join(f' "{name}": {_by_line(value)}' for name, value in summary.to_json().items()) + "\n}\n"


def _by_line(value: Any) -> str:
    """Return a value as JSON; the entries of a list have a line each."""
    if not isinstance(value, list) or not value:
        return json.dumps(value)
    return "[\n" + ",\n".join(f"  {json.dumps(entry)}" for entry in value) + "\n ]"


def as_csv(cells: Sequence[CellResult]) -> str:
    """Return CSV with one line per cell: accuracies in percent, losses in nats, `train_s` in s for one seed."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(CELL_FIELDS)
    for cell in cells:
        values = vars(cell) | {"seeds": len(cell.values)}
        lines.writerow(["" if values[field] is None else values[field] for field in CELL_FIELDS])
    return text.getvalue()


def as_markdown(summary: ExperimentSummary) -> str:
    """Return the table as Markdown, with differences and certificates."""
    table = summary.table
    lines = [f"# {table.title}", ""]
    mean = f"mean ± sample standard deviation over the seeds{brackets(summary)}"
    lines += [f"{table.measure.title} ({table.measure.unit}), {mean}.", ""]
    lines += cell_lines(summary)
    if summary.orders:
        lines += ["", f"Order {table.order}:", ""]
        lines += [f"- {order.data} {table.called(order.column)}: {order_in_words(order)}" for order in summary.orders]
    if chosen := [cell for cell in summary.cells if cell.chosen]:
        lines += ["", "Chosen:", ""]
        lines += [f"- {one.data} {table.called(one.column)}, {table.called(one.row)}: {one.chosen}" for one in chosen]
    if signs := [cell for cell in summary.cells if cell.right_signs not in (None, 1.0)]:
        lines += ["", "Steps whose sign is that of the float losses:", ""]
        lines += [
            f"- {one.data} {table.called(one.column)}, {table.called(one.row)}: {one.right_signs:.1%}" for one in signs
        ]
    lines += sparse_lines(summary)
    lines += rate_lines(summary)
    if table.memory:
        parts = list(table.memory[0].parts)
        lines += ["", f"{MEMORY} ({table.memory_parts}):", ""]
        lines += [f"| network | method | {' | '.join(parts)} |", "|---|---|" + "---:|" * len(parts)]
        for one in table.memory:
            sizes = " | ".join(f"{one.parts[part]:,}" for part in parts)
            lines.append(f"| {one.network} | {one.method} | {sizes} |")
    lines += ["", "What differs from the paper:", "", *(f"- {sentence}" for sentence in table.differences)]
    lines += ["", "Certified on the board, bit for bit:", ""]
    lines += [
        f"- {one.verdict}: {one.run}, {one.steps} steps from step {one.first_step} on {one.board} "
        f"({one.reality or 'not reached'})" + (f": {one.reason}" if one.reason else "")
        for one in summary.certificates
    ] or ["- nothing yet"]
    return "\n".join(lines) + "\n"


def sparse_lines(summary: ExperimentSummary) -> list[str]:
    """Return what sparse backward passes cost over the whole training, beside those with all channels."""
    table, lines = summary.table, [""]
    lines += [f"{SPARSE}:", ""] if table.all_channels else []
    columns = tuple(dict.fromkeys(column for _, column in table.columns))
    for (row, dense), which in product(table.all_channels.items(), columns):
        ratios = []
        for data, column in (one for one in table.columns if one[1] == which):
            ours, whole = summary.cell(data, column, row), summary.cell(data, column, dense)
            if ours is None or whole is None or not ours.backward_macs or whole.backward_macs is None:
                continue
            ratios.append(whole.backward_macs / ours.backward_macs)
            counts = f"{ours.backward_macs:,.0f} of {whole.backward_macs:,.0f}, {ratios[-1]:.2f} times fewer"
            lines.append(f"- {table.called(row)}, {data} {table.called(column)}: {counts}")
        if len(ratios) > 1:
            of = f", {table.called(which)}" if len(columns) > 1 else ""
            lines.append(f"- {table.called(row)}, mean over the data sets{of}: {fmean(ratios):.2f} times fewer")
    return lines if len(lines) > 1 else []


def rate_lines(summary: ExperimentSummary) -> list[str]:
    """Return the searches of learning rates as lines of text: every rate with its count; the chosen one is bold."""
    what = "right held-out images, sum over the seeds; the chosen rate is bold"
    lines = ["", f"Searched ({what}):", ""] if summary.searches else []
    for search in summary.searches:
        rates = []
        for one in search["rates"]:
            text = f"{one['eta']:g}: {sum(one['right'])}" + (" (no weight moves)" if one["moved"] == 0 else "")
            text += " (a step failed)" if one["failed"] else ""
            rates.append(f"**{text}**" if one["eta"] == search["chosen"] else text)
        found = ", ".join([f"before training {search['rates'][0]['start']}", *rates])
        of = f"{search['seeds']} seeds, {search['images']} images"
        edge = "".join(f"; {remark}" for remark in search_remarks(search))
        lines.append(f"- {search['row']} on {search['data']}, {of}: {found}{edge}")
    return lines


def entry(summary: ExperimentSummary, data: str, column: str, row: str) -> str:
    """Return the text of a cell; empty if the table has no such cell."""
    cell = summary.cell(data, column, row)
    if row in summary.table.not_run:
        paper = summary.table.paper.get((data, column, row))
        return "not run" if paper is None else f"not run ({paper:.2f})"
    if cell is None:
        return ""
    spread = "" if cell.spread is None else f" ± {cell.spread:.2f}"
    ours = "–" if cell.mean is None else f"{cell.mean:.2f}{spread}"
    ours += f", {cell.failed} of {len(cell.values)} failed" if cell.failed else ""
    if not summary.table.paper:
        return ours
    return f"{ours} ({'–' if cell.paper is None else f'{cell.paper:.2f}'})"


def cell_lines(summary: ExperimentSummary, text: Text = entry) -> list[str]:
    """Return the lines of the table of cells; `text` is what a cell says."""
    called, columns = summary.table.called, summary.table.columns
    lines = ["| | " + " | ".join(f"{data} {called(column)}" for data, column in columns) + " |"]
    lines.append("|---|" + "---:|" * len(columns))
    for row in summary.table.rows:
        lines.append(table_line(called(row), *(text(summary, *column, row) for column in columns)))
    return lines


def brackets(summary: ExperimentSummary) -> str:
    """Return an explanation of the brackets, if the paper has numbers."""
    return "; the paper's value in brackets" if summary.table.paper else ""


def order_in_words(order: Order) -> str:
    """Return in words whether the order holds, and why nothing is claimed yet."""
    if order.holds is None:
        return "not all rows are trained"
    said = "holds" if order.holds else "does not hold: " + ", ".join(order.broken)
    return said + "".join(f"; no claim, {doubt}" for doubt in order.doubts)


def as_latex(summary: ExperimentSummary) -> str:
    """Return a tabular with mean and sample standard deviation, and the paper's value, if any, in brackets."""
    table = summary.table
    columns = table.columns
    lines = [
        f"% {escaped(table.title)}",
        f"% {escaped(table.measure.title)}: {escaped(table.measure.unit)}; "
        "mean and sample standard deviation over the seeds",
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(["", *(escaped(data) for data, _ in columns)]) + r" \\",
        " & ".join(["", *(escaped(table.called(column)) for _, column in columns)]) + r" \\",
        r"\midrule",
    ]
    for row in table.rows:
        entries = (_latex_entry(summary, data, column, row) for data, column in columns)
        lines.append(" & ".join([escaped(table.called(row)), *entries]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _latex_entry(summary: ExperimentSummary, data: str, column: str, row: str) -> str:
    cell = summary.cell(data, column, row)
    if cell is None or cell.mean is None:
        return "--"
    spread = "" if cell.spread is None else rf" \pm {cell.spread:.2f}"
    paper = "" if cell.paper is None else rf"\ ({cell.paper:.2f})"
    return f"${cell.mean:.2f}{spread}${paper}"


def as_page(summary: ExperimentSummary) -> str:
    """Return the page: self-contained, with plotly.js."""
    pages = environment()
    pages.loader = jinja2.PackageLoader("hil.training.experiments")
    scripts = [packed_library(), script("figures.js")]
    names = {"called": summary.table.called, "charts": charts(summary), "entry": entry, "brackets": brackets}
    names |= {"memory_title": MEMORY, "sparse": sparse_lines(summary), "order_in_words": order_in_words}
    names |= {"scripts": scripts, "policy": allowed(scripts, "within")}
    return pages.get_template("experiment.html.j2").render(s=summary, **names)
