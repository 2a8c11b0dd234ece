"""The dialect and the readings of the virtual Keithley instruments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.keithley_2450 import LIMITS, VirtualKeithley2450
from hil.standins.virtual.meter.keithley_dmm import VirtualKeithleyDmm
from hil.standins.virtual.meter.supply import Activity, Currents, Supply

CURRENTS = Currents(0.09, 0.03, 0.01, 3.3, "of this test")
SECOND = 10**12
QUIET = replace(Flaws.draw(LIMITS, np.random.default_rng(7)), timebase=0.0)


class Load:
    """A supply whose activity the test sets; each wait lets one second of virtual time pass, a share of it awake."""

    def __init__(self) -> None:
        self.now = 0
        self.sleeps: list[tuple[int, int]] = []
        self.share = 1.0
        self.stopped = False
        self.supply = Supply(CURRENTS, self.observe)

    def observe(self) -> Activity:
        return Activity(self.now, tuple(self.sleeps), self.share == 0.0, self.stopped)

    def sleep(self, _seconds: float) -> None:
        if not self.stopped:
            self.pass_by(SECOND)

    def pass_by(self, time: int) -> None:
        self.now += time
        if self.share < 1:
            self.sleeps.append((self.now - int(time * (1 - self.share)), self.now))


@pytest.fixture
def load() -> Load:
    return Load()


@pytest.fixture
def meter(load: Load) -> VirtualKeithley2450:
    return VirtualKeithley2450(load.supply, QUIET, np.random.default_rng(1), load)


def ask(meter, query: str) -> str:
    return (meter.execute(query) or b"").decode()


def test_it_says_what_it_is(meter):
    assert ask(meter, "*IDN?").startswith("trainrig,virtual MODEL 2450")


@pytest.mark.parametrize(
    "command", [":SENS:CURR:RANG 1", "sense:current:range 1", "SENS:CURR:DC:RANG:UPP 1", "CURR:RANG 1"]
)
def test_short_and_long_forms(meter, command):
    assert meter.execute(command) is None
    assert ask(meter, ":SENS:CURR:RANG?") == "1.000000E+00"
    assert ask(meter, ":SYST:ERR?") == '0,"No error"'


@pytest.mark.parametrize(("command", "code"), [
    ("FOO:BAR?", -113), (":SENSX:CURR:RANG 1", -113), (":SENS:CURR:NPLC 99", -222), (":SENS:CURR:NPLC", -109),
    (":SENS:CURR:NPLC fast", -104), (':SENS:FUNC "RES"', -104), (":INIT", -224), (':TRIG:BLOC:MDIG 1,"nowhere",1', -224),
    (":TRIG:BLOC:WAIT 1,DIG1", -224), (":SOUR:FUNC CURR", -224), (':TRAC:ACT? "no"', -224), (':TRAC:MAKE "defbuffer1",100', 1115),
    (':TRAC:DEL "defbuffer1"', -224), (":SOUR:VOLT 12", -222), (":FORM:BORD SIDE", -224), (':TRAC:FILL:MODE CONT,"no"', -224),
])  # fmt: skip
def test_what_cannot_be_is_refused_and_waits_in_the_queue(meter, command, code):
    meter.execute("*RST")
    assert meter.execute(command) is None
    assert ask(meter, "*STB?") == "4"
    assert ask(meter, "SYSTEM:ERROR:NEXT?").startswith(f"{code},")
    assert ask(meter, ":SYST:ERR?") == '0,"No error"'


def test_several_commands_on_a_line(meter):
    assert ask(meter, "*RST;:SENS:CURR:NPLC 2;:SENS:CURR:NPLC?;*OPC?") == "2.000000E+00;1"


def test_a_busy_core_draws_more_than_a_sleeping_one(meter, load):
    def current(share: float) -> float:
        load.share = share
        return float(ask(meter, ":MEAS:CURR?"))

    meter.execute(":SENS:CURR:RANG 1")
    asleep, half, awake = current(0.0), current(0.5), current(1.0)
    assert half == pytest.approx((asleep + awake) / 2, rel=0.001) and (asleep, awake) == (
        pytest.approx(0.03, rel=0.001),
        pytest.approx(0.09, rel=0.001),
    )
    load.stopped = True
    assert current(0.0) == pytest.approx(0.01, rel=0.001)
    assert float(ask(meter, ":MEAS:VOLT?")) == pytest.approx(3.3, abs=0.002)


def test_noise_shrinks_with_the_aperture(meter):
    def spread(nplc: float) -> float:
        meter.execute(f":SENS:CURR:RANG 1;:SENS:CURR:NPLC {nplc}")
        return float(np.std([float(ask(meter, ":READ?")) for _ in range(200)]))

    assert spread(0.01) > 5 * spread(1)


def test_a_reading_beyond_the_range_overflows_and_an_automatic_range_follows(meter):
    meter.execute(":SENS:CURR:RANG 0.01")
    assert float(ask(meter, ":READ?")) > 1e37
    meter.execute(":SENS:CURR:RANG:AUTO ON")
    assert (
        float(ask(meter, ":READ?")) == pytest.approx(0.09, rel=0.001)
        and ask(meter, ":SENS:CURR:RANG?") == "1.000000E-01"
    )


PROGRAM = (
    "*RST;:SOUR:VOLT:ILIM 1.05;:SENS:CURR:RANG 0.1;:SENS:CURR:NPLC 0.1;:SENS:CURR:AZER OFF;:OUTP ON",
    ":DIG:LINE1:MODE TRIG,IN;:TRIG:DIG1:IN:EDGE EITH",
    *(f':TRAC:MAKE "{name}",1000;:TRAC:FILL:MODE CONT,"{name}"' for name in ("before", "steps", "after")),
    ':TRIG:LOAD "Empty"', ':TRIG:BLOC:MEAS 1,"before",INF', ":TRIG:BLOC:WAIT 2,DIG1", ':TRIG:BLOC:MEAS 3,"steps",INF',
    ":TRIG:BLOC:WAIT 4,DIG1", ':TRIG:BLOC:MEAS 5,"after",INF', ":TRIG:BLOC:DEL:CONS 6,0.1", ':TRIG:BLOC:MEAS 7,"after",0', ":INIT",
)  # fmt: skip


def columns(meter, buffer: str) -> np.ndarray:
    count = int(ask(meter, f':TRAC:ACT? "{buffer}"'))
    text = ask(meter, f':TRAC:DATA? 1,{count},"{buffer}",READ,SOUR,SEC,FRAC')
    return np.array(text.split(","), float).reshape(count, 4)


def test_digital_edges_part_the_readings(meter, load):
    """A tenth of a second asleep, half a second awake between the edges, asleep again."""
    for command in PROGRAM:
        assert meter.execute(command) is None
    assert ask(meter, ":SYST:ERR?") == '0,"No error"'
    for share, time in ((0.0, SECOND // 10), (1.0, SECOND // 2), (0.0, SECOND // 5)):
        load.share = share
        load.pass_by(time)
        load.supply.edge(load.now, int(share == 0.0))
        state = ask(meter, ":TRIG:STAT?")
    assert state.startswith("IDLE")
    before, steps, after = (columns(meter, name) for name in ("before", "steps", "after"))
    assert len(before) == 45 and len(steps) == 222 and len(after) == 45  # 2 ms and a quarter for each reading
    assert np.mean(before[:-1, 0]) == pytest.approx(0.03, abs=20e-6)
    assert 0.03 < before[-1, 0] < 0.09  # its aperture reaches over the edge
    assert np.mean(steps[:-1, 0]) == pytest.approx(0.09, rel=0.001)
    assert steps[0, 2] - 1_600_000_000 + steps[0, 3] == pytest.approx(0.1, abs=0.00225)
    assert np.mean(steps[:, 1]) == pytest.approx(3.3, abs=0.002)


def test_a_model_waits_for_its_edge(meter, load):
    for command in PROGRAM:
        meter.execute(command)
    load.pass_by(SECOND)
    assert ask(meter, ":TRIG:STAT?").startswith("RUNNING")
    assert len(columns(meter, "before")) == 444
    meter.execute(":ABOR")
    assert ask(meter, ":TRIG:STAT?").startswith("IDLE")


@pytest.mark.parametrize(("mode", "last_s"), [("CONT", 1.0), ("ONCE", 0.225)])
def test_a_full_buffer_wraps_around_or_stays(meter, load, mode, last_s):
    for command in PROGRAM:
        meter.execute(command.replace("1000", "100").replace("CONT", mode) if "MAKE" in command else command)
    load.pass_by(SECOND)
    times = columns(meter, "before")[:, 2:].sum(axis=1) - 1_600_000_000
    assert len(times) == 100
    start, end = (int(ask(meter, f':TRAC:ACT:{one}? "before"')) for one in ("STAR", "END"))
    assert times[end - 1] == pytest.approx(last_s, abs=0.005) and times[start - 1] == times.min()
    assert np.all(np.diff(np.roll(times, 1 - start)) > 0) and (start == 1) == (mode == "ONCE")


def test_the_finite_count_of_a_block_holds_the_model_there(meter, load):
    for command in (
        *PROGRAM[:5],
        ':TRIG:LOAD "Empty"',
        ':TRIG:BLOC:MDIG 1,"steps",7',
        ':TRIG:BLOC:MDIG 2,"after",INF',
        ":TRIG:BLOC:DEL:CONS 3,10",
        ":INIT",
    ):
        meter.execute(command)
    load.pass_by(SECOND // 10)
    assert ask(meter, ':TRAC:ACT? "steps"') == "7" and int(ask(meter, ':TRAC:ACT? "after"')) == 37


@pytest.mark.parametrize(("order", "dtype"), [("SWAP", "<f8"), ("NORM", ">f8")])
def test_a_digitizer_answers_in_blocks_without_a_length(load, order, dtype):
    meter = VirtualKeithleyDmm(load.supply, QUIET, np.random.default_rng(1))
    for command in (
        f'*RST;:FORM:BORD {order};:DIG:FUNC "CURR";:DIG:CURR:RANG 0.1;:DIG:CURR:SRAT 2000;:DIG:CURR:APER AUTO', ':TRAC:MAKE "b",100',
        ':TRIG:BLOC:MDIG 1,"b",20', ":INIT",
    ):  # fmt: skip
        assert meter.execute(command) is None
    load.pass_by(SECOND)
    assert ask(meter, ":TRIG:STAT?").startswith("IDLE") and ask(meter, ":SYST:ERR?").startswith("0,")
    meter.execute(":FORM REAL")
    answer = meter.execute(':TRAC:DATA? 1,20,"b",READ,REL') or b""
    assert answer[:2] == b"#0"
    table = np.frombuffer(answer[2:], dtype).reshape(20, 2)
    assert table[:, 0] == pytest.approx(0.09, rel=0.001) and table[:, 1] == pytest.approx(np.arange(20) / 2000)
    assert meter.execute(':TRAC:DATA? 1,20,"b",READ,SEC') is None and ask(meter, ":SYST:ERR?").startswith("-224,"), (
        "not in a block"
    )
