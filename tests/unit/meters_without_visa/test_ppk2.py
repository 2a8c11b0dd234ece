"""The PPK2's driver through the real library, on a scripted serial port: what it asks for, and what it makes of samples."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np
import pytest

from hil.energy.capture import Capture
from hil.energy.conditions import Conditions
from hil.energy.data_sheet import load_data_sheet
from hil.energy.interval_figures import evaluate
from hil.energy.marker_interval import IntervalSums, MarkerInterval
from hil.energy.window import window_of
from hil.errors import Blocked, RigError
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.ppk2 import NOT_CALIBRATED, RANGE_CHANGED, Ppk2, open_ppk2
from hil.meters.ppk2_stream import RATE_HZ, Recording, currents, ranges
from hil.meters.window_edges import with_both_edges

library = pytest.importorskip("ppk2_api.ppk2_api")

SHUNTS = (1031.64, 101.65, 10.15, 0.94, 0.043)
SETTING = Setting(volt=3.3, range_a=0.05, interval_s=0.001, idle_s=0.1, window_s=0.2)
SOURCE, AMPERE = load_data_sheet("ppk2-source"), load_data_sheet("ppk2-ampere")
CALIBRATION = "".join(f"{line}\n" for line in (
    "Calibrated: 1", *(f"R{n}: {ohm}" for n, ohm in enumerate(SHUNTS)), *(f"{key}{n}: {value}" for key, value in (("GS", 0), ("GI", 1), ("O", 0), ("S", 0), ("I", 0), ("UG", 1)) for n in range(5)),
    "VDD: 3000", "HW: 9173", "mode: 2", "IA: 56", "END",
))  # fmt: skip
START, STOP, VOLTAGE, MODE, POWER, CALIBRATE = 6, 7, 13, 17, 12, 25
LENGTHS = {VOLTAGE: 3, MODE: 2, POWER: 2}


def words(amperes: float, numbers: object, high: object, used: int = 3, others: int = 0) -> np.ndarray:
    """Return samples of a current by the layout in nRF Connect Power Profiler; the converter counts in fours."""
    adc, count, level = round(amperes * SHUNTS[used] / (1.8 / 163840) / 4), np.asarray(numbers), np.asarray(high)
    return (adc | used << 14 | (count % 64) << 18 | (level | others) << 24).astype("<u4")


def window(asleep: float = 0.010, awake: float = 0.030, **how: int) -> np.ndarray:
    """Return the samples of a board that sleeps 0.12 s, works 0.2 s, and sleeps 0.12 s; D1 to D7 are high throughout."""
    sleep, work = round(0.12 * RATE_HZ), round(0.2 * RATE_HZ)
    parts = (asleep, 0, sleep, {}), (awake, 1, work, how), (asleep, 0, sleep, {})
    first, found = 0, []
    for level, high, count, more in parts:
        found.append(words(level, np.arange(first, first + count), high, others=0xFE, **more))
        first += count
    return np.concatenate(found)


class ScriptedPort:
    """A serial port: it keeps the commands, answers with a calibration, and sends samples in pieces of uneven length.

    Every sample is sent when its time has come by `clock`; `made` are the numbers of the samples, if some are lost. A
    read ends up to 3 bytes within a word, by the number of `reads` so far.
    """

    def __init__(
        self,
        samples: np.ndarray | bytes = b"",
        calibration: str = CALIBRATION,
        made: np.ndarray | None = None,
        reads: int = 0,
    ) -> None:
        self.clock, self._began = Clock(), 0.0
        count = len(samples) // 4 if isinstance(samples, bytes) else len(samples)
        self._made = np.arange(count) if made is None else made
        self.commands: list[tuple[int, ...]] = []
        self.baudrate, self.closed, self.gone = 0, False, False
        self._samples = samples if isinstance(samples, bytes) else samples.tobytes()
        self._calibration, self._sent, self._measuring, self._answer = calibration, 0, False, b""
        self.restless, self._reads = False, reads

    def write(self, data: bytes) -> int:
        self.commands.append(tuple(data))
        assert len(data) == LENGTHS.get(data[0], 1), data
        if data[0] == CALIBRATE:
            self._answer = self._calibration.encode()
        if data[0] in (START, STOP):
            self._measuring, self._began = data[0] == START, self.clock.seconds
        return len(data)

    def _next(self) -> bytes:
        if self.gone:
            raise OSError("no such device")
        if self._answer:
            return self._answer
        if self.restless:
            return b"\xff\xff"
        ready = 4 * int(np.searchsorted(self._made, (self.clock.seconds - self._began) * RATE_HZ))
        end = max(ready - (0, 1, 2, 3)[self._reads % 4], self._sent)
        return self._samples[self._sent : end] if self._measuring else b""

    @property
    def in_waiting(self) -> int:
        return len(self._next())

    def read(self, count: int) -> bytes:
        data = self._next()[:count]
        if self._answer:
            self._answer = b""
        elif self._measuring and data:
            self._sent, self._reads = self._sent + len(data), self._reads + 1
        return data

    def close(self) -> None:
        self.closed = True


class Clock:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture(autouse=True)
def only_the_capture_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread would read at the moments of this computer's scheduler, not at those of the scripted clock."""
    monkeypatch.setattr("hil.meters.ppk2_stream.PAUSE_S", 1000.0)


