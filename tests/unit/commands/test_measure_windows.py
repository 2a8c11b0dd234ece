"""`hil measure` with instruments behind a socket: the range that it finds, a marker that bounces, and the word that its figures carry."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from hil.benchmarks.energy.virtual_meters import KEYS, Parts, metered
from hil.commands.main import main as hil
from hil.commands.measure import main
from hil.commands.power import PowerHistory, WatchOptions, watch
from hil.energy.data_sheet import load_data_sheet
from hil.energy.interval_figures import evaluate
from hil.energy.provenance import provenance_of
from hil.errors import Blocked
from hil.meters.keithley_2450 import Keithley2450
from hil.meters.measured_window import take
from hil.meters.meter import Host, Setting
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.keithley_2450 import VirtualKeithley2450
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime
from tests.unit.commands.test_measure import options, recorder
from tests.unit.meters.board import served

PS = 10**12
EXACT = Flaws(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SHEET = load_data_sheet("keithley-2450")
VOLT, ASLEEP_A, PERIOD_S, BUSY_S = 3.3, 0.005, 3.0, 0.5
BOUNCE_S = 20e-6


class Clamping(VirtualKeithley2450):
    """A source that cannot drive more than its range: what it reads is the end of the range, and no overflow."""

    def as_read(self, true: np.ndarray, read: np.ndarray) -> np.ndarray:
        return np.minimum(read, 1.05 * self.range.value)


class Named:
    """An instrument that answers by another name."""

    def __init__(self, twin: VirtualKeithley2450, identity: str) -> None:
        self._twin, self._identity = twin, identity

    def execute(self, line: str) -> bytes | None:
        return self._identity.encode() if line == "*IDN?" else self._twin.execute(line)


def work(peaks: list[float], bounced: tuple[int, ...] = ()) -> tuple[VirtualTime, ScriptedTrace]:
    """Return a board that works once every PERIOD_S, at a level and then a burst of its own each time, and lets the pin bounce in some of its windows."""
    time, times, levels, edges = VirtualTime(), [0.0], [ASLEEP_A], []
    for number, peak in enumerate(peaks):
        begin = (number + 0.51) * PERIOD_S
        times += [begin, begin + 0.6 * BUSY_S, begin + BUSY_S]
        levels += [0.6 * peak, peak, ASLEEP_A]
        middle = begin + 0.4 * BUSY_S
        edges += [
            (begin, 1),
            *([(middle, 0), (middle + BOUNCE_S, 1)] if number in bounced else []),
            (begin + BUSY_S, 0),
        ]
    trace = ScriptedTrace(
        time, np.rint(np.array(times) * PS), np.array(levels), [(round(at * PS), level) for at, level in edges], VOLT
    )
    return time, trace


def energy(peak: float) -> float:
    return VOLT * BUSY_S * (0.6 * 0.6 + 0.4) * peak


def measured(
    twin: type[VirtualKeithley2450], peaks: list[float], folder: Path, bounced: tuple[int, ...] = (), **changed: object
) -> dict[str, object]:
    """Measure a board by `hil measure`'s own search, on a twin behind a socket, in virtual time."""
    time, trace = work(peaks, bounced)
    with served(twin(trace, EXACT, np.random.default_rng(1), time), SHEET.name) as session:
        host = Host(time.seconds, time.sleep)
        meter = Keithley2450(session, SHEET, host)
        taken = take(
            meter,
            options(interval=0.00225, idle=0.3, window=BUSY_S, deadline=4 * PERIOD_S, **changed),
            recorder(folder),
            host,
        )
        return evaluate(taken, SHEET, meter.identity, 1)


@pytest.mark.parametrize(("peak", "range_a"), [(0.004, 0.01), (0.008, 0.1), (0.05, 0.1), (0.09, 1.0), (0.3, 1.0)])
@pytest.mark.parametrize("twin", [VirtualKeithley2450, Clamping])
def test_the_range_is_found_from_above_with_room_for_what_a_reading_hides(
    twin: type[VirtualKeithley2450], peak: float, range_a: float, tmp_path: Path
) -> None:
    result = measured(twin, [peak] * 4, tmp_path)
    assert result["meter"]["range_a"] == range_a
    assert abs(result["energy"]["value"] - energy(peak)) <= 2 * result["energy"]["uncertainty"]


@pytest.mark.parametrize("range_a", [0.01, 0.1])
def test_a_source_at_the_end_of_its_range_is_measured_on_the_next(
    range_a: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = measured(Clamping, [0.3] * 6, tmp_path, range=range_a)
    assert result["meter"]["range_a"] == 1.0 and "discarded" in capsys.readouterr().err
    assert abs(result["energy"]["value"] - energy(0.3)) <= 2 * result["energy"]["uncertainty"]


def test_a_later_window_that_draws_more_goes_back_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = measured(Clamping, [0.03, 0.3, 0.3, 0.3], tmp_path)
    assert result["meter"]["range_a"] == 1.0 and "end of the range of 0.1 A" in capsys.readouterr().err
    assert abs(result["energy"]["value"] - energy(0.3)) <= 2 * result["energy"]["uncertainty"]


def test_beyond_the_largest_range_is_blocked_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Blocked, match="largest range: measure with another meter") as blocked:
        measured(Clamping, [2.0] * 4, tmp_path)
    assert "\n" not in str(blocked.value) and not list(tmp_path.iterdir())


