"""The edges of a window in a CSV file, from the column of the marker."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from hil.energy.capture import Edge, edge_between
from hil.errors import RigError
from hil.meters.csv_columns import CsvColumn
from hil.meters.csv_units import INVERTED


def window_edges(
    name: str, times: np.ndarray, column: CsvColumn | None, marker: np.ndarray | None, debounce_s: float | None
) -> tuple[tuple[Edge, ...], list[str]]:
    """Return the edges of the marker, the first of them up, and notes on a window that the file begins inside.

    Without a marker they are start and end of the file.

    Args:
        name: of the file.
        times: float64[n], in seconds, ascending.
        column: of the marker, None without one.
        marker: float64[n], its levels; NaN where unknown.
        debounce_s: changes that are closer together are one. None: more than two changes are an error.

    Raises:
        RigError: the marker does not go up and down, or changes more than twice without `debounce_s`.
    """
    if marker is None or column is None:
        return (Edge(float(times[0]), 0.0, True), Edge(float(times[-1]), 0.0, False)), []
    known = np.isfinite(marker)
    if not known.any():
        raise RigError(
            f"{name}: its marker is not known in any line: switch the digital inputs on, and record it again."
        )
    below, above, high = changes(marker, known)
    begins, ends = times[below], times[above]
    spans = [(float(a), float(b), bool(c)) for a, b, c in zip(begins, ends, high, strict=True)]
    edges = debounced(spans, debounce_s or 0.0)
    if len(edges) < 2:
        raise RigError(
            f"{name}: its marker changes {len(edges)} times: name the column that goes up where the work begins "
            "and down where it ends."
        )
    if len(edges) > 2 and debounce_s is None:
        shortest = min(after.t_s - before.t_s for before, after in pairwise(edges))
        raise RigError(
            f"{name}: its marker changes {len(edges)} times, at least {shortest:.3g} s apart: cut the file to one "
            "window, or say with --debounce below how many seconds a pulse is bounce (0: the first two changes count)."
        )
    if edges[0].high:
        return edges, []
    if len(edges) == 2:
        inverted = f"{column.name}=marker" if column.scale < 0 else f"{column.name}=marker ({INVERTED})"
        raise RigError(
            f"{name}: its marker goes down at {edges[0].t_s:.6g} s and up at {edges[1].t_s:.6g} s: between them the "
            "board rests, as the file was cut inside two windows: export one whole window; or, if the marker is low "
            f"while the board works, give --column '{inverted}'."
        )
    note = (
        f"the file begins inside a window that ends at {edges[0].t_s:.6g} s: it was discarded, and the next one taken."
    )
    return edges[1:], [note]


def debounced(spans: list[tuple[float, float, bool]], debounce_s: float) -> tuple[Edge, ...]:
    """Return the edges of a marker without its bounce.

    Changes within `debounce_s` of each other are one edge, anywhere between the first and the last of them, if the
    level after them differs from the level before; otherwise they are none.

    Args:
        spans: for each change, its earliest and latest time in seconds, and the level after it.
        debounce_s: 0 for no bounce.
    """
    groups: list[list[tuple[float, float, bool]]] = []
    for span in spans:
        if groups and span[0] - groups[-1][-1][1] < debounce_s:
            groups[-1].append(span)
        else:
            groups.append([span])
    kept = [group for group in groups if len(group) % 2]
    return tuple(edge_between(group[0][0], group[-1][1], high=group[-1][2]) for group in kept)


def changes(levels: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return between which two readings a level changes, int64[n] each, and the new level, bool[n].

    A level is high above two thirds of its swing and low below one third, so noise at the middle is no change.

    Args:
        levels: float64[k].
        known: bool[k], whether a level is known. An unknown one widens a change to the known readings around it.
    """
    low, high = float(levels[known].min()), float(levels[known].max())
    third = (high - low) / 3
    sure = np.flatnonzero(known & ((levels <= low + third) | (levels >= high - third)))
    up = levels[sure] > low + 1.5 * third
    at = np.flatnonzero(up[1:] != up[:-1])
    return sure[at], sure[at + 1], up[at + 1]
