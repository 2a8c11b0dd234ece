"""The instrument's dialect and its readings."""

from __future__ import annotations

import numpy as np
import pytest

from hil.standins.virtual.meter.instrument import SourceMeter
from hil.standins.virtual.meter.supply import Activity, Currents, Supply

CURRENTS = Currents(0.09, 0.03, 0.01, 3.3, "of this test")
SECOND = 10**12


class Load:
    """A supply whose activity the test sets; each wait lets one second of virtual time pass, a share of it awake."""

    def __init__(self) -> None:
        self.now = 0
        self.sleeps: list[tuple[int, int]] = []
        self.share = 1.0
        self.stopped = False

    def observe(self) -> Activity:
        return Activity(self.now, tuple(self.sleeps), self.share == 0.0, self.stopped)

    def wait(self, _seconds: float) -> None:
        self.pass_by(SECOND)

    def pass_by(self, time: int) -> None:
        self.now += time
        if self.share < 1:
            self.sleeps.append((self.now - int(time * (1 - self.share)), self.now))


@pytest.fixture
def load() -> Load:
    return Load()


@pytest.fixture
def meter(load: Load) -> SourceMeter:
    return SourceMeter(Supply(CURRENTS, load.observe), 7, load.wait)


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
        return SourceMeter(Supply(CURRENTS, load.observe), seed, lambda _: None).execute(":MEAS:CURR?")

    assert reading(1) == reading(1) != reading(2)


PROGRAM = (
    "*RST;:SENS:CURR:RANG 0.1;:SENS:CURR:NPLC 0.1;:OUTP ON",
    ":DIG:LINE1:MODE TRIG,IN;:TRIG:DIG1:IN:EDGE EITH",
    *(f':TRAC:MAKE "{name}",1000' for name in ("before", "steps", "after")),
    ':TRIG:LOAD "Empty"', ':TRIG:BLOC:MEAS 1,"before",INF', ":TRIG:BLOC:WAIT 2,DIG1", ':TRIG:BLOC:MEAS 3,"steps",INF',
    ":TRIG:BLOC:WAIT 4,DIG1", ':TRIG:BLOC:MEAS 5,"after",INF', ":TRIG:BLOC:DEL:CONS 6,0.1", ':TRIG:BLOC:MEAS 7,"after",0', ":INIT",
)  # fmt: skip


def columns(meter: SourceMeter, buffer: str) -> np.ndarray:
    count = int(meter.execute(f':TRAC:ACT? "{buffer}"') or 0)
    text = meter.execute(f':TRAC:DATA? 1,{count},"{buffer}",READ,SOUR,SEC,FRAC') or ""
    return np.array(text.split(","), float).reshape(count, 4)


def test_digital_edges_part_the_readings(meter: SourceMeter, load: Load) -> None:
    """A tenth of a second asleep, half a second awake between the edges, asleep again."""
    for command in PROGRAM:
        assert meter.execute(command) is None
    assert meter.execute(":SYST:ERR?") == '0,"No error"'
    for share, time in ((0.0, SECOND // 10), (1.0, SECOND // 2), (0.0, SECOND // 5)):
        load.share = share
        load.pass_by(time)
        meter.edge(load.now, 1)
        state = meter.execute(":TRIG:STAT?") or ""
    assert state.startswith("IDLE")
    before, steps, after = (columns(meter, name) for name in ("before", "steps", "after"))
    assert len(before) == 45 and len(steps) == 222 and len(after) == 45  # 2 ms and a quarter for each reading
    assert np.mean(before[:-1, 0]) == pytest.approx(0.03, abs=20e-6)
    assert 0.03 < before[-1, 0] < 0.09  # its aperture reaches over the edge
    assert np.mean(steps[:-1, 0]) == pytest.approx(0.09, rel=0.001)
    assert steps[0, 2] + steps[0, 3] == pytest.approx(0.1, abs=0.00225)
    assert np.mean(steps[:, 1]) == pytest.approx(3.3, abs=1e-4)


def test_a_model_waits_for_its_edge(meter: SourceMeter, load: Load) -> None:
    for command in PROGRAM:
        meter.execute(command)
    load.pass_by(SECOND)
    assert (meter.execute(":TRIG:STAT?") or "").startswith("RUNNING")
    assert len(columns(meter, "before")) == 444
    meter.execute(":ABOR")
    assert (meter.execute(":TRIG:STAT?") or "").startswith("IDLE")


def test_a_full_buffer_keeps_the_latest_readings(meter: SourceMeter, load: Load) -> None:
    for command in PROGRAM:
        meter.execute(command.replace("1000", "100") if "MAKE" in command else command)
    load.pass_by(SECOND)
    times = columns(meter, "before")[:, 2:].sum(axis=1)
    assert len(times) == 100
    assert times[-1] == pytest.approx(1, abs=0.005)


@pytest.mark.parametrize("command", [":INIT", ':TRIG:BLOC:MEAS 1,"nowhere",1', ":TRIG:BLOC:WAIT 1,DIG1", ":SOUR:FUNC CURR", ':TRAC:ACT? "no"'])
def test_what_cannot_be_is_refused(meter: SourceMeter, command: str) -> None:
    meter.execute("*RST")
    assert meter.execute(command) is None
    assert (meter.execute(":SYST:ERR?") or "").startswith("-224")
