"""Meters without a marker input, each against its twin over the real PyVISA: the truth is found, and no fault goes unseen."""

from __future__ import annotations

import time as wall
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked, RigError
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.polled_scpi import Dialect, PolledScpi
from hil.meters.rigol_dp800 import RigolDP800
from hil.meters.rs_ngu import RsNGU
from hil.meters.siglent_sdm3065x import SiglentSDM3065X
from hil.meters.yokogawa_wt310 import UPDATE, YokogawaWT310

pytest.importorskip("llvmlite", reason="the virtual meters need the extra `virtual`")
from unmarked_scene import PS, VOLT, Scene, late, net_energy, once

from hil.standins.virtual.meter.polled_scpi import VirtualPolledScpi
from hil.standins.virtual.meter.rigol_dp800 import VirtualRigolDP800
from hil.standins.virtual.meter.rs_ngu import VirtualRsNGU
from hil.standins.virtual.meter.siglent_sdm3065x import VirtualSiglentSDM3065X
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime
from hil.standins.virtual.meter.yokogawa_wt310 import VirtualYokogawaWT310


@dataclass(frozen=True)
class Case:
    """A meter, its twin, a range that holds the board's current and one that does not, and what it is asked for a reading."""

    key: str
    driver: type
    twin: type
    interval_s: float
    range_a: float
    small_a: float
    query: str
    idle_s: float = 0.5
    window_s: float = 1.2

    def scene(self, seed: int = 0, **more) -> Scene:
        more = {"range_a": self.range_a, "idle_s": self.idle_s, "window_s": self.window_s} | more
        return Scene(self.twin, load_data_sheet(self.key), seed, **more)


POLLED = Case("polled-scpi", PolledScpi, VirtualPolledScpi, 0.008, 0.1, 0.01, "MEAS:CURR?")
DP800 = Case("rigol-dp832a", RigolDP800, VirtualRigolDP800, 0.008, 3.2, 3.2, ":MEAS:ALL? CH1")
SDM = Case("siglent-sdm3065x", SiglentSDM3065X, VirtualSiglentSDM3065X, 0.007, 0.2, 0.02, "R?")
NGU = Case("rs-ngu401", RsNGU, VirtualRsNGU, 0.001, 0.1, 0.01, "FLOG:DATA?")
WT310 = Case("yokogawa-wt310", YokogawaWT310, VirtualYokogawaWT310, 0.1, 0.1, 0.02, UPDATE, 2.0, 4.0)
ALL = [pytest.param(case, id=case.key) for case in (POLLED, DP800, SDM, NGU, WT310)]


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("seed", range(3))
def test_the_edges_hold_the_truth_and_the_energy_is_right(case, seed):
    scene = case.scene(seed)
    with scene.open(case.driver) as meter:
        capture = scene.run(meter, case.interval_s)
    assert capture.synchronisation == "power"
    assert scene.holds(capture)
    assert max(edge.half_s for edge in capture.edges) < 1.5 * capture.interval_s + 0.002
    assert (capture.range_a, capture.lost) == (case.range_a, 0)
    volt = 0.0 if np.isnan(capture.voltage_v).all() else scene.errors.voltage_gain
    expected = scene.net() * (1 + scene.errors.gain) * (1 + volt)
    assert net_energy(capture, case.idle_s) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("case", ALL)
def test_a_host_that_says_nothing_is_waited_for_as_expected(case):
    """The trial does not call `mark`: the window is found all the same, after the expected time."""
    scene = case.scene(1, talks=False)
    with scene.open(case.driver) as meter:
        capture = scene.run(meter, case.interval_s)
    assert scene.holds(capture)


@pytest.mark.parametrize("case", ALL)
def test_a_board_that_nobody_asks_begins_when_it_likes(case):
    """`hil measure` of a user's own firmware: it sleeps for twice as long as was said before it works, and the readings tell all the same."""
    scene = case.scene(1, talks=False)
    with scene.open(case.driver) as meter:
        meter.configure(scene.setting(case.interval_s, window_s=case.window_s + 0.6 * case.idle_s))
        scene.time.ps = max(scene.time.ps, round((scene.up_s - 2 * case.idle_s) * PS))
        meter.arm()
        capture = meter.capture(20.0)
    assert scene.holds(capture) and capture.synchronisation == "power"


@pytest.mark.parametrize("case", ALL)
def test_another_instrument_blocks(case):
    scene = case.scene()
    scene.line.fault = lambda query, answer: b"ACME,MODEL 1,1,1" if query == "*IDN?" else answer
    if case is POLLED:
        pytest.skip("the generic one takes whoever answers")
    with pytest.raises(Blocked, match=rf"'ACME,MODEL 1,1,1', not a {scene.sheet.name}"), scene.open(case.driver):
        pass


