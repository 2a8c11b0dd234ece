"""The serial port at rising rates, the marker pin, and the clock by a pin, with lines and pins that are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hil.errors import DeviceFault
from hil.first_light.bring_up import BringUp
from hil.first_light.line_stages import BYTES, ClockByPin, EnergyWindow, MarkerPin, UartRates
from hil.first_light.stage import NotPossible

from .fake_board import brought_up

DRAWN = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


class Wire:
    """Both ends of a line: `faults` by baud are (bytes lost to the board, to the host, byte xor)."""

    timeout = 0.0
    baudrate = 0

    def __init__(self, faults: dict[int, tuple[int, int, int]]) -> None:
        self.faults, self.opened = faults, []
        self._to_board, self._to_host = b"", b""

    # as the serial port of the host
    def reset_input_buffer(self) -> None: ...

    def write(self, data: bytes) -> None:
        lost, _, xor = self.faults.get(self.baudrate, (0, 0, 0))
        self._to_board = bytes(byte ^ xor for byte in data[lost:])

    def read(self, size: int) -> bytes:
        data, self._to_host = self._to_host[:size], self._to_host[size:]
        return data

    # as the line of the chip
    def prepare(self) -> None: ...

    def rate(self, baud: int) -> float | None:
        return None if baud == 230_400 else baud * 1.001

    def open(self, baud: int) -> None:
        assert baud == self.baudrate
        self.opened.append(baud)

    def receive(self, size: int) -> None: ...

    def received(self, size: int, seconds: float) -> bytes:
        return self._to_board

    def send(self, data: bytes) -> None:
        _, lost, xor = self.faults.get(self.baudrate, (0, 0, 0))
        self._to_host = bytes(byte ^ xor for byte in data[lost:])


def on_wire(folder: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch, **dut: object) -> BringUp:
    monkeypatch.setattr(BringUp, "new_line", lambda self: wire)
    monkeypatch.setattr("hil.first_light.line_stages.time.sleep", lambda seconds: None)
    return brought_up("stm32f746", folder, serial=wire, **dut)


def test_rates_rise_and_those_that_cannot_be_made_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire({})
    seen = UartRates().run(on_wire(tmp_path, wire, monkeypatch))
    assert wire.opened == [9_600, 115_200, 460_800, 921_600]
    assert seen.seen.count("no error") == 4 and "up to 921,600 baud" in seen.meaning


def test_a_stand_in_has_the_rate_of_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire({})
    UartRates().run(on_wire(tmp_path, wire, monkeypatch, reality="virtual"))
    assert wire.opened == [921_600]


@DRAWN
@given(st.sampled_from([9_600, 460_800, 921_600]), st.integers(0, 9), st.integers(0, 9), st.integers(0, 255))
def test_errors_are_counted_in_each_direction(tmp_path: Path, baud: int, to_board: int, to_host: int, xor: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        on = on_wire(tmp_path, Wire({baud: (to_board, to_host, xor)}), patch)
        if not to_board and not to_host and not xor:
            assert UartRates().run(on).passed
            return
        with pytest.raises(DeviceFault) as fault:
            UartRates().run(on)
    said = str(fault.value).split(f"{baud:,} baud")[1].split(";")[0]
    for lost, way in ((to_board, "to the board"), (to_host, "to the host")):
        if lost:
            assert f"{lost} of {BYTES} bytes lost {way}" in said
        elif xor:
            assert f"{BYTES} of {BYTES} bytes wrong {way}" in said
        else:
            assert way not in said
    assert str(fault.value).count("no error") == 3  # the other rates are told too
    assert on.line is None


PINS = {0x4002_3830: 0, 0x4002_2018: 0, 0x4002_2000: 0, 0x4002_2010: 0}  # RM0385: RCC_AHB1ENR, GPIOI


@pytest.mark.parametrize(
    ("stuck", "said"),
    [(None, ""), (0, "reads low after it was driven high"), (4, "reads high after it was driven low")],
)
def test_a_marker_pin_that_is_held(tmp_path: Path, stuck: int | None, said: str) -> None:
    on = brought_up("stm32f746", tmp_path, PINS)
    words = on.dut.probe.words  # type: ignore[attr-defined]
    write = on.dut.probe.write_ram

    def driven(address: int, data: bytes) -> bool:
        done = bool(write(address, data))
        if address == 0x4002_2018:  # GPIOI_BSRR: bits 15:0 set, bits 31:16 reset
            value = int.from_bytes(data, "little")
            level = words[0x4002_2010] & ~(value >> 16) | value & 0xFFFF
            words[0x4002_2010] = level if stuck is None else stuck
        return done

    on.dut.probe.write_ram = driven  # type: ignore[method-assign]
    if stuck is None:
        assert MarkerPin().run(on).seen == "PI2 reads high and low"
        return
    with pytest.raises(DeviceFault, match=f"PI2 {said}"):
        MarkerPin().run(on)


def test_without_a_meter_or_a_marker_nothing_is_measured(tmp_path: Path) -> None:
    with pytest.raises(NotPossible, match="stm32f746 has no power meter here"):
        EnergyWindow().run(brought_up("stm32f746", tmp_path))
    with pytest.raises(NotPossible, match="not known, or it has none"):
        MarkerPin().run(brought_up("mps2-an500", tmp_path))


@DRAWN
@given(st.floats(0.9, 1.1), st.floats(1e-5, 1e-3))
def test_the_clock_by_a_pin_is_cycles_over_time(tmp_path: Path, share: float, uncertainty: float) -> None:
    """25 MHz from the crystal (UM1907), within 1 % and what the meter resolves."""
    on = brought_up("stm32f746", tmp_path)
    on.figures |= {
        "pulse_cycles": round(0.3 * 25e6 * share), "window_duration": {"value": 0.3, "uncertainty": 0.3 * uncertainty},
    }  # fmt: skip
    off = abs(share - 1)
    limit = 0.01 + 3 * uncertainty
    if off > limit + 1e-6:
        with pytest.raises(DeviceFault, match="and 25 MHz within 1 % is expected"):
            ClockByPin().run(on)
    elif off < limit - 1e-6:
        assert ClockByPin().run(on).passed
    assert on.figures["core_hz_by_pin"]["value"] == pytest.approx(25e6 * share, rel=1e-6)
