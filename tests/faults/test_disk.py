"""A folder of reports that takes nothing, or nothing more: found before anything is flashed where it can be, and no verdict is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.campaign.strike import remounted

HANG_S = 400
RIG = '[[board]]\nname = "stm32h7b3"\nserial = "00112233445566"\n'  # gone: its trials are blocked at once
TESTS = """
import pytest
from hil.trial import TrialSpec

def run(hil_trial, hil_board):
    hil_trial(TrialSpec(hil_board, "cls1", steps=1, evaluate=0))

def fill(folder):
    with (folder / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass

def test_a_recorded(hil_board, hil_trial):
    run(hil_trial, hil_board)

def test_b_full_while_it_trains(hil_board, hil_trial, hil_rig, run_record, monkeypatch):
    real = hil_rig.take
    monkeypatch.setattr(hil_rig, "take", lambda *rest: (fill(run_record.folder), real(*rest))[1])
    run(hil_trial, hil_board)

def test_c_full_before_it_begins(hil_board, hil_trial, hil_rig, monkeypatch):
    monkeypatch.setattr(hil_rig, "take", lambda *rest: pytest.fail("taken though nothing can be recorded"))
    run(hil_trial, hil_board)
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a small disk in memory, which root alone may do."""
    mounted: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / "disk"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False) if os.geteuid() == 0 else None
        if done is None or done.returncode:
            pytest.skip("only root may mount a disk, and not everywhere")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", str(folder)], check=True)


NO_MEMORY = """
import pytest
from hil.trial import TrialSpec

@pytest.mark.parametrize("error", [MemoryError(), ImportError("failed to map segment from shared object"), OSError(24, "Too many open files")])
def test_not_recorded(hil_board, hil_trial, monkeypatch, error):
    def refused(outcome):
        raise error

    monkeypatch.setattr("hil.training.session.run_trial.steps_table", refused)
    hil_trial(TrialSpec(hil_board, "cls1", steps=1, evaluate=0))
"""


def pytest_run(tmp_path: Path, reports: Path, tests: str = TESTS) -> subprocess.CompletedProcess[str]:
    (tmp_path / "rig.toml").write_text(RIG)
    (tmp_path / "test_mine.py").write_text(tests)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--board=stm32h7b3",
        f"--report-dir={reports}",
        "test_mine.py",
    ]
    return subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False
    )


def assert_found_at_once(done: subprocess.CompletedProcess[str], reports: Path, why: str) -> None:
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout
    assert f"--report-dir={reports.name}: no run can be recorded there" in done.stdout and why in done.stdout
    assert "Traceback" not in done.stdout and "INTERNALERROR" not in done.stdout and "collected" not in done.stdout


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.write_text("mine")
    assert_found_at_once(pytest_run(tmp_path, reports), reports, "Not a directory")
    assert reports.read_text() == "mine"


def test_a_read_only_disk(tmp_path: Path, small_disk: Callable[[str], Path]) -> None:
    reports = small_disk("size=1m,ro")
    assert_found_at_once(pytest_run(tmp_path, reports), reports, "Read-only file system")


def test_a_disk_that_is_full_already(tmp_path: Path, small_disk: Callable[[str], Path]) -> None:
    reports = small_disk("size=64k")
    with pytest.raises(OSError, match="No space left"), (reports / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    assert_found_at_once(pytest_run(tmp_path, reports), reports, "No space left on device")
    assert [path.name for path in reports.iterdir()] == ["filler"]


def test_a_disk_that_fills_up(tmp_path: Path, small_disk: Callable[[str], Path]) -> None:
    reports = small_disk("size=2m")
    done = pytest_run(tmp_path, reports)
    assert "INTERNALERROR" not in done.stdout and done.returncode not in (0, pytest.ExitCode.INTERNAL_ERROR), (
        done.stdout
    )
    assert "3 tests with trials: 3 blocked" in done.stdout
    assert done.stdout.count("is not attached") >= 2, "the verdict of the trial that could not be recorded is printed"
    assert "cannot be recorded" in done.stdout and "taken though" not in done.stdout
    missing = [line for line in done.stdout.splitlines() if line.startswith("MISSING from the record")]
    assert missing and all("No space left on device" in line for line in missing)
    assert "the run is incomplete" in done.stdout
    (run,) = reports.glob("2*")
    results = json.loads((run / "results.json").read_text())
    first = results["tests"][0]
    assert (
        first["verdict"] == "blocked"
        and json.loads((run / first["trials"][0] / "trial.json").read_text())["verdict"] == "blocked"
    )
    assert results["run"]["whole"] is False
    assert not list(reports.rglob("*.part"))


def test_a_computer_without_memory_or_descriptors_costs_the_record_and_not_the_verdict(tmp_path: Path) -> None:
    done = pytest_run(tmp_path, tmp_path / "reports", NO_MEMORY)
    assert "3 tests with trials: 3 blocked" in done.stdout, done.stdout
    missing = [line for line in done.stdout.splitlines() if line.startswith("MISSING from the record")]
    assert [
        why for why in ("MemoryError", "failed to map", "Too many open files") if any(why in line for line in missing)
    ] == [
        "MemoryError",
        "failed to map",
        "Too many open files",
    ], done.stdout


@pytest.mark.parametrize("bound", [False, True])
def test_the_campaign_waits_for_a_file_that_is_open_for_writing(
    tmp_path: Path, small_disk: Callable[[str], Path], bound: bool
) -> None:
    """A mount with such a file cannot be made read-only; the fault strikes as soon as it is closed."""
    folder = small_disk("size=1m")
    if bound:
        subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    file = (folder / "open").open("wb")
    threading.Timer(0.3, file.close).start()
    try:
        assert remounted("remount,bind,ro" if bound else "remount,ro", folder)
        assert file.closed
        with pytest.raises(OSError, match="Read-only"):
            (folder / "other").write_bytes(b"")
    finally:
        if bound:
            subprocess.run(["umount", str(folder)], check=True)
