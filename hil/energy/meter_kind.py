"""The power meters by name: the driver and the data sheet of each. Drivers are on a floor above."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.errors import RigError
from hil.plugins import Registry


@dataclass(frozen=True)
class MeterKind:
    """A model of a power meter.

    Attributes:
        driver: makes its `hil.meters.meter.Meter` of an address, the data sheet and the host's clock.
        sheets: folder with its data sheet, NAME.toml.
        visa: whether `driver` takes an open `hil.visa.VisaSession` in the place of the address.
    """

    driver: Callable[..., Any]
    sheets: Path
    visa: bool = False


def _accept(name: str, kind: Any) -> MeterKind:
    if not isinstance(kind, MeterKind):
        raise RigError("a meter is offered as a hil.energy.meter_kind.MeterKind")
    return kind


HOUSE = {
    name: f"hil.meters.house:{name.replace('-', '_')}"
    for name in (
        "fnb58", "joulescope-js220", "keithley-2450", "keithley-dmm6500", "keithley-dmm7510", "keysight-34465a",
        "keysight-n6705c", "lpm01a", "otii-ace", "otii-arc", "polled-scpi", "ppk2-ampere", "ppk2-source",
        "rigol-dp832a", "rs-ngu401", "siglent-sdm3065x", "tc66c", "yokogawa-wt310",
    )
}  # fmt: skip
METERS = Registry("meters", "there is no meter", lambda: HOUSE, _accept)