@pytest.fixture(autouse=True)
def no_errors_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """The library logs what it could not write, and goes on."""
    yield
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def opened(monkeypatch: pytest.MonkeyPatch, port: ScriptedPort, sheet=SOURCE) -> Ppk2:
    asked = []

    def serial(path: str, **how: object) -> ScriptedPort:
        asked.append((path, how))
        return port

    monkeypatch.setattr(library.serial, "Serial", serial)
    monkeypatch.setattr(library.time, "sleep", lambda _: None)
    clock = port.clock
    meter = Ppk2(open_ppk2("/dev/ttyACM0"), sheet, Host(lambda: clock.seconds, clock.sleep))
    assert asked[0][0] == "/dev/ttyACM0" and asked[0][1]["exclusive"]
    return meter


def armed(monkeypatch: pytest.MonkeyPatch, port: ScriptedPort, setting: Setting = SETTING, sheet=SOURCE) -> Ppk2:
    meter = opened(monkeypatch, port, sheet)
    meter.configure(setting)
    meter.arm()
    return meter


def taken(
    monkeypatch: pytest.MonkeyPatch,
    samples: np.ndarray | bytes,
    setting: Setting = SETTING,
    sheet=SOURCE,
    made=None,
    reads: int = 0,
):
    meter = armed(monkeypatch, ScriptedPort(samples, made=made, reads=reads), setting, sheet)
    try:
        return meter.capture(20.0)
    finally:
        meter.close()


@pytest.mark.parametrize(("sheet", "mode"), [(SOURCE, 2), (AMPERE, 1)])
def test_the_voltage_is_set_before_the_board_is_switched_on(monkeypatch, sheet, mode):
    port = ScriptedPort()
    meter = opened(monkeypatch, port, sheet)
    assert port.commands[0] == (STOP,) and not any(command[0] == POWER for command in port.commands)
    assert meter.identity == "PPK2, hardware 9173"
    before = len(port.commands)
    meter.configure(SETTING)
    volts = (VOLTAGE, *library.PPK2_API._convert_source_voltage(meter._device, 3300))
    assert port.commands[before:] == [(STOP,), volts, (MODE, mode), volts, (POWER, 1)]
    meter.close()
    assert port.closed and (POWER, 0) not in port.commands, "the board stays powered"


@pytest.mark.parametrize("volt", [0.5, 5.5])
def test_a_voltage_that_the_library_would_change_is_refused(monkeypatch, volt):
    port = ScriptedPort()
    with pytest.raises(RigError, match=f"0.8 to 5 V, not {volt:g} V"):
        opened(monkeypatch, port).configure(Setting(volt, 0.05, 0.001, 0.1, 0.2))
    assert not any(command[0] in (VOLTAGE, POWER) for command in port.commands)


@pytest.mark.parametrize("interval_s", [0.001, 0.00035, 1e-5])
@pytest.mark.parametrize("sheet", [SOURCE, AMPERE])
def test_a_window(monkeypatch, sheet, interval_s):
    capture = with_both_edges(
        taken(monkeypatch, window(), Setting(3.3, 0.05, interval_s, 0.1, 0.2), sheet), SETTING.idle_s
    )
    assert [edge.high for edge in capture.edges] == [True, False]
    for edge, at in zip(capture.edges, (0.12, 0.32), strict=True):
        assert abs(edge.t_s - at) <= edge.half_s + 1e-12 and edge.half_s <= 0.5 / RATE_HZ + 1e-12
    assert capture.lost == 0 and capture.range_a == 0.05 and capture.interval_s == pytest.approx(interval_s)
    assert np.allclose(np.diff(capture.t_s), interval_s) and capture.notes == ()
    assert np.isnan(capture.voltage_v).all() == (sheet is AMPERE)
    found = window_of(capture, SETTING.idle_s)
    assert found.net == pytest.approx(0.2 * 0.020 * 3.3, rel=5e-3)
    assert found.gross == pytest.approx(0.2 * 0.030 * 3.3, rel=5e-3)


