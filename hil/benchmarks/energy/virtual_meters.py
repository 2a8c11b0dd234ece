"""Serve a virtual instrument and open it by its driver, as a real instrument."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from hil.benchmarks.energy.ppk2_on_a_wire import ppk2_on_a_wire
from hil.benchmarks.energy.random_case import RANGES_ITSELF
from hil.energy.data_sheet import load_data_sheet
from hil.meters.lpm01a import Lpm01a
from hil.meters.meter import Host, Meter
from hil.meters.open import open_meter
from hil.meters.tc66c import Tc66c
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.lpm01a import VirtualLpm01a
from hil.standins.virtual.meter.polled_scpi import VirtualPolledScpi
from hil.standins.virtual.meter.ppk2 import VirtualPpk2
from hil.standins.virtual.meter.rigol_dp800 import VirtualRigolDP800
from hil.standins.virtual.meter.rs_ngu import VirtualRsNGU
from hil.standins.virtual.meter.serial_meter import MeterWire
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.meter.siglent_sdm3065x import VirtualSiglentSDM3065X
from hil.standins.virtual.meter.tc66c import VirtualTc66c
from hil.standins.virtual.meter.truth import Truth, VirtualTime
from hil.standins.virtual.meter.twins import TWINS
from hil.standins.virtual.meter.yokogawa_wt310 import VirtualYokogawaWT310

Make = Callable[..., Any]
BY_SOCKET: dict[str, Make] = {
    **{key: twin.make for key, twin in TWINS.items() if twin.server is InstrumentServer},
    "polled-scpi": VirtualPolledScpi,
    "rigol-dp832a": VirtualRigolDP800,
    "rs-ngu401": VirtualRsNGU,
    "siglent-sdm3065x": VirtualSiglentSDM3065X,
    "yokogawa-wt310": VirtualYokogawaWT310,
}
# Connected in this process, because each answer through a pseudo-terminal would take wall time.
BY_WIRE: dict[str, Make] = {
    "lpm01a": VirtualLpm01a,
    "tc66c": lambda truth, errors, rng, time: VirtualTc66c(truth, errors, rng),
    **{key: lambda truth, errors, rng, time: VirtualPpk2(truth, errors, rng) for key in RANGES_ITSELF},
}
DRIVERS: dict[str, Callable[..., Meter]] = {
    "lpm01a": Lpm01a, "tc66c": Tc66c, **dict.fromkeys(RANGES_ITSELF, ppk2_on_a_wire),
}  # fmt: skip
KEYS = sorted([*BY_SOCKET, *BY_WIRE])


def drivable() -> list[str]:
    """Return those of KEYS whose library is installed."""
    return [key for key in KEYS if key not in RANGES_ITSELF or find_spec("ppk2_api") is not None]


@dataclass(frozen=True)
class Parts:
    """What a virtual instrument is made of.

    Attributes:
        truth: what it measures.
        errors: of its readings.
        rng: of its noise.
        time: its virtual time.
        lost_share: share of lost readings, for an instrument that can lose them.
    """

    truth: Truth
    errors: Flaws
    rng: np.random.Generator
    time: VirtualTime
    lost_share: float = 0.0


@contextlib.contextmanager
def metered(key: str, made_of: Parts, host: Host, **driver: Any) -> Iterator[Meter]:
    """Serve a virtual instrument of KEYS and open it by its driver; `driver` has more arguments of the driver."""
    twin = (BY_SOCKET | BY_WIRE)[key](made_of.truth, made_of.errors, made_of.rng, made_of.time)
    if hasattr(twin, "lost_share"):
        twin.lost_share = made_of.lost_share
    if key in BY_WIRE:
        yield DRIVERS[key](MeterWire(twin), load_data_sheet(key), host, **driver)
        return
    server = InstrumentServer(twin)
    server.start()
    try:
        with open_meter(server.resource, made_of.truth.volt(), key, host, **driver) as meter:
            yield meter
    finally:
        server.close()
