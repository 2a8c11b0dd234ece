"""Small curves for the overview: of the loss, and of a figure over the last nights.

They are SVG, which needs no script.
"""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from hil.record import TrialRecord
from hil.record.parquet import Columns, rows_of
from hil.record.since_last_good import SinceLastGood
from hil.report.figures import loss_a_sample

WIDTH, HEIGHT, MOST = 160, 40, 80


def sparkline(steps: Columns, trial: TrialRecord) -> Markup | None:
    """Return the float loss per sample, averaged to at most MOST points; None with fewer than three finite losses."""
    if rows_of(steps) < 3:
        return None
    integers = trial.settings.get("loss") == "integer"
    if integers and "reference_float_plus" not in steps:
        return None
    loss = loss_a_sample(steps, "float" if integers else "board", trial.batch).astype(float)
    loss = loss[np.isfinite(loss)]
    if len(loss) < 3:
        return None
    loss = np.array([part.mean() for part in np.array_split(loss, min(len(loss), MOST))])
    return _curve(loss, f"Loss a sample over {rows_of(steps)} steps: from {loss[0]:.2f} to {loss[-1]:.2f}")


def nights_of(since: SinceLastGood | None) -> dict[str, Markup]:
    """Return the figure of each trial over its last nights, by the folder of the trial."""
    found = {}
    for each in since["histories"] if since is not None else []:
        values = np.array(each["values"], float)
        label = f"{each['name']} ({each['provenance']}) over {len(values)} nights, {values[0]:.4g} to {values[-1]:.4g}"
        found[each["folder"]] = _curve(values, label)
    return found


def _curve(values: np.ndarray, label: str) -> Markup:
    low, high = float(values.min()), float(values.max())
    x = np.linspace(2, WIDTH - 2, len(values))
    y = HEIGHT - 3 - (values - low) / ((high - low) or 1.0) * (HEIGHT - 6)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return Markup(
        '<svg class="spark" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" aria-label="{label}">'
        "<title>{label}</title>"
        '<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/></svg>'
    ).format(w=WIDTH, h=HEIGHT, label=label, points=points)