def test_a_reading_is_the_mean_of_its_samples_and_no_part_of_one_remains(monkeypatch):
    samples = window()
    rng = np.random.default_rng(3)
    samples = (samples & ~np.uint32(0x3FFF)) | rng.integers(100, 1000, len(samples)).astype("<u4")
    capture = taken(monkeypatch, samples, Setting(3.3, 0.05, 0.001, 0.1004, 0.2))  # ends within a reading
    assert len(capture.t_s) == 415
    amps = (samples & 0x3FFF) * 4 * (1.8 / 163840) / SHUNTS[3]
    whole = amps[: len(capture.t_s) * 100].reshape(-1, 100).mean(axis=1)
    assert np.allclose(capture.current_a, whole, rtol=1e-9)


def test_the_smoothing_is_that_of_the_library(monkeypatch):
    """Every sample is as the library converts it when it is given all of them at once."""
    rng = np.random.default_rng(8)
    used = np.repeat(rng.integers(0, 5, 60), rng.integers(1, 400, 60))
    bits = used.astype("<u4") << 14 | rng.integers(50, 12_000, len(used)).astype("<u4")
    device = opened(monkeypatch, ScriptedPort())._device
    device.current_vdd = 3300
    ours, unsmoothed = currents(device, bits)
    device.rolling_avg = device.rolling_avg4 = device.prev_range = None
    device.after_spike = device.consecutive_range_samples = 0
    whole, _ = device.get_samples(bits.tobytes())
    assert np.allclose(ours, np.array(whole) * 1e-6, rtol=1e-5)
    plain = (bits & 0x3FFF) * 4 * (1.8 / 163840) / np.array(SHUNTS)[used]
    assert np.mean(np.isclose(ours, plain, rtol=1e-3)) < 0.99, "some samples are smoothed"
    assert np.allclose(unsmoothed, plain, rtol=1e-4)


@pytest.mark.parametrize("cuts", [(), (1,), (3, 9, 10), tuple(range(1, 40))])
def test_numbers_and_edges_do_not_depend_on_how_the_bytes_arrive(cuts):
    high = [int(3 <= place < 7) for place in range(10)]
    samples = words(0.01, [60, 61, 62, 63, 0, 1, 5, 6, 7, 8], high)
    recording, data = Recording(kept=100), samples.tobytes()
    for begin, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
        recording.add(data[begin:end])
    found, numbers = recording.drain()
    assert np.array_equal(found, samples) and numbers.tolist() == [0, 1, 2, 3, 4, 5, 9, 10, 11, 12]
    assert [(edge.t_s * RATE_HZ, edge.half_s * RATE_HZ, edge.high) for edge in recording.edges] == [
        (pytest.approx(2.5), pytest.approx(0.5), True), (pytest.approx(9.5), pytest.approx(0.5), False),
    ]  # fmt: skip


def test_a_long_wait_for_the_first_edge_needs_no_memory():
    recording = Recording(kept=1000)
    for first in range(0, 100_000, 500):
        recording.add(words(0.01, np.arange(first, first + 500), 0).tobytes())
    kept, numbers = recording.drain()
    assert 1000 <= len(kept) <= 2000 and numbers[-1] == 99_999 == recording.reached - 1


def sums(capture: Capture) -> MarkerInterval:
    running = IntervalSums()
    running.add(capture)
    return running.result()


def without(samples: np.ndarray, begin: int, count: int) -> np.ndarray:
    return np.delete(samples, np.arange(begin, begin + count))


def test_a_few_lost_samples_are_told_and_keep_the_time(monkeypatch):
    whole = taken(monkeypatch, window())
    capture = taken(monkeypatch, without(window(), 20_000, 30))
    assert capture.lost == 1 and capture.edges[1].t_s == pytest.approx(whole.edges[1].t_s, abs=1e-9)
    assert np.allclose(capture.t_s, whole.t_s)


def test_many_lost_samples_spoil_the_window(monkeypatch):
    samples = without(without(window(), 30_000, 63), 20_000, 63)
    with pytest.raises(InvalidWindow, match=r"lost 126 of \d+ readings"):
        taken(monkeypatch, samples)


