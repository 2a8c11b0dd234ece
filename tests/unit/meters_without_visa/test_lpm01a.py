"""The X-NUCLEO-LPM01A: the driver, through a pseudo-terminal and pyserial, against its virtual twin."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from wired import AWAKE, EXACT, PS, SETTING, board, energy, host, true_energy

from hil.energy.data_sheet import load_data_sheet
from hil.energy.marker_interval import IntervalSums, interval_budget
from hil.energy.uncertainty import combined
from hil.errors import Blocked, RigError
from hil.meters.lpm01a import Lpm01a
from hil.meters.lpm01a_stream import Stream
from hil.meters.meter import InvalidWindow, Setting
from hil.meters.serial_line import SerialLine
from hil.standins.virtual.meter.errors import FlawLimits, Flaws
from hil.standins.virtual.meter.lpm01a import VirtualLpm01a
from hil.standins.virtual.meter.serial_meter import MeterWire, SerialServer
from hil.standins.virtual.meter.truth import VirtualTime

SHEET = load_data_sheet("lpm01a")


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def servers() -> Iterator[list[SerialServer]]:
    running: list[SerialServer] = []
    yield running
    for server in running:
        server.close()


def twin(time: VirtualTime, errors: Flaws = EXACT, **options: object) -> VirtualLpm01a:
    pulses = bool(options.pop("pulses", False))
    begin = float(options.pop("begin", 1.0))  # type: ignore[arg-type]
    peak = float(options.pop("peak", AWAKE))  # type: ignore[arg-type]
    return VirtualLpm01a(
        board(time, begin=begin, pulses=pulses, peak=peak), errors, np.random.default_rng(1), time, **options
    )  # type: ignore[arg-type]


def meter_of(instrument: VirtualLpm01a, time: VirtualTime) -> Lpm01a:
    """Return the driver on the instrument's own end of the line."""
    meter = Lpm01a(MeterWire(instrument), SHEET, host(time))
    meter.configure(SETTING)
    return meter


def test_a_window_through_a_pseudo_terminal(time: VirtualTime, servers: list[SerialServer]) -> None:
    instrument = twin(time)
    servers.append(server := SerialServer(instrument))
    server.start()
    meter = Lpm01a(SerialLine(server.path, 3_686_400, "LPM01A"), SHEET, host(time, server.pump))
    assert "PowerShield present: trainrig,virtual" in meter.identity
    meter.configure(SETTING)
    meter.arm()
    capture = meter.capture(20.0)
    meter.close()
    assert [edge.high for edge in capture.edges] == [True, False]
    assert capture.edges[1].t_s - capture.edges[0].t_s == pytest.approx(1.0, abs=0.003)
    assert capture.aperture_s == capture.interval_s == 0.001 and capture.lost == 0
    assert energy(capture) == pytest.approx(true_energy(instrument._truth), rel=3e-3)  # type: ignore[arg-type]


