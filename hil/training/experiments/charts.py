"""Charts of an experiment for plotly.js: one line per row, the mean of the completely trained seeds."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from statistics import fmean

from markupsafe import Markup

from hil.report import style
from hil.report.style import BOARD, GREY, LIMIT, REFERENCE, THIRD, Figure, styled
from hil.report.trial_figures import box
from hil.training.experiments.curve import EpochRow
from hil.training.experiments.summary import ExperimentSummary
from hil.training.experiments.table import COSINE, LOSS, NONE, Axis

Places = Sequence[float] | Sequence[str]
HEIGHT = 340  # pixels
COLOURS, DASHES = (BOARD, REFERENCE, THIRD, LIMIT, GREY), ("solid", "dash", "dot", "dashdot")
NARROWEST, NARROWER, MOST = 1.5, 1.2, 7.0  # pixels: the last line; what each below it has more, and all


def charts(summary: ExperimentSummary) -> list[tuple[str, Markup]]:
    """Return captions and charts: one of the learning curves per column; one of all cosines, layer by layer."""
    table = summary.table
    if table.measure is COSINE:
        drawn = [(data, _by_column(summary, data)) for data in dict.fromkeys(data for data, _ in table.columns)]
    else:
        drawn = [(f"{data} {table.called(column)}", _by_epoch(summary, data, column)) for data, column in table.columns]
        for data, column in table.columns:
            if column in table.loss_charts:
                drawn += _losses(summary, data, column)
    title = table.measure.title
    return [(name, box(one, str(number), f"{title}, {name}")) for number, (name, one) in enumerate(drawn)]


def line_chart(lines: Mapping[str, Sequence[float]], x: Mapping[str, Places], titles: Axis) -> Figure:
    """Return a chart of lines; a value that is not finite leaves a gap.

    A line is narrower than those that are drawn before it, so none hides another, even where they are equal.

    Args:
        lines: values by name.
        x: places of the values of each line.
        titles: the title of the horizontal axis.
    """
    traces = []
    for number, (name, values) in enumerate(lines.items()):
        line = {
            "color": COLOURS[number % len(COLOURS)], "dash": DASHES[number // len(COLOURS) % len(DASHES)],
            "width": NARROWEST + min(NARROWER, MOST / len(lines)) * (len(lines) - 1 - number),
        }  # fmt: skip
        places = [html.escape(place) if isinstance(place, str) else place for place in x[name]]
        traces.append({
            "type": "scatter", "mode": "lines" if len(values) > 1 else "markers", "name": html.escape(name),
            "x": places, "y": list(values), "line": line, "marker": {"color": line["color"]},
        })  # fmt: skip
    return styled(traces, HEIGHT, titles.title, style.axis("", fixedrange=True), hovermode="x unified")


def _by_column(summary: ExperimentSummary, data: str) -> Figure:
    table = summary.table
    columns = [column for its, column in table.columns if its == data]
    lines = {}
    for row in table.rows:
        means = [cell.mean for cell in (summary.cell(data, column, row) for column in columns) if cell is not None]
        if means and None not in means:
            lines[table.called(row)] = [mean for mean in means if mean is not None]
    layers = [table.called(column) for column in columns]
    return line_chart(lines, {name: layers[: len(its)] for name, its in lines.items()}, Axis("layer"))


def _by_epoch(summary: ExperimentSummary, data: str, column: str) -> Figure:
    """Return the chart of the loss of an epoch, from epoch 1 on, or of the accuracy after it in percent."""
    loss, axis = summary.table.measure is LOSS, summary.table.axis
    lines = {}
    for name, curves in _complete_curves(summary, data, column).items():
        values = [[(one.loss if loss else 100 * one.test_accuracy) for one in curve[loss:]] for curve in curves]
        means = ([one for one in point if one is not None] for point in zip(*values, strict=True))
        lines[name] = [fmean(point) if point else float("nan") for point in means]
    return line_chart(lines, {name: _places(axis, its, loss) for name, its in lines.items()}, axis)


def _losses(summary: ExperimentSummary, data: str, column: str) -> list[tuple[str, Figure]]:
    """Return the charts of training and test loss, from epoch 1 on; none without recorded test losses."""
    table, found = summary.table, []
    curves = {
        name: [curve[1:] for curve in its]
        for name, its in _complete_curves(summary, data, column).items()
        if all(one.test_loss is not None for curve in its for one in curve)
    }
    if not curves or not all(len(its[0]) for its in curves.values()):
        return []
    for what, field in (("training", "loss"), ("test", "test_loss")):
        lines = {
            name: [fmean(getattr(one, field) for one in point) for point in zip(*its, strict=True)]
            for name, its in curves.items()
        }
        caption = f"{data} {table.called(column)}, {what} loss in nats ({table.loss_charts[column]})"
        x = {name: _places(table.axis, its, True) for name, its in lines.items()}
        found.append((caption, line_chart(lines, x, table.axis)))
    return found


def _complete_curves(summary: ExperimentSummary, data: str, column: str) -> dict[str, list[Sequence[EpochRow]]]:
    """Return the longest curves of every row by its title."""
    table, found = summary.table, {}
    for row in table.rows:
        curves = [summary.curves[run.name] for run in table.cells.get((data, column, row), ())]
        curves = [curve for curve in curves if curve and len(curve) == max(map(len, curves))]
        if curves and row != NONE:
            found[table.called(row)] = curves
    return found


def _places(axis: Axis, values: Sequence[float], loss: bool) -> list[float]:
    """Return the places of the rows of a curve; one of losses begins with epoch 1, and the axis may end elsewhere."""
    last = len(values) - 1 + loss
    scale = 1.0 if axis.last is None else axis.last / max(last, 1)
    return [scale * (place + loss) for place in range(len(values))]
