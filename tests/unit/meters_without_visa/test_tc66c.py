"""The TC66C: its record, and the driver, through a pseudo-terminal and pyserial, against its virtual twin."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from wired import ASLEEP, AWAKE, EXACT, board, host

from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked
from hil.meters.meter import InvalidWindow, Setting
from hil.meters.serial_line import SerialLine
from hil.meters.tc66c import Tc66c
from hil.meters.tc66c_record import decrypt, name_of, parse
from hil.standins.virtual.meter.aes import Aes
from hil.standins.virtual.meter.serial_meter import MeterWire, SerialServer
from hil.standins.virtual.meter.tc66c import DEGREES, VirtualTc66c
from hil.standins.virtual.meter.truth import VirtualTime

SHEET = load_data_sheet("tc66c")
SLOW = Setting(volt=3.3, range_a=0.04, interval_s=0.01, idle_s=0.5, window_s=1.0)
REST = 0.02


def twin(time: VirtualTime, begin: float = 0.5, **options: object) -> VirtualTc66c:
    return VirtualTc66c(board(time, begin=begin, rest=REST), EXACT, np.random.default_rng(1), **options)  # type: ignore[arg-type]


def meter_of(instrument: VirtualTc66c, time: VirtualTime) -> Tc66c:
    meter = Tc66c(MeterWire(instrument), SHEET, host(time))
    meter.configure(SLOW)
    return meter


def test_the_cipher_is_that_of_the_standard() -> None:
    """FIPS 197, appendix C.3: the example of AES-256, both ways."""
    key, plain = bytes(range(32)), bytes.fromhex("00112233445566778899aabbccddeeff")
    secret = bytes.fromhex("8ea2b7ca516745bfeafc49904b496089")
    assert decrypt(secret, key).tobytes() == plain
    assert Aes(list(key)).encrypt(plain) == secret


def test_what_is_enciphered_is_deciphered() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        key, plain = rng.bytes(32), rng.bytes(16 * 40)
        assert decrypt(Aes(list(key)).encrypt(plain), key).tobytes() == plain


def test_a_window_through_a_pseudo_terminal() -> None:
    time = VirtualTime()
    server = SerialServer(twin(time))
    server.start()
    try:
        meter = Tc66c(SerialLine(server.path, 115_200, "TC66C"), SHEET, host(time, server.pump))
        assert meter.identity == "TC66 1.18 48724"
        meter.configure(Setting(3.3, 0.04, 0.03, 0.5, 1.0))
        meter.arm()
        capture = meter.capture(20.0)
        meter.close()
    finally:
        server.close()
    assert [edge.high for edge in capture.edges] == [True, False] and capture.aperture_s == 0.0 and capture.lost == 0
    for edge, at in zip(capture.edges, (0.5, 1.5), strict=True):
        assert abs(edge.t_s - at) <= edge.half_s + 1e-9
    assert np.all(np.diff(capture.t_s) > 0) and 40 < len(capture.t_s) < 90
    assert set(np.round(capture.current_a, 5)) <= {ASLEEP, AWAKE, REST}
    assert capture.voltage_v == pytest.approx(3.3)
    assert capture.temperature_c == DEGREES
    assert np.array_equal(capture.power_w, capture.voltage_v * capture.current_a)


def test_its_polls_are_not_commensurate_with_anything() -> None:
    """Intervals spread over half to one and a half of what was asked for, and their mean is that."""
    time = VirtualTime()
    meter = meter_of(twin(time), time)
    meter.configure(Setting(3.3, 0.04, 0.1, 0.5, 20.0))
    meter.arm()
    gaps = np.diff(meter._poller.run(partial(meter._poll_power, []), 0.1, lambda: time.seconds() > 20).t_s)
    assert gaps.min() < 0.06 and gaps.max() > 0.14 and gaps.mean() == pytest.approx(0.1, rel=0.1)


def test_a_point_is_dated_by_the_middle_of_its_poll() -> None:
    time = VirtualTime()
    instrument = twin(time)
    meter = meter_of(instrument, time)
    meter.arm()
    capture = meter.capture(20.0)
    truth = instrument._truth.current(np.rint(capture.t_s * 1e12).astype(np.int64))
    assert (
        np.mean(np.round(truth, 5) == np.round(capture.current_a, 5)) > 0.97
    )  # a change within half a millisecond of the middle


def test_a_late_answer_does_not_pass_for_the_next() -> None:
    """It comes when other polls are under way, each of which still gets its own: the power at every poll's own time."""
    time = VirtualTime()
    instrument = twin(time)
    meter = meter_of(instrument, time)
    instrument.late = 1
    records: list[bytes] = []
    polls = meter._poller.run(partial(meter._poll_power, records), 0.01, lambda: time.seconds() > 2.5)
    assert polls.t_s[0] > 1.0  # after the time-out
    truth = instrument._truth.current(np.rint(polls.t_s * 1e12).astype(np.int64))
    assert (
        np.mean(np.round(truth, 5) == np.round(meter._read(records).current_a, 5)) > 0.97
    )  # a change within half a millisecond of the middle


