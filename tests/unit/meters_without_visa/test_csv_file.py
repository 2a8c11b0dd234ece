"""Traces of other programs: whatever the format, the energy is that of the trace; and every mistake is one sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from exports import EXPORTS, SHUNT_OHM, Export, Ramp, keysight, lecroy, otii, plain, ppk2_columns, ppk2_word, rigol
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hil.energy.capture import Capture
from hil.energy.marker_interval import IntervalSums
from hil.errors import RigError
from hil.meters import csv_text
from hil.meters.csv_columns import column_meanings
from hil.meters.csv_file import read_csv

USUAL = Ramp(volt=3.3, first=0.01, slope=0.5, begin=-0.002, step=1e-4, count=60, up=20, down=45)


@st.composite
def ramps(draw: st.DrawFn) -> Ramp:
    count = draw(st.integers(12, 60))
    up = draw(st.integers(1, count - 4))
    down = draw(st.integers(up + 2, count - 1))
    positive = st.floats(0.01, 2.0)
    step = draw(st.sampled_from([1e-6, 1e-5, 3e-4, 0.02, 0.5]))
    return Ramp(
        draw(positive) + 1,
        draw(positive),
        draw(positive) / (step * count),
        draw(st.floats(-1, 1)) * step * count,
        step,
        count,
        up,
        down,
    )


def written(folder: Path, export: Export) -> Path:
    path = folder / export.name
    path.write_text(export.text, encoding="utf-8")
    return path


def energy(capture: Capture) -> float:
    running = IntervalSums()
    running.add(capture)
    return running.result().energy_j


@pytest.mark.parametrize("export", EXPORTS, ids=lambda one: one.__name__)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ramp=ramps())
@example(ramp=USUAL)
def test_the_energy_is_that_of_the_trace(export: Callable[[Ramp], Export], ramp: Ramp, tmp_path: Path) -> None:
    file = export(ramp)
    capture = read_csv(written(tmp_path, file), **file.told)
    assert energy(capture) == pytest.approx(ramp.energy(file.marked), rel=1e-5)
    assert capture.interval_s == pytest.approx(ramp.step, rel=1e-4)


@pytest.mark.parametrize("export", EXPORTS, ids=lambda one: one.__name__)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_that_was_damaged_is_read_or_told_in_one_sentence(
    export: Callable[[Ramp], Export], data: st.DataObject, tmp_path: Path
) -> None:
    file = export(USUAL)
    content = bytearray(file.text.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1) | st.integers(0, min(200, len(content) - 1)))
        content[at : at + data.draw(st.sampled_from([0, 1, 20, len(content)]))] = data.draw(
            st.binary(max_size=8)
            | st.sampled_from([b"\n", b",", b"nan", b"-inf", b"1e999", b'"', b"\xb5", b"\x00", b"#", b";", b"12:00:00"])
        )
        content = content or bytearray(b" ")
    path = tmp_path / file.name
    path.write_bytes(bytes(content))
    _read_or_told(path, file.told)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.binary(max_size=200) | st.text(alphabet='time,;\t\n#0123456789.e-()mAVCH"', max_size=200).map(str.encode)
)
def test_any_file_is_read_or_told_in_one_sentence(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "any.csv"
    path.write_bytes(content)
    _read_or_told(path, {"volt": 3.3})


def _read_or_told(path: Path, told: dict[str, object]) -> None:
    try:
        capture = read_csv(path, **told)  # type: ignore[arg-type]
    except RigError as error:
        message = str(error)
        assert path.name in message and "\n" not in message and message.endswith((".", "?")) and len(message) < 600
    else:
        assert np.all(np.diff(capture.t_s) > 0) and np.isfinite(capture.power_w).all() and len(capture.edges) >= 2
        assert math.isfinite(energy(capture))


def test_a_gap_in_the_readings_is_counted(tmp_path: Path) -> None:
    """The PPK2's program leaves out readings that it has none of."""
    file = ppk2_word(USUAL)
    lines = file.text.splitlines(keepends=True)
    path = tmp_path / file.name
    path.write_text("".join(lines[:30] + lines[37:]))
    assert read_csv(path, **file.told).lost == 7


def test_columns_that_are_not_read_are_named(tmp_path: Path) -> None:
    file = ppk2_columns(USUAL)
    capture = read_csv(written(tmp_path, file), volt=3.3)
    assert len(capture.edges) == 2 and capture.edges[0].t_s == pytest.approx(USUAL.t[0])
    assert any("D0, D1" in note and "--column D0=marker" in note and "whole file" in note for note in capture.notes)
    assert any("3.3 V (--volt)" in note for note in capture.notes)


