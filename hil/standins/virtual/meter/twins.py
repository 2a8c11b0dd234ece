"""The virtual instruments that a virtual board can serve, by the key of their data sheet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from hil.errors import RigError, close_matches
from hil.standins.virtual.meter.errors import FlawLimits, Flaws
from hil.standins.virtual.meter.keithley_2450 import LIMITS as LIMITS_2450
from hil.standins.virtual.meter.keithley_2450 import VirtualKeithley2450
from hil.standins.virtual.meter.keithley_dmm import LIMITS as LIMITS_DMM
from hil.standins.virtual.meter.keithley_dmm import VirtualKeithleyDmm
from hil.standins.virtual.meter.keysight_34465a import LIMITS as LIMITS_34465A
from hil.standins.virtual.meter.keysight_34465a import VirtualKeysight34465A
from hil.standins.virtual.meter.keysight_n6705c import LIMITS as LIMITS_N6705C
from hil.standins.virtual.meter.keysight_n6705c import VirtualKeysightN6705C
from hil.standins.virtual.meter.ppk2 import LIMITS as LIMITS_PPK2
from hil.standins.virtual.meter.ppk2 import VirtualPpk2
from hil.standins.virtual.meter.serial_meter import LiveSerialServer, SerialMeter
from hil.standins.virtual.meter.server import Instrument, InstrumentServer
from hil.standins.virtual.meter.truth import Truth


class MeterServer(Protocol):
    """Serves an instrument to a driver."""

    @property
    def resource(self) -> str:
        """Address that the driver opens."""
        ...

    def start(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class VirtualMeterEntry:
    """A virtual instrument, the limits of its errors, and the server that fits it: of a socket or of a serial port."""

    make: Callable[[Truth, Flaws, np.random.Generator], Instrument | SerialMeter]
    limits: FlawLimits
    server: Callable[[Any, Callable[[str], None]], MeterServer] = InstrumentServer


TWINS = {
    "keithley-2450": VirtualMeterEntry(VirtualKeithley2450, LIMITS_2450),
    "keithley-dmm6500": VirtualMeterEntry(partial(VirtualKeithleyDmm, model="DMM6500"), LIMITS_DMM),
    "keithley-dmm7510": VirtualMeterEntry(partial(VirtualKeithleyDmm, model="DMM7510"), LIMITS_DMM),
    "keysight-34465a": VirtualMeterEntry(VirtualKeysight34465A, LIMITS_34465A),
    "keysight-n6705c": VirtualMeterEntry(VirtualKeysightN6705C, LIMITS_N6705C),
    "ppk2-ampere": VirtualMeterEntry(VirtualPpk2, LIMITS_PPK2, LiveSerialServer),
    "ppk2-source": VirtualMeterEntry(VirtualPpk2, LIMITS_PPK2, LiveSerialServer),
}


def find_virtual_meter(key: str) -> VirtualMeterEntry:
    """Return a virtual instrument by its key.

    Raises:
        RigError: no virtual instrument has this key.
    """
    if key not in TWINS:
        raise RigError(f"there is no virtual meter {key!r}: {close_matches(key, TWINS)}")
    return TWINS[key]
