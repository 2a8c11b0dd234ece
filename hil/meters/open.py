"""Open the meter that rig.toml or --meter names: choose the driver of its model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from hil.energy.data_sheet import load_data_sheet
from hil.energy.meter_kind import METERS
from hil.errors import Blocked, RigError
from hil.meters.given_capture import wrong_capture
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.plugins.guarded import wanted
from hil.visa import VisaSession

DEFAULT_MODEL = "keithley-2450"  # if rig.toml names no model
POLLED = "polled-scpi"  # driver of a data sheet with a table [dialect]
FEEDING_TIMES_S = (0.1, 0.1)  # sleep and window of a meter that for now only feeds the board


@contextlib.contextmanager
def open_meter(
    address: str, volt: float, model: str | None = None, host: Host | None = None, **driver: Any
) -> Iterator[Meter]:
    """Open a meter, let it feed the board if it is a supply, and close it at the end.

    Args:
        address: VISA resource name. LPM01A, PPK2 and TC66C: a serial port, or the USB serial number of one. FNB58 and
            Joulescope: a USB serial number. Otii: its name, or `name@host:port` of the program that it is connected
            to. Empty: the only one attached, except through VISA or for a serial port.
        volt: supply of the board in volts.
        model: key of its data sheet, or path of your own data sheet with a table [dialect]; None for DEFAULT_MODEL.
        host: the host's clock.
        driver: further arguments of the driver, such as a dialect.

    Raises:
        RigError: the model is unknown or has no driver, or its library is not installed.
        Blocked: the plugin of the meter is broken, or the instrument does not answer, or is another one.
    """
    key, host = model or DEFAULT_MODEL, host or Host()
    sheet = load_data_sheet(key)
    if key not in METERS and not sheet.dialect:
        raise RigError(
            f"{key} does not say how to query the instrument: add a table [dialect], as in "
            "hil/meters/data_sheets/polled-scpi.toml."
        )
    name = key if key in METERS else POLLED
    kind = METERS.find(name)
    if kind.visa and not address:
        raise RigError(
            f"the {sheet.name} is reached through VISA: name its address with --meter or in rig.toml, "
            "such as TCPIP0::192.168.1.7::5025::SOCKET."
        )
    with METERS.running(name):
        opened = kind.driver(VisaSession(address, sheet.name) if kind.visa else address, sheet, host, **driver)
    wrong = partial(wrong_capture, sheet=sheet)
    meter: Meter = METERS.guarded(
        name, opened, InvalidWindow, capture=wrong, pieces=wrong, watch=wanted(np.ndarray), identity=wanted(str)
    )
    try:
        if sheet.feeds:
            meter.configure(Setting(volt, sheet.ranges[-1].amperes, 1 / sheet.fastest_hz, *FEEDING_TIMES_S))
        yield meter
    except BaseException:
        with contextlib.suppress(Blocked):  # the first error is the reason
            meter.close()
        raise
    meter.close()