@pytest.mark.parametrize("both", [True, False])
def test_energy_of_many_instruments_is_within_their_data_sheet(both: bool) -> None:
    """A gain of 2 % on a voltage that is right: no reading of the window's energy may be farther off, besides the edges."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        time = VirtualTime()
        gain = float(rng.uniform(-0.02, 0.02))
        instrument = twin(time, Flaws(gain, 0.0, 0.0, 0.0, 50e-6, 1e-7, 0.0, 0.0), pulses=not both, both=both)
        meter = meter_of(instrument, time)
        meter.arm()
        capture = meter.capture(20.0)
        edges = 2 * AWAKE * 3.3 * 0.001
        assert abs(energy(capture) - true_energy(instrument._truth) * (1 + gain)) < edges + 1e-3 * true_energy(
            instrument._truth
        )  # type: ignore[arg-type]
        half = capture.edges[0].half_s
        assert abs(capture.edges[1].t_s - capture.edges[0].t_s - 1.0) <= 2 * half + 1e-4


def test_a_marker_that_is_level_needs_both_edges(time: VirtualTime) -> None:
    meter = meter_of(twin(time, both=False), time)
    assert meter.falling_only and not meter_of(twin(time, both=True), time).falling_only
    meter.arm()
    with pytest.raises(Blocked, match="1 of the 2 edges.*only falling edges"):
        meter.capture(8.0)


def test_readings_that_are_missing_spoil_the_window(time: VirtualTime) -> None:
    instrument = twin(time)
    instrument.drop = set(range(1200, 1210))
    meter = meter_of(instrument, time)
    meter.arm()
    with pytest.raises(InvalidWindow, match="10 readings .* missing"):
        meter.capture(20.0)


def test_a_garbled_reading_spoils_the_window(time: VirtualTime) -> None:
    instrument = twin(time)
    instrument.garble = {800}
    meter = meter_of(instrument, time)
    meter.arm()
    with pytest.raises(InvalidWindow, match="1 readings .* garbled"):
        meter.capture(20.0)
    meter.arm()  # it is at rest again, and takes commands


def test_a_buffer_that_overflows_spoils_the_window(time: VirtualTime) -> None:
    instrument = twin(time)
    stream = instrument._stream
    instrument._stream = lambda: stream().replace("buff 00%", "buff 100%")  # type: ignore[method-assign]
    meter = meter_of(instrument, time)
    meter.arm()
    with pytest.raises(InvalidWindow, match="buffer of the ST X-NUCLEO-LPM01A overflowed"):
        meter.capture(20.0)


@pytest.mark.parametrize("late_s", [7.0, math.inf])
def test_an_answer_that_is_late_or_never_comes_blocks_and_the_next_window_is_right(
    time: VirtualTime, late_s: float
) -> None:
    """The answer to `freq` comes behind the time-out, when others are awaited."""
    instrument = twin(time, begin=20.0)
    meter = meter_of(instrument, time)
    take, due, held = instrument.take, instrument.due, []

    def slow(data: bytes) -> bytes:
        answer = take(data)
        if data.startswith(b"freq") and not held:
            held.append((time.seconds() + late_s, answer))
            return b""
        return answer

    def with_the_late(_asked: object = None) -> bytes:
        said = held[0][1] if held and time.seconds() >= held[0][0] else b""
        if said:
            held[0] = (math.inf, b"")
        return said + due()

    instrument.take, instrument.due = slow, with_the_late  # type: ignore[method-assign]
    with pytest.raises(Blocked, match="did not answer 'freq 1k' within 6 s"):
        meter.configure(SETTING)
    meter.configure(SETTING)
    meter.arm()
    assert energy(meter.capture(30.0)) == pytest.approx(true_energy(instrument._truth), rel=3e-3)  # type: ignore[arg-type]


def test_overcurrent_asks_for_a_larger_range(time: VirtualTime) -> None:
    meter = meter_of(twin(time, peak=0.08), time)
    meter.arm()
    with pytest.raises(InvalidWindow) as spoiled:
        meter.capture(20.0)
    assert spoiled.value.beyond_range


def test_a_reading_beyond_the_range_asks_for_a_larger_one(time: VirtualTime) -> None:
    meter = meter_of(twin(time, peak=0.055), time)
    meter.arm()
    with pytest.raises(InvalidWindow) as spoiled:
        meter.capture(20.0)
    assert spoiled.value.beyond_range


def test_one_that_another_program_left_running_is_stopped(time: VirtualTime) -> None:
    instrument = twin(time, begin=4.0)
    for command in ("htc", "output current", "freq 5k", "eventsrc d7 ris", "start"):
        instrument.take(f"{command}\n".encode())
    time.sleep(1.0)
    meter = meter_of(instrument, time)
    meter.arm()
    capture = meter.capture(20.0)
    assert capture.interval_s == 0.001 and energy(capture) == pytest.approx(true_energy(instrument._truth), rel=3e-3)  # type: ignore[arg-type]


def test_another_device_is_refused(time: VirtualTime) -> None:
    with pytest.raises(Blocked, match="not a ST X-NUCLEO-LPM01A"):
        Lpm01a(MeterWire(twin(time, present="Something else")), SHEET, host(time))


def test_a_voltage_it_has_not_and_a_current_it_cannot_feed(time: VirtualTime) -> None:
    meter = meter_of(twin(time), time)
    with pytest.raises(RigError, match=r"1\.8 to 3\.3 V, not 5 V"):
        meter.configure(Setting(5.0, 0.04, 0.001, 0.2, 1.0))
    with pytest.raises(RigError, match="beyond the largest range"):
        meter.configure(Setting(3.3, 0.11, 0.001, 0.2, 1.0))


@pytest.mark.parametrize(
    "answer", ["", "3.3", "0000-03", "3300+999", "3300-999", f"{'9' * 5000}-03", "1-" + "9" * 5000]
)
def test_an_answer_that_is_no_voltage_blocks(time: VirtualTime, answer: str) -> None:
    instrument = twin(time)
    take = instrument.take
    instrument.take = lambda data: (  # type: ignore[method-assign]
        f"ack volt get {answer}\r\n".encode() if data.startswith(b"volt get") else take(data)
    )
    with pytest.raises(Blocked, match="did not return its voltage: plug it in again"):
        meter_of(instrument, time)


def test_a_meter_that_vanishes_blocks(time: VirtualTime, servers: list[SerialServer]) -> None:
    server = SerialServer(twin(time))
    server.start()
    meter = Lpm01a(SerialLine(server.path, 3_686_400, "LPM01A"), SHEET, host(time, server.pump))
    meter.configure(SETTING)
    meter.arm()
    server.disconnect()
    with pytest.raises(Blocked):
        meter.capture(5.0)


@pytest.mark.parametrize(("line", "value"), [("6409-07", 640.9e-6), ("1000+00", 1000.0), ("0000-09", 0.0)])
def test_forms_of_a_reading(line: str, value: float) -> None:
    """6409-07 is 640.9 uA: the example of its own help text."""
    stream = Stream()
    stream.feed(f"{line}\r\n".encode())
    assert stream.readings == [pytest.approx(value)]


def test_any_cut_of_the_stream_reads_the_same() -> None:
    text = (
        b"".join(b"%04d-07\r\n" % n for n in range(1000, 1400))
        + b"TimeStamp: 001s 000ms, buff 07%\r\nevent 1 ris\r\n1400-07\r\n"
    )
    whole = Stream()
    whole.feed(text)
    rng = np.random.default_rng(3)
    for _ in range(20):
        parts = Stream()
        cuts = np.sort(rng.integers(0, len(text), 30))
        for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            parts.feed(text[begin:end])
        assert parts == whole
    assert (
        whole.events == [(1, 400)]
        and whole.stamps == [(1.0, 400)]
        and whole.fullest == 7
        and len(whole.readings) == 401
    )


def test_time_stamps_tell_how_many_readings_are_missing() -> None:
    stream = Stream(stamps=[(1.0, 1000), (2.0, 2000), (3.0, 2900), (4.0, 3900)])
    assert stream.lost(1000.0) == 100
    assert Stream().lost(1000.0) is None


def test_the_clock_of_the_twin_is_off_by_its_time_base(time: VirtualTime) -> None:
    """A study draws the time base too: an instrument whose clock is 1 % fast makes 1 % more readings of the same second."""
    instrument = twin(time, Flaws(0.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.0))
    for command in ("htc", "output energy", "freq 1k", "start"):
        instrument.take(f"{command}\n".encode())
    time.ps += 2 * PS
    stream = Stream()
    stream.feed(instrument.due())
    assert len(stream.readings) == 2020


@pytest.mark.parametrize(("beyond", "least", "most"), [(1.0, 0.85, 1.0), (3.0, 0.0, 0.7)])
def test_the_interval_covers_instruments_of_the_data_sheet_and_not_those_beyond_it(
    beyond: float, least: float, most: float
) -> None:
    """Forty instruments, steps of 0.2 ms to 0.3 s: the interval of `hil measure` covers about 95 % (300 of them: 95.0 %; three times beyond: 39 %)."""
    used = SHEET.ranges[0]
    limits = FlawLimits(used.gain, used.offset_a, SHEET.voltage_gain, 0.0, SHEET.timebase, 1e-6)
    rng, covered = np.random.default_rng(11), 0
    for _ in range(40):
        time, step_s = VirtualTime(), float(10 ** rng.uniform(-3.7, -0.5))
        truth = board(time, begin=1.0 + float(rng.uniform(0, 0.01)), steps=max(1, int(1 / step_s)), step_s=step_s)
        meter = meter_of(VirtualLpm01a(truth, Flaws.draw(limits, rng, beyond), rng, time), time)
        meter.arm()
        capture = meter.capture(30.0)
        sums = IntervalSums()
        sums.add(capture)
        found = sums.result()
        covered += abs(found.energy_j - true_energy(truth)) <= 2 * combined(interval_budget(found, SHEET))
    assert least <= covered / 40 <= most
