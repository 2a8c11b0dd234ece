"""Power traces at full rate in Parquet, written in row groups so that memory does not grow with the length.

Columns: t_s, power_w, current_a, voltage_v (float64, SI units; NaN if the meter does not report it), window (int32),
phase (`idle before`, `steps`, `idle after`, by the number of marker edges so far in the window). The file's metadata
holds under the key `trainrig` the edges, the facts about the meter, and when the host asked for each window. Both the
power.parquet of a trial and the trace of `hil measure` have this format.
"""

from __future__ import annotations

import json
import math
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hil.bounded_read import parse_json
from hil.energy.capture import Capture, Edge, WindowRequest
from hil.energy.window import PHASES
from hil.errors import RigError, message_of

GROUP = 1 << 17  # readings in a row group: 1.3 s at 100 kS/s, 5 MB
KEY = b"trainrig"
REAL = ["t_s", "power_w", "current_a", "voltage_v"]
COLUMNS = pa.schema(
    [
        *((name, pa.float64()) for name in REAL),
        ("window", pa.int32()),
        ("phase", pa.dictionary(pa.int8(), pa.string())),
    ]
)
NUMBERS = len(REAL)
CURE = "name the trace of a measurement"
DAMAGE = (AttributeError, KeyError, TypeError, ValueError, OverflowError)


class TraceWriter:
    """Writes one trace with facts about the meter. The file appears at its path only when it is complete."""

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        self._path, self._facts = path, facts
        self._partial = path.with_name(f"{path.name}.part")
        # Readings rarely repeat, so a dictionary would only cost time (seven times as long). Split into byte streams
        # they take half the space (Parquet, "Encodings").
        self._writer = pq.ParquetWriter(
            self._partial, COLUMNS, compression="zstd", use_dictionary=["window", "phase"], use_byte_stream_split=REAL
        )
        self._held: list[np.ndarray] = []
        self._rows = 0
        self._edges: list[tuple[float, float, bool, int]] = []
        self._requests: list[tuple[float, float, float, float, int]] = []

    def append(self, capture: Capture, window: int = 0) -> None:
        """Append the readings and edges of a window or a part of one; full row groups are written immediately."""
        before = [at for at, _, _, of in self._edges if of == window]
        edges = np.array([*before, *(edge.t_s for edge in capture.edges)])
        phase = np.minimum(np.searchsorted(edges, capture.t_s, side="right"), len(PHASES) - 1)
        readings = capture.t_s, capture.power_w, capture.current_a, capture.voltage_v
        columns = *readings, np.full(len(capture.t_s), window), phase
        self._edges += [(edge.t_s, edge.half_s, edge.high, window) for edge in capture.edges]
        if capture.request is not None:
            self._requests.append((*astuple(capture.request), window))
        self._held.append(np.stack([np.asarray(column, np.float64) for column in columns]))
        self._rows += len(capture.t_s)
        while self._rows >= GROUP:
            self._write(GROUP)

    def _write(self, rows: int) -> None:
        table = np.concatenate(self._held, axis=1) if self._held else np.empty((len(COLUMNS), 0))
        now, later = table[:, :rows], table[:, rows:].copy()
        window, phase = now[NUMBERS:].astype(np.int32)
        arrays = [pa.array(column) for column in (*now[:NUMBERS], window)]
        arrays.append(pa.DictionaryArray.from_arrays(pa.array(phase.astype(np.int8)), pa.array(PHASES)))
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=COLUMNS), row_group_size=rows)
        self._held, self._rows = [later], later.shape[1]

    def close(self) -> None:
        """Write the remaining rows and the edges, and move the file to its path."""
        if self._rows:
            self._write(self._rows)
        known = {"meter": self._facts, "edges": self._edges, "requests": self._requests}
        metadata = json.dumps(known, allow_nan=False)
        self._writer.add_key_value_metadata({KEY: metadata})
        self._writer.close()
        self._partial.replace(self._path)

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        try:
            if error is None:
                self.close()
            else:
                self._writer.close()
        finally:
            self._partial.unlink(missing_ok=True)  # still there after an exception, which closing may raise too


def read_facts(path: Path) -> tuple[dict[str, Any], list[tuple[Edge, int]]]:
    """Return the facts about the meter, and the edges, each with the number of its window.

    Raises:
        RigError: the file is not a trace, or is damaged.
    """
    known = _known(path)
    try:
        edges = [(Edge(float(at), float(half), bool(high)), int(window)) for at, half, high, window in known["edges"]]
        return dict(known["meter"]), edges
    except DAMAGE as error:
        raise _damaged(path, error) from error


def read_requests(path: Path) -> dict[int, WindowRequest]:
    """Return the request for each window by its number; empty for a window that was not asked for, or an old trace.

    Raises:
        RigError: the file is not a trace, or is damaged.
    """
    known = _known(path)
    try:
        found = {int(window): WindowRequest(*map(float, times)) for *times, window in known.get("requests", [])}
        if not all(math.isfinite(time) for request in found.values() for time in astuple(request)):
            raise ValueError("a request has no time")
        return found
    except DAMAGE as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> RigError:
    return RigError(f"{path} is damaged ({type(error).__name__}: {message_of(error)}): {CURE}.")


def _known(path: Path) -> Any:
    """Return what the metadata of a trace holds."""
    try:
        found = (pq.read_metadata(path).metadata or {}).get(KEY)
    except (OSError, pa.ArrowException) as error:
        raise RigError(f"{path} cannot be read ({message_of(error)}): {CURE}.") from error
    if found is None:
        raise RigError(f"{path} is no trace of this rig: {CURE}.")
    return parse_json(found, str(path), CURE)
