"""Exports of a trace, read back by the published library, by pandas, by `hil measure`, and by readers written here from the formats' texts."""

from __future__ import annotations

import json
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hil.energy.capture import Capture, Edge, WindowRequest
from hil.energy.integration import cells, integral
from hil.errors import RigError
from hil.meters.csv_columns import column_meanings
from hil.meters.csv_file import read_csv
from hil.record.power_export import FORMATS, export, read_window
from hil.record.power_trace import TraceWriter

REQUEST = WindowRequest(1_700_000_000.0, 1_700_000_002.0, 0.0, 0.1)
VOLT = 3.3


def trace_at(
    folder: Path,
    interval_s: float = 1e-3,
    aperture_s: float | None = None,
    n: int = 1000,
    gap: bool = False,
    request: WindowRequest | None = REQUEST,
    voltage: float = VOLT,
    supply: float | None = None,
) -> Path:
    """Write a trace of two windows; the second is twice the first."""
    rng = np.random.default_rng(2)
    t = 5.0 + np.arange(n) * interval_s
    current = rng.lognormal(-4, 0.5, n)
    if gap:
        t, current = np.delete(t, slice(300, 310)), np.delete(current, slice(300, 310))
    aperture = interval_s if aperture_s is None else aperture_s
    edges = (Edge(5.0 + 0.2 * n * interval_s, 0.0, True), Edge(5.0 + 0.7 * n * interval_s, 0.0, False))
    facts = {"name": "a meter", "identity": "of this test", "aperture_s": aperture} | (
        {"supply_v": supply} if supply else {}
    )
    with TraceWriter(folder / "power.parquet", facts) as writer:
        for window in (0, 1):
            amps = (1 + window) * current
            volts = np.full(len(t), voltage)
            one = Capture(
                t,
                VOLT * amps,
                amps if voltage else np.full(len(t), np.nan),
                volts,
                aperture,
                interval_s,
                edges,
                1.0,
                0,
                request=request,
            )
            writer.append(one.from_first_edge(), window)
    return folder / "power.parquet"


def energy_of(path: Path, window: int = 0) -> float:
    capture = read_window(path, window).capture
    bounds = cells(capture)
    return integral(capture, capture.power_w, bounds[0], bounds[-1])


def exported(tmp_path: Path, suffix: str, window: int = 0, **how: object) -> tuple[Path, Path]:
    trace = trace_at(tmp_path, **how)  # type: ignore[arg-type]
    path = tmp_path / f"out{suffix}"
    export(read_window(trace, window), path)
    assert not list(tmp_path.glob("*.part"))
    return trace, path


@pytest.mark.parametrize("window", [0, 1])
def test_csv_is_read_by_hil_measure(tmp_path, window):
    trace, path = exported(tmp_path, ".csv", window)
    assert path.read_text().splitlines()[0] == "time (s),current (A),voltage (V),power (W),marker"
    whole = read_window(trace, window).capture
    found = read_csv(path, None, column_meanings(["marker=marker"]), None, None)
    assert np.allclose(found.t_s - found.t_s[0], whole.t_s - whole.t_s[0], atol=1e-9)
    assert np.allclose(found.power_w, whole.power_w, rtol=1e-8) and [edge.high for edge in found.edges] == [True, False]
    for edge, true in zip(found.edges, whole.edges, strict=True):
        assert abs((edge.t_s - found.t_s[0]) - (true.t_s - whole.t_s[0])) <= edge.half_s + 1e-9


def test_parquet_is_read_by_pandas(tmp_path):
    trace, path = exported(tmp_path, ".parquet")
    whole, found = read_window(trace).capture, pd.read_parquet(path)
    assert np.array_equal(found["power (W)"], whole.power_w) and np.array_equal(found["time (s)"], whole.t_s)
    assert found["marker"].sum() == np.sum((whole.t_s >= 0) & (whole.t_s < whole.edges[1].t_s))


def jls_of(path: Path) -> tuple[dict[str, tuple[int, np.ndarray]], list[tuple[int, str]], list[float]]:
    """Read a file by the published library: rate and samples of each signal, annotations, times."""
    pyjls = pytest.importorskip("pyjls")
    notes, times = [], []
    with pyjls.Reader(str(path)) as reader:
        found = {}
        for signal in reader.signals.values():
            if signal.signal_id:
                found[signal.name] = signal.sample_rate, reader.fsr(signal.signal_id, 0, signal.length)
        power = next(signal.signal_id for signal in reader.signals.values() if signal.name == "power")
        reader.annotations(power, 0, lambda at, y, kind, group, data: notes.append((at, data)) and False)
        reader.utc(power, 0, lambda rows: times.extend(pyjls.jls_to_utc(int(at)) for _, at in rows) and False)
        found["marker"] = found["marker"][0], np.unpackbits(found["marker"][1], bitorder="little")
    return found, notes, times


def test_joulescope_file_is_read_by_its_library(tmp_path):
    trace, path = exported(tmp_path, ".jls")
    whole = read_window(trace).capture
    signals, notes, times = jls_of(path)
    assert {name: rate for name, (rate, _) in signals.items()} == dict.fromkeys(
        ("current", "voltage", "power", "marker"), 1000
    )
    assert np.allclose(signals["power"][1], whole.power_w, rtol=1e-6) and np.allclose(signals["voltage"][1], VOLT)
    assert np.allclose(signals["current"][1] * VOLT, signals["power"][1], rtol=1e-6)
    assert signals["marker"][1][:1000].sum() == 500 and notes == [(200, "marker up"), (700, "marker down")]
    assert times[0] == pytest.approx(REQUEST.asked_s + 0.1 - 0.2, abs=1e-3)