@pytest.mark.parametrize("bounced", [(0,), (1,), (0, 1)])
def test_a_marker_that_bounces_in_mid_window_spoils_it(
    bounced: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = measured(VirtualKeithley2450, [0.05] * 6, tmp_path, bounced)
    assert "bounce" in capsys.readouterr().err
    assert abs(result["energy"]["value"] - energy(0.05)) <= 2 * result["energy"]["uncertainty"]
    assert result["duration"]["value"] == pytest.approx(BUSY_S, abs=0.005)


def test_a_marker_that_always_bounces_blocks(tmp_path: Path) -> None:
    with pytest.raises(Blocked, match="none of 6 windows is usable"):
        measured(VirtualKeithley2450, [0.05] * 8, tmp_path, tuple(range(8)))
    assert not list(tmp_path.iterdir())


# the word for where figures come from


@pytest.mark.parametrize(
    ("identity", "word"), [("", "modelled"), ("KEITHLEY INSTRUMENTS,MODEL 2450,04096331,1.7.12b", "measured")]
)
def test_only_an_instrument_measures(identity: str, word: str, tmp_path: Path) -> None:
    time, trace = work([0.05] * 3)
    twin = VirtualKeithley2450(trace, EXACT, np.random.default_rng(1), time)
    with served(Named(twin, identity) if identity else twin, SHEET.name) as session:
        host = Host(time.seconds, time.sleep)
        meter = Keithley2450(session, SHEET, host)
        taken = take(
            meter,
            options(range=0.1, interval=0.00225, idle=0.3, window=BUSY_S, deadline=4 * PERIOD_S),
            recorder(tmp_path),
            host,
        )
        result = evaluate(taken, SHEET, meter.identity, 1)
    assert {
        figure["provenance"] for figure in result.values() if isinstance(figure, dict) and "provenance" in figure
    } == {word}
    assert any("virtual" in flag for flag in result["flags"]) == (word == "modelled")


@pytest.mark.parametrize("key", sorted({*KEYS} - {"tc66c"}))  # whose record has no room for a name
def test_every_virtual_instrument_is_known_for_one(key: str) -> None:
    time, trace = work([0.05])
    with metered(key, Parts(trace, EXACT, np.random.default_rng(1), time), Host(time.seconds, time.sleep)) as meter:
        assert provenance_of("hardware", meter.identity).value == "modelled"


def test_a_file_and_a_display_declare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("time,power\n0,1\n1,1\n2,1\n")
    assert main(["--csv", str(trace), "--accuracy", "0.01", "--out", str(tmp_path / "file")]) == 0
    answers = iter(["1.25 mWh", "60 s"])
    assert main(["--typed", "--accuracy", "0.01", "--out", str(tmp_path / "typed")], lambda _prompt: next(answers)) == 0
    assert capsys.readouterr().out.count(", declared\n") == 6
    for name in ("file", "typed"):
        result = json.loads((tmp_path / name / "measure.json").read_text())
        assert {
            figure["provenance"] for figure in result.values() if isinstance(figure, dict) and "provenance" in figure
        } == {"declared"}


def test_a_watch_says_that_its_meter_is_virtual(capsys: pytest.CaptureFixture[str]) -> None:
    trace = ScriptedTrace(VirtualTime(), np.array([0]), np.array([0.02]), [])
    for identity, word in (("", "modelled"), ("KEITHLEY INSTRUMENTS,MODEL 2450,1,1", "measured")):
        twin = VirtualKeithley2450(trace, EXACT, np.random.default_rng(1))
        server = InstrumentServer(Named(twin, identity) if identity else twin)
        server.start()
        try:
            assert (
                hil(
                    [
                        "power",
                        "--watch",
                        "--model",
                        "keithley-2450",
                        "--meter",
                        server.resource,
                        "--volt",
                        "3.3",
                        "--interval",
                        "0.05",
                        "--for",
                        "0.1",
                    ]
                )
                == 0
            )
        finally:
            server.close()
        assert word in capsys.readouterr().out


@pytest.mark.parametrize(("range_a", "counts"), [(0.1, False), (1.0, True)])
def test_a_watch_does_not_count_what_its_range_may_have_cut_off(range_a: float, counts: bool) -> None:
    time, screen, past = VirtualTime(), io.StringIO(), PowerHistory()
    trace = ScriptedTrace(time, np.array([0]), np.array([0.3]), [])
    with served(Clamping(trace, EXACT, np.random.default_rng(1), time), SHEET.name) as session:
        host = Host(time.seconds, time.sleep)
        meter = Keithley2450(session, SHEET, host)
        meter.configure(Setting(VOLT, range_a, 0.01, 0.5, 0.5))
        watch(
            meter,
            past,
            host,
            WatchOptions(0.5, 2.0, range_a * VOLT),
            Console(file=screen, width=160, force_terminal=True),
        )
    assert (past.readings > 0) == counts and ("end of the range" in screen.getvalue()) != counts
    assert past.missed_s == pytest.approx(0.0 if counts else 2.0, abs=0.5)
