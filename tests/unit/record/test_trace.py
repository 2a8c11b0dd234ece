"""Traces on disk: they grow by row groups, hold every reading, and are read one row group at a time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from hil.errors import RigError
from hil.measure.capture import Capture, Edge
from hil.record.trace import GROUP, TraceWriter, pieces, read_facts, thinned


def piece(begin: float, n: int, rng: np.random.Generator, edges: tuple[Edge, ...] = ()) -> Capture:
    power = rng.uniform(0, 1, n)
    return Capture(begin + np.arange(n) * 1e-5, power, power / 3.3, np.full(n, 3.3), 1e-5, 1e-5, edges, 0.1, 0)


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(1), tmp_path / "trace.parquet"
    captures = [piece(window * 10.0, n, rng, (Edge(window * 10.0 + 0.01, 1e-6, True),)) for window, n in enumerate((10, GROUP, 3, GROUP + 7))]
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
    assert read_facts(tmp_path / "trace.parquet") == ({}, []) and len(thinned(tmp_path / "trace.parquet", 10)["t_s"]) == 0


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(RigError, match="cannot be read"):
        read_facts(tmp_path / "a.parquet")
