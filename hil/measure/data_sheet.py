"""What the maker of a meter promises: limits of error by range (hil/measure/meters)."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import resources
from typing import Any

from hil.errors import RigError, close_matches

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = "meters"


@dataclass(frozen=True)
class CurrentRange:
    """Limits of error of one current range: `gain` as a share of the reading, `offset_a` and `resolution_a` in amperes."""

    amperes: float
    gain: float
    offset_a: float
    resolution_a: float


@dataclass(frozen=True)
class DataSheet:
    """One meter: what its identity contains, its limits of error, and its current ranges, smallest first."""

    key: str
    name: str
    identity: str
    timebase: float
    voltage_gain: float
    voltage_offset_v: float
    ranges: tuple[CurrentRange, ...]


def load_data_sheet(key: str) -> DataSheet:
    """Return the data sheet of a meter by the name of its file.

    Raises:
        RigError: there is none of that name.
    """
    folder = resources.files(__package__) / FOLDER
    known = sorted(file.name[: -len(".toml")] for file in folder.iterdir() if file.name.endswith(".toml"))
    if key not in known:
        raise RigError(f"there is no data sheet of a meter {key!r}: {close_matches(key, known)}")
    raw: dict[str, Any] = tomllib.loads((folder / f"{key}.toml").read_text(encoding="utf-8"))
    ranges = tuple(CurrentRange(**fields) for fields in raw["range"])
    voltage = raw["voltage"]
    return DataSheet(key, raw["name"], raw["identity"], raw["timebase"], voltage["gain"], voltage["offset_v"], ranges)
