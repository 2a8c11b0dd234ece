"""CSV files that contradict themselves or the options, or say less than they seem to: refused, noted or in the interval."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hil.energy.edge_check import BELOW
from hil.energy.interval_figures import evaluate
from hil.energy.marker_interval import RESOLUTION, IntervalSums
from hil.errors import RigError
from hil.meters import manual_readings
from hil.meters.csv_columns import column_meanings
from hil.meters.csv_file import read_csv

TIME = np.arange(0, 9, 0.01)
SLEEP, WORK = 0.01, 0.1


def figures(path: Path, **options: object) -> dict[str, object]:
    capture = read_csv(path, **options)  # type: ignore[arg-type]
    running = IntervalSums()
    running.add(capture)
    accuracy = manual_readings.ReadingAccuracy(1e-6)
    return evaluate(running.result(), manual_readings.declared_sheet("file", accuracy, capture), "file", 1)


def marked(folder: Path, high: np.ndarray, busy: np.ndarray) -> Path:
    path = folder / "m.csv"
    rows = zip(TIME, np.where(busy, WORK, SLEEP), high, strict=True)
    path.write_text("time_s,power_W,D0\n" + "".join(f"{t:.2f},{p:.6f},{int(level)}\n" for t, p, level in rows))
    return path


MARKER = {"D0": "marker"}
SLEEPS = (TIME >= 3) & (TIME < 6)  # between two works that the file has no begin or no end of
WORKS = SLEEPS


@pytest.mark.parametrize(("high", "busy"), [(~SLEEPS, ~SLEEPS), (~WORKS, WORKS)], ids=["cut twice", "inverted"])
def test_a_marker_that_goes_down_first(tmp_path: Path, high: np.ndarray, busy: np.ndarray) -> None:
    path = marked(tmp_path, high, busy)
    with pytest.raises(RigError, match=r"m\.csv: its marker goes down at 2\.995 s and up at 5\.995 s: .* cut inside two "
                                       r"windows: .* give --column 'D0=marker \(inverted\)'\.$"):  # fmt: skip
        read_csv(path, columns=MARKER)


def test_the_cure_of_an_inverted_marker(tmp_path: Path) -> None:
    path = marked(tmp_path, ~WORKS, WORKS)
    energy = figures(path, columns=column_meanings(["D0=marker (inverted)"]))["energy"]["value"]  # type: ignore[index]
    assert energy == pytest.approx(3 * WORK, rel=1e-3)
    with pytest.raises(RigError, match=r"give --column 'D0=marker'\.$"):
        read_csv(marked(tmp_path, WORKS, WORKS), columns={"D0": "marker (inverted)"})


def test_a_file_that_begins_inside_a_window(tmp_path: Path) -> None:
    """It ends inside the third window: only the second one is whole."""
    high = (TIME < 1) | ((TIME >= 3) & (TIME < 5)) | (TIME >= 8)
    path = marked(tmp_path, high, high)
    with pytest.raises(RigError, match="its marker changes 4 times"):
        read_csv(path, columns=MARKER)
    found = figures(path, columns=MARKER, debounce_s=0.0)
    assert found["energy"]["value"] == pytest.approx(2 * WORK, rel=2e-3)  # type: ignore[index]
    flags = found["flags"]
    assert "the file begins inside a window that ends at 0.995 s: it was discarded, and the next one taken." in flags  # type: ignore[operator]
    assert any("changed 3 times: the first two changes count" in flag for flag in flags)  # type: ignore[attr-defined]


def test_power_below_the_rest_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An inverted marker, in a file that was cut inside two works: up where the sleep begins."""
    from hil.commands.main import main as hil

    path = marked(tmp_path, SLEEPS, ~SLEEPS)
    options = ["--column", "D0=marker", "--accuracy", "0.01", "--out", str(tmp_path / "out")]
    assert hil(["measure", "--csv", str(path), *options]) == 0
    assert BELOW in capsys.readouterr().out


