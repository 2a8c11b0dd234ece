"""`hil measure` and `hil power`: from a file, from a display, and from virtual meters on pseudo-terminals and in-process lines."""

from __future__ import annotations

import argparse
import io
import json
import math
import re
import time as wall
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from hil.benchmarks.energy.virtual_meters import BY_SOCKET, Parts, metered
from hil.commands.main import main as hil
from hil.commands.measure import main
from hil.commands.power import PowerHistory, WatchOptions, spark, watch, with_prefix
from hil.energy import data_sheet
from hil.energy.data_sheet import known_meters, load_data_sheet
from hil.energy.interval_figures import evaluate
from hil.energy.meter_kind import METERS
from hil.errors import Blocked, RigError
from hil.meters.keithley_2450 import Keithley2450
from hil.meters.lpm01a import Lpm01a
from hil.meters.measured_window import WindowRecorder, take
from hil.meters.meter import Host, Setting
from hil.meters.open import open_meter
from hil.record.interval_trace import record_interval
from hil.record.power_trace import read_facts
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.keithley_2450 import VirtualKeithley2450
from hil.standins.virtual.meter.lpm01a import VirtualLpm01a
from hil.standins.virtual.meter.polled_scpi import VirtualPolledScpi
from hil.standins.virtual.meter.scpi_instrument import ScpiInstrument
from hil.standins.virtual.meter.serial_meter import MeterWire
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime
from tests.unit.meters.board import Board, served

PS = 10**12
EXACT = Flaws(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SHEET = load_data_sheet("lpm01a")


def lpm01a(levels: list[tuple[float, float]], edges: list[tuple[float, int]]) -> tuple[Lpm01a, VirtualTime]:
    time = VirtualTime()
    truth = ScriptedTrace(
        time,
        np.array([round(at * PS) for at, _ in levels]),
        np.array([a for _, a in levels]),
        [(round(at * PS), up) for at, up in edges],
    )
    wire = MeterWire(VirtualLpm01a(truth, EXACT, np.random.default_rng(1), time))
    return Lpm01a(wire, SHEET, Host(time.seconds, time.sleep)), time


def options(**changed: object) -> argparse.Namespace:
    return argparse.Namespace(
        **{"volt": 3.3, "range": None, "interval": 0.001, "idle": 0.2, "window": 1.0, "deadline": 20.0, "steps": 1}
        | changed
    )


def recorder(folder: Path) -> WindowRecorder:
    """Write the trace to a folder."""
    return partial(record_interval, folder)


def test_a_pin_of_any_firmware(tmp_path: Path) -> None:
    meter, time = lpm01a([(0, 0.01), (2.0, 0.03), (3.0, 0.01)], [(2.0, 1), (3.0, 0)])
    result = evaluate(
        take(meter, options(), recorder(tmp_path), Host(time.seconds, time.sleep)), SHEET, meter.identity, 4
    )
    assert result["energy"]["value"] + result["burden"]["value"] == pytest.approx(0.03 * 3.3, rel=3e-3)
    assert (
        abs(result["energy"]["value"] - 0.03 * 3.3) < 2 * result["energy"]["uncertainty"]
        and result["energy_per_step"]["value"] * 4 == result["energy"]["value"]
    )
    assert result["duration"]["value"] == pytest.approx(1.0, abs=0.003) and result["mean_power"][
        "value"
    ] == pytest.approx(0.099, rel=5e-3)
    assert result["energy"]["uncertainty"] == pytest.approx(0.099 * math.hypot(0.02, 0.01) / math.sqrt(3), rel=0.05)
    assert any("unverified" in flag for flag in result["flags"]) and "PowerShield" in result["meter"]["identity"]


def test_a_current_beyond_the_only_range_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    meter, time = lpm01a([(0, 0.01), (2.0, 0.08)], [(2.0, 1), (3.0, 0)])
    with pytest.raises(Blocked, match="largest range"):
        take(meter, options(), recorder(tmp_path), Host(time.seconds, time.sleep))
    assert "discarded" in capsys.readouterr().err
    assert not list(tmp_path.iterdir()), "a window that is thrown away leaves no trace"


def test_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scope.csv").write_text(
        "time,power,marker\n"
        + "".join(f"{k / 100},{0.1 if 20 <= k < 80 else 0.02},{int(20 <= k < 80)}\n" for k in range(100))
    )
    assert (
        hil(
            [
                "measure",
                "--csv",
                str(tmp_path / "scope.csv"),
                "--accuracy",
                "0.01",
                "--out",
                str(tmp_path / "out"),
                "--steps",
                "3",
            ]
        )
        == 0
    )
    shown = capsys.readouterr().out
    assert "from a file scope.csv" in shown and "energy" in shown and "instants" in shown
    result = json.loads((tmp_path / "out" / "measure.json").read_text())
    assert (
        result["energy"]["value"] == pytest.approx(0.06, rel=0.01)
        and result["meter"]["identity"] == "from a file scope.csv"
    )
    assert pq.read_table(tmp_path / "out" / "trace.parquet").num_rows == 100
    facts, edges = read_facts(tmp_path / "out" / "trace.parquet")
    assert facts["identity"] == "from a file scope.csv" and [edge.high for edge, _ in edges] == [True, False]