@pytest.mark.parametrize("reads", range(4))
@pytest.mark.parametrize(
    ("begin", "count"),
    [
        (11_968, 64),
        (11_500, 640),
        (11_500, 6400),
        (20_000, 64),
        (20_000, 640),
        (20_000, 6400),
        (31_968, 64),
        (31_800, 640),
    ],
)
def test_samples_that_the_counter_does_not_show_are_those_that_the_hosts_clock_shows(monkeypatch, count, begin, reads):
    """Its counter has 6 bits, so a loss of a multiple of 64 leaves it unchanged. Energy and time keep the truth."""
    made = np.delete(np.arange(len(window())), np.arange(begin, begin + count))
    capture = taken(monkeypatch, without(window(), begin, count), made=made, reads=reads)
    result = evaluate(sums(capture), SOURCE, "PPK2", 1, Conditions(supply_error=0.0))
    for name, right in (("energy", 0.2 * 0.030 * 3.3), ("duration", 0.2)):
        value, u = result[name]["value"], result[name]["uncertainty"]
        assert abs(value - right) <= 2 * u + 1e-3 * right, name
    lost_inside = min(begin + count, 32_000) - max(begin, 12_000)
    if count >= 640:
        assert [flag for flag in result["flags"] if "by the host's clock up to" in flag]
        assert result["duration"]["uncertainty"] >= lost_inside / RATE_HZ / 2 / np.sqrt(3) * 0.9
        assert "samples lost by the host's clock" in [row["source"] for row in result["budget"]]
        step = window_of(capture, SETTING.idle_s)
        assert step.missing >= lost_inside / RATE_HZ / 2 * 0.099 * 0.9


@pytest.mark.parametrize("burst", [2, 3, 5])
def test_bursts_that_the_filter_smooths_are_within_the_uncertainty(monkeypatch, burst):
    """Bursts of 20 to 50 us, each on another range than the pauses between: Nordic's filter takes most of them away."""
    samples, period = window(asleep=0.00005), 40
    place = np.arange(len(samples))
    work = (place >= 12_000) & (place < 32_000)
    high = work & (place % period < burst)
    low = words(0.00005, place, work, used=0, others=0xFE)
    samples = np.where(high, words(0.030, place, work, used=3, others=0xFE), low)
    capture = taken(monkeypatch, samples)
    result = evaluate(sums(capture), SOURCE, "PPK2", 1, Conditions(supply_error=0.0))
    right = 3.3 * 0.2 * (0.030 * burst / period + 0.00005 * (1 - burst / period))
    value, u = result["energy"]["value"], result["energy"]["uncertainty"]
    assert value < 0.95 * right, "the library's own filter"
    assert abs(value - right) <= 2 * u
    assert "smoothing by the meter after a change of its range" in [row["source"] for row in result["budget"]]
    assert [flag for flag in result["flags"] if flag.startswith("Nordic's filter smooths the samples")]
    assert window_of(capture, SETTING.idle_s).smoothed == capture.smoothed_j > 0


def test_two_changes_of_range_are_no_doubt(monkeypatch):
    capture = taken(monkeypatch, window(asleep=0.0005, used=3))
    assert capture.smoothed_j < 1e-3 * 0.2 * 0.030 * 3.3


def test_a_host_that_pauses_loses_nothing(monkeypatch):
    """The samples wait in the port meanwhile: the next ones come without a delay."""
    port = ScriptedPort(window())
    meter = armed(monkeypatch, port)
    slept, pauses = port.clock.sleep, iter([0.0] * 8 + [0.05] + [0.0] * 2 + [0.03])
    meter._host = Host(lambda: port.clock.seconds, lambda seconds: slept(seconds + next(pauses, 0.0)))
    capture = meter.capture(20.0)
    meter.close()
    assert capture.notes == () and capture.unseen_s <= 0.02


def test_a_virtual_meter_is_not_held_against_the_hosts_clock(monkeypatch):
    """Its time stands still while the board sleeps and waits for the host."""
    made = np.delete(np.arange(len(window())), np.arange(20_000, 20_640))
    virtual = ScriptedPort(without(window(), 20_000, 640), CALIBRATION.replace("HW: 9173", "HW: 9173 virtual"), made)
    meter = armed(monkeypatch, virtual)
    assert meter.capture(20.0).unseen_s == 0.0
    meter.close()


def test_a_byte_that_is_lost_spoils_the_window(monkeypatch):
    data = window().tobytes()
    with pytest.raises((InvalidWindow, Blocked)):
        taken(monkeypatch, data[:80_001] + data[80_002:])


