"""Open the meter that rig.toml or --meter names: choose the driver of its model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from hil.energy.data_sheet import load_data_sheet
from hil.errors import RigError
from hil.meters.keithley_2450 import Keithley2450
from hil.meters.keithley_dmm import KeithleyDmm
from hil.meters.keysight_34465a import Keysight34465A
from hil.meters.keysight_n6705c import KeysightN6705C
from hil.meters.meter import Host, Meter, Setting
from hil.meters.open_without_visa import DRIVERS as WITHOUT_VISA
from hil.meters.open_without_visa import open_without_visa
from hil.meters.polled_scpi import PolledScpi
from hil.meters.rigol_dp800 import RigolDP800
from hil.meters.rs_ngu import RsNGU
from hil.meters.siglent_sdm3065x import SiglentSDM3065X
from hil.meters.yokogawa_wt310 import YokogawaWT310
from hil.visa import VisaSession

DEFAULT_MODEL = "keithley-2450"  # if rig.toml names no model
FEEDING_TIMES_S = (0.1, 0.1)  # sleep and window of a meter that for now only feeds the board

VISA_DRIVERS: dict[str, Callable[..., Meter]] = {
    "keithley-2450": Keithley2450,
    "keithley-dmm6500": KeithleyDmm,
    "keithley-dmm7510": KeithleyDmm,
    "keysight-34465a": Keysight34465A,
    "keysight-n6705c": KeysightN6705C,
    "polled-scpi": PolledScpi,
    "rigol-dp832a": RigolDP800,
    "rs-ngu401": RsNGU,
    "siglent-sdm3065x": SiglentSDM3065X,
    "yokogawa-wt310": YokogawaWT310,
}

MODELS = sorted([*VISA_DRIVERS, *WITHOUT_VISA])


@contextlib.contextmanager
def open_meter(
    address: str, volt: float, model: str | None = None, host: Host | None = None, **driver: Any
) -> Iterator[Meter]:
    """Open a meter, let it feed the board if it is a supply, and close it at the end.

    Args:
        address: VISA resource name; for a model without VISA, what its driver is opened by.
        volt: supply of the board in volts.
        model: key of its data sheet, or path of your own data sheet with a table [dialect]; None for DEFAULT_MODEL.
        host: the host's clock.
        driver: further arguments of a VISA driver, such as a dialect.

    Raises:
        RigError: the model is unknown or has no driver.
        Blocked: the instrument does not answer, or is another one.
    """
    key, host = model or DEFAULT_MODEL, host or Host()
    sheet, by_visa = load_data_sheet(key), VISA_DRIVERS.get(key)
    if key not in MODELS:
        if not sheet.dialect:
            raise RigError(
                f"{key} does not say how to query the instrument: add a table [dialect], as in "
                "hil/meters/data_sheets/polled-scpi.toml."
            )
        by_visa = PolledScpi
    if by_visa is not None and not address:
        raise RigError(
            f"the {sheet.name} is reached through VISA: name its address with --meter or in rig.toml, "
            "such as TCPIP0::192.168.1.7::5025::SOCKET."
        )
    meter = (
        by_visa(VisaSession(address, sheet.name), sheet, host, **driver)
        if by_visa is not None
        else open_without_visa(address, key, host)
    )
    try:
        if sheet.feeds:
            meter.configure(Setting(volt, sheet.ranges[-1].amperes, 1 / sheet.fastest_hz, *FEEDING_TIMES_S))
        yield meter
    finally:
        meter.close()
