"""Open the meter that a bench names: which driver speaks to which instrument."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from hil.errors import RigError, close_matches
from hil.measure.data_sheet import DataSheet, known_meters, load_data_sheet
from hil.meters.keithley_2450 import Keithley2450
from hil.meters.meter import Host, Meter, Setting
from hil.meters.visa import VisaSession

USUAL = "keithley-2450"  # where rig.toml names no model

Open = Callable[[str, DataSheet, Host], Meter]


def _by_visa(driver: Callable[[VisaSession, DataSheet, Host], Meter]) -> Open:
    return lambda address, sheet, host: driver(VisaSession(address, sheet.name), sheet, host)


DRIVERS: dict[str, Open] = {
    "keithley-2450": _by_visa(Keithley2450),
}


@contextlib.contextmanager
def open_meter(address: str, volt: float, model: str | None = None, host: Host | None = None) -> Iterator[Meter]:
    """Open a meter, have it feed the board where it does, and let go of it at the end.

    Args:
        address: VISA resource name, or what else the driver of the model is opened by.
        volt: supply of the board in volts.
        model: key of its data sheet; None for the usual one.
        host: the host's clock.

    Raises:
        RigError: there is no such model, or no driver of it.
        Blocked: it does not answer, or is another instrument.
    """
    key = model or USUAL
    if key not in DRIVERS:
        known = close_matches(key, DRIVERS)
        raise RigError(f"there is no driver of a meter {key!r}: {known}" if key in known_meters() else f"there is no meter {key!r}: {known}")
    sheet = load_data_sheet(key)
    meter = DRIVERS[key](address, sheet, host or Host())
    try:
        if sheet.feeds:
            meter.configure(Setting(volt, sheet.ranges[-1].amperes, 1 / sheet.fastest_hz, 0.1, 0.1))
        yield meter
    finally:
        meter.close()
