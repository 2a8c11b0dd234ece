"""The virtual PPK2, driven by the published library through a pseudo-terminal, and its bytes where the library hides them."""

from __future__ import annotations

import struct
import time as wall
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.ppk2 import LIMITS, USB, VirtualPpk2
from hil.standins.virtual.meter.serial_meter import LiveSerialServer, MeterWire, SerialServer
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime

library = pytest.importorskip("ppk2_api.ppk2_api", reason="the tests of the virtual PPK2 need ppk2-api")
PS, VOLT = 10**12, 3.3
EXACT = Flaws(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
START, STOP, METADATA = b"\x06", b"\x07", b"\x19"
SOURCE, AMPERE, ON, OFF = b"\x11\x02", b"\x11\x01", b"\x0c\x01", b"\x0c\x00"
TO_3300_MV = b"\x0d\x0c\xe4"
FED = SOURCE + TO_3300_MV + ON
LEVELS = np.array([2e-6, 20e-6, 45e-6, 200e-6, 2e-3, 20e-3, 35e-3, 95e-3, 0.5, 20e-6])
RANGE_OF = [0, 0, 0, 1, 2, 3, 3, 4, 4, 0]
# Nordic's user guide, by range: typical accuracy of a mean, and resolution.
ACCURACY, RESOLUTION = [0.1, 0.1, 0.1, 0.1, 0.15], [0.2e-6, 0.5e-6, 5e-6, 50e-6, 1e-3]
LEVEL_S = 0.005


def stairs(time: VirtualTime, levels: np.ndarray = LEVELS, edges: list[tuple[int, int]] | None = None) -> ScriptedTrace:
    """Return a board that draws one level after the other, each for LEVEL_S."""
    begins = np.arange(len(levels)) * round(LEVEL_S * PS)
    return ScriptedTrace(time, begins, levels, edges or [], VOLT)


def twin(truth: ScriptedTrace, errors: Flaws = EXACT, seed: int = 3) -> VirtualPpk2:
    return VirtualPpk2(truth, errors, np.random.default_rng(seed))


def words_of(data: bytes) -> np.ndarray:
    assert len(data) % 4 == 0
    return np.frombuffer(data, "<u4").astype(np.int64)


def counters(words: np.ndarray) -> np.ndarray:
    return words >> 18 & 63


def recorded(kit: VirtualPpk2, time: VirtualTime, seconds: float, step_s: float = 0.004) -> np.ndarray:
    """Return the words of a measurement of so many seconds, told at every step."""
    wire = MeterWire(kit)
    wire.write(FED)
    assert wire.read() == b""
    wire.write(START)
    end, data = time.ps + round(seconds * PS), b""
    while time.ps < end:
        time.ps = min(end, time.ps + round(step_s * PS))
        data += wire.read()
    return words_of(data)


@pytest.fixture
def plug() -> Iterator[Callable[[VirtualPpk2], tuple[object, SerialServer]]]:
    """Connect a kit to a pseudo-terminal, and the library to that."""
    running: list[tuple[object, SerialServer]] = []

    def connect(kit: VirtualPpk2) -> tuple[object, SerialServer]:
        server = SerialServer(kit)
        server.start()
        running.append((library.PPK2_API(server.path, timeout=1), server))
        return running[-1]

    yield connect
    for api, server in running:
        api.ser.close()
        server.close()


def until(done: Callable[[], bool]) -> None:
    """Wait for another thread, at most half a minute."""
    deadline = wall.monotonic() + 30
    while not done():
        assert wall.monotonic() < deadline, "it never came"
        wall.sleep(0.0005)


def read(api, count: int) -> bytes:
    """Return so many bytes."""
    data = bytearray()

    def enough() -> bool:
        data.extend(api.get_data())
        return len(data) >= count

    until(enough)
    assert len(data) == count
    return bytes(data)


def measured(api, server: SerialServer, time: VirtualTime, seconds: float) -> tuple[np.ndarray, np.ndarray, bytes]:
    """Measure with the library's own sequence; return its currents [A], its digital bits, and the bytes."""
    garbage = len(server._meter.garbage)
    api.use_source_meter()
    api.set_source_voltage(3300)
    api.toggle_DUT_power("ON")
    api.start_measuring()
    until(lambda: server._meter._begin is not None)
    for _ in range(10):
        time.sleep(seconds / 10)
        server.pump()
    data = read(api, garbage + 4 * round(seconds * 100_000))
    amps, bits = api.get_samples(data)
    return np.array(amps) * 1e-6, np.array(bits), data


def settled_means(amps: np.ndarray) -> np.ndarray:
    """Return the mean of each level, without the samples in which ranges switch and the library smooths."""
    return amps.reshape(len(LEVELS), -1)[:, 100:].mean(1)


def test_currents_in_all_ranges_are_within_the_published_accuracy(plug) -> None:
    for seed in range(2):
        time, limits = VirtualTime(), replace(LIMITS, timebase=0.0)
        api, server = plug(twin(stairs(time), Flaws.draw(limits, np.random.default_rng(seed)), seed))
        assert api.get_modifiers() is True
        amps, _, data = measured(api, server, time, LEVEL_S * len(LEVELS))
        ends = (words_of(data) >> 14 & 7).reshape(len(LEVELS), -1)[:, -1]
        assert ends.tolist() == RANGE_OF
        for found, true, place in zip(settled_means(amps), LEVELS, RANGE_OF, strict=True):
            assert abs(found - true) <= ACCURACY[place] * true + RESOLUTION[place], (seed, true)


def test_without_errors_the_library_reads_the_truth_and_without_calibration_it_does_not(plug) -> None:
    time = VirtualTime()
    api, server = plug(twin(stairs(time)))
    api.get_modifiers()
    amps, _, data = measured(api, server, time, LEVEL_S * len(LEVELS))
    step = 4 * 1.8 / 163840 / np.array([1000, 100, 10, 0.93, 0.045])[RANGE_OF]  # of the converter, in amperes
    assert np.all(np.abs(settled_means(amps) - LEVELS) < step)
    assert amps.mean() == pytest.approx(LEVELS.mean(), rel=0.01)  # what the switches cost is little
    fresh = library.PPK2_API(server.path)
    fresh.current_vdd = 3300
    blind = settled_means(np.array(fresh.get_samples(data)[0]) * 1e-6)
    fresh.ser.close()
    off = np.abs(blind / LEVELS - 1)
    for place in range(5):  # in each range a level shows that the calibration was not read
        assert np.max(off[np.array(RANGE_OF) == place]) > 0.015, place


def test_the_marker_is_d0_at_the_right_samples_and_the_other_inputs_are_low(plug) -> None:
    time = VirtualTime()
    edges = [(1_000_000_001, 1), (2_000_000_000, 0), (3_456_789_012, 1)]
    api, server = plug(twin(stairs(time, edges=edges)))
    api.get_modifiers()
    _, bits, _ = measured(api, server, time, 0.01)
    channels = np.array(api.digital_channels(bits.tolist()))
    instants = np.arange(1000) * 10_000_000
    expected = (instants >= edges[0][0]) & (instants < edges[1][0]) | (instants >= edges[2][0])
    assert channels[0].tolist() == expected.astype(int).tolist() and not channels[1:].any()


def test_the_counter_has_no_gap_and_goes_on_from_one_measurement_to_the_next() -> None:
    time = VirtualTime()
    kit = twin(stairs(time))
    first = recorded(kit, time, 0.01, 0.00037)
    assert kit.take(STOP) == b""
    time.sleep(1.0)
    assert kit.due() == b""
    second = recorded(kit, time, 0.005)
    assert len(first) == 1000 and len(second) == 500
    assert np.all(np.diff(counters(np.concatenate([first, second]))) % 64 == 1)
    assert not np.any((first | second[0]) >> 17 & 1)


def test_how_time_is_cut_changes_no_byte() -> None:
    cuts = (0.02, 0.001, 0.000123)
    told = [recorded(twin(stairs(time)), time, 0.02, step).tolist() for step in cuts for time in [VirtualTime()]]
    assert told[0] == told[1] == told[2] and len(told[0]) == 2000


def test_a_switch_leaves_a_spike_and_a_smaller_range_comes_late() -> None:
    time = VirtualTime()
    words = recorded(twin(stairs(time, np.array([20e-3, 95e-3, 20e-3]))), time, 0.015)
    ranges, readings = (words >> 14 & 7), words & 0x3FFF
    assert ranges[499] == 3 and ranges[500] == 4, "at once"
    assert readings[500] > 1.2 * readings[503] and readings[503] == readings[900]
    assert ranges[1009] == 4 and ranges[1010] == 3, "ten samples later"
    assert readings[1010] < 0.95 * readings[1013] and readings[1013] == readings[1400]


@pytest.mark.parametrize(("commands", "true"), [
    (FED, 20e-3), (SOURCE + TO_3300_MV + OFF, 0.0), (SOURCE + TO_3300_MV, 0.0), (AMPERE + ON, 20e-3), (AMPERE + OFF, 0.0),
    (SOURCE + b"\x0d\x07\x08" + ON, 0.0),  # 1.8 V
    (FED + b"\x20", 0.0),  # reset
])  # fmt: skip
def test_current_flows_where_the_load_is_on_and_has_its_voltage(commands: bytes, true: float) -> None:
    time = VirtualTime()
    kit = twin(stairs(time, np.array([20e-3])))
    kit.take(commands + START)
    time.sleep(0.01)
    words = words_of(kit.due())[500:]
    assert set(words >> 14 & 7) == ({3} if true else {0})
    if not true:  # x of the conversion is minus the constant terms of range 0, a few readings below O / 4
        assert abs(np.mean(words & 0x3FFF) - kit.calibration.constants["O"][0] / 4) < 4


def test_switching_the_load_off_acts_from_then_on() -> None:
    time = VirtualTime()
    kit = twin(stairs(time, np.array([20e-3])))
    kit.take(FED + START)
    time.sleep(0.01)
    before = words_of(kit.take(OFF))
    time.sleep(0.01)
    after = words_of(kit.take(STOP))
    assert len(before) == len(after) == 1000
    assert set(before[100:] >> 14 & 7) == {3} and set(after[100:] >> 14 & 7) == {0}


def said(kit: VirtualPpk2) -> dict[str, str]:
    lines = kit.take(METADATA).decode("ascii").split("\n")
    assert lines[-2:] == ["END", ""]
    return dict(line.split(": ") for line in lines[:-2])


def test_the_regulator_has_limits() -> None:
    kit = twin(stairs(VirtualTime()))
    for asked, told in ((3300, "3300"), (799, "3300"), (800, "800"), (5000, "5000"), (5001, "5000"), (0, "5000")):
        kit.take(b"\x0d" + asked.to_bytes(2, "big"))
        assert said(kit)["VDD"] == told


def test_what_it_tells_of_itself() -> None:
    kit = twin(stairs(VirtualTime()))
    facts = said(kit)
    families = [f"{name}{number}" for name in ("R", "GS", "GI", "O", "S", "I", "UG") for number in range(5)]
    assert set(facts) == {"Calibrated", "VDD", "HW", "mode", "IA", *families}
    assert facts["mode"] == "2" and facts["HW"].endswith(" virtual")
    kit.take(AMPERE)
    assert said(kit)["mode"] == "1"
    trivial = {"R": None, "GS": 1.0, "GI": 1.0, "O": 0.0, "S": 0.0, "I": 0.0, "UG": 1.0}
    assert all(float(facts[one]) != trivial[one.rstrip("01234")] for one in families)
    assert said(twin(stairs(VirtualTime()), seed=4))["R0"] != facts["R0"]


def test_a_users_gain_is_told_and_read_by_nobody_else() -> None:
    time = VirtualTime()
    kit = twin(stairs(time, np.array([20e-3])))
    before = recorded(kit, time, 0.002)
    kit.take(STOP + b"\x25" + struct.pack("<Bf", 3, 1.5) + b"\x25" + struct.pack("<Bf", 7, 2.0))
    assert float(said(kit)["UG3"]) == 1.5
    after = recorded(kit, time, 0.002)
    assert (before & 0x3FFF)[-1] == (after & 0x3FFF)[-1]


def test_commands_may_come_in_pieces_and_unknown_ones_do_nothing() -> None:
    time = VirtualTime()
    kit = twin(stairs(time, np.array([20e-3])))
    for byte in b"\x15\xff" + AMPERE + TO_3300_MV:
        assert kit.take(bytes([byte])) == b""
    facts = said(kit)
    assert facts["mode"] == "1" and facts["VDD"] == "3300"


def test_its_clock_is_off_by_its_time_base() -> None:
    time = VirtualTime()
    fast = twin(stairs(time), Flaws(0.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.0))
    assert len(recorded(fast, time, 0.1)) == 10_100


def test_noise_is_half_the_resolution_of_the_range() -> None:
    time, rng = VirtualTime(), np.random.default_rng(8)
    kit = twin(stairs(time, np.array([20e-3])), Flaws(0.0, 0.0, 0.0, 0.0, 0.0, LIMITS.noise_a), int(rng.integers(99)))
    readings = (recorded(kit, time, 0.1) & 0x3FFF)[500:]
    counts = 25e-6 * 0.96 / (4 * 1.8 / 163840)  # about one ohm
    assert np.std(readings) == pytest.approx(np.hypot(counts, 12**-0.5), rel=0.1)


# faults


def test_lost_samples_leave_gaps_in_the_counter() -> None:
    time = VirtualTime()
    kit = twin(stairs(time))
    kit.drop = {100, *range(300, 307)}
    words = recorded(kit, time, 0.01)
    gaps = np.diff(counters(words)) % 64
    assert len(words) == 992 and np.flatnonzero(gaps != 1).tolist() == [99, 298]
    assert gaps[[99, 298]].tolist() == [2, 8]


def test_a_share_of_the_samples_is_lost() -> None:
    time = VirtualTime()
    kit = twin(stairs(time))
    kit.lost_share = 0.01
    words = recorded(kit, time, 0.1)
    lost = int(np.sum(np.diff(counters(words)) % 64 - 1))
    assert 50 < lost < 200 and 9998 <= len(words) + lost <= 10_000


def test_half_a_metadata_text_calibrates_nothing(plug) -> None:
    kit = twin(stairs(VirtualTime()))
    kit.halved = 1
    api, _ = plug(kit)
    assert api.get_modifiers() is None and api.modifiers["R"]["0"] == 1031.64
    assert api.get_modifiers() is True and api.modifiers["R"]["0"] == pytest.approx(kit.calibration.constants["R"][0])


def test_one_that_is_silent_calibrates_nothing() -> None:
    kit = twin(stairs(VirtualTime()))
    kit.silent = 1
    assert kit.take(METADATA) == b"" and kit.take(METADATA).endswith(b"END\n")


def test_garbage_before_the_first_sample_shifts_the_librarys_samples(plug) -> None:
    time = VirtualTime()
    kit = twin(stairs(time, np.array([20e-3])))
    kit.garbage = b"\xa5\x5a\xff"
    api, server = plug(kit)
    api.get_modifiers()
    amps, _, data = measured(api, server, time, 0.005)
    assert data[:3] == b"\xa5\x5a\xff"
    assert np.all(np.diff(counters(words_of(data[3 : 3 + 4 * 400]))) % 64 == 1)
    assert not np.mean(np.abs(amps[100:400] - 20e-3) < 1e-3) > 0.5
    kit.take(STOP)
    assert len(recorded(kit, time, 0.001)) == 100, "once"


def test_one_that_is_unplugged_raises_in_the_library(plug) -> None:
    time = VirtualTime()
    api, server = plug(twin(stairs(time)))
    api.get_modifiers()
    measured(api, server, time, 0.005)
    server.disconnect()
    with pytest.raises(OSError, match="Input/output error"):
        until(lambda: api.get_data() is None)


def test_one_that_another_program_left_measuring_mixes_samples_with_its_text() -> None:
    time = VirtualTime()
    kit = twin(stairs(time))
    kit.take(FED + START)
    time.sleep(0.001)
    before, text, rest = kit.take(METADATA).partition(b"Calibrated: ")
    assert len(before) == 400 and text and rest.endswith(b"END\n")


# where it is plugged in


def test_its_usb_identity_is_what_the_library_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [SimpleNamespace(device="/dev/ttyACM0", product="other"), SimpleNamespace(device="/dev/ttyACM1", **USB)]
    monkeypatch.setattr("serial.tools.list_ports.comports", lambda: ports)
    assert library.PPK2_API.list_devices() == ["/dev/ttyACM1"]
    assert (USB["vid"], USB["pid"]) == (0x1915, 0xC00A)


def test_a_host_that_reads_late_loses_nothing_and_a_live_server_sends_by_itself() -> None:
    """Virtual time runs ahead of the host: four seconds, of which the port holds fewer than three."""
    time = VirtualTime()
    server = LiveSerialServer(twin(stairs(time)))
    api = library.PPK2_API(server.resource, timeout=1)
    server.start()
    try:
        api.set_source_voltage(3300)
        api.start_measuring()
        until(lambda: server._meter._begin is not None)
        for _ in range(4):
            time.sleep(1.0)
            until(lambda: server._meter._made == time.ps // 10**7 or server._port.full)
        assert server._port.full
        words = words_of(read(api, 4 * 400_000))
    finally:
        api.ser.close()
        server.close()
    assert np.all(np.diff(counters(words)) % 64 == 1)