def test_a_shunt_is_named(tmp_path: Path) -> None:
    file = lecroy(USUAL)
    assert any(f"{SHUNT_OHM} ohm (--shunt)" in note for note in read_csv(written(tmp_path, file), **file.told).notes)


def test_noise_at_the_threshold_is_no_change(tmp_path: Path) -> None:
    """A slow edge of an analogue channel, with noise upon it, is one edge that lies somewhere on its slope."""
    rng = np.random.default_rng(1)
    t = np.arange(2000) * 1e-6
    level = np.interp(t, [0.0, 4e-4, 6e-4, 1.4e-3, 1.6e-3], [0.0, 0.0, 3.3, 3.3, 0.0]) + rng.normal(0, 0.1, len(t))
    path = tmp_path / "slow.csv"
    path.write_text(
        "time,power,marker\n" + "".join(f"{a!r},0.1,{b!r}\n" for a, b in zip(t.tolist(), level.tolist(), strict=True))
    )
    up, down = read_csv(path).edges
    assert (
        up.high
        and not down.high
        and abs(up.t_s - 5e-4) <= up.half_s < 1e-4
        and abs(down.t_s - 1.5e-3) <= down.half_s < 1e-4
    )


def bouncing(tmp_path: Path) -> Path:
    """A window of 40 ms, in the middle of which the marker is low for 20 us; before it a glitch, and its rise chatters."""
    levels = np.zeros(8000, int)
    levels[2000:6000] = 1
    levels[[2002, 2003]] = 0
    levels[4000:4002] = 0
    levels[500] = 1
    path = tmp_path / "bounce.csv"
    path.write_text(
        "time,power,marker\n"
        + "".join(
            f"{k / 1e5!r},{0.1 if 2000 <= k < 6000 else 0.01},{level}\n" for k, level in enumerate(levels.tolist())
        )
    )
    return path


def test_a_marker_that_bounces_is_refused_unless_somebody_says_what_bounce_is(tmp_path: Path) -> None:
    path = bouncing(tmp_path)
    with pytest.raises(RigError, match=r"bounce.csv: its marker changes 8 times, at least 1e-05 s .* --debounce"):
        read_csv(path)
    capture = read_csv(path, debounce_s=1e-3)
    up, down = capture.edges
    assert up.high and abs(up.t_s - 0.02) <= up.half_s < 1e-4 and down.t_s == pytest.approx(0.06, abs=1e-5)
    assert energy(capture) == pytest.approx(0.1 * 0.04, rel=2e-3)
    assert len(read_csv(path, debounce_s=0.0).edges) == 8


def test_an_input_that_is_not_known_for_a_while_widens_the_edge(tmp_path: Path) -> None:
    file = ppk2_columns(USUAL)
    lines = file.text.splitlines()
    for number in range(USUAL.up - 1, USUAL.up + 4):  # the lines of readings up - 2 to up + 2
        cells = lines[number].split(",")
        cells[5] = "X"
        lines[number] = ",".join(cells)
    path = tmp_path / file.name
    path.write_text("\n".join(lines) + "\n")
    up, _ = read_csv(path, **file.told).edges
    assert up.half_s == pytest.approx(3 * USUAL.step, rel=1e-3)


@pytest.mark.parametrize(("export", "changed", "why"), [
    (keysight, {"columns": {}}, "none of its columns x-axis .s., 1 .V., 2 .V., 3 .V. .* --column 1=current --shunt"),
    (keysight, {"shunt_ohm": None}, "'V' is not a unit of current .* --shunt"),
    (keysight, {"columns": {"4": "current"}}, "no column '4'"),
    (keysight, {"columns": {"1": "current", "2": "current"}}, "two columns are said to be the current"),
    (keysight, {"columns": {"1": "time"}}, "'V' is not a unit of time"),
    (rigol, {"columns": {"CH1": "current (mA)"}}, "'CH1' is in V by its head and in mA by --column"),
    (otii, {"volt": None}, "current alone is not power: give .* --volt"),
    (ppk2_word, {"columns": {"D1": "marker"}}, "its marker changes 0 times"),
    (ppk2_columns, {"columns": {"D0": "marker"}}, "its marker is not known in any line"),
    (plain, {"columns": {"current": "power"}}, "'mA' is not a unit of power"),
], ids=lambda value: getattr(value, "__name__", str(value)))  # fmt: skip
def test_what_is_said_wrong_of_a_column(
    tmp_path: Path, export: Callable[[Ramp], Export], changed: dict[str, object], why: str
) -> None:
    file = export(USUAL)
    with pytest.raises(RigError, match=why) as error:
        read_csv(written(tmp_path, file), **(file.told | changed))
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


