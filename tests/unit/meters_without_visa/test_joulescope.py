"""The Joulescope: pieces of streams, and the driver against a scripted one; against the real library's signatures where it is installed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from wired import PS, SETTING, board, energy, host, true_energy

from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked, RigError
from hil.meters.joulescope import RANGES, Joulescope, open_driver
from hil.meters.joulescope_stream import JoulescopeSamples, Levels
from hil.meters.meter import InvalidWindow, Setting
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime, mean_current

SHEET = load_data_sheet("joulescope-js220")
FULL_HZ = 2_000_000  # its count of samples, whatever the rate of a stream
MARKER_STEP = 200


class ScriptedDriver:
    """Streams what a scripted board draws in pieces of uneven length."""

    def __init__(self, time: VirtualTime, truth: ScriptedTrace, paths: tuple[str, ...] = ("u/js220/001234",)) -> None:
        self.time, self.truth, self.paths = time, truth, paths
        self.set: dict[str, Any] = {}
        self.opened: list[tuple[str, str | None]] = []
        self.listeners: dict[str, Callable[[str, Any], None]] = {}
        self.sent: dict[str, int] = {}
        self.skip: set[str] = set()
        self.refuse, self.behind = "", 0  # `behind`: samples that its count does not know

    def device_paths(self) -> list[str]:
        return list(self.paths)

    def open(self, device_prefix: str, mode: str | None = None) -> None:
        self.opened.append((device_prefix, mode))

    def publish(self, topic: str, value: Any) -> None:
        if self.refuse and self.refuse in topic:
            raise RuntimeError("publish failed")
        self.set[topic] = value

    def subscribe(self, topic: str, flags: str, fn: Callable[[str, Any], None]) -> None:
        assert flags == "pub"
        self.listeners[topic], self.sent[topic] = fn, self.time.ps * FULL_HZ // PS

    def unsubscribe(self, topic: str, fn: Callable[[str, Any], None]) -> None:
        assert self.listeners.pop(topic) is fn

    def close(self, device_prefix: str) -> None:
        self.opened.append((device_prefix, "closed"))

    def finalize(self) -> None: ...

    def pump(self) -> None:
        """Send every stream up to the present."""
        rate = self.set.get("u/js220/001234/h/fs", 1_000_000)
        for topic, listener in list(self.listeners.items()):
            step = MARKER_STEP if "gpi" in topic else FULL_HZ // rate
            count = (self.time.ps * FULL_HZ // PS - self.sent[topic]) // step
            first, self.sent[topic] = self.sent[topic], self.sent[topic] + count * step
            if not count:
                continue
            if topic in self.skip:
                self.skip.remove(topic)
                continue
            begins = (first + step * np.arange(count)) * (PS // FULL_HZ)
            listener(
                topic,
                {
                    "sample_id": first - self.behind,
                    "sample_rate": FULL_HZ,
                    "decimate_factor": step,
                    "data": self._data(topic, begins, step * PS // FULL_HZ),
                },
            )

    def _data(self, topic: str, begins: np.ndarray, length: int) -> np.ndarray:
        if "gpi" in topic:
            levels = np.zeros(len(begins), np.uint8)
            for when, level in self.truth._edges:
                levels[begins >= when] = level
            return np.packbits(levels, bitorder="little")
        amps = mean_current(self.truth, begins, length)
        volts = self.truth.volt()
        return np.asarray(
            {"/i/": amps, "/v/": np.full(len(amps), volts), "/p/": amps * volts}[topic[-8:-5]], np.float32
        )


@pytest.fixture
def time() -> VirtualTime:
    return VirtualTime()


@pytest.fixture
def driver(time: VirtualTime) -> ScriptedDriver:
    return ScriptedDriver(time, board(time, begin=0.3333333))


def armed(driver: ScriptedDriver, setting: Setting = SETTING) -> Joulescope:
    meter = Joulescope(driver, "", SHEET, host(driver.time, driver.pump))
    meter.configure(setting)
    meter.arm()
    return meter


@pytest.mark.parametrize("interval_s", [0.001, 1e-5])
def test_a_window(driver: ScriptedDriver, interval_s: float) -> None:
    meter = armed(driver, Setting(3.3, 0.04, interval_s, 0.2, 1.0))
    capture = meter.capture(20.0)
    meter.close()
    assert driver.opened == [("u/js220/001234", "defaults"), ("u/js220/001234", "closed")] and not driver.listeners
    assert (
        driver.set["u/js220/001234/s/i/range/select"] == "180 mA"
        and driver.set["u/js220/001234/s/i/range/mode"] == "manual"
    )
    assert [edge.high for edge in capture.edges] == [True, False] and capture.range_a == 0.18
    for edge, (when, _) in zip(capture.edges, driver.truth._edges, strict=True):
        assert abs(edge.t_s - when / PS) <= edge.half_s
    assert capture.lost == 0 and np.allclose(np.diff(capture.t_s), interval_s)
    assert energy(capture) == pytest.approx(true_energy(driver.truth), rel=2e-3)


def test_every_range_of_the_data_sheet_has_a_name() -> None:
    assert {one.amperes for one in SHEET.ranges} == set(RANGES)


def test_a_piece_that_is_missing_spoils_the_window(driver: ScriptedDriver) -> None:
    meter = armed(driver)
    driver.time.sleep(0.1)
    driver.pump()
    driver.skip = {"u/js220/001234/s/p/!data"}
    with pytest.raises(InvalidWindow, match="50 samples .* missing"):
        meter.capture(20.0)


def test_a_marker_message_that_is_missing_widens_its_edge(driver: ScriptedDriver) -> None:
    """The level before and after the gap differs, and the change may be anywhere in it."""
    whole = armed(driver).capture(20.0)
    meter, skipped = armed(driver), False
    rise = driver.truth._edges[0][0] / PS + driver.time.seconds()
    driver.truth._edges = [(when + driver.time.ps, level) for when, level in driver.truth._edges]
    pump = driver.pump

    def lossy() -> None:
        nonlocal skipped
        if not skipped and driver.time.seconds() >= rise:
            driver.skip, skipped = {"u/js220/001234/s/gpi/0/!data"}, True
        pump()

    driver.pump = lossy  # type: ignore[method-assign]
    meter._host = host(driver.time, lossy)
    capture = meter.capture(20.0)
    assert [edge.high for edge in capture.edges] == [True, False] and whole.notes == ()
    first, second = capture.edges
    assert first.half_s > 10 * second.half_s and abs(first.t_s - rise) <= first.half_s
    assert any("samples of the marker are missing" in note for note in capture.notes)


def test_samples_that_the_hosts_clock_shows_and_no_number_does(driver: ScriptedDriver) -> None:
    """A device whose count of samples runs on without those that it lost."""
    meter = armed(driver)
    pump = driver.pump

    def forgetful() -> None:
        if not driver.behind and driver.time.seconds() > 0.8:
            driver.behind = FULL_HZ * 3 // 100
            for topic in driver.sent:
                driver.sent[topic] += driver.behind
        pump()

    meter._host = host(driver.time, forgetful)
    capture = meter.capture(20.0)
    assert capture.unseen_s > 0.0 and any("by the host's clock up to" in note for note in capture.notes)


def test_a_sample_that_is_no_number_spoils_the_window(driver: ScriptedDriver) -> None:
    """The instrument tells samples that it lost, and those beyond a range, as not-a-number."""
    data = driver._data
    driver._data = lambda topic, begins, length: (
        np.where(np.arange(len(begins)) == 5, np.nan, data(topic, begins, length))
        if "/i/" in topic
        else data(topic, begins, length)
    )  # type: ignore[method-assign]
    with pytest.raises(InvalidWindow, match=r"\d+ samples of the Joulescope JS220 are missing"):
        armed(driver).capture(20.0)


def test_current_beyond_the_range(time: VirtualTime) -> None:
    meter = armed(ScriptedDriver(time, board(time, begin=0.3, peak=0.2)))
    with pytest.raises(InvalidWindow) as spoiled:
        meter.capture(20.0)
    assert spoiled.value.beyond_range


def test_no_marker_blocks(time: VirtualTime) -> None:
    truth = ScriptedTrace(time, np.array([0]), np.array([0.01]), [])
    with pytest.raises(Blocked, match="0 of the 2 edges.*general purpose input 0"):
        armed(ScriptedDriver(time, truth)).capture(3.0)


def test_one_that_falls_silent_blocks(driver: ScriptedDriver) -> None:
    meter = armed(driver)
    driver.listeners.clear()
    with pytest.raises(Blocked, match="no samples for 2 s"):
        meter.capture(20.0)


@pytest.mark.parametrize("paths", [(), ("u/js220/1", "u/js220/2")])
def test_not_exactly_one(time: VirtualTime, paths: tuple[str, ...]) -> None:
    with pytest.raises(Blocked, match=f"{len(paths)} Joulescopes"):
        Joulescope(ScriptedDriver(time, board(time), paths), "", SHEET, host(time))


def test_another_model_is_refused(time: VirtualTime) -> None:
    with pytest.raises(Blocked, match="not a Joulescope JS220"):
        Joulescope(ScriptedDriver(time, board(time), ("u/js110/000042",)), "", SHEET, host(time))


def test_a_refused_setting_blocks(driver: ScriptedDriver) -> None:
    driver.refuse = "h/fs"
    with pytest.raises(Blocked, match="did not publish h/fs"):
        armed(driver)


def test_too_many_volts(driver: ScriptedDriver) -> None:
    with pytest.raises(RigError, match="up to 15 V"):
        armed(driver, Setting(24.0, 0.04, 0.001, 0.2, 1.0))


def test_edges_are_found_however_the_bits_are_cut() -> None:
    """Pieces of any length, none a multiple of eight: the padding of their last byte is no level."""
    rng = np.random.default_rng(4)
    bits = np.repeat(rng.permutation(np.arange(40)) % 2, rng.integers(1, 60, 40)).astype(np.uint8)
    expected = [(float(place + 0.5), bool(bits[place + 1])) for place in np.flatnonzero(np.diff(bits))]
    for _ in range(10):
        levels = Levels()
        cuts = [0, *np.sort(rng.choice(np.arange(1, len(bits)), 12, replace=False)), len(bits)]
        for begin, end in zip(cuts, [*cuts[1:], len(bits)], strict=True):
            data = np.packbits(bits[begin:end], bitorder="little") if end > begin else np.empty(0, np.uint8)
            levels("", {"sample_id": int(begin) * 4, "sample_rate": 4, "decimate_factor": 4, "data": data})
        assert [(at, high) for at, _, high in levels.edges] == expected


def test_gaps_between_pieces_are_counted() -> None:
    samples = JoulescopeSamples()
    for begin, count in ((0, 10), (20, 5), (40, 5)):
        samples("", {"sample_id": begin, "sample_rate": 1000, "decimate_factor": 2, "data": np.ones(count, np.float32)})
    times, values, missing = samples.take()
    assert missing == 5 and len(values) == 20 and times[10] == 0.02 and samples.reached_s() == 0.05


def test_the_real_library_has_these_calls() -> None:
    module = pytest.importorskip("pyjoulescope_driver")
    for name, call in inspect.getmembers(ScriptedDriver, inspect.isfunction):
        if not name.startswith("_") and name != "pump":
            real = inspect.signature(getattr(module.Driver, name))
            wanted = list(inspect.signature(call).parameters)
            assert list(real.parameters)[: len(wanted)] == wanted, name


def test_without_the_library_one_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyjoulescope_driver", None)
    with pytest.raises(RigError, match=r'pip install "trainrig\[joulescope\]"'):
        open_driver()


def test_it_can_be_watched(driver: ScriptedDriver) -> None:
    meter = armed(driver)
    assert len(meter.watch()) == 0
    for _ in range(3):
        driver.time.sleep(0.1)
        driver.pump()
        assert len(meter.watch()) == 100
