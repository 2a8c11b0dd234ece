"""A virtual board for the tests of this folder, started once for each board that asks for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hil import boards
from hil.endpoints import Endpoints
from hil.images import image_of
from hil.standins import StandIn, start_virtual
from hil.targets.probe_process import ProbeProcess


@pytest.fixture(scope="session")
def virtual_endpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Endpoints]]:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    running: dict[str, StandIn] = {}

    def endpoints(board: str) -> Endpoints:
        if board not in running:
            log = tmp_path_factory.mktemp("board") / "log"
            running[board] = start_virtual(boards.load(board), image_of(board), log)
        return running[board].endpoints

    yield endpoints
    for stand_in in running.values():
        stand_in.stop()


@pytest.fixture(scope="session")
def process() -> Iterator[ProbeProcess]:
    """One process for all tests, as a session of trials has it."""
    one = ProbeProcess()
    yield one
    one.stop()


@pytest.fixture
def data_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path / "share" / "trainrig"


@pytest.fixture
def python() -> Callable[..., subprocess.Popen[str]]:
    """Starts a program of its own."""

    def run(program: str) -> subprocess.Popen[str]:
        return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)

    return run
