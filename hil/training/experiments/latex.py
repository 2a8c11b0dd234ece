"""The table of an experiment in LaTeX, for the package booktabs."""

from __future__ import annotations

from hil.report.escapes import latex as escaped
from hil.training.experiments.summary import Summary


def as_latex(summary: Summary) -> str:
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
        entries = (_entry(summary, data, column, row) for data, column in columns)
        lines.append(" & ".join([escaped(table.called(row)), *entries]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _entry(summary: Summary, data: str, column: str, row: str) -> str:
    cell = summary.cell(data, column, row)
    if cell is None or cell.mean is None:
        return "--"
    spread = "" if cell.spread is None else rf" \pm {cell.spread:.2f}"
    paper = "" if cell.paper is None else rf"\ ({cell.paper:.2f})"
    return f"${cell.mean:.2f}{spread}${paper}"