@pytest.mark.parametrize(("text", "why"), [
    ("Timestamp,Current\n0,1\n1,1\n", "'Timestamp' has no unit: say which, such as --column 'Timestamp=time .ms.'"),
    ("0,1\n1,1\n", "none of its columns 1, 2 is said to be the time"),
    ("X,CH1,Start,Increment\nSequence,Volt,0\n0,1\n", "line 2: it does not give the start and the step of the time"),
    ("x-axis,1\nsecond,Volt\n0,1\n1,\n", "line 4: .* is not 2 numbers"),
    ("time,power\n0,1\n1,1\n1e-3,2\n", "line 4: its time is not after that of the line before"),
    ("time,power\n0,1\n1,1,5\n", "line 3: .* is not 2 numbers"),
    ("time,power\n0,1\n1,1e200\n", "line 3: a value is too large"),
    ("time_ms,power\n0,1\n1e-320,1\n", "readings are less than"),
    ('time,power\n0,1\n1,"1\n2,1\n', "line 3: it is not a row of a table .a quotation mark does not close"),
    ("hello\nworld\n", "none of its lines names the time"),
])  # fmt: skip
def test_a_file_that_does_not_say_enough(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(RigError, match=why) as error:
        read_csv(
            path,
            columns={"1": "current"} if text.startswith("x-axis") else None,
            shunt_ohm=1.0 if text.startswith("x-axis") else None,
            volt=1.0,
        )
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


@pytest.mark.parametrize(("make", "why"), [
    (lambda path: path.mkdir(), "cannot be read"),
    (lambda path: path.write_bytes(b""), "is empty"),
    (lambda path: path.write_bytes(b"PK\x03\x04" + bytes(range(256))), "is not text: export the trace as CSV"),
    (lambda path: path.write_bytes(b"\n \n\r\n"), "is empty"),
])  # fmt: skip
def test_what_is_no_text(tmp_path: Path, make: Callable[[Path], object], why: str) -> None:
    path = tmp_path / "trace.csv"
    make(path)
    with pytest.raises(RigError, match=why):
        read_csv(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_micro_signs_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_bytes("time (µs),current (µA)\n0,10\n1,10\n".encode(encoding))
    capture = read_csv(path, volt=2.0)
    assert capture.power_w == pytest.approx([2e-5, 2e-5]) and capture.t_s == pytest.approx([0, 1e-6])


@pytest.mark.parametrize(
    "text",
    [
        "Timestamp,Current\n0,1\n1,1\n2,1\n",
        "when,power\n0,1\n1,1\n2,1\n",
        "time,power,energy\n0,1,0\n1,1,1\n2,1,2\n",
        "time,power,power_mW\n0,1,1\n1,1,1\n2,1,1\n",
        "time,watts\n0,1\n1,1\n2,1\n",
        "time,CH1 (V)\n0,1\n1,1\n2,1\n",
    ],
)
def test_the_cure_that_a_message_names_is_one(tmp_path: Path, text: str) -> None:
    """Whoever does what the message says gets a trace, with a shunt of an ohm and a supply of a volt: all of these are of one watt."""
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(RigError) as error:
        read_csv(path, volt=1.0)
    found = re.search(r"--column (?:'([^']+)'|(\S+?)(?=[ .])(?: --shunt OHMS)?\.)", str(error.value))
    assert found, str(error.value)
    shunt = 1.0 if "--shunt" in str(error.value) else None
    capture = read_csv(path, volt=1.0, columns=column_meanings([found[1] or found[2]]), shunt_ohm=shunt)
    assert capture.power_w == pytest.approx([1.0] * len(capture.power_w)) and len(capture.edges) == 2


def test_a_file_that_goes_on_ends_at_the_cap(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_text, "LONGEST", 1 << 20)
    path = tmp_path / "trace.csv"
    path.write_bytes(b"t_s,power_w\n" + b"0,1\n" * (1 << 18))
    with pytest.raises(
        RigError, match=r"trace\.csv has more than 1 MB, the largest size that is read: export a shorter stretch\."
    ):
        csv_text.CsvText(path)
    assert len(list(csv_text.CsvText(shorter(path)).lines())) == 1 << 17


def shorter(path):
    path.write_bytes(b"0,1\n" * (1 << 17))
    return path
