"""Charts of an experiment: one line per row, the mean of the completely trained seeds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from markupsafe import Markup

from hil.training.experiments.curve import EpochRow
from hil.training.experiments.line_chart import Axes, chart
from hil.training.experiments.summary import Summary
from hil.training.experiments.table import COSINE, LOSS, NONE, Axis


def charts(summary: Summary) -> list[tuple[str, Markup]]:
    """Return captions and charts: one of the learning curves per column; one of all cosines, layer by layer."""
    table = summary.table
    if table.measure is COSINE:
        return [(data, _by_column(summary, data)) for data in dict.fromkeys(data for data, _ in table.columns)]
    found = [(f"{data} {table.called(column)}", _by_epoch(summary, data, column)) for data, column in table.columns]
    for data, column in table.columns:
        if column in table.loss_charts:
            found += _losses(summary, data, column)
    return found


def _by_column(summary: Summary, data: str) -> Markup:
    table = summary.table
    columns = [column for its, column in table.columns if its == data]
    lines = {}
    for row in table.rows:
        means = [cell.mean for cell in (summary.cell(data, column, row) for column in columns) if cell is not None]
        if means and None not in means:
            lines[table.called(row)] = [mean for mean in means if mean is not None]
    marks = {place / max(len(columns) - 1, 1): table.called(name) for place, name in enumerate(columns)}
    return chart(lines, f"{table.measure.title} by layer, {data}", Axes("layer", marks))


def _losses(summary: Summary, data: str, column: str) -> list[tuple[str, Markup]]:
    """Return the charts of training and test loss, from epoch 1 on; none without recorded test losses."""
    table, found = summary.table, []
    for what, field in (("training", "loss"), ("test", "test_loss")):
        lines = {
            name: [
                fmean(getattr(one, field) for one in point) for point in zip(*(each[1:] for each in its), strict=True)
            ]
            for name, its in _complete_curves(summary, data, column).items()
            if all(one.test_loss is not None for curve in its for one in curve)
        }
        if lines and all(lines.values()):
            name = f"{data} {table.called(column)}, {what} loss in nats"
            axes = Axes(table.axis.title, _marks(table.axis, max(map(len, lines.values())), True))
            caption = f"{name} ({table.loss_charts[column]})"
            found.append((caption, chart(lines, f"{name} by {table.axis.title}", axes)))
    return found


def _complete_curves(summary: Summary, data: str, column: str) -> dict[str, list[Sequence[EpochRow]]]:
    """Return the longest curves of every row by its title."""
    table, found = summary.table, {}
    for row in table.rows:
        curves = [summary.curves[run.name] for run in table.cells.get((data, column, row), ())]
        curves = [curve for curve in curves if curve and len(curve) == max(map(len, curves))]
        if curves and row != NONE:
            found[table.called(row)] = curves
    return found


def _by_epoch(summary: Summary, data: str, column: str) -> Markup:
    table, loss = summary.table, summary.table.measure is LOSS
    lines = {
        name: [_mean(point, loss) for point in zip(*(curve[loss:] for curve in curves), strict=True)]
        for name, curves in _complete_curves(summary, data, column).items()
    }
    marks = _marks(table.axis, max(map(len, lines.values()), default=1), loss)
    axes = Axes(table.axis.title, marks, stretched=table.axis.last is not None)
    return chart(lines, f"{table.measure.title} by {table.axis.title}, {data} {table.called(column)}", axes)


def _mean(point: Sequence[EpochRow], loss: bool) -> float:
    """Return the mean over the seeds: loss of an epoch, or accuracy after it in percent."""
    values = [one.loss if loss else 100 * one.test_accuracy for one in point]
    return sum(value for value in values if value is not None) / len(values)


def _marks(axis: Axis, rows: int, loss: bool) -> dict[float, str]:
    """Return the labels of the first, middle and last row; a loss curve begins with epoch 1."""
    first, last = int(loss), rows - 1 + int(loss)
    places = sorted({first, (first + last) // 2, last})
    scale = 1.0 if axis.last is None else axis.last / max(last, 1)
    return {(place - first) / max(rows - 1, 1): f"{place * scale:.3g}" for place in places}
