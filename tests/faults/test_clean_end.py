"""A run that is ended from outside, by Ctrl-C and by SIGKILL: no process of it stays, no file is half, and the next run has the bench."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from hil import boards
from hil.endpoints import Endpoints
from hil.images import image_of
from hil.record import read_run
from hil.standins import StandIn, start_virtual
from tests.one_process import one_process

BENCH_FREE_WITHIN_S = 5.0  # no stand-in, no process at a probe, no lock
GONE_WITHIN_S = 20.0  # pytest-xdist waits for its workers
BENCH = ("hil.standins", "hil.targets.probe_child", "qemu-system-arm")
TESTS = """
from hil.trial import TrialSpec

def test_short(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "cls1", steps=1, batch=1, evaluate=0))

def test_long(hil_board, hil_trial):  # half a minute, whatever flashing takes
    hil_trial(TrialSpec(hil_board, "cls1"))
"""
TRIAL, LONG_TRIAL = "test_short", "test_long"
NIGHTLY = pytest.mark.tier("nightly")


def by_signal(*quick: signal.Signals) -> pytest.MarkDecorator:
    """Parametrise a test by what ends a run, half a minute each: some in every tier, the others at night."""
    rows = [
        pytest.param(number, marks=[] if number in quick else NIGHTLY, id=number.name)
        for number in (signal.SIGINT, signal.SIGKILL)
    ]
    return pytest.mark.parametrize("number", rows)


@pytest.fixture(autouse=True)
def _needs() -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    if not Path("/proc/self/environ").is_file():
        pytest.skip("the processes of a run are found by their environment, in /proc")


class Run:
    """`pytest --board=...` in a folder of its own; every process that it starts carries its mark."""

    def __init__(self, folder: Path, *options: str) -> None:
        (folder / "test_mine.py").write_text(TESTS)
        self.folder, self.mark = folder, f"TRAINRIG_RUN={uuid.uuid4()}"
        name, value = self.mark.split("=")
        # A session of its own: what Ctrl-C reaches is the foreground's process group.
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", TRIAL, *one_process(*options), "test_mine.py"], cwd=folder, start_new_session=True,
            env=os.environ | {name: value, "TMPDIR": str(folder)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever runs the tests in the background has it ignored
        )  # fmt: skip

    def processes(self) -> list[str]:
        """Return the command lines of those that are left."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
        return found

    def await_training(self) -> None:
        """Return when a board is on its way through a trial: the process at its probe runs, and has had time to flash it."""
        end = time.monotonic() + 60
        while not any("hil.targets.probe_child" in each for each in self.processes()):
            assert time.monotonic() < end and self.process.poll() is None, self.process.communicate()[0]
            time.sleep(0.1)
        time.sleep(3.5)
        assert self.process.poll() is None, self.process.communicate()[0]

    def end(self, number: signal.Signals) -> str:
        """Send a signal as a terminal does (Ctrl-C, to all in the foreground) or as the system does (to one); return what was printed."""
        (os.killpg if number == signal.SIGINT else os.kill)(self.process.pid, number)
        self._await_end(BENCH_FREE_WITHIN_S, lambda command: any(name in command for name in BENCH))
        said = self.process.communicate(timeout=GONE_WITHIN_S)[0]
        self._await_end(GONE_WITHIN_S, lambda command: True)
        return str(said)

    def _await_end(self, within_s: float, concerned: Callable[[str], bool]) -> None:
        end = time.monotonic() + within_s
        while (left := [command for command in self.processes() if concerned(command)]) and time.monotonic() < end:
            time.sleep(0.1)
        assert left == []


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts runs in one folder, and leaves none of them behind."""
    started: list[Run] = []

    def start(*options: str) -> Run:
        started.append(Run(tmp_path, *options))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()


def assert_whole(folder: Path) -> None:
    """Every file of the record that has its name is whole."""
    for path in folder.glob("reports/*/**/*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    for path in folder.glob("reports/*/**/*.parquet"):
        pd.read_parquet(path)
    for path in folder.glob("reports/*/*/trial.json"):
        assert (path.parent / "steps.parquet").is_file(), "trial.json is written last"


def assert_said(folder: Path, number: signal.Signals) -> None:
    """The record says what did not come to an end, and `latest` is no run that was cut."""
    (run,) = (read_run(path) for path in (folder / "reports").glob("2*"))
    assert {test.verdict for test in run.tests} == {trial.verdict for trial in run.trials} == {"interrupted"}
    assert (run.facts["state"], run.facts["whole"]) == ("interrupted" if number == signal.SIGINT else "running", False)
    assert not (folder / "reports/latest").exists()


def assert_next_passes(run: Callable[..., Run], *options: str) -> None:
    following = run(*options)
    said = following.process.communicate(timeout=120)[0]
    assert following.process.returncode == 0, said
    assert following.processes() == []


@by_signal(signal.SIGKILL)
def test_a_run_on_a_stand_in(run: Callable[..., Run], tmp_path: Path, number: signal.Signals) -> None:
    first = run("--board=rp2040", "-k", LONG_TRIAL)
    first.await_training()
    said = first.end(number)
    if number == signal.SIGINT:
        assert first.process.returncode == pytest.ExitCode.INTERRUPTED, said
    assert_whole(tmp_path)
    assert_said(tmp_path, number)
    assert_next_passes(run, "--board=rp2040")


@by_signal()
def test_a_run_on_two_workers_and_qemu(run: Callable[..., Run], tmp_path: Path, number: signal.Signals) -> None:
    first = run("--board=rp2040", "--board=mps2-an385", "-n", "2", "-k", LONG_TRIAL)
    first.await_training()
    assert any("qemu-system-arm" in each for each in first.processes()), first.processes()
    first.end(number)
    assert_whole(tmp_path)
    assert_said(tmp_path, number)
    assert_next_passes(run, "--board=rp2040")


@pytest.fixture
def attached(tmp_path: Path) -> Iterator[Endpoints]:
    """A bench that outlives the runs, as one on a desk does, and the rig.toml that names it."""
    board = boards.load("rp2040")
    stand_in: StandIn = start_virtual(board, image_of(board.name), tmp_path / "bench.log")
    at = stand_in.endpoints
    (tmp_path / "rig.toml").write_text(f'[[board]]\nname = "rp2040"\nprobe = "{at.probe}"\nserial = "{at.serial}"\n')
    yield at
    stand_in.stop()


@by_signal()
def test_a_run_on_an_attached_board_leaves_its_locks(
    run: Callable[..., Run], attached: Endpoints, tmp_path: Path, number: signal.Signals
) -> None:
    first = run("--board=rp2040", "-k", LONG_TRIAL)
    first.await_training()
    second = run("--board=rp2040")
    assert f"in use: {attached.serial} is held by" in second.process.communicate(timeout=60)[0], (
        "the lock is there as long as the run"
    )
    first.end(number)
    assert_whole(tmp_path)
    assert_next_passes(run, "--board=rp2040")