def test_a_generic_meter_that_refuses_a_command_blocks():
    scene = POLLED.scene()
    with (
        pytest.raises(Blocked, match="reports -113"),
        scene.open(PolledScpi, dialect=Dialect({"MEAS:CURR?": "I"}, reset=("NO:SUCH",))),
    ):
        pass


@pytest.mark.parametrize("case", ALL)
def test_a_late_answer_blocks_and_is_not_taken_for_the_next(case):
    scene = case.scene(2)
    with scene.open(case.driver, timeout_ms=150) as meter:
        scene.line.fault = late(0.25, case.query)
        meter.configure(scene.setting(case.interval_s))
        meter.arm()
        with pytest.raises(Blocked, match="did not take"):
            meter.capture(5.0)
        assert scene.holds(scene.run(meter, case.interval_s)), "the session was opened again"
        assert meter._session.query("*IDN?") == meter.identity


@pytest.mark.parametrize("case", ALL)
def test_an_instrument_that_vanishes_blocks_and_one_that_comes_back_measures(case):
    scene = case.scene(3)
    with scene.open(case.driver, timeout_ms=300) as meter:
        meter.configure(scene.setting(case.interval_s))
        meter.arm()
        scene.line.stop()
        with pytest.raises(Blocked, match=rf"the {scene.sheet.name} did not take"):
            meter.capture(5.0)
    with scene.open(case.driver) as meter:
        assert scene.holds(scene.run(meter, case.interval_s))


OVERLOADS = {POLLED.key: b"9.9E37", DP800.key: b"3.3,OL,0.1", SDM.key: b"#15OL,OL", WT310.key: b"1,1,1,INF,1"}
NO_NUMBERS = {POLLED.key: b"NAN", DP800.key: b"3.3,----,0.1", SDM.key: b"#16NAN,NAN", WT310.key: b"1,1,1,NAN,1"}


def pairs(value: float) -> bytes:
    data = np.array([[VOLT, value]] * 250, "<f4").tobytes()
    return b"#4" + b"%04d" % len(data) + data


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("overload", [True, False], ids=["overload", "not-a-number"])
def test_overload_and_no_numbers_spoil_the_window(case, overload):
    scene = case.scene(4)
    said = pairs(9.9e37 if overload else np.nan) if case is NGU else (OVERLOADS if overload else NO_NUMBERS)[case.key]
    with scene.open(case.driver) as meter:
        scene.line.fault = once(case.query, lambda _: said, after=3)
        with pytest.raises(InvalidWindow) as spoiled:
            scene.run(meter, case.interval_s)
    assert spoiled.value.beyond_range == overload


@pytest.mark.parametrize("case", ALL)
def test_a_current_beyond_the_range_spoils_and_says_so(case):
    """Some change the range, some say overload, the supply leaves constant voltage: each is told apart from a good window."""
    scene = case.scene(5, range_a=case.small_a, scale=20.0 if case is DP800 else 1.0)
    with scene.open(case.driver) as meter, pytest.raises(InvalidWindow) as spoiled:
        scene.run(meter, case.interval_s)
    assert spoiled.value.beyond_range


@pytest.mark.parametrize(
    ("case", "command"),
    [(POLLED, "CURR:RANG 1"), (SDM, "CURR:DC:RANG 2"), (NGU, "SENS:CURR:RANG 1"), (WT310, ":INP:CURR:RANG 1A")],
    ids=[case.key for case in (POLLED, SDM, NGU, WT310)],
)  # fmt: skip
def test_a_range_that_changes_within_the_window_spoils_it(case, command):
    """Somebody turns the knob: no error is reported, and every number looks well."""
    scene = case.scene(6)
    with scene.open(case.driver) as meter:

        def turn(answer: bytes) -> bytes:
            scene.line.instrument.execute(command)
            return answer

        scene.line.fault = once(case.query, turn, after=5)
        with pytest.raises(InvalidWindow, match="it changed within the window"):
            scene.run(meter, case.interval_s)


def stall(scene: Scene, seconds: float):
    """A fault: the host stands still for a while, once, in the window."""

    def change(answer: bytes) -> bytes:
        scene.time.sleep(seconds)
        return answer

    return change


@pytest.mark.parametrize("case", [pytest.param(case, id=case.key) for case in (POLLED, DP800)])
def test_polls_that_the_host_missed_are_counted(case):
    scene = case.scene(7)
    with scene.open(case.driver) as meter:
        scene.line.fault = once(case.query, stall(scene, 0.1), after=100)
        capture = scene.run(meter, case.interval_s)
    assert capture.lost == pytest.approx(0.1 / case.interval_s, abs=2)