@pytest.mark.parametrize("suffix", [".jls", ".ppk2"])
@pytest.mark.parametrize(
    "how", [{"gap": True}, {"interval_s": 0.0025, "aperture_s": 0.00225}, {"interval_s": 0.00333}, {"aperture_s": 0.0}]
)
def test_the_energy_stays_whatever_the_intervals_are(tmp_path, suffix, how):
    trace, path = exported(tmp_path, suffix, **how)
    if suffix == ".jls":
        rate, samples = jls_of(path)[0]["power"]
        found = float(np.sum(samples, dtype=float)) / rate
    else:
        rate, microamperes, _ = ppk2_of(path)
        found = float(np.sum(microamperes, dtype=float)) * 1e-6 * VOLT / rate
    assert found == pytest.approx(energy_of(trace), rel=1e-3)


def ppk2_of(path: Path) -> tuple[int, np.ndarray, np.ndarray]:
    """Read a file by the README of nRF Connect Power Profiler: 4 bytes of microamperes, 2 bytes with two bits an input."""
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == ["metadata.json", "minimap.raw", "session.raw"]
        about, raw = json.loads(archive.read("metadata.json")), archive.read("session.raw")
    assert about["formatVersion"] == 2 and len(raw) % 6 == 0
    current = [struct.unpack_from("<f", raw, at)[0] for at in range(0, len(raw), 6)]
    bits = [struct.unpack_from(">H", raw, at + 4)[0] for at in range(0, len(raw), 6)]
    return about["metadata"]["samplesPerSecond"], np.array(current), np.array(bits)


def test_ppk2_file_is_as_its_text_describes_it(tmp_path):
    trace, path = exported(tmp_path, ".ppk2")
    whole = read_window(trace).capture
    rate, microamperes, bits = ppk2_of(path)
    assert rate == 1000 and np.allclose(microamperes, 1e6 * whole.current_a, rtol=1e-6)
    pairs = np.array([bits >> 2 * place & 3 for place in range(8)])
    assert set(pairs[1:].ravel()) == {1} and set(pairs[0]) == {1, 2}, "1: always low, 2: always high"
    assert np.array_equal(pairs[0] == 2, np.abs(whole.t_s + 0.0005 - 0.25) < 0.25)
    with zipfile.ZipFile(path) as archive:
        started = json.loads(archive.read("metadata.json"))["metadata"]["startSystemTime"]
    assert started == pytest.approx(1000 * (REQUEST.asked_s + 0.1 - 0.2), abs=1)


@pytest.mark.parametrize("n", [9_000, 25_000])
def test_the_overview_of_a_ppk2_file_folds_stretches_of_a_power_of_two(tmp_path, n):
    _, path = exported(tmp_path, ".ppk2", n=n)
    _, microamperes, _ = ppk2_of(path)
    with zipfile.ZipFile(path) as archive:
        overview = json.loads(archive.read("minimap.raw"))
    folded, data = overview["numberOfTimesToFold"], overview["data"]
    assert folded == {9_000: 1, 25_000: 4}[n] and data["length"] == len(data["min"]) == len(data["max"]) < 10_000
    for k in (0, 17, data["length"] - 1):
        part = 1000 * microamperes[k * folded : (k + 1) * folded]
        assert (data["min"][k]["y"], data["max"][k]["y"]) == pytest.approx((part.min(), part.max()), rel=1e-6)
        assert data["min"][k]["x"] == pytest.approx(1000 * (k * folded + (len(part) - 1) / 2))


def test_a_meter_that_reads_no_voltage_is_taken_at_its_supply(tmp_path):
    trace = trace_at(tmp_path, voltage=np.nan, supply=VOLT)
    assert np.allclose(read_window(trace).capture.voltage_v, VOLT)


def test_a_ppk2_file_without_current_is_refused(tmp_path):
    window = read_window(trace_at(tmp_path))
    window = replace(window, capture=replace(window.capture, current_a=np.full(1000, np.nan)))
    with pytest.raises(RigError, match="no current"):
        export(window, tmp_path / "out.ppk2")
    assert not (tmp_path / "out.ppk2").exists() and not list(tmp_path.glob("*.part"))


def test_wrong_names_are_refused(tmp_path):
    trace = trace_at(tmp_path)
    with pytest.raises(RigError, match=r"choose one of \.csv, \.parquet, \.jls, \.ppk2"):
        export(read_window(trace), tmp_path / "out.xlsx")
    with pytest.raises(RigError, match="has no window 7"):
        read_window(trace, 7)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RigError, match="holds no power trace"):
        read_window(tmp_path / "empty")
    assert read_window(tmp_path).meter["name"] == "a meter", "a folder stands for its trace"
    assert set(FORMATS) == {".csv", ".parquet", ".jls", ".ppk2"}


def test_without_the_library_one_sentence_names_the_extra(tmp_path, monkeypatch):
    window = read_window(trace_at(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "pyjls", None)
    with pytest.raises(RigError, match=r'pip install "trainrig\[joulescope\]"'):
        export(window, tmp_path / "out.jls")
