"""Readings typed in and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.energy.capture import Edge
from hil.errors import RigError
from hil.meters.csv_file import read_csv
from hil.meters.csv_units import ENERGY_J, TIME_S
from hil.meters.manual_readings import FROM_FILE, TYPED_IN, ReadingAccuracy, declared_sheet, typed, typed_capture


@pytest.fixture
def csv_file(tmp_path: Path) -> Path:
    return tmp_path / "trace.csv"


@pytest.mark.parametrize(("text", "joules", "digit"), [
    ("1.25 J", 1.25, 0.01), ("0.350 mWh", 1.26, 3.6e-3), ("12 Wh", 43200.0, 3600.0), ("7,5uJ", 7.5e-6, 1e-7), ("3.0 µWh", 0.0108, 3.6e-4),
])  # fmt: skip
def test_what_is_typed(text: str, joules: float, digit: float) -> None:
    read = typed(text, ENERGY_J, "energy")
    assert read.value == pytest.approx(joules) and read.last_digit == pytest.approx(digit)


@pytest.mark.parametrize(("text", "why"), [
    ("twelve", "not a valid energy"), ("12", "not a valid energy"), ("12 GWh", "not a valid energy"), ("-3 J", "not a valid energy"), ("0.0 J", "not positive"), ("", "not a valid energy"), ("nan J", "not a valid energy"),
])  # fmt: skip
def test_what_is_typed_wrong(text: str, why: str) -> None:
    with pytest.raises(RigError, match=why) as error:
        typed(text, ENERGY_J, "energy")
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


def test_a_typed_reading_is_one_mean_over_its_time() -> None:
    capture = typed_capture(typed("3.6 mWh", ENERGY_J, "energy"), typed("60.0 s", TIME_S, "duration"), 5.0)
    assert capture.power_w == pytest.approx([0.216]) and capture.current_a == pytest.approx([0.0432])
    assert [edge.t_s for edge in capture.edges] == [0.0, 60.0] and capture.edges[0].half_s == pytest.approx(0.025)
    sheet = declared_sheet(TYPED_IN, ReadingAccuracy(0.01), capture)
    assert (
        sheet.identity == "typed in"
        and sheet.kind == "integrating"
        and sheet.unverified
        and sheet.ranges[0].gain == 0.01
    )


def test_current_and_voltage(csv_file: Path) -> None:
    csv_file.write_text("time_ms,current (mA),voltage [V],marker\n0,10,3.3,0\n1,30,3.2,1\n2,30,3.2,1\n3,10,3.3,0\n")
    capture = read_csv(csv_file)
    assert capture.t_s == pytest.approx([0, 0.001, 0.002, 0.003]) and capture.power_w == pytest.approx(
        [0.033, 0.096, 0.096, 0.033]
    )
    assert capture.edges == (
        Edge(pytest.approx(0.0005), pytest.approx(0.0005), True),
        Edge(pytest.approx(0.0025), pytest.approx(0.0005), False),
    )
    assert declared_sheet(FROM_FILE, ReadingAccuracy(0.01, 1e-4), capture).kind == "point"


def test_semicolons_a_byte_order_mark_and_a_voltage_beside(csv_file: Path) -> None:
    csv_file.write_text("\ufefftime;current\n0;0.01\n1;0.02\n", encoding="utf-8")
    capture = read_csv(csv_file, volt=5.0)
    assert capture.power_w == pytest.approx([0.05, 0.1]) and [edge.t_s for edge in capture.edges] == [0.0, 1.0]


def test_a_counter_of_energy_gives_means(csv_file: Path) -> None:
    """Whatever the times, power times the time between two values is what the counter went on by."""
    rng = np.random.default_rng(1)
    times, energy = np.cumsum(rng.uniform(0.1, 2, 50)), np.cumsum(rng.uniform(0, 1, 50))
    csv_file.write_text(
        "time,energy_mWh\n" + "".join(f"{t!r},{e!r}\n" for t, e in zip(times.tolist(), energy.tolist(), strict=True))
    )
    capture = read_csv(csv_file)
    assert capture.aperture_s > 0 and len(capture.t_s) == 49
    assert np.sum(capture.power_w * np.diff(times)) == pytest.approx((energy[-1] - energy[0]) * 3.6)


@pytest.mark.parametrize(("text", "why"), [
    ("", "is empty"), ("time,watts\n0,1\n", "time, watts .* --column watts=power"), ("time,power_GW\n0,1\n", "'GW' is not a unit of power"), ("time,voltage\n0,1\n", "none of its columns time, voltage is said to be current, power or energy"),
    ("time,power,energy\n0,1,1\n", "contradict"), ("time,power\n0,1\n0,2\n", "line 3: its time is that of the line before"), ("time,power\n0,1\n1,x\n", "line 3: .* is not 2 numbers"),
    ("time,power\n0,1\n1\n", "line 3"), ("time,power\n0,1\n1,nan\n", "line 3: a value is not finite"), ("time,current\n0,1\n1,1\n", "current alone is not power"),
    ("time,power\n0,1\n", "fewer than two"), ("time,power,power_mW\n0,1,1\n", "twice"), ("current,power\n1,2\n", "said to be the time"),
])  # fmt: skip
def test_every_mistake_is_one_sentence_with_its_line(csv_file: Path, text: str, why: str) -> None:
    csv_file.write_text(text)
    with pytest.raises(RigError, match=why) as error:
        read_csv(csv_file)
    message = str(error.value)
    assert "trace.csv" in message and "\n" not in message and message.endswith((".", "?"))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="there is no file .*--csv"):
        read_csv(tmp_path / "none.csv")


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_an_accuracy_that_is_none(share: float) -> None:
    with pytest.raises(RigError, match="declare a share"):
        ReadingAccuracy(share)


def test_a_clock_goes_on_over_midnight(csv_file: Path) -> None:
    csv_file.write_text("time,power\n23:59:59.5,1\n23:59:59.75,2\n00:00:00,3\n0:00:00.25,4\n")
    capture = read_csv(csv_file)
    assert np.diff(capture.t_s) == pytest.approx([0.25, 0.25, 0.25]) and capture.edges[1].t_s - capture.edges[
        0
    ].t_s == pytest.approx(0.75)


@pytest.mark.parametrize("times", [("86399", "86400", "0.5"), ("10:00:00", "09:59:59", "10:00:01")])
def test_a_time_that_goes_back_is_no_midnight(csv_file: Path, times: tuple[str, ...]) -> None:
    csv_file.write_text("time,power\n" + "".join(f"{time},1\n" for time in times))
    with pytest.raises(RigError, match="its time is not after that of the line before"):
        read_csv(csv_file)


def test_thousands_are_not_taken_for_decimals(csv_file: Path) -> None:
    csv_file.write_text('time,power\n0,"1,234"\n1,1\n')
    with pytest.raises(RigError, match="line 2: .* is not 2 numbers"):
        read_csv(csv_file)


def test_decimal_commas_between_semicolons(csv_file: Path) -> None:
    csv_file.write_text("Time;Power [mW]\n0,000;33\n0,001;198,5\n0,002;33\n")
    capture = read_csv(csv_file)
    assert capture.t_s == pytest.approx([0, 0.001, 0.002]) and capture.power_w == pytest.approx([0.033, 0.1985, 0.033])
