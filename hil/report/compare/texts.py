"""A comparison in Markdown, in LaTeX and as CSV, and the cells of its tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

from hil.quantity import Provenance, Quantity
from hil.record.device_test import DeviceTest
from hil.report.compare import devices
from hil.report.compare.comparison import ComparedSides, FigureRow, Pair
from hil.report.compare.devices import name_of
from hil.report.escapes import csv_text, latex, markdown
from hil.report.formats import NO_BREAK, figure, percent

SHARES = ("accuracy.", "signs.")  # figures that are shares, not counts
COLUMNS = (
    "first", "second", "kind", "name", "unit", "first_value", "first_uncertainty", "first_provenance", "second_value",
    "second_uncertainty", "second_provenance", "difference", "low", "high", "relative", "says",
)  # fmt: skip
HEADS = ("figure", "first", "second", "difference", "95 % interval", "relative", "what may be said")


def figure_cells(row: FigureRow) -> list[str]:
    """Return the cells of a figure: name, both values, difference, its interval, its share, and what may be said."""
    cells = [row.path, *(written(row.path, one) for one in (row.first, row.second))]
    found = row.difference
    if found is None:
        return [*cells, "–", "–", "–", row.sentence]
    unit = found.quantity.unit
    value, low, high = (
        _amount(row.path, Quantity(one, unit, Provenance.COUNTED))
        for one in (found.quantity.value, found.low, found.high)
    )
    span = "–" if found.quantity.uncertainty is None else f"{_signed(low)} to {_signed(high)}"
    relative = "–" if found.relative is None else f"{100 * found.relative:+.2f} %"
    return [*cells, _signed(value), span, relative, row.sentence]


def written(path: str, quantity: Quantity | None) -> str:
    """Return a figure with unit, standard uncertainty and provenance; a dash without one."""
    if quantity is None:
        return "–"
    return f"{_amount(path, quantity)}, {quantity.provenance.value}"


def _amount(path: str, quantity: Quantity) -> str:
    if path.startswith(SHARES):
        text = percent(quantity.value, quantity.uncertainty)
    elif quantity.unit in ("B", "1", "cycle"):
        spread = "" if not quantity.uncertainty else f" ± {quantity.uncertainty:,.2g}"
        text = f"{quantity.value:,.10g}{spread} {'' if quantity.unit == '1' else quantity.unit}".rstrip()
    else:
        text = figure(quantity.to_json())
    return text.replace(NO_BREAK, " ")


def _signed(text: str) -> str:
    return text if text.startswith("-") else f"+{text}"


def title(pair: Pair) -> str:
    """Return the title of a pair: what both trials are, or what each is."""
    trials = [one.trial for one in (pair.first, pair.second)]
    names = [
        f"{name_of(trial)} on {trial.board}"
        if isinstance(trial, DeviceTest)
        else f"{trial.network} by {trial.method} {trial.variant} on {trial.board}"
        for trial in trials
    ]
    return names[0] if names[0] == names[1] else " / ".join(names)


def as_markdown(found: ComparedSides) -> str:
    """Return the tables in Markdown."""
    lines = [f"# {markdown(found.first)} and {markdown(found.second)}"]
    for pair in found.pairs:
        lines += ["", f"## {markdown(title(pair))}", ""]
        lines += _rows(("setting", "first", "second"), [(s.name, s.first, s.second) for s in pair.settings])
        lines += ["", *_rows(HEADS, [figure_cells(row) for row in pair.main])]
        if pair.tensors is not None:
            lines += ["", markdown(pair.tensors.sentence), ""]
            lines += _rows(devices.HEADS, [row.cells for row in pair.tensors.rows])
        if pair.papers:
            papers = [(row.what, row.paper, row.first, row.second, row.differs) for row in pair.papers]
            lines += ["", *_rows(("figure of a paper", "paper", "first", "second", "what differs"), papers)]
    return "\n".join([*lines, *alone(found, markdown)]) + "\n"


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    written_rows = [f"| {' | '.join(map(markdown, row))} |" for row in rows]
    return [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads), *written_rows]


def as_latex(found: ComparedSides) -> str:
    """Return a tabular for each table, for the package booktabs."""
    lines = [f"% {latex(found.first)} and {latex(found.second)}"]
    for pair in found.pairs:
        lines += [f"% {latex(title(pair))}"]
        lines += _tabular(("setting", "first", "second"), [(s.name, s.first, s.second) for s in pair.settings])
        lines += _tabular(HEADS, [figure_cells(row) for row in pair.main])
        if pair.tensors is not None:
            lines += _tabular(devices.HEADS, [row.cells for row in pair.tensors.rows])
        if pair.papers:
            papers = [(row.what, row.paper, row.first, row.second) for row in pair.papers]
            lines += _tabular(("figure of a paper", "paper", "first", "second"), papers)
    return "\n".join(lines + [f"% {one}" for one in alone(found, latex) if one]) + "\n"


def _tabular(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [" & ".join(map(latex, row)) + r" \\" for row in rows]
    return [
        rf"\begin{{tabular}}{{{'l' * len(heads)}}}", r"\toprule", " & ".join(map(latex, heads)) + r" \\", r"\midrule",
        *cells, r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


def as_csv(found: ComparedSides) -> str:
    """Return a line for each setting that differs, each figure and each figure of a paper, the settings first."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(COLUMNS)
    for pair in found.pairs:
        ends = [csv_text(one.trial.folder) for one in (pair.first, pair.second)]
        empty = [""] * (len(COLUMNS) - 5)
        for setting in pair.settings:
            values = list(empty)
            values[0], values[3] = csv_text(setting.first), csv_text(setting.second)
            lines.writerow([*ends, "setting", csv_text(setting.name), "", *values])
        for row in pair.figures:
            lines.writerow([*ends, "figure", csv_text(row.path), *_numbers(row)])
        for tensor in pair.tensors.rows if pair.tensors is not None else ():
            values = list(empty)
            values[-1] = csv_text("; ".join(map(" ".join, zip(devices.HEADS[1:], tensor.cells[1:], strict=True))))
            lines.writerow([*ends, "tensor", csv_text(tensor.tensor), "", *values])
        for paper in pair.papers:
            values = list(empty)
            values[0], values[3] = csv_text(paper.first), csv_text(paper.second)
            values[-1] = csv_text(f"paper: {paper.paper}")
            lines.writerow([*ends, "paper", csv_text(paper.what), "", *values])
    return text.getvalue()


def _numbers(row: FigureRow) -> list[object]:
    unit = next(one.unit for one in (row.first, row.second) if one is not None)
    values: list[object] = [csv_text(unit)]
    for one in (row.first, row.second):
        values += ["", "", ""] if one is None else [one.value, _or_empty(one.uncertainty), one.provenance.value]
    found = row.difference
    if found is None:
        return [*values, "", "", "", "", csv_text(row.sentence)]
    return [*values, found.quantity.value, found.low, found.high, _or_empty(found.relative), csv_text(row.sentence)]


def _or_empty(value: float | None) -> object:
    return "" if value is None else value


def alone(found: ComparedSides, written_as: Callable[[str], str]) -> list[str]:
    """Return which trials have no like."""
    sides = (("first", found.only_first), ("second", found.only_second))
    said = [f"only in the {side}: {', '.join(map(written_as, folders))}" for side, folders in sides if folders]
    return ["", *said] if said else []


FORMATS: dict[str, Callable[[ComparedSides], str]] = {"markdown": as_markdown, "latex": as_latex, "csv": as_csv}
