"""What the maker of a meter promises: how it reads, and its limits of error by range (hil/measure/meters)."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from hil.bounded import SMALL_TEXT, read_toml
from hil.errors import RigError, close_matches
from hil.fields import rebuilt

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER, SUFFIX = "meters", ".toml"


@dataclass(frozen=True)
class CurrentRange:
    """Limits of error of one current range.

    Attributes:
        amperes: full scale.
        gain: a share of the reading.
        offset_a, resolution_a: amperes.
        noise_a: standard deviation of a reading with an aperture of one second; white, so that it grows as 1 / sqrt(aperture).
        burden_v: voltage lost in the meter at full scale, at most.
        least_burden_v: the same at least: 0 where nobody measured it.
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
        return self.burden_v / self.amperes

    @property
    def burden_share(self) -> float:
        """Share of the largest burden that is taken off: the middle between least and largest; the rest is its limit of error."""
        return (1 + self.least_burden_v / self.burden_v) / 2 if self.burden_v else 0.5


@dataclass(frozen=True)
class DataSheet:
    """One meter.

    Attributes:
        key: name of its file, and what rig.toml calls the model.
        name: as people say it.
        identity: what its answer to *IDN? (or its like) contains.
        kind: `integrating` (a reading is the mean over its aperture) or `point` (an instant).
        apertures_s: shortest and longest aperture; (0, 0) for point samples.
        fastest_hz: readings a second at most, kept without loss.
        timestamps: `meter` or `host`: whose clock dates the readings.
        marker: `digital` (it records levels or edges of a line), `trigger` (one edge begins) or `none`.
        loss: how missing readings show: `timestamps`, `counter`, `status`, or `none`.
        feeds: whether it is the board's supply too.
        timebase: limit of the relative error of its clock.
        voltage_gain, voltage_offset_v: limits of error of its voltage readings; both 0 where it reads none.
        voltage_noise_v: standard deviation of a voltage reading with an aperture of one second.
        ranges: smallest first.
        unverified: facts whose source could not be read; each result says so.
        sources: where the others are from.
        specified_c: temperatures that the limits of error hold between, in degrees Celsius.
        per_degree: by which share of themselves they grow with each degree beyond.
        dialect: how a meter without a driver of its own is asked (hil/meters/polled_scpi.py); empty for all others.
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
    voltage_noise_v: float
    ranges: tuple[CurrentRange, ...]
    unverified: tuple[str, ...]
    sources: tuple[str, ...]
    specified_c: tuple[float, float] = (18.0, 28.0)
    per_degree: float = (
        0.15  # as Keithley has it of the 2450 (SPEC-2450 Rev. A, page 2), taken for those that say nothing
    )
    dialect: dict[str, Any] = field(default_factory=dict)

    def range_for(self, amperes: float) -> CurrentRange:
        """Return the smallest range that holds a current.

        Raises:
            RigError: none does.
        """
        for one in self.ranges:
            if amperes <= one.amperes:
                return one
        raise RigError(
            f"{amperes:g} A is beyond the largest range of the {self.name}, {self.ranges[-1].amperes:g} A: measure with another meter."
        )


def known_meters() -> list[str]:
    """Return the keys of all data sheets."""
    folder = resources.files(__package__) / FOLDER
    return sorted(file.name[: -len(SUFFIX)] for file in folder.iterdir() if file.name.endswith(SUFFIX))


def load_data_sheet(key: str) -> DataSheet:
    """Return the data sheet of a meter by the name of its file, or of one's own by its path, which ends with `.toml`.

    Raises:
        RigError: there is none of that name, or it is not such a file.
    """
    if key.endswith(SUFFIX):
        return _own(Path(key))
    known = known_meters()
    if key not in known:
        raise RigError(f"there is no data sheet of a meter {key!r}: {close_matches(key, known)}")
    sheet = resources.files(__package__) / FOLDER / f"{key}{SUFFIX}"
    return _read(key, tomllib.loads(sheet.read_text(encoding="utf-8")), sheet.name, "install trainrig again")


def _own(path: Path) -> DataSheet:
    cure = "write one after hil/measure/meters/polled-scpi.toml"
    _, raw = read_toml(path, SMALL_TEXT, cure)
    return _read(path.stem, raw, str(path), cure)


def _read(key: str, raw: dict[str, Any], name: str, cure: str) -> DataSheet:
    ranges = raw.pop("range", None)
    if not isinstance(ranges, list) or not ranges:
        raise RigError(f"{name} is no data sheet (it has no [[range]]): {cure}.")
    known = [rebuilt(CurrentRange, one, f"{name}, range {number}", cure) for number, one in enumerate(ranges, start=1)]
    return rebuilt(DataSheet, raw | {"key": key, "ranges": known}, name, cure)
