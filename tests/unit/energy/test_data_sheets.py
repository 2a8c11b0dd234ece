"""What every data sheet must say, and where it must admit that nobody says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.energy.data_sheet import FOLDER, DataSheet, known_meters, load_data_sheet
from hil.errors import RigError

SHEETS = [load_data_sheet(key) for key in known_meters()]
every = pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.key)


def admits(sheet: DataSheet, what: str) -> bool:
    return any(what in fact or fact.startswith("everything") for fact in sheet.unverified)


@every
def test_it_declares_how_the_meter_reads(sheet: DataSheet) -> None:
    assert sheet.kind in ("integrating", "point") and sheet.timestamps in ("meter", "host")
    assert sheet.marker in ("digital", "trigger", "none") and sheet.loss in ("timestamps", "counter", "status", "none")
    shortest, longest = sheet.apertures_s
    assert 0 < shortest <= longest if sheet.kind == "integrating" else shortest == longest == 0
    assert sheet.fastest_hz > 0 and (sheet.kind == "point" or sheet.fastest_hz * shortest <= 1.001)
    assert sheet.sources or admits(sheet, "everything")


@every
def test_its_ranges_have_limits_of_error(sheet: DataSheet) -> None:
    assert [one.amperes for one in sheet.ranges] == sorted({one.amperes for one in sheet.ranges})
    for one in sheet.ranges:
        assert 0 < one.gain <= 0.15 and 0 < one.offset_a < 0.1 * one.amperes, one
        assert 0 <= one.resolution_a < 1e-2 * one.amperes and 0 <= one.burden_v < 3


@every
@pytest.mark.parametrize("limit", ["noise_a", "resolution_a", "burden_v", "drift_a_per_s"])
def test_a_limit_that_is_taken_to_be_nothing_is_said_to_be_unverified(sheet: DataSheet, limit: str) -> None:
    """A supply has no burden: it regulates at its terminals."""
    if not all(getattr(one, limit) for one in sheet.ranges) and not (limit == "burden_v" and sheet.feeds):
        assert admits(sheet, limit), f"{sheet.key} takes {limit} to be 0"


@every
def test_time_and_voltage_have_limits_or_the_meter_tells_neither(sheet: DataSheet) -> None:
    assert sheet.timebase > 0 or sheet.timestamps == "host"
    assert bool(sheet.voltage_gain) >= bool(sheet.voltage_offset_v), "an offset without a gain"


def own(folder: Path, ranges: str) -> DataSheet:
    """Return a user's own data sheet with these ranges."""
    text = (FOLDER / "polled-scpi.toml").read_text(encoding="utf-8")
    path = folder / "mine.toml"
    path.write_text(text[: text.index("[range]")] + ranges, encoding="utf-8")
    return load_data_sheet(str(path))


LIMITS = "resolution_a = 1e-6"


def test_ranges_are_columns_or_one_table_each(tmp_path: Path) -> None:
    columns = own(tmp_path, f"[range]\namperes = [0.1, 1.0]\ngain = 0.01\noffset_a = [1e-6, 2e-6]\n{LIMITS}\n")
    each = [f"[[range]]\namperes = {a}\ngain = 0.01\noffset_a = {b}\n{LIMITS}\n" for a, b in ((0.1, 1e-6), (1.0, 2e-6))]
    assert len(columns.ranges) == 2 and columns.ranges == own(tmp_path, "".join(each)).ranges
    one = own(tmp_path, f"[range]\namperes = 0.1\ngain = 0.01\noffset_a = 1e-6\n{LIMITS}\n")
    assert one.ranges == columns.ranges[:1]


@pytest.mark.parametrize(
    ("ranges", "why"),
    [
        ("[range]\namperes = [0.1, 1.0]\ngain = [0.01]\n", "2 of amperes, 1 of gain"),
        ("[range]\namperes = []\n", "it has no table"),
        ("[range]\namperes = [0.1, [1.0]]\n", "range 1"),
        ("range = 1\n", "it has no table"),
        ("[range]\n", "range 1"),
    ],
)
def test_ranges_that_are_none_are_refused(tmp_path: Path, ranges: str, why: str) -> None:
    with pytest.raises(RigError, match=why):
        own(tmp_path, ranges)
