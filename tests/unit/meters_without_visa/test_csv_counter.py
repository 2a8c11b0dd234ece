"""Files with a running energy counter that is reset, goes round or jumps; and files of means that lack rows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hil.energy.interval_figures import evaluate
from hil.energy.marker_interval import IntervalSums, MarkerInterval
from hil.errors import RigError
from hil.meters import manual_readings
from hil.meters.csv_file import read_csv

TIME = np.arange(0, 10, 0.01)
AWAKE = (TIME >= 2) & (TIME < 8)
RIGHT = np.cumsum(np.where(AWAKE, 0.1, 0.02)) * 0.01 * 1e6  # microjoules: 600 mJ between the edges
LATE = np.arange(len(TIME)) >= 500
RESET_LINE = 502  # the head, and 500 readings before it


def sums(file: Path) -> tuple[MarkerInterval, tuple[str, ...]]:
    capture, running = read_csv(file), IntervalSums()
    running.add(capture)
    return running.result(), capture.notes


def counted(folder: Path, counter: np.ndarray, unit: str = "uJ") -> Path:
    file = folder / "a.csv"
    rows = "".join(f"{t:.2f},{e:.1f},{int(m)}\n" for t, e, m in zip(TIME, counter, AWAKE, strict=True))
    file.write_text(f"time_s,energy ({unit}),marker\n{rows}")
    return file


@pytest.mark.parametrize("counter", [RIGHT, RIGHT + 2e9, -RIGHT, 1e7 - RIGHT], ids=["up", "begun", "down", "falls"])
def test_a_counter_that_runs(tmp_path: Path, counter: np.ndarray) -> None:
    found, notes = sums(counted(tmp_path, counter))
    assert abs(found.energy_j) == pytest.approx(0.6, abs=0.0015)
    assert not [note for note in notes if "counter" in note]


@pytest.mark.parametrize(
    ("counter", "says"),
    [
        (np.where(LATE, RIGHT - RIGHT[500], RIGHT), "goes from 340000 to 0, against its direction"),
        (-np.where(LATE, RIGHT - RIGHT[500], RIGHT), "goes from -340000 to -0, against its direction"),
        (np.where(LATE, RIGHT - 2e5, RIGHT), "goes from 340000 to 141000, against its direction"),
        (np.where(LATE, RIGHT + 2**31 - 2**32, RIGHT + 2**31), "it was reset, or it went round at an unknown value"),
        ((RIGHT + 2**24 - 340_500) % 2**24, "it was reset, or it went round at an unknown value"),
        (np.where(LATE, RIGHT + 3e5, RIGHT), "jumps from 340000 to 641000, 301 times as fast as in any other line"),
        (np.where(LATE, RIGHT + 4e9, RIGHT), "as fast as in any other line"),
    ],
    ids=["reset", "reset downwards", "set back", "half round", "round at 2^24", "jump", "long jump"],
)
def test_a_counter_that_does_not_run_on(tmp_path: Path, counter: np.ndarray, says: str) -> None:
    with pytest.raises(RigError, match=rf"^a\.csv, line {RESET_LINE}: its counter .*{re.escape(says)}"):
        read_csv(counted(tmp_path, counter))


def test_a_counter_of_32_bits_that_goes_round(tmp_path: Path) -> None:
    found, notes = sums(counted(tmp_path, (RIGHT + 2**32 - 300_000) % 2**32))
    assert found.energy_j == pytest.approx(0.6, abs=0.0015)
    assert [note for note in notes if "counter" in note] == [
        "line 461: the counter went round at 2^32 and was continued."
    ]


def test_few_bursts_are_named_and_not_refused(tmp_path: Path) -> None:
    counter = RIGHT + 1e5 * np.isin(np.arange(len(TIME)), (300, 600)).cumsum()
    found, notes = sums(counted(tmp_path, counter))
    assert found.energy_j == pytest.approx(0.8, abs=0.0015)
    assert any(note.startswith("lines 302, 602: the counter steps more than 20 times as fast") for note in notes)


def joulescope(folder: Path, missing: slice, *, reset: bool = False) -> Path:
    """Statistics of 2 s of sleep, 1 s of work and 2 s of sleep, each row a mean up to its time."""
    time = np.arange(1, 501) * 0.01
    power = np.where((time > 2) & (time < 3.005), 0.1, 0.01)
    energy = np.cumsum(power) * 0.01
    rows = np.column_stack([time, power / 2, np.full(500, 2.0), power, energy / 2, energy])
    if reset:
        rows[400:, 5] -= rows[400, 5]
    file = folder / "js.csv"
    kept = np.delete(rows, np.arange(500)[missing], axis=0)
    text = "".join(",".join(f"{value:.9g}" for value in row) + "\n" for row in kept)
    file.write_text(f"#time,current,voltage,power,charge,energy\n{text}")
    return file


@pytest.mark.parametrize("missing", [slice(0), slice(170, 210), slice(190, 240), slice(290, 330), slice(100, 101)])
def test_rows_that_are_missing_over_a_change_of_the_power(tmp_path: Path, missing: slice) -> None:
    """The row after a gap is the mean of its own time only; the energy column has the energy of the gap."""
    found, notes = sums(joulescope(tmp_path, missing))
    count = len(range(500)[missing])
    right = 0.1 * 1.0 + 0.01 * 3.99  # from the first row on
    assert found.energy_j == pytest.approx(right, rel=1e-6)
    assert found.lost == count
    said = [note for note in notes if "rows are missing" in note]
    assert said == (
        [f"rows are missing before line {missing.start + 2}: the energy of the gap is from the energy column."]
        if count
        else []
    )
    if count:
        sheet = manual_readings.declared_sheet(
            "file", manual_readings.ReadingAccuracy(0.01, 0.0), read_csv(tmp_path / "js.csv")
        )
        flags = evaluate(found, sheet, "file", 1)["flags"]
        assert (
            f"{count} readings are missing; their time was shared by their neighbours, and what the board did in it is unknown."
            in flags
        )


def test_statistics_whose_energy_was_reset(tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"js\.csv, line 402: its counter goes from .* it was reset"):
        read_csv(joulescope(tmp_path, slice(0), reset=True))