def test_typed_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong answer is told of and asked again; the last digits of both readings are in the uncertainty."""
    answers: Iterator[str] = iter(["much", "1.25 mWh", "60 s"])
    assert (
        main(
            ["--typed", "--accuracy", "0.01", "--volt", "5", "--json", "--out", str(tmp_path)],
            lambda _prompt: next(answers),
        )
        == 0
    )
    shown = capsys.readouterr()
    result = json.loads(shown.out)
    assert "'much' is not a valid energy" in shown.err and result["meter"]["identity"] == "typed in"
    assert result["energy"]["value"] == pytest.approx(4.5) and result["mean_power"]["value"] == pytest.approx(0.075)
    digit = 0.036 / math.sqrt(12)
    assert result["energy"]["uncertainty"] == pytest.approx(
        math.hypot(0.045 / math.sqrt(3), digit, 0.25 / math.sqrt(3) * math.sqrt(2) * 0.075), rel=0.01
    )


def test_nobody_types(tmp_path: Path) -> None:
    def gone(_prompt: str) -> str:
        raise EOFError

    with pytest.raises(RigError, match="no energy was typed"):
        main(["--typed", "--accuracy", "0.01", "--out", str(tmp_path)], gone)


@pytest.mark.parametrize("accuracy", ["", "good", "0.01,x", "2"])
def test_a_reading_by_hand_needs_an_accuracy(tmp_path: Path, accuracy: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("time,power\n0,1\n1,1\n")
    assert hil(["measure", "--csv", str(tmp_path / "a.csv"), f"--accuracy={accuracy}"]) == 2
    assert "accuracy" in capsys.readouterr().err


def test_the_past_of_a_watch() -> None:
    rng, past = np.random.default_rng(1), PowerHistory()
    looks = [rng.uniform(0, 1, n) for n in (3, 0, 100, 1)]
    for one in looks:
        past.add(one, 0.5)
    whole = np.concatenate(looks)
    assert past.readings == 104 and past.mean_w == pytest.approx(whole.mean())
    assert (past.lowest_w, past.highest_w) == (whole.min(), whole.max())
    assert past.energy_j == pytest.approx(0.5 * (2 * looks[0].mean() + looks[2].mean() + looks[3].mean()))


def test_spark() -> None:
    assert (
        spark([0.0, 0.5, 1.0]) == " ▄█"
        and spark([]) == ""
        and spark([0.0, 0.0]) == "  "
        and spark([math.nan, 1.0]) == "?█"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(0.0123456, "12.35 mW"), (2.5, "2.5 W"), (0.0, "0 W"), (3.3e-8, "33 nW"), (math.nan, "-")]
)
def test_with_prefix(value: float, text: str) -> None:
    assert with_prefix(value, "W") == text


def test_a_watch() -> None:
    meter, time = lpm01a([(0, 0.01), (2.0, 0.03)], [])
    meter.configure(Setting(3.3, 0.05, 0.001, 0.1, 0.5))
    screen, past = io.StringIO(), PowerHistory()
    watch(
        meter,
        past,
        Host(time.seconds, time.sleep),
        WatchOptions(0.5, 5.0, math.inf),
        Console(file=screen, width=100, force_terminal=True),
    )
    assert past.lowest_w == pytest.approx(0.033, rel=1e-3) and past.highest_w == pytest.approx(0.099, rel=1e-3)
    assert (
        past.energy_j == pytest.approx(past.mean_w * 5.0, rel=0.02)
        and "lowest" in screen.getvalue()
        and "█" in screen.getvalue()
    )


def watched(
    key: str, levels: list[tuple[float, float]], seconds: float, edges: list[tuple[int, int]] | None = None
) -> tuple[PowerHistory, str]:
    """Watch the twin of a meter behind its socket for some virtual seconds, on a range of about 0.1 A."""
    time, rng, sheet = VirtualTime(), np.random.default_rng(2), load_data_sheet(key)
    truth = ScriptedTrace(
        time, np.array([round(at * PS) for at, _ in levels]), np.array([a for _, a in levels]), edges or []
    )
    host, screen, past = Host(time.seconds, time.sleep), io.StringIO(), PowerHistory()
    with metered(key, Parts(truth, EXACT, rng, time), host) as meter:
        meter.configure(Setting(3.3, sheet.range_for(0.05).amperes, max(0.001, 1 / sheet.fastest_hz), 0.5, 0.5))
        watch(
            meter,
            past,
            host,
            WatchOptions(0.5, seconds, math.inf),
            Console(file=screen, width=160, force_terminal=True),
        )
    return past, screen.getvalue()


@pytest.mark.parametrize(
    "key", sorted({*BY_SOCKET, "lpm01a", "tc66c"})
)  # a PPK2 on a wire sends while its driver waits
def test_every_meter_can_be_watched_whatever_the_marker_does(key: str) -> None:
    past, screen = watched(
        key,
        [(0, 0.01), (3.0, 0.04)],
        6.0,
        [(round(at * PS), up) for at, up in ((1.0, 1), (1.5, 0), (2.0, 1), (2.5, 0), (4.0, 1))],
    )
    assert (
        past.lowest_w == pytest.approx(0.033, rel=0.01)
        and past.highest_w == pytest.approx(0.132, rel=0.01) == past.now_w
    )
    assert past.energy_j == pytest.approx(0.033 * 3 + 0.132 * 3, rel=0.2) and past.missed_s == 0
    assert past.readings >= 10 and load_data_sheet(key).name in screen


@pytest.mark.parametrize("key", sorted(BY_SOCKET))
def test_an_instrument_that_obeys_late_is_watched_alike(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command without an answer is sent and not awaited: what follows may not take for granted that it was obeyed."""
    obey = ScpiInstrument.execute

    def late(instrument: ScpiInstrument, line: str) -> bytes | None:
        if "?" not in line:
            wall.sleep(0.01)
        return obey(instrument, line)

    monkeypatch.setattr(ScpiInstrument, "execute", late)
    past, _ = watched(key, [(0, 0.01), (3.0, 0.04)], 6.0)
    assert past.lowest_w == pytest.approx(0.033, rel=0.01) and past.highest_w == pytest.approx(0.132, rel=0.01)