def test_a_sample_of_a_larger_range_needs_that_range(monkeypatch):
    with pytest.raises(InvalidWindow, match="its range of 1 A, beyond the 0.05 A") as spoiled:
        taken(monkeypatch, window(awake=0.080, used=4))
    assert spoiled.value.beyond_range
    capture = taken(monkeypatch, window(awake=0.080, used=4), Setting(3.3, 1.0, 0.001, 0.1, 0.2))
    assert capture.range_a == 1.0 and capture.notes == (RANGE_CHANGED,)


def test_a_range_that_does_not_exist_is_no_sample(monkeypatch):
    samples = window()
    samples[10_000] |= 7 << 14
    with pytest.raises(InvalidWindow, match="1 samples .* garbled"):
        taken(monkeypatch, samples)
    assert set(ranges(window())) == {3}


def test_a_range_without_calibration_spoils_the_window(monkeypatch):
    meter = armed(monkeypatch, ScriptedPort(window(), CALIBRATION.replace("GI3: 1", "GI3: -nan")))
    with pytest.raises(InvalidWindow, match=r"no calibration of its range of 0\.05 A"):
        meter.capture(20.0)


def test_a_marker_that_bounces_spoils_the_window(monkeypatch):
    samples = window()
    samples[12_010:12_020] &= ~np.uint32(1 << 24)
    with pytest.raises(InvalidWindow, match="the marker changed"):
        taken(monkeypatch, samples)


def test_no_edge_blocks(monkeypatch):
    samples = words(0.01, np.arange(1_600_000), 0, others=0xFE)
    with pytest.raises(Blocked, match="0 of the 2 edges.*D0 of its logic port, and VCC"):
        armed(monkeypatch, ScriptedPort(samples)).capture(1.0)


def test_one_that_falls_silent_blocks(monkeypatch):
    with pytest.raises(Blocked, match="no samples for 2 s"):
        armed(monkeypatch, ScriptedPort(window()[:15_000])).capture(20.0)


def test_one_that_is_gone_blocks(monkeypatch):
    port = ScriptedPort(window())
    meter = armed(monkeypatch, port)
    port.gone = True
    with pytest.raises(Blocked, match="is gone"):
        meter.capture(20.0)
    meter.close()


def test_one_that_does_not_stop_blocks(monkeypatch):
    port = ScriptedPort()
    port.restless = True
    with pytest.raises(Blocked, match="does not stop sending"):
        opened(monkeypatch, port)


@pytest.mark.parametrize("answer", ["", "hello\n", CALIBRATION[CALIBRATION.index("R3") :]])
def test_without_a_whole_calibration_it_is_refused(monkeypatch, answer):
    """The library would go on with resistances of its own."""
    with pytest.raises(Blocked, match="did not return its calibration"):
        opened(monkeypatch, ScriptedPort(calibration=answer))


def test_one_that_is_not_calibrated_says_so(monkeypatch):
    meter = armed(monkeypatch, ScriptedPort(window(), CALIBRATION.replace("Calibrated: 1", "Calibrated: 0")))
    assert meter.capture(20.0).notes == (NOT_CALIBRATED,)


def watched(meter: Ppk2, port: ScriptedPort) -> np.ndarray:
    port.clock.sleep(0.02)
    return meter.watch()


def test_it_can_be_watched(monkeypatch):
    port = ScriptedPort(window())
    meter = armed(monkeypatch, port)
    seen = [watched(meter, port) for _ in range(30)]
    powers = np.concatenate(seen)
    assert len(powers) > 100 and powers.min() == pytest.approx(0.033, rel=0.01)
    assert powers.max() == pytest.approx(0.099, rel=0.01)
    meter.close()


def test_samples_that_are_lost_while_it_is_watched_are_told(monkeypatch):
    port = ScriptedPort(without(window(), 500, 40))
    meter = armed(monkeypatch, port)
    with pytest.raises(InvalidWindow, match="lost"):
        for _ in range(30):
            watched(meter, port)
    meter.close()


def test_without_the_library_one_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ppk2_api.ppk2_api", None)
    with pytest.raises(RigError, match=r'pip install "trainrig\[ppk2\]"'):
        open_ppk2("/dev/ttyACM0")


def test_a_port_that_is_missing_blocks():
    with pytest.raises(Blocked, match=r"/dev/no-such-port of the Nordic PPK2 cannot be opened"):
        open_ppk2("/dev/no-such-port")
