"""The benchmark of long fast windows, in short: right to the last reading, and no more memory for four times the length."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hil.benchmarks import stream as benchmark
from hil.commands.main import main as hil
from hil.energy.capture import joined
from hil.errors import Blocked
from hil.meters import keithley_dmm
from hil.meters.measured_window import take

MB = 1e6


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the instrument's memory, so that a window of seconds is longer than it."""
    monkeypatch.setattr(keithley_dmm, "MOST_READINGS", 500_000)
    monkeypatch.setattr(keithley_dmm, "RING", 200_000)
    monkeypatch.setattr(keithley_dmm, "PIECE", 50_000)


def test_four_times_the_length_takes_no_more_memory(short: None, tmp_path: Path) -> None:
    """750,000 readings more kept whole are 24 MB a time, and 160 MB while they are joined, summed up and written."""
    once, four_times = (benchmark.stream(seconds, tmp_path / str(seconds)) for seconds in (2.5, 10.0))
    assert once.readings == pytest.approx(250_000, abs=2) and four_times.readings == pytest.approx(1_000_000, abs=2)
    assert four_times.peak_bytes - once.peak_bytes < 40 * MB
    for one in (once, four_times):
        assert abs(one.error) < 1e-5 and one.lost == 0
    table = pq.read_metadata(tmp_path / "10.0" / "trace.parquet")
    assert table.num_rows == pytest.approx(1_000_000 + 59_000, abs=2_000), "with the sleep before and behind"
    assert four_times.trace_bytes < 16 * table.num_rows


def test_a_capture_that_is_kept_whole_is_seen_by_this_measure(
    short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the test above can fail."""
    pieces = benchmark.KeithleyDmm.pieces
    monkeypatch.setattr(
        benchmark.KeithleyDmm, "pieces", lambda self, deadline_s: iter([joined(list(pieces(self, deadline_s)))])
    )
    once, four_times = (benchmark.stream(seconds, tmp_path / str(seconds)) for seconds in (2.5, 10.0))
    assert four_times.peak_bytes - once.peak_bytes > 80 * MB


def test_the_command_prints_its_rows(
    short: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = benchmark.rows
    monkeypatch.setattr(benchmark, "rows", lambda: rows(3.0))
    assert hil(["bench", "stream", "--json"]) == 0
    found = {row["benchmark"]: row["value"] for row in json.loads(capsys.readouterr().out)}
    assert (
        found["stream, peak memory"] > 50
        and found["stream, times real time"] > 0
        and abs(found["stream, error of the energy"]) < 10
    )


def test_a_window_that_fails_leaves_nothing(short: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        benchmark,
        "take",
        lambda meter, options, *more: take(meter, argparse.Namespace(**vars(options) | {"deadline": 1.0}), *more),
    )
    with pytest.raises(Blocked, match="has not seen both edges"):
        benchmark.stream(4.0, tmp_path)
    assert not list(tmp_path.iterdir())
