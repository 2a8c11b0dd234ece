"""Open the meter that a bench names: which driver speaks to which instrument."""

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
from hil.meters.open_without_visa import DRIVERS as BESIDE_VISA
from hil.meters.open_without_visa import open_beside_visa
from hil.meters.polled_scpi import PolledScpi
from hil.meters.rigol_dp800 import RigolDP800
from hil.meters.rs_ngu import RsNGU
from hil.meters.siglent_sdm3065x import SiglentSDM3065X
from hil.meters.yokogawa_wt310 import YokogawaWT310
from hil.visa import VisaSession

USUAL = "keithley-2450"  # where rig.toml names no model
FEEDING_S = (0.1, 0.1)  # sleep and window that a meter is told which for now only feeds the board

BY_VISA: dict[str, Callable[..., Meter]] = {
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

MODELS = sorted([*BY_VISA, *BESIDE_VISA])


@contextlib.contextmanager
def open_meter(
    address: str, volt: float, model: str | None = None, host: Host | None = None, **driver: Any
) -> Iterator[Meter]:
    """Open a meter, have it feed the board where it does, and let go of it at the end.

    Args:
        address: VISA resource name, or what else the driver of the model is opened by.
        volt: supply of the board in volts.
        model: key of its data sheet, or the path of one of one's own, whose dialect tells how the instrument is asked; None for the usual one.
        host: the host's clock.
        driver: more arguments of a driver by VISA, such as a dialect.

    Raises:
        RigError: there is no such model, or no driver of it.
        Blocked: it does not answer, or is another instrument.
    """
    key, host = model or USUAL, host or Host()
    sheet, by_visa = load_data_sheet(key), BY_VISA.get(key)
    if key not in MODELS:
        if not sheet.dialect:
            raise RigError(
                f"{key} says nothing of how the instrument is asked: add a table [dialect] as in hil/meters/data_sheets/polled-scpi.toml."
            )
        by_visa = PolledScpi
    if by_visa is not None and not address:
        raise RigError(
            f"the {sheet.name} is reached through VISA: name its address with --meter or in rig.toml, such as TCPIP0::192.168.1.7::5025::SOCKET."
        )
    meter = (
        by_visa(VisaSession(address, sheet.name), sheet, host, **driver)
        if by_visa is not None
        else open_beside_visa(address, key, host)
    )
    try:
        if sheet.feeds:
            meter.configure(Setting(volt, sheet.ranges[-1].amperes, 1 / sheet.fastest_hz, *FEEDING_S))
        yield meter
    finally:
        meter.close()
