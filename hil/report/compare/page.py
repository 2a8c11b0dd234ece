"""The page of a comparison: tables, and the loss curves of each pair in one figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from hil.commit import short_commit
from hil.record import write_atomic
from hil.record.device_test import DeviceTest
from hil.report.compare.comparison import ComparedSides, Pair
from hil.report.compare.sides import ComparedResult
from hil.report.compare.texts import figure_cells, title
from hil.report.damage import damage_reported
from hil.report.figures import SMOOTH_FROM, SMOOTH_OVER, drawn_losses, loss_a_sample
from hil.report.page import environment, packed_library
from hil.report.style import BOARD, REFERENCE, Trace, styled
from hil.report.trial_figures import box, has_curve

SIDES = (("first", BOARD, "solid"), ("second", REFERENCE, "dash"))  # two dashes, for who sees no colours
MOST_ROWS = 40  # of the table below a figure


def write_page(found: ComparedSides, path: Path) -> None:
    """Write one self-contained page.

    Raises:
        RigError: a record makes no sense.
        OSError: the disk is full, or the folder does not exist.
    """
    with damage_reported(f"the page of {found.first} and {found.second}"):
        views = [_view(pair, number) for number, pair in enumerate(found.pairs, start=1)]
    drawn = any(view["curves"] for view in views)
    library = packed_library() if drawn else ""
    template = environment().get_template("compare.html.j2")
    write_atomic(path, template.render(found=found, views=views, drawn=drawn, library=library))


def _view(pair: Pair, number: int) -> dict[str, Any]:
    losses = {name: _losses(one) for (name, _, _), one in zip(SIDES, (pair.first, pair.second), strict=True)}
    known = {name: curve for name, curve in losses.items() if curve is not None}
    return {
        "pair": pair,
        "title": title(pair),
        "rows": [figure_cells(row) for row in pair.main],
        "curves": _curves(known, number) if known else None,
        "losses": _loss_rows(known),
        "facts": [_facts(one.facts) for one in (pair.first, pair.second)],
    }


def _facts(facts: Mapping[str, Any]) -> str:
    if not facts:
        return "its run is not there"
    commit = str(facts.get("commit") or "")
    return f"run {facts['id']}{', commit ' + short_commit(commit) if commit else ''}"


def _losses(one: ComparedResult) -> tuple[np.ndarray, np.ndarray] | None:
    """Return steps and losses per sample, those of the board, or in floats of a method that compares integers.

    None of a test of a device.
    """
    if isinstance(one.trial, DeviceTest) or one.steps is None:
        return None
    steps = drawn_losses(one.trial, one.steps)
    if not has_curve(one.trial, steps):
        return None
    side = "float" if one.trial.settings.get("loss") == "integer" else "board"
    return steps["step"], loss_a_sample(steps, side, one.trial.batch).astype(float)


def _curves(losses: Mapping[str, tuple[np.ndarray, np.ndarray]], number: int) -> Markup:
    traces: list[Trace] = []
    for name, colour, dash in SIDES:
        if name not in losses:
            continue
        step, loss = losses[name]
        smooth = len(step) >= SMOOTH_FROM
        raw = {"color": colour, "width": 1 if smooth else 3, "dash": "solid" if smooth else dash}
        traces.append(_line(step, loss, name, raw, 0.35 if smooth else 1.0))
        if smooth:
            mean = np.convolve(loss, np.ones(SMOOTH_OVER) / SMOOTH_OVER, mode="valid")
            line = {"color": colour, "width": 3.5, "dash": dash}
            traces.append(_line(step[SMOOTH_OVER - 1 :], mean, f"{name}, mean of {SMOOTH_OVER} steps", line))
    figure = styled(traces, 360, "step", "loss a sample")
    return box(figure, f"compare-{number}", f"Loss a sample of {' and '.join(losses)}")


def _line(x: np.ndarray, y: np.ndarray, name: str, line: dict[str, Any], opacity: float = 1.0) -> Trace:
    return {"type": "scatter", "x": x, "y": y, "name": name, "mode": "lines", "line": line, "opacity": opacity}


def _loss_rows(losses: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> list[tuple[int, int, list[float | None]]]:
    """Return first step, last step and the mean losses between them of each side, None where it has no such step."""
    if not losses:
        return []
    steps = np.unique(np.concatenate([step for step, _ in losses.values()]))
    rows = []
    for part in np.array_split(steps, min(len(steps), MOST_ROWS)):
        means: list[float | None] = []
        for name, _, _ in SIDES:
            step, loss = losses.get(name, (np.empty(0), np.empty(0)))
            inside = (step >= part[0]) & (step <= part[-1])
            means.append(float(loss[inside].mean()) if inside.any() else None)
        rows.append((int(part[0]), int(part[-1]), means))
    return rows
