"""The instrument's dialect and its readings."""

from __future__ import annotations

import numpy as np
import pytest

from hil.standins.virtual.meter.instrument import SourceMeter
from hil.standins.virtual.meter.supply import Activity, Supply


class Load:
    """A supply whose activity the test sets; each wait lets one second of virtual time pass."""

    def __init__(self) -> None:
        self.awake = self.asleep = 0.0
        self.share = 1.0
        self.stopped = False

    def observe(self) -> Activity:
        return Activity(self.awake, self.asleep, 280_000_000, self.share == 0.0, self.stopped)

    def wait(self, _seconds: float) -> None:
        self.awake += self.share
        self.asleep += 1 - self.share


@pytest.fixture
def load() -> Load:
    return Load()


@pytest.fixture
def meter(load: Load) -> SourceMeter:
    return SourceMeter(Supply(load.observe), 7, load.wait)


def test_it_says_what_it_is(meter: SourceMeter) -> None:
    answer = meter.execute("*IDN?")
    assert answer is not None and answer.startswith("trainrig,virtual")


@pytest.mark.parametrize("command", [":SENS:CURR:RANG 1", "sense:current:range 1", "SENS:CURR:DC:RANG:UPP 1", "CURR:RANG 1"])
def test_short_and_long_forms(meter: SourceMeter, command: str) -> None:
    assert meter.execute(command) is None
    assert meter.execute(":SENS:CURR:RANG?") == "1.000000E+00"
    assert meter.execute(":SYST:ERR?") == '0,"No error"'


@pytest.mark.parametrize(("command", "code"), [
    ("FOO:BAR?", -113), (":SENSX:CURR:RANG 1", -113), (":SENS:CURR:NPLC 99", -222), (":SENS:CURR:NPLC", -109),
    (":SENS:CURR:NPLC fast", -104), (':SENS:FUNC "RES"', -104),
])  # fmt: skip
def test_errors_wait_in_the_queue(meter: SourceMeter, command: str, code: int) -> None:
    assert meter.execute(command) is None
    assert meter.execute("*STB?") == "4"
    answer = meter.execute("SYSTEM:ERROR:NEXT?")
    assert answer is not None and answer.startswith(f"{code},")
    assert meter.execute(":SYST:ERR?") == '0,"No error"'


def test_several_commands_on_a_line(meter: SourceMeter) -> None:
    assert meter.execute("*RST;:SENS:CURR:NPLC 2;:SENS:CURR:NPLC?;*OPC?") == "2.000000E+00;1"


def test_a_busy_core_draws_more_than_a_sleeping_one(meter: SourceMeter, load: Load) -> None:
    def current(share: float) -> float:
        load.share = share
        return float(meter.execute(":MEAS:CURR?") or "nan")

    meter.execute(":SENS:CURR:RANG 1")
    asleep, half, awake = current(0.0), current(0.5), current(1.0)
    assert asleep < half < awake
    assert half == pytest.approx((asleep + awake) / 2, rel=0.01)
    load.stopped = True
    assert current(0.0) < asleep


def test_noise_shrinks_with_the_aperture(meter: SourceMeter) -> None:
    def spread(nplc: float) -> float:
        meter.execute(f":SENS:CURR:RANG 1;:SENS:CURR:NPLC {nplc}")
        return float(np.std([float(meter.execute(":READ?") or "nan") for _ in range(200)]))

    assert spread(0.01) > 5 * spread(1)


def test_a_reading_beyond_the_range_overflows(meter: SourceMeter) -> None:
    meter.execute(":SENS:CURR:RANG 0.01")
    assert float(meter.execute(":READ?") or "nan") > 1e37


def test_instruments_differ_by_their_seed_and_repeat_with_it(load: Load) -> None:
    def reading(seed: int) -> str | None:
        return SourceMeter(Supply(load.observe), seed, lambda _: None).execute(":MEAS:CURR?")

    assert reading(1) == reading(1) != reading(2)
