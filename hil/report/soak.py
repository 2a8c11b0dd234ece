"""The soak test on the overview: memory, descriptors and threads of every process over time."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from hil.record.soak import Soak, series_of
from hil.report.style import BOARD, GREY, REFERENCE, THIRD, Figure, Trace, axis, field, rows_of, styled
from hil.report.trial_figures import box

COLOURS = {"rig": BOARD, "bench": REFERENCE, "probe": THIRD}
DASHES = ("solid", "dot", "dash", "dashdot")  # by board
PANELS = (("memory, MB", "rss_kb", 1024), ("descriptors", "descriptors", 1), ("threads", "threads", 1))
PANEL = 190  # height of a panel in pixels
BETWEEN = 24  # pixels between two panels
AROUND = 130  # pixels for the legend above and the axis below


@dataclass(frozen=True)
class ProcessRow:
    """The resources of one process; a figure is None without measurements."""

    process: str  # its name and the board that it serves
    rows: int  # number of measurements after the warm-up
    memory: tuple[float, float] | None  # median of the first and of the last quarter after the warm-up, in kB
    most: dict[str, tuple[int | None, int | None]]  # the largest value during the warm-up and after it


def soak_view(soak: Soak | None) -> dict[str, Any]:
    """Return the variables of the section; without a soak test there is no figure and no table."""
    if soak is None or not soak.rows:
        return {"soak": soak, "soak_figure": None, "held": []}
    label = "Memory, descriptors and threads of every process over the time of the soak"
    return {"soak": soak, "soak_figure": box(soak_figure(soak), "soak", label), "held": process_rows(soak)}


def process_rows(soak: Soak) -> list[ProcessRow]:
    """Return the table: one row for each process."""
    found = []
    for (process, board), rows in sorted(series_of(soak.rows).items(), key=lambda each: (each[0][1], each[0][0])):
        before = [row for row in rows if row.seconds <= soak.warm_up_s]
        after = [row for row in rows if row.seconds > soak.warm_up_s]
        quarter = max(1, len(after) // 4)
        memory = [statistics.median(row.rss_kb for row in part) for part in (after[:quarter], after[-quarter:]) if part]
        most = {
            figure: tuple(max((getattr(row, figure) for row in part), default=None) for part in (before, after))
            for figure in ("descriptors", "threads", "children")
        }
        two = (memory[0], memory[1]) if memory else None
        found.append(ProcessRow(f"{process} of {board}", len(after), two, most))  # type: ignore[arg-type]
    return found


def soak_figure(soak: Soak) -> Figure:
    """Draw a panel for each figure with a line for each process; the warm-up is grey. `soak` has at least one row."""
    height = PANEL * len(PANELS) + BETWEEN * (len(PANELS) - 1)
    panels = rows_of(len(PANELS), BETWEEN / height)
    data: list[Trace] = []
    for (process, board), measured in series_of(soak.rows).items():
        dash = DASHES[soak.boards.index(board) % len(DASHES) if board in soak.boards else 0]
        line = {"color": COLOURS.get(process, GREY), "width": 1.5, "dash": dash}
        minutes = [round(row.seconds / 60, 3) for row in measured]
        for (_, name, unit), (number, _, _) in zip(PANELS, panels, strict=True):
            data.append({
                "type": "scatter", "x": minutes, "y": [round(getattr(row, name) / unit, 2) for row in measured],
                "name": f"{process}, {board}", "mode": "lines", "line": line, "legendgroup": f"{process} {board}",
                "showlegend": number == "", "xaxis": f"x{number}", "yaxis": f"y{number}",
            })  # fmt: skip
    warm_up = field(0, soak.warm_up_s / 60, GREY, 0.14)
    lowest = panels[-1][0]
    axes, shapes = {}, []
    for (title, _, _), (number, x, y) in zip(PANELS, panels, strict=True):
        shapes.append(warm_up | {"xref": f"x{number}", "yref": f"y{number} domain"})
        shared = {} if number == lowest else {"matches": f"x{lowest}", "showticklabels": False}
        axes[f"xaxis{number}"] = x | axis("minutes since the soak began" if number == lowest else "") | shared
        axes[f"yaxis{number}"] = y | axis(title, rangemode="tozero", nticks=5)
    return styled(data, height + AROUND, "", "", shapes=shapes, **axes)
