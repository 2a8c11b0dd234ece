"""The FNB58: its reports as they were published, and the driver against a scripted HID device."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from wired import PS, board, host

from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked
from hil.meters import fnb58_report as report
from hil.meters.fnb58 import Fnb58
from hil.meters.meter import InvalidWindow, Setting
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime

SHEET = load_data_sheet("fnb58")
SETTING = Setting(volt=5.0, range_a=0.04, interval_s=0.01, idle_s=0.5, window_s=1.0)


def data_report(volts: np.ndarray, amps: np.ndarray) -> bytes:
    """Return a report as the meter packs it: four samples, each with D+, D-, a one and 25.0 degrees."""
    body = b"".join(
        struct.pack("<IIHHBH", round(v * 1e5), round(a * 1e5), 2900, 100, 1, 250)
        for v, a in zip(volts, amps, strict=True)
    )
    body = bytes([report.DATA]) + body + b"\0"
    return bytes([report.HEAD]) + body + bytes([report.crc8(body)])


class ScriptedHid:
    """Streams once it is told to, and stops a little more than a second after it was last asked to go on."""

    def __init__(self, time: VirtualTime, truth: ScriptedTrace, product: str = "FNIRSI FNB58") -> None:
        self.time, self.truth, self.product = time, truth, product
        self.heard: list[bytes] = []
        self.made, self.next_ps, self.until_ps = 0, 0, 0
        self.drop: set[int] = set()
        self.damage: set[int] = set()
        self.gone = False

    def write(self, data: bytes) -> int:
        if self.gone:
            raise OSError("no such device")
        assert len(data) == 65 and data[0] == 0 and report.is_whole(data[1:])
        self.heard.append(data[1:3])
        if len(self.heard) == 3:
            self.next_ps = self.time.ps + PS // 25
        self.until_ps = self.time.ps + int(1.2 * PS)
        return len(data)

    def read(self, max_length: int, timeout_ms: int = 0) -> list[int]:
        if self.gone:
            raise OSError("no such device")
        if len(self.heard) < 3 or self.next_ps > self.until_ps or self.time.ps < self.next_ps:
            self.time.ps += timeout_ms * PS // 1000
            return []
        ends = self.next_ps - np.arange(3, -1, -1) * PS // 100
        data = bytearray(data_report(np.full(4, self.truth.volt()), self.truth.current(ends)))
        number, self.made, self.next_ps = self.made, self.made + 1, self.next_ps + PS // 25
        if number in self.drop:
            return self.read(max_length, timeout_ms)
        if number in self.damage:
            data[20] ^= 4
        return list(data[:max_length])

    def get_product_string(self) -> str | None:
        return self.product

    def close(self) -> None:
        self.gone = True


def armed(hid: ScriptedHid) -> Fnb58:
    meter = Fnb58(hid, SHEET, host(hid.time))
    meter.configure(SETTING)
    meter.arm()
    return meter


@pytest.fixture
def hid() -> ScriptedHid:
    time = VirtualTime()
    return ScriptedHid(time, board(time, begin=0.7, rest=0.02))


@pytest.mark.parametrize(("kind", "checksum"), [(report.HELLO, 0x8E), (report.BEGIN, 0x96), (report.GO_ON, 0x9E)])
def test_commands_are_those_that_were_seen_on_the_wire(kind: int, checksum: int) -> None:
    """The published commands end in these bytes, which nobody knew to be checksums."""
    assert report.command(kind) == bytes([0xAA, kind, *bytes(61), checksum])


def test_check_value_of_the_checksum() -> None:
    """The value that reveng found with the polynomial, for the usual nine digits."""
    assert report.crc8(b"123456789") == 0x4B


def test_what_is_packed_is_read(hid: ScriptedHid) -> None:
    rng = np.random.default_rng(2)
    volts, amps = rng.integers(0, 2_800_000, 8) / 1e5, rng.integers(0, 700_000, 8) / 1e5
    packed = data_report(volts[:4], amps[:4]) + data_report(volts[4:], amps[4:])
    read_volts, read_amps = report.samples(packed)
    assert read_volts == pytest.approx(volts) and read_amps == pytest.approx(amps)


def test_a_window(hid: ScriptedHid) -> None:
    capture = armed(hid).capture(20.0)
    assert [one[1] for one in hid.heard][:3] == [report.HELLO, report.BEGIN, report.BEGIN]
    assert [one[1] for one in hid.heard][3:] == [report.GO_ON] * 2
    assert capture.temperature_c == pytest.approx(25.0)
    assert capture.lost == 0 and np.diff(capture.t_s) == pytest.approx(0.01) and 2.0 < len(capture.t_s) / 100 < 2.4
    for edge, at in zip(capture.edges, (0.7, 1.7), strict=True):
        assert abs(edge.t_s - at) <= edge.half_s
    true = hid.truth.current(np.rint(capture.t_s * PS).astype(np.int64))
    assert np.mean(np.abs(true - capture.current_a) < 1e-4) > 0.7  # dated by the host: up to a poll late
    assert np.mean(capture.current_a) == pytest.approx(np.mean(true), rel=0.03)


def test_it_stops_without_being_asked_to_go_on(hid: ScriptedHid) -> None:
    meter = armed(hid)
    meter.configure(Setting(5.0, 0.04, 0.01, 0.5, 5.0))
    meter._asked = 1e9  # the driver believes that it has asked
    with pytest.raises(Blocked, match="no samples for 1 s"):
        meter.capture(20.0)


def test_missing_reports_spoil_the_window(hid: ScriptedHid) -> None:
    hid.drop = set(range(20, 26))
    with pytest.raises(InvalidWindow, match="2[345] samples .* missing"):
        armed(hid).capture(20.0)


def test_a_damaged_report_spoils_the_window(hid: ScriptedHid) -> None:
    hid.damage = {7}
    with pytest.raises(InvalidWindow, match="1 of .* wrong checksum"):
        armed(hid).capture(20.0)


def test_a_current_beyond_its_range_asks_for_a_larger_one() -> None:
    time = VirtualTime()
    with pytest.raises(InvalidWindow, match="beyond the 7 A") as spoiled:
        armed(ScriptedHid(time, board(time, begin=0.7, peak=7.5))).capture(10.0)
    assert spoiled.value.beyond_range


def test_one_that_vanishes_blocks(hid: ScriptedHid) -> None:
    meter = armed(hid)
    hid.gone = True
    with pytest.raises(Blocked, match="is gone"):
        meter.capture(20.0)


def test_another_device_is_refused(hid: ScriptedHid) -> None:
    hid.product = "Joystick"
    with pytest.raises(Blocked, match="not a FNIRSI FNB58"):
        armed(hid)


def test_it_can_be_watched_for_longer_than_it_streams_by_itself(hid: ScriptedHid) -> None:
    meter = armed(hid)
    seen = []
    while hid.time.seconds() < 3.0:
        hid.time.sleep(0.04)
        seen.append(meter.watch())
    power = np.concatenate(seen)
    assert (
        270 < len(power) < 310
        and power.min() == pytest.approx(0.033, rel=1e-3)
        and power.max() == pytest.approx(0.099, rel=1e-3)
    )
