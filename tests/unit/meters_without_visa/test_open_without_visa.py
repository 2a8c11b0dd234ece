"""Addresses, models, and that every data sheet of this folder can be loaded and is complete."""

from __future__ import annotations

import numpy as np
import pytest
from wired import EXACT, board, host

from hil.energy.data_sheet import load_data_sheet
from hil.energy.meter_kind import METERS
from hil.errors import Blocked, RigError
from hil.meters.open import open_meter
from hil.standins.virtual.meter.serial_meter import SerialServer
from hil.standins.virtual.meter.tc66c import VirtualTc66c
from hil.standins.virtual.meter.truth import VirtualTime


@pytest.mark.parametrize("model", [name for name in METERS.house_names() if not METERS.find(name).visa])
def test_data_sheets(model: str) -> None:
    sheet = load_data_sheet(model)
    assert (
        sheet.kind in ("integrating", "point")
        and sheet.timestamps in ("meter", "host")
        and sheet.marker in ("digital", "trigger", "none")
    )
    assert sheet.loss in ("timestamps", "counter", "status", "none") and sheet.sources and sheet.unverified
    assert (sheet.apertures_s == (0.0, 0.0)) == (sheet.kind == "point")
    amperes = [one.amperes for one in sheet.ranges]
    assert amperes == sorted(amperes) and all(0 < one.gain <= 0.15 and one.offset_a >= 0 for one in sheet.ranges)


def test_a_port_by_its_path() -> None:
    time = VirtualTime()
    server = SerialServer(VirtualTc66c(board(time), EXACT, np.random.default_rng(1)))
    server.start()
    try:
        with open_meter(server.path, 3.3, "tc66c", host(time, server.pump)) as meter:
            assert meter.identity.startswith("TC66")
    finally:
        server.close()


@pytest.mark.parametrize(("address", "model", "why"), [
    ("0000-no-such-serial", "lpm01a", "0 serial ports have the USB serial number"), ("/dev/no-such-port", "tc66c", "cannot be opened"),
    ("arc@here:there", "otii-arc", "name@host:port"), ("x", "keithley-2450", "'x' is not a VISA resource name"), ("x", "tc66", "did you mean tc66c"),
])  # fmt: skip
def test_what_cannot_be_opened(address: str, model: str, why: str) -> None:
    with pytest.raises((RigError, Blocked), match=why) as error, open_meter(address, 3.3, model):
        pass
    assert "\n" not in str(error.value)