@pytest.mark.parametrize("key", sorted(set(BY_SOCKET) - {"rigol-dp832a", "yokogawa-wt310"}))
def test_a_watch_goes_on_behind_a_current_beyond_the_range(key: str) -> None:
    """What nobody read is not counted, and said so. (The others have one range, stop at their limit, or take the next range.)"""
    past, screen = watched(key, [(0, 0.01), (2.0, 8.0), (4.0, 0.02)], 8.0)
    assert past.highest_w < 1.0 and past.now_w == pytest.approx(0.066, rel=0.02)
    assert past.missed_s == pytest.approx(2.0, abs=1.2) and "did not count" in screen


def test_a_meter_that_feeds_the_board_is_told_what_it_bears(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("measure", "power"):
        arguments = [
            command,
            *(["--watch"] if command == "power" else []),
            "--model",
            "keithley-2450",
            "--meter",
            "TCPIP0::127.0.0.1::9::SOCKET",
        ]
        assert hil(arguments) == 2
        assert (
            "the Keithley 2450 feeds the board: give the supply voltage of the board with --volt"
            in capsys.readouterr().err
        )


@pytest.mark.parametrize(
    "wrong",
    [["--interval", "0"], ["--volt", "-1"], ["--range", "nan"], ["--window", "inf"], ["--steps", "0"], ["--idle", "x"]],
)
def test_a_number_that_makes_no_sense_is_refused_before_anything_is_opened(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--model", "tc66c", "--meter", "/dev/null", *wrong])
    assert ended.value.code == 2 and wrong[0] in capsys.readouterr().err


def test_a_meter_by_visa_finds_its_range_and_measures_a_pin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board = Board()
    twin = VirtualKeithley2450(board.truth, EXACT, np.random.default_rng(1), board.time)
    sheet = load_data_sheet("keithley-2450")
    with served(twin, sheet.name) as session:
        meter = Keithley2450(session, sheet, board.host)
        found = take(meter, options(range=0.05, interval=0.00225, idle=0.1, window=0.5), recorder(tmp_path), board.host)
        result = evaluate(found, sheet, meter.identity, 1)
    assert result["energy"]["value"] == pytest.approx(board.energy(), abs=4 * result["energy"]["uncertainty"])
    assert result["meter"]["range_a"] == 0.1 and "its range of 0.1 A" in capsys.readouterr().err


OWN = data_sheet.FOLDER / "polled-scpi.toml"


def test_a_data_sheet_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A copy with another identity: the instrument that answers is refused or taken by it, and polled by its dialect."""
    sheet = tmp_path / "my-meter.toml"
    text = OWN.read_text(encoding="utf-8").replace('name = "polled SCPI meter"', 'name = "my meter"')
    sheet.write_text(text.replace('identity = ""', 'identity = "virtual polled"'), encoding="utf-8")
    truth = ScriptedTrace(VirtualTime(), np.array([0]), np.array([0.02]), [])
    server = InstrumentServer(VirtualPolledScpi(truth, EXACT, np.random.default_rng(1)))
    server.start()
    try:
        with open_meter(server.resource, 3.3, str(sheet)) as meter:
            meter.configure(Setting(3.3, 0.1, 0.01, 0.1, 0.1))
            assert meter.sheet.key == "my-meter" and meter.watch() == pytest.approx([0.066], rel=1e-6)
        sheet.write_text(text.replace('identity = ""', 'identity = "ACME"'), encoding="utf-8")
        assert hil(["power", "--watch", "--model", str(sheet), "--meter", server.resource]) == 2
        assert "not a my meter" in capsys.readouterr().err
    finally:
        server.close()


@pytest.mark.parametrize(("text", "why"), [
    (None, "cannot be read .*: write one like"), ("x = [", "Invalid value .*: write one like"), ('name = "a"', r"is not a data sheet .*\[range\]"), ("cut", "add a table .dialect."), ("typo", "feed"),
])  # fmt: skip
def test_a_data_sheet_that_is_none_is_told_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, why: str
) -> None:
    sheet, whole = tmp_path / "mine.toml", OWN.read_text(encoding="utf-8")
    cut = whole[: whole.index("[dialect]")] + whole[whole.index("[range]") :]
    if text is not None:
        sheet.write_text({"cut": cut, "typo": whole.replace("feeds", "feed")}.get(text, text), encoding="utf-8")
    assert (
        hil(
            [
                "measure",
                "--model",
                str(sheet),
                "--meter",
                "TCPIP0::127.0.0.1::9::SOCKET",
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 2
    )
    told = capsys.readouterr().err
    assert re.search(why, told) and told.count("\n") == 1


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("keithley-dmm6500", "reached through VISA: name its address with --meter"),
        ("tc66c", "on a serial port: name it with --meter"),
    ],
)
def test_a_meter_without_an_address_is_told_in_one_sentence(
    model: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hil(["measure", "--model", model, "--volt", "3.3"]) == 2
    assert why in capsys.readouterr().err


def test_a_model_that_nobody_knows_is_told_with_those_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert hil(["measure", "--model", "keithley-2540", "--meter", "x"]) == 2
    assert "keithley-2450" in capsys.readouterr().err


def test_every_meter_that_has_a_driver_may_be_named() -> None:
    assert {"keithley-2450", "yokogawa-wt310", "lpm01a", "otii-arc"} <= set(METERS.house_names()) <= set(known_meters())