def counter(folder: Path, joules: np.ndarray, digits: int) -> Path:
    path = folder / "c.csv"
    rows = zip(TIME, joules, WORKS, strict=True)
    path.write_text("time,energy_J,marker\n" + "".join(f"{t:.2f},{e:.{digits}f},{int(m)}\n" for t, e, m in rows))
    return path


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.7, 0.99])
@pytest.mark.parametrize(("step", "digits"), [(0.1, 1), (0.1, 4), (0.25, 2)])
def test_a_coarse_counter_has_its_step_in_the_interval(tmp_path: Path, phase: float, step: float, digits: int) -> None:
    joules = np.cumsum(np.where(WORKS, WORK, SLEEP)) * 0.01
    found = figures(counter(tmp_path, np.floor(joules / step + phase) * step, digits))
    energy, u = found["energy"]["value"], found["energy"]["uncertainty"]  # type: ignore[index]
    assert [row["standard_uncertainty"] for row in found["budget"] if row["source"] == RESOLUTION] == [  # type: ignore[attr-defined,index]
        pytest.approx(step / math.sqrt(6), rel=1e-3)
    ]
    assert abs(energy - 3 * WORK) <= max(2 * u, step)


def test_a_counter_that_is_frozen_between_the_edges_has_an_interval(tmp_path: Path) -> None:
    found = figures(counter(tmp_path, np.where(TIME < 7, 1.0, 1.5), 1))
    assert found["energy"]["value"] == 0 and found["energy"]["uncertainty"] > 0.04  # type: ignore[index,operator]


def test_a_counter_that_never_counts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"c\.csv: its energy counter is 1 in every line: it does not count"):
        read_csv(counter(tmp_path, np.ones(len(TIME)), 3))


def test_the_last_digit_of_a_column_is_in_the_interval(tmp_path: Path) -> None:
    """A current below the last digit reads 0, and is not known to be 0."""
    path = tmp_path / "i.csv"
    path.write_text("time,current (mA)\n" + "".join(f"{k},0.0\n" for k in range(11)))
    energy = figures(path, volt=2.0)["energy"]
    assert energy["value"] == 0 and energy["uncertainty"] == pytest.approx(1e-4 * 2 * 10 / math.sqrt(12))  # type: ignore[index]


