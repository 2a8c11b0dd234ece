"""Traces on disk: they grow by row groups, hold every reading, and are read one row group at a time."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from hil.energy.capture import Capture, Edge
from hil.energy.live_trace import keep_peaks
from hil.errors import RigError
from hil.record.power_trace import COLUMNS, GROUP, TraceWriter, read_facts


def piece(begin: float, n: int, rng: np.random.Generator, edges: tuple[Edge, ...] = ()) -> Capture:
    power = rng.uniform(0, 1, n)
    return Capture(begin + np.arange(n) * 1e-5, power, power / 3.3, np.full(n, 3.3), 1e-5, 1e-5, edges, 0.1, 0)


def pieces(path: Path) -> Iterator[dict[str, np.ndarray]]:
    """Yield the columns of each row group."""
    with pq.ParquetFile(path) as file:
        for number in range(file.num_row_groups):
            group = file.read_row_group(number)
            yield {name: group[name].to_numpy() for name in group.column_names if name in COLUMNS.names}


def thinned(path: Path, buckets: int) -> dict[str, np.ndarray]:
    """Return the columns of a trace with its peaks, from one row group at a time, which share the buckets."""
    rows = pq.read_metadata(path).num_rows
    parts = []
    for part in pieces(path):
        kept = keep_peaks(part["power_w"], max(1, buckets * len(part["t_s"]) // max(1, rows)))
        parts.append({name: column[kept] for name, column in part.items()})
    return {name: np.concatenate([part[name] for part in parts]) if parts else np.empty(0) for name in COLUMNS.names}


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(1), tmp_path / "trace.parquet"
    captures = [
        piece(window * 10.0, n, rng, (Edge(window * 10.0 + 0.01, 1e-6, True),))
        for window, n in enumerate((10, GROUP, 3, GROUP + 7))
    ]
    with TraceWriter(path, {"name": "of this test"}) as writer:
        for window, one in enumerate(captures):
            writer.append(one, window)
    table = pq.read_table(path)
    assert np.array_equal(table["power_w"].to_numpy(), np.concatenate([one.power_w for one in captures]))
    assert np.array_equal(table["t_s"].to_numpy(), np.concatenate([one.t_s for one in captures]))
    assert np.array_equal(table["window"].to_numpy(), np.repeat(np.arange(4), [len(one.t_s) for one in captures]))
    assert [len(part["t_s"]) for part in pieces(path)] == [GROUP, GROUP, 20]
    facts, edges = read_facts(path)
    assert facts == {"name": "of this test"} and edges == [(captures[k].edges[0], k) for k in range(4)]


def test_memory_does_not_grow_with_the_trace(tmp_path: Path) -> None:
    """Six row groups cost what two cost."""
    rng = np.random.default_rng(2)
    peaks = []
    for count in (2, 6):
        tracemalloc.start()
        with TraceWriter(tmp_path / f"{count}.parquet", {}) as writer:
            for k in range(4 * count):
                writer.append(piece(k, GROUP // 4, rng))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


def test_thinning_keeps_the_peaks_of_every_row_group(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(3), tmp_path / "trace.parquet"
    with TraceWriter(path, {}) as writer:
        for k in range(3):
            writer.append(piece(k * 2.0, GROUP, rng))
    kept = thinned(path, 300)
    assert len(kept["t_s"]) <= 3 * 204 and np.all(np.diff(kept["t_s"]) > 0)
    whole = pq.read_table(path)["power_w"].to_numpy()
    assert kept["power_w"].max() == whole.max() and kept["power_w"].min() == whole.min()


def test_an_unfinished_trace_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), TraceWriter(tmp_path / "trace.parquet", {}) as writer:
        writer.append(piece(0.0, 100, np.random.default_rng(4)))
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_an_empty_trace_is_one(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "trace.parquet", {}):
        pass
    assert (
        read_facts(tmp_path / "trace.parquet") == ({}, []) and len(thinned(tmp_path / "trace.parquet", 10)["t_s"]) == 0
    )


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(RigError, match="cannot be read"):
        read_facts(tmp_path / "a.parquet")


def test_readings_are_told_by_phase_whole_or_in_pieces(tmp_path: Path) -> None:
    """A window in three pieces, each edge with the piece that it lies in, has the phases of the whole."""
    rng = np.random.default_rng(5)
    edges = (Edge(0.001, 0.0, True), Edge(0.002, 0.0, False))
    whole = piece(0.0, 300, rng, edges)
    phase = np.select([whole.t_s < 0.001, whole.t_s < 0.002], ["idle before", "steps"], "idle after")
    cuts = [slice(0, 120), slice(120, 180), slice(180, 300)]
    parts = [
        replace(
            whole,
            t_s=whole.t_s[cut],
            power_w=whole.power_w[cut],
            current_a=whole.current_a[cut],
            voltage_v=whole.voltage_v[cut],
            edges=edges[at : at + 1],
        )
        for cut, at in zip(cuts, (0, 9, 1), strict=True)
    ]
    for name, captures in (("whole", [whole]), ("parts", parts)):
        with TraceWriter(tmp_path / f"{name}.parquet", {}) as writer:
            for one in captures:
                writer.append(one, 4)
        assert pq.read_table(tmp_path / f"{name}.parquet")["phase"].to_pylist() == list(phase), name


def test_a_window_told_from_its_first_edge() -> None:
    moved = piece(
        7.0, 10, np.random.default_rng(6), (Edge(7.00003, 1e-6, True), Edge(7.00007, 1e-6, False))
    ).from_first_edge()
    assert moved.t_s[3] == pytest.approx(0.0, abs=1e-9) and [edge.t_s for edge in moved.edges] == pytest.approx(
        [0.0, 4e-5], abs=1e-9
    )