def without_readings(answer: bytes) -> bytes:
    text = answer[2 + int(answer[1:2]) :].split(b",")[:1]
    return b"#%d%d%s" % (len(str(len(text[0]))), len(text[0]), text[0])


def stale(answer: bytes) -> bytes:
    values = answer.split(b",")
    return b",".join([*values[:4], b"9.0"])


LOSSES = {
    "sdm-few": (SDM, "R?", 4, without_readings, "did not read at a steady rate"),
    "ngu-swallowed": (NGU, "FLOG:DATA?", 3, lambda _: b"#10", "a block is missing"),
    "ngu-late": (NGU, "*STB?", 20, "stall", "dropped a block"),
    "wt310-late": (WT310, UPDATE, 10, "stall", "missed an update"),
    "wt310-integrator": (WT310, UPDATE, 10, stale, "some are missing"),
}


@pytest.mark.parametrize(("case", "query", "after", "change", "reason"), LOSSES.values(), ids=LOSSES)
def test_lost_readings_spoil_the_window(case, query, after, change, reason):
    scene = case.scene(8)
    scene.slowest_s = 0.2 if case is SDM else 0.0  # one answer holds many readings
    with scene.open(case.driver) as meter:
        scene.line.fault = once(query, stall(scene, 0.33) if change == "stall" else change, after=after)
        with pytest.raises(InvalidWindow, match=reason):
            scene.run(meter, case.interval_s)


@pytest.mark.parametrize(
    ("case", "left"),
    [
        (POLLED, ["AVER ON", "CURR:RANG 1"]), (DP800, [":TIME ON", ":OUTP CH1,OFF", ":APPL CH1,3.3,0.01", ":NONSENSE"]),
        (SDM, ["CURR:DC:NULL ON", "CURR:DC:NULL:VAL 0.05", "CURR:DC:NPLC 100", "SAMP:COUN 3", "INIT"]),
        (NGU, ["FLOG:TRIG 1", "FLOG:TARG SCPI", "FLOG:SRAT S100", "SENS:CURR:RANG 10", "FLOG 1"]),
        (WT310, [":MEAS:AVER:STAT ON", ":INP:SCAL:STAT ON", ":NUM:NORM:ITEM1 P,1", ":NUM:NORM:NUM 3", ":INTEG:START"]),
    ],
    ids=[case.key for case in (POLLED, DP800, SDM, NGU, WT310)],
)  # fmt: skip
def test_what_somebody_left_set_does_not_matter(case, left):
    """Before it was opened, and again after that."""
    scene = case.scene(9)
    for command in left:
        scene.line.instrument.execute(command)
    with scene.open(case.driver) as meter:
        scene.line.instrument.execute("*CLS")
        for command in left:
            if command != ":NONSENSE":
                scene.line.instrument.execute(command)
        capture = scene.run(meter, case.interval_s)
    assert scene.holds(capture)
    assert net_energy(capture, case.idle_s) == pytest.approx(scene.net(), rel=0.04)
    first, second = capture.edges
    inside = (capture.t_s > first.t_s + first.half_s) & (capture.t_s < second.t_s - second.half_s - capture.aperture_s)
    mean = scene.net() / (scene.down_s - scene.up_s) + 0.012 * VOLT
    offset = VOLT * scene.sheet.range_for(case.range_a).offset_a
    assert np.mean(capture.power_w[inside]) == pytest.approx(mean, abs=0.04 * mean + offset)
    assert capture.interval_s == pytest.approx(case.interval_s, rel=0.1)


@pytest.mark.parametrize("case", ALL)
def test_a_power_that_never_changes_spoils_the_window(case):
    scene = case.scene(10, flat=True)
    with scene.open(case.driver) as meter, pytest.raises(InvalidWindow, match="edges of the window cannot be found"):
        scene.run(meter, case.interval_s)


def test_the_host_dates_a_window_whose_power_does_not_change_when_the_board_counted_it():
    scene = POLLED.scene(11, flat=True)
    with scene.open(PolledScpi) as meter:
        say = meter.mark
        meter.mark = lambda begins: say(begins) if begins else say(False, 1.2, 1e-4)
        capture = scene.run(meter, 0.008)
    assert capture.synchronisation == "host"
    assert scene.holds(capture)
    assert 0.02 < capture.edges[0].half_s < 0.1


@pytest.mark.parametrize("case", ALL)
def test_an_answer_that_never_comes_blocks(case):
    scene = case.scene(12, talks=False)
    with scene.open(case.driver) as meter:
        meter.configure(scene.setting(case.interval_s))
        meter.arm()
        meter.mark(True)
        with pytest.raises(Blocked, match="was not over within 3 s"):
            meter.capture(3.0)


