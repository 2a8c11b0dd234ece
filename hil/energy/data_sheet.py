"""Data sheet of a meter: how it reads, and its error limits by range (hil/meters/data_sheets)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.bounded_read import SMALL_TEXT, packaged_toml, read_toml
from hil.dataclass_json import rebuilt
from hil.energy.meter_kind import METERS
from hil.errors import RigError, close_matches

FOLDER = Path(__file__).parents[1] / "meters" / "data_sheets"  # next to the drivers
SUFFIX = ".toml"
READ_BY_HAND = "by-hand"  # key of a sheet without a file: its accuracy is what the user declares


@dataclass(frozen=True)
class CurrentRange:
    """Error limits of one current range.

    Attributes:
        amperes: full scale.
        gain: share of the reading.
        offset_a, resolution_a: amperes.
        noise_a: standard deviation of a reading with an aperture of one second; white, so it grows as
            1 / sqrt(aperture).
        burden_v: largest voltage drop in the meter at full scale.
        least_burden_v: smallest drop at full scale; 0 if unknown.
        drift_a_per_s: limit of the drift of the offset within a window.
    """

    amperes: float
    gain: float
    offset_a: float
    resolution_a: float
    noise_a: float = 0.0
    burden_v: float = 0.0
    drift_a_per_s: float = 0.0
    least_burden_v: float = 0.0

    @property
    def burden_ohm(self) -> float:
        """Largest resistance between supply and board."""
        return self.burden_v / self.amperes if self.burden_v else 0.0  # readings by hand may all be 0 A

    @property
    def burden_share(self) -> float:
        """Share of the largest burden to subtract: the middle of least and largest; the rest is its error limit."""
        return (1 + self.least_burden_v / self.burden_v) / 2 if self.burden_v else 0.5


@dataclass(frozen=True)
class DataSheet:
    """The data sheet of one meter.

    Attributes:
        key: name of its file, and the model in rig.toml.
        name: maker and model, for people.
        identity: text that its reply to *IDN? (or similar) contains.
        kind: `integrating` (a reading is the mean over its aperture) or `point` (an instant).
        apertures_s: shortest and longest aperture; (0, 0) for point samples.
        fastest_hz: highest rate of readings without loss.
        timestamps: `meter` or `host`: the clock that dates the readings.
        marker: `digital` (it records levels or edges of a line), `trigger` (one edge starts it) or `none`.
        loss: how missing readings show: `timestamps`, `counter`, `status`, or `none`.
        feeds: whether it also supplies the board.
        timebase: limit of the relative error of its clock.
        voltage_gain, voltage_offset_v: error limits of its voltage readings; both 0 if it measures no voltage.
        voltage_noise_v: standard deviation of a voltage reading with an aperture of one second.
        ranges: smallest first.
        unverified: facts whose source was not available; each result lists them.
        sources: where the other facts are from.
        specified_c: temperatures between which the error limits hold, in degrees Celsius.
        per_degree: relative growth of the error limits for each degree outside.
        dialect: queries of a polled meter (hil/meters/polled_scpi.py); empty for all others.
    """

    key: str
    name: str
    identity: str
    kind: str
    apertures_s: tuple[float, float]
    fastest_hz: float
    timestamps: str
    marker: str
    loss: str
    feeds: bool
    timebase: float
    voltage_gain: float
    voltage_offset_v: float
    ranges: tuple[CurrentRange, ...]
    unverified: tuple[str, ...]
    sources: tuple[str, ...]
    voltage_noise_v: float = 0.0
    specified_c: tuple[float, float] = (18.0, 28.0)
    per_degree: float = 0.15  # of the Keithley 2450 (SPEC-2450 Rev. A, page 2); default if the maker gives none
    dialect: dict[str, Any] = field(default_factory=dict)

    def range_for(self, amperes: float) -> CurrentRange:
        """Return the smallest range that includes a current.

        Raises:
            RigError: the current is beyond the largest range.
        """
        found = next((one for one in self.ranges if amperes <= one.amperes), None)
        if found is not None:
            return found
        raise RigError(
            f"{amperes:g} A is beyond the largest range of the {self.name}, {self.ranges[-1].amperes:g} A: "
            "measure with another meter."
        )


def known_meters() -> list[str]:
    """Return the keys of all data sheets, also of plugins; of some of this package's meters there is no driver."""
    return sorted({*(file.stem for file in FOLDER.glob(f"*{SUFFIX}")), *METERS.names()})


def load_data_sheet(key: str) -> DataSheet:
    """Return the data sheet of a meter by its key, or a user's own by its path, which ends with `.toml`.

    Raises:
        RigError: there is no such data sheet, its plugin is broken, or the file is not one.
    """
    if key.endswith(SUFFIX):
        path, cure = Path(key), "write one like hil/meters/data_sheets/polled-scpi.toml"
        return _read(path.stem, read_toml(path, SMALL_TEXT, cure)[1], str(path), cure)
    sheet = FOLDER / f"{key}{SUFFIX}"
    if is_own(key):
        return _read(key, packaged_toml(sheet), sheet.name, "install trainrig again")
    if key not in METERS:
        raise RigError(f"there is no data sheet of a meter {key!r}: {close_matches(key, known_meters())}")
    sheet, cure = METERS.find(key).sheets / sheet.name, "correct it, as docs/new-board.md says"
    return _read(key, read_toml(sheet, SMALL_TEXT, cure)[1], str(sheet), cure)


def is_own(key: str) -> bool:
    """Return whether this package has the data sheet of a meter."""
    return any(file.stem == key for file in FOLDER.glob(f"*{SUFFIX}"))


def _read(key: str, raw: dict[str, Any], name: str, cure: str) -> DataSheet:
    ranges = raw.pop("range", None)
    if isinstance(ranges, dict):
        ranges = _rows(ranges, name, cure)
    if not isinstance(ranges, list) or not ranges:
        raise RigError(f"{name} is not a data sheet (it has no table [range]): {cure}.")
    known = [rebuilt(CurrentRange, one, f"{name}, range {number}", cure) for number, one in enumerate(ranges, start=1)]
    return rebuilt(DataSheet, raw | {"key": key, "ranges": known}, name, cure)


def _rows(columns: dict[str, Any], name: str, cure: str) -> list[dict[str, Any]]:
    """Return one table for each current range. A value that is not a list holds in all of them."""
    lists = {limit: values for limit, values in columns.items() if isinstance(values, list)}
    counts = {len(values) for values in lists.values()} or {1}
    if len(counts) > 1:
        given = ", ".join(f"{len(values)} of {limit}" for limit, values in lists.items())
        raise RigError(f"{name} is not a data sheet (its [range] has {given}): {cure}.")
    return [columns | {limit: values[place] for limit, values in lists.items()} for place in range(*counts)]
