"""The trace of one window of `hil measure`, written while the sums between its edges are made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hil.energy.capture import Capture
from hil.energy.marker_interval import IntervalSums, MarkerInterval
from hil.errors import RigError
from hil.meters.meter import InvalidWindow
from hil.record.power_trace import TraceWriter

TRACE = "trace.parquet"


def record_interval(folder: Path, window: Iterable[Capture], about: dict[str, Any], fewest: int = 0) -> MarkerInterval:
    """Write a window's trace while its pieces arrive, and return its sums. A window that fails leaves no trace.

    Args:
        folder: for TRACE.
        window: pieces of the window.
        about: facts about the meter, for the trace.
        fewest: least number of readings between the edges.

    Raises:
        RigError: the folder cannot be written.
        Blocked, InvalidWindow: raised by the pieces; or there are not two edges, or too few readings between them.
    """
    running = IntervalSums()
    with writing_to(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TraceWriter(folder / TRACE, about) as trace:
            for piece in window:
                about.update(range_a=piece.range_a, aperture_s=piece.aperture_s)
                trace.append(piece)
                running.add(piece)
            found = running.result()
            if found.readings < fewest:
                raise InvalidWindow(
                    f"the pin changed back after {found.duration_s:.3g} s, and only {found.readings} readings lie "
                    "between: check the pin for bounce, or choose a shorter --interval"
                )
    return found


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Raise RigError with the folder's name if writing to it fails."""
    try:
        yield
    except OSError as error:
        raise RigError(f"{folder} cannot be written ({error}): name another folder with --out.") from error