def aliased(jitter: float, seed: int) -> float:
    """Poll 10 ms steps at 100 Hz; return the relative error of the mean power."""
    time = VirtualTime()
    rng = np.random.default_rng(seed)
    starts = 0.01 * np.arange(300)[:, None] + np.array([0.0, 0.002])  # a fifth of each step works
    trace = ScriptedTrace(time, np.round(starts.ravel() * PS).astype(np.int64), np.tile([0.09, 0.01], 300), [], VOLT)
    scene = POLLED.scene(seed)
    scene.time, scene.talks = time, False
    scene.line.instrument = VirtualPolledScpi(trace, scene.errors, rng, time)
    VirtualPolledScpi.latency_s, before = (0.0, 0.0001), VirtualPolledScpi.latency_s
    try:
        with scene.open(
            PolledScpi, dialect=Dialect({"MEAS:CURR?": "I"}, prepare=("CURR:RANG 0.1",)), jitter=jitter, seed=seed
        ) as meter:
            meter.configure(scene.setting(0.01))
            time.sleep(float(rng.uniform(0, 0.01)))
            polls = meter._poller.run(meter._poll, 0.01, lambda: time.seconds() > 2)
    finally:
        VirtualPolledScpi.latency_s = before
    return float(np.mean(polls.values) / 0.026 - 1)


def test_a_fixed_interval_aliases_a_commensurate_step_and_a_drawn_one_does_not():
    """2 s of 10 ms steps: fixed polls see one phase all the time; drawn ones miss the mean by the scatter of 200 draws."""
    fixed, drawn = ([abs(aliased(jitter, seed)) for seed in range(6)] for jitter in (0.0, 0.5))
    assert min(fixed) > 0.5
    assert max(drawn) < 4 * 1.23 / np.sqrt(200)


def test_a_dialect_that_makes_no_sense_is_refused():
    with pytest.raises(RigError, match=r"has no field 'reading', did you mean readings"):
        Dialect.read({"reading": {}})
    with pytest.raises(RigError, match="one of I and P is needed"):
        Dialect.read({"readings": {"MEAS:VOLT?": "V"}})
    assert Dialect.read({"readings": {"MEAS:POW?": "P"}, "reset": []}).reset == ()


def test_power_is_what_the_meter_tells_where_it_tells_it():
    scene = POLLED.scene(13)
    with scene.open(
        PolledScpi, dialect=Dialect({"MEAS:POW?": "P"}, prepare=("CURR:RANG {range_a:g}",), range_query="CURR:RANG?")
    ) as meter:
        capture = scene.run(meter, 0.008)
    assert np.isnan(capture.current_a).all() and np.isnan(capture.voltage_v).all()
    assert net_energy(capture, 0.5) == pytest.approx(scene.net(), rel=0.04)


class WallTime:
    """The host's own clock, in picoseconds since it was made."""

    def __init__(self) -> None:
        self.began = wall.monotonic()

    @property
    def ps(self) -> int:
        return round((wall.monotonic() - self.began) * PS)


def test_in_real_time_a_meter_reads_in_one_thread_while_the_host_asks_the_board_in_another():
    """0.7 s of the host's clock: sleep, work, sleep; the meter is polled beside, and told by `mark` only."""
    scene, time = POLLED.scene(14, idle_s=0.2, window_s=0.3), WallTime()
    up, down = 0.5, 0.8
    trace = ScriptedTrace(
        time, np.round(np.array([0.0, up, down]) * PS).astype(np.int64), np.array([0.01, 0.06, 0.01]), [], VOLT
    )
    scene.line.instrument = VirtualPolledScpi(trace, scene.errors, np.random.default_rng(0), None)
    host = Host(lambda: time.ps / PS, wall.sleep)
    scene.line.start()
    session = scene.session()
    meter = PolledScpi(session, scene.sheet, host)
    meter.configure(Setting(VOLT, 0.1, 0.005, 0.2, 0.3))
    meter.arm()
    with ThreadPoolExecutor(max_workers=1) as beside:
        pending = beside.submit(meter.capture, 5.0)
        wall.sleep(max(0.0, up - 0.2 - host.now()))
        meter.mark(True)
        wall.sleep(max(0.0, down + 0.2 - host.now()))
        meter.mark(False)
        capture = pending.result()
    meter.close()
    scene.line.stop()
    assert capture.synchronisation == "power"
    assert all(abs(edge.t_s - true) <= edge.half_s for edge, true in zip(capture.edges, (up, down), strict=True))
