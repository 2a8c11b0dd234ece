"""`hil measure --csv` as a command: its sentences, its options and its notes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hil.commands.main import main as hil

PPK2 = "Timestamp(ms),Current(uA),D0-D7\n"


def ppk2(path: Path, levels: list[int], working: list[int] | None = None) -> Path:
    """Write a file of a PPK2, 1 kS/s: 1 mA asleep, 30 mA at work, which the pin D0 tells unless somebody else does."""
    amps = [30_000.0 if busy else 1_000.0 for busy in working or levels]
    path.write_text(
        PPK2 + "".join(f"{k},{ua:.3f},{level}0000000\n" for k, (ua, level) in enumerate(zip(amps, levels, strict=True)))
    )
    return path


def result(folder: Path) -> dict[str, object]:
    return json.loads((folder / "measure.json").read_text())


WINDOW = [0] * 200 + [1] * 500 + [0] * 200


def test_a_file_of_a_ppk2_as_the_documentation_has_it(tmp_path: Path) -> None:
    ppk2(tmp_path / "ppk.csv", WINDOW)
    command = [
        sys.executable, "-m", "hil.commands.main", "measure", "--csv", "ppk.csv", "--column", "D0=marker", "--volt", "3.3", "--accuracy", "0.05", "--out", "out",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found = result(tmp_path / "out")
    assert (
        found["energy"]["value"] == pytest.approx(0.5 * 0.03 * 3.3, rel=1e-3)
        and found["energy"]["provenance"] == "declared"
    )
    assert found["meter"]["identity"] == "from a file ppk.csv" and "declared" in done.stdout
    assert any("3.3 V (--volt)" in flag for flag in found["flags"]) and not any(
        "not read" in flag for flag in found["flags"]
    )


@pytest.mark.parametrize("extra", [[], ["--accuracy", "good"], ["--accuracy", "0.01"]])
def test_a_file_that_is_missing_is_what_is_told_of_first(
    tmp_path: Path, extra: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert hil(["measure", "--csv", str(tmp_path / "none.csv"), *extra]) == 2
    told = capsys.readouterr().err
    assert "there is no file" in told and "none.csv" in told and "--accuracy" not in told and told.count("\n") == 1


@pytest.mark.parametrize(("extra", "why"), [
    (["--column", "D0"], "--column 'D0' says nothing"), (["--column", "D0=pin"], "--column 'D0=pin' says nothing"),
    (["--column", "D0=marker", "--column", "D0=power"], "names 'D0' twice"), (["--column", "D9=marker"], "no column 'D9'"),
    (["--shunt", "0.1"], "'Current' is in uA, not the voltage of a shunt"), ([], "current alone is not power"),
])  # fmt: skip
def test_options_that_do_not_fit_the_file(
    tmp_path: Path, extra: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ppk2(tmp_path / "ppk.csv", WINDOW)
    assert hil(["measure", "--csv", str(path), "--accuracy", "0.01", "--out", str(tmp_path / "out"), *extra]) == 2
    told = capsys.readouterr().err
    assert why in told and told.count("\n") == 1 and not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", [["--column", "D0=marker"], ["--shunt", "1"], ["--debounce", "0"]])
def test_options_of_a_file_are_refused_without_one(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        hil(["measure", "--typed", *option])
    assert "name it with --csv" in capsys.readouterr().err


def test_amperes_of_an_accuracy_need_a_voltage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("time,power\n0,1.000000\n1,1\n2,1\n")
    arguments = [
        "measure",
        "--csv",
        str(tmp_path / "a.csv"),
        "--accuracy",
        "0.01,0.001",
        "--out",
        str(tmp_path / "out"),
    ]
    assert hil(arguments) == 2 and "--volt" in capsys.readouterr().err
    assert hil([*arguments, "--volt", "5"]) == 0
    assert result(tmp_path / "out")["energy"]["uncertainty"] == pytest.approx(
        np.hypot(0.02, 0.01) / np.sqrt(3), rel=1e-6
    )


def test_a_marker_that_the_power_does_not_agree_with_is_noted(tmp_path: Path) -> None:
    """What is left of a window whose pin bounced, as an analyser's program exports it: the pin falls in the middle of the work."""
    path = ppk2(tmp_path / "ppk.csv", [0] * 200 + [1] * 200 + [0] * 500, WINDOW)
    assert (
        hil(
            [
                "measure",
                "--csv",
                str(path),
                "--column",
                "D0=marker",
                "--volt",
                "3.3",
                "--accuracy",
                "0.05",
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    assert any("check the marker pin for bounce" in flag for flag in result(tmp_path / "out")["flags"])


def test_a_marker_that_bounces_is_refused_and_debounced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    levels = list(WINDOW)
    levels[400] = 0
    path = ppk2(tmp_path / "ppk.csv", levels, WINDOW)
    arguments = [
        "measure", "--csv", str(path), "--column", "D0=marker", "--volt", "3.3", "--accuracy", "0.05", "--out", str(tmp_path / "out"),
    ]  # fmt: skip
    assert hil(arguments) == 2 and "its marker changes 4 times" in capsys.readouterr().err
    assert hil([*arguments, "--debounce", "0.005"]) == 0
    assert result(tmp_path / "out")["energy"]["value"] == pytest.approx(0.5 * 0.03 * 3.3, rel=1e-3)
    assert hil([*arguments, "--debounce", "0"]) == 0
    assert any("changed 4 times: the first two" in flag for flag in result(tmp_path / "out")["flags"])


def test_missing_readings_are_in_the_interval(tmp_path: Path) -> None:
    """A burst that the file has lost is within the uncertainty that it states: between the lowest and the highest power that was seen."""
    working = [int(k % 20 < 10) for k in range(900)]
    path = ppk2(tmp_path / "ppk.csv", WINDOW, working)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:301] + lines[310:]))
    truth = 3.3 * sum(0.03 if busy else 0.001 for busy in working[200:700]) * 1e-3
    assert (
        hil(
            [
                "measure",
                "--csv",
                str(path),
                "--column",
                "D0=marker",
                "--volt",
                "3.3",
                "--accuracy",
                "0.0001",
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    found = result(tmp_path / "out")
    assert abs(found["energy"]["value"] - truth) <= 2 * found["energy"]["uncertainty"] < 0.1 * truth
    assert (
        any("readings are missing" in flag for flag in found["flags"])
        and found["budget"][-1]["source"] == "missing readings"
    )


def test_the_fields_of_the_result_are_those_of_before(tmp_path: Path) -> None:
    path = ppk2(tmp_path / "ppk.csv", WINDOW)
    assert (
        hil(["measure", "--csv", str(path), "--volt", "3.3", "--accuracy", "0.05", "--out", str(tmp_path / "out")]) == 0
    )
    assert {
        "energy", "energy_per_step", "mean_power", "duration", "lowest_power", "highest_power", "charge", "voltage", "steps", "readings",
        "synchronisation", "coverage_factor", "budget", "meter", "flags",
    } <= set(result(tmp_path / "out"))  # fmt: skip


@pytest.mark.parametrize("option", [["--supply-error", "0.1"], ["--ambient", "20"]])
def test_options_of_a_meter_are_refused_without_one(option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        hil(["measure", "--csv", "a.csv", *option])
    assert "apply to a meter" in capsys.readouterr().err


def test_a_folder_that_takes_no_result_costs_no_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ppk2(tmp_path / "ppk.csv", WINDOW)
    (tmp_path / "out" / "measure.json").mkdir(parents=True)
    arguments = ["measure", "--csv", str(path), "--volt", "3.3", "--accuracy", "0.05", "--out", str(tmp_path / "out")]
    assert hil(arguments) == 2
    shown = capsys.readouterr()
    assert "energy" in shown.out and "name another folder with --out" in shown.err and shown.err.count("\n") == 1


@pytest.mark.parametrize(
    "extra", [["--volt", "1e308"], ["--volt", "1e160"], ["--volt", "3.3", "--steps", "1" + "0" * 400]]
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("before", [False, True])
def test_figures_outside_the_range_of_numbers_are_one_sentence_and_leave_nothing(
    tmp_path: Path, extra: list[str], before: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    ppk2(tmp_path / "ppk.csv", WINDOW)
    out = tmp_path / "out"
    if before:
        out.mkdir()
        (out / "notes.txt").write_text("mine")
    words = ["--csv", str(tmp_path / "ppk.csv"), "--column", "D0=marker", "--accuracy", "0.05", "--out", str(out)]
    assert hil(["measure", *words, *extra]) == 2
    told = capfd.readouterr().err
    assert "is outside the range of numbers" in told and "--steps" in told and told.count("\n") == 1
    assert [path.name for path in out.iterdir()] == ["notes.txt"] if before else not out.exists()


def test_two_columns_of_one_name_are_not_told_apart_by_that_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "two.csv"
    path.write_text("time (s),current (A),current (A),marker\n" + "".join(f"{k / 1000},0.001,0.002,{int(200 <= k < 700)}\n" for k in range(900)))  # fmt: skip
    assert (
        hil(["measure", "--csv", str(path), "--volt", "3.3", "--accuracy", "0.01", "--out", str(tmp_path / "out")]) == 2
    )
    told = capsys.readouterr().err
    assert "two columns have the name 'current'" in told and "rename" in told and "--column" not in told, told