def test_a_damaged_record_spoils_the_window() -> None:
    time = VirtualTime()
    instrument = twin(time)
    meter = meter_of(instrument, time)
    meter.arm()
    instrument.damaged = 1
    with pytest.raises(InvalidWindow, match="wrong checksum"):
        meter.capture(20.0)


def test_one_that_no_longer_answers_blocks() -> None:
    time = VirtualTime()
    instrument = twin(time)
    meter = meter_of(instrument, time)
    meter.configure(Setting(3.3, 0.04, 0.1, 0.5, 20.0))
    meter.arm()
    instrument.silent = 10**6
    with pytest.raises(Blocked, match="sent 0 of 192 bytes within 1 s"):
        meter.capture(200.0)


@pytest.mark.parametrize(("degrees", "sign"), [(27, 0), (3, 1), (0, 0)])
def test_its_own_temperature_is_told_with_its_sign(monkeypatch: pytest.MonkeyPatch, degrees: int, sign: int) -> None:
    monkeypatch.setattr("hil.standins.virtual.meter.tc66c.DEGREES", degrees)
    monkeypatch.setattr("hil.standins.virtual.meter.tc66c.BELOW_ZERO", sign)
    time = VirtualTime()
    meter = meter_of(twin(time), time)
    meter.arm()
    assert meter.capture(20.0).temperature_c == (-degrees if sign else degrees)


def test_another_meter_is_refused() -> None:
    time = VirtualTime()
    with pytest.raises(Blocked, match="not a RuiDeng TC66C"):
        Tc66c(MeterWire(twin(time, name="UM34")), SHEET, host(time))


def test_every_bit_of_a_record_is_under_its_checksum() -> None:
    time = VirtualTime()
    instrument = twin(time)
    instrument.take(b"getva")
    time.sleep(0.01)
    record = instrument.due()
    assert len(record) == 192 and not parse(record).broken[0]
    for place in range(0, 192, 7):
        damaged = bytearray(record)
        damaged[place] ^= 1
        assert parse(bytes(damaged)).broken[0] and not name_of(bytes(damaged))


def test_current_beyond_the_range() -> None:
    time = VirtualTime()
    instrument = VirtualTc66c(board(time, begin=0.5, peak=5.5), EXACT, np.random.default_rng(1))
    meter = meter_of(instrument, time)
    meter.arm()
    with pytest.raises(InvalidWindow) as spoiled:
        meter.capture(20.0)
    assert spoiled.value.beyond_range


def test_it_can_be_watched() -> None:
    time = VirtualTime()
    meter = meter_of(twin(time), time)
    assert meter.watch() == pytest.approx([ASLEEP * 3.3], rel=1e-3)
    time.sleep(0.495)
    assert meter.watch() == pytest.approx([AWAKE * 3.3], rel=1e-3)