@pytest.mark.parametrize("rows", ["0;20,5\n1;20.000\n2;21,0\n", "0;20.000\n1;20,5\n2;1\n", "0,5;20.000\n1,5;20.100\n"])
def test_points_and_commas_in_one_file(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "d.csv"
    path.write_text(f"time;power (mW)\n{rows}")
    with pytest.raises(RigError, match=r"d\.csv, line \d: '[^']+' has a (point|comma), and .* thousands separator"):
        read_csv(path)


def test_a_time_of_day_may_have_a_sign_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("time;power (mW)\n12:00:00,5;20.5\n12:00:01,5;20.5\n")
    assert read_csv(path).power_w == pytest.approx([0.0205, 0.0205])


def test_a_unit_that_contradicts_the_head(tmp_path: Path) -> None:
    path = tmp_path / "u.csv"
    path.write_text("time,CH1 (mA)\n0,10.0\n1,10.0\n")
    with pytest.raises(RigError, match=r"^u\.csv, line 1: column 'CH1' is in mA by its head and in A by --column: "):
        read_csv(path, volt=1.0, columns=column_meanings(["CH1=current (A)"]))
    for fitting in ("current", "current (mA)"):
        assert read_csv(path, volt=1.0, columns={"CH1": fitting}).current_a == pytest.approx([0.01, 0.01])


def test_a_clock_that_jumps_after_the_window(tmp_path: Path) -> None:
    path = marked(tmp_path, WORKS, WORKS)
    before = figures(path, columns=MARKER)
    lines = path.read_text().splitlines(keepends=True)
    for number in range(800, 901):
        t, _, rest = lines[number].partition(",")
        lines[number] = f"{float(t) + 3600:.2f},{rest}"
    path.write_text("".join(lines))
    after = figures(path, columns=MARKER)
    assert after["energy"] == before["energy"]
    assert read_csv(path, columns=MARKER).lost == 0


def test_volt_beside_a_voltage_column(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("time,current,voltage\n0,1.0,5.0\n1,1.0,5.0\n")
    assert read_csv(path).power_w == pytest.approx([5.0, 5.0])
    with pytest.raises(
        RigError, match=r"^v\.csv: its column 'voltage' has the voltage, and --volt 3\.3 gives another one"
    ):
        read_csv(path, volt=3.3)


@pytest.mark.parametrize(("head", "volt"), [("time,current (mA),voltage,power", None), ("time,current,power,X", 3.3)])
def test_power_that_is_not_volts_times_amperes(tmp_path: Path, head: str, volt: float | None) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"{head}\n" + "".join(f"{k},2.0,5.0,10.0\n" for k in range(5)))
    with pytest.raises(RigError, match=r"^p\.csv: its column 'power' has a mean of .* W, and voltage x current one of .* W: "
                                       r".* --column 'power=power' or --column 'current=current'\.$"):  # fmt: skip
        read_csv(path, volt=volt)
    assert len(read_csv(path, volt=volt, columns={"power": "power"}).power_w) == 5
    by_current = read_csv(path, volt=volt, columns={"current": "current"})
    assert by_current.power_w == pytest.approx(by_current.current_a * by_current.voltage_v)


def test_power_that_differs_a_little_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("time,current,voltage,power\n" + "".join(f"{k},2.0,5.0,10.3\n" for k in range(5)))
    assert any(
        "has a mean of 10.3 W, and voltage x current one of 10 W; the power" in note for note in read_csv(path).notes
    )


@pytest.mark.parametrize("number", ["0_02", "1_0", "\u0661"])
def test_a_number_with_an_underscore(tmp_path: Path, number: str) -> None:
    path = tmp_path / "n.csv"
    path.write_text(f"time,power\n0,0.1\n1,{number}\n2,0.1\n", encoding="utf-8")
    with pytest.raises(RigError, match=r"n\.csv, line 3: .* is not 2 numbers"):
        read_csv(path)


PREFIXES = {"n": 1e-9, "u": 1e-6, "\u00b5": 1e-6, "\u03bc": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3}


@pytest.mark.parametrize(("prefix", "factor"), PREFIXES.items())
@pytest.mark.parametrize(("kind", "unit", "base"), [
    ("power", "W", 1.0), ("energy", "J", 1.0), ("energy", "Wh", 3600.0), ("current", "A", 1.0), ("voltage", "V", 1.0),
])  # fmt: skip
@pytest.mark.parametrize("form", ["{kind} ({unit})", "{kind}_{unit}", "{kind} [{unit}]"])
def test_every_prefix_of_every_unit(
    tmp_path: Path, kind: str, unit: str, base: float, prefix: str, factor: float, form: str
) -> None:
    path = tmp_path / "s.csv"
    head = form.format(kind=kind, unit=prefix + unit)
    beside = {"current": ("voltage", 2.0), "voltage": ("current", 2.0)}.get(kind)
    extra = (f",{beside[0]}", ",2.0") if beside else ("", "")
    values = [1.0, 2.0, 3.0] if kind == "energy" else [1.0, 1.0, 1.0]
    rows = "".join(f"{k},{value}{extra[1]}\n" for k, value in enumerate(values))
    path.write_text(f"time,{head}{extra[0]}\n{rows}", encoding="utf-8")
    assert read_csv(path).power_w == pytest.approx(
        [factor * base * (beside[1] if beside else 1)] * (3 - (kind == "energy"))
    )


def statistics(folder: Path, counted: float = 1.0, power: float = 1.0, without: slice = slice(0)) -> Path:
    """Write means over half a second, as a Joulescope's statistics: 33 mW, and 330 mW for 5 s."""
    times = np.arange(1, 41) / 2
    watts = np.where((times > 5) & (times <= 10), 0.33, 0.033)
    energy = np.cumsum(watts) * 0.5 * counted
    path = folder / "s.csv"
    rows = [
        f"{t:g},{w / 3.3:.6g},3.3,{w * power:.6g},0,{e:.6g}\n" for t, w, e in zip(times, watts, energy, strict=True)
    ]
    del rows[without]
    path.write_text("#time,current,voltage,power,charge,energy\n" + "".join(rows))
    return path


@pytest.mark.parametrize("without", [slice(0), slice(9, 21)], ids=["whole", "rows are missing"])
@pytest.mark.parametrize(("counted", "power"), [(2.0, 1.0), (1.0, 1.05)])
def test_a_counter_that_contradicts_the_power_is_noted(
    tmp_path: Path, counted: float, power: float, without: slice
) -> None:
    wrong = [str(flag) for flag in figures(statistics(tmp_path, counted, power, without))["flags"]]  # type: ignore[attr-defined]
    assert any("where no row is missing, and its column 'power' has" in flag for flag in wrong), wrong
    right = [str(flag) for flag in figures(statistics(tmp_path, without=without))["flags"]]  # type: ignore[attr-defined]
    assert not any("one of them is wrong" in flag for flag in right), right
