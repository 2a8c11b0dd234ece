"""Two virtual boards of one kind that rig.toml names as attached: a session spreads its tests over them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")

from hil import boards
from hil.commands.main import main
from hil.images import image_of
from hil.record import Run, read_run
from hil.rig.locks import Locks
from hil.standins import StandIn, start_virtual

BOARD = "stm32f746"
TEST = """
import pytest

@pytest.mark.parametrize("number", range(2))
def test_it(hil_dut, number):
    assert hil_dut.agent.hello()["board"] is not None
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StandIn, StandIn]]:
    folder = tmp_path_factory.mktemp("boards")
    left, right = (start_virtual(boards.load(BOARD), image_of(BOARD), folder / name) for name in ("left", "right"))
    yield left, right
    left.stop()
    right.stop()


@pytest.fixture
def folder(two: tuple[StandIn, StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    text = ""
    for name, each in zip(("left", "right"), two, strict=True):
        ends = each.endpoints
        text += f'[[board]]\nname = "{BOARD}"\nid = "{name}"\nprobe = "{ends.probe}"\nserial = "{ends.serial}"\n'
    (tmp_path / "rig.toml").write_text(text)
    (tmp_path / "test_mine.py").write_text(TEST)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path)
    return tmp_path


def session(folder: Path, *options: str) -> tuple[str, Run]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, "test_mine.py"]
    environment = os.environ | {"TMPDIR": str(folder), "XDG_DATA_HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=400, env=environment)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout, read_run(folder / "reports/latest")


def places(run: Run) -> Counter[tuple[str | None, str | None]]:
    return Counter((each.board, each.place) for each in run.device_tests)


def test_two_workers_take_different_boards(folder: Path) -> None:
    _, run = session(folder, f"--board={BOARD}", "-n", "2")
    assert places(run) == {(BOARD, "left"): 1, (BOARD, "right"): 1}
    assert "board ID left" in "".join(each.read_text() for each in run.folder.rglob("*.html"))


@pytest.mark.tier("nightly")
def test_one_in_quarantine_is_passed_over(folder: Path) -> None:
    assert main(["lab", "quarantine", "left", "--why", "its cable is loose"]) == 0
    _, run = session(folder, f"--board={BOARD}", "-n", "2")
    assert places(run) == {(BOARD, "right"): 2}


def test_one_that_another_process_holds_is_passed_over(folder: Path) -> None:
    locks = Locks()
    locks.hold(
        "it", [next(line.split('"')[1] for line in Path("rig.toml").read_text().splitlines() if "serial" in line)]
    )
    try:
        _, run = session(folder, f"--board={BOARD}", "-n", "0")
    finally:
        locks.release()
    assert places(run) == {(BOARD, "right"): 2}


def test_the_id_names_exactly_one(folder: Path) -> None:
    out, run = session(folder, "--board=right", "-n", "0")
    assert places(run) == {(BOARD, "right"): 2}
    assert "(board right)" in out and "--board=right" in run.facts["command"]
