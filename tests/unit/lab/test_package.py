"""Without labgrid, or with another version of it, a trial at a place is blocked with one sentence."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from hil import boards
from hil.errors import RigError
from hil.images import Image
from hil.lab.package import load
from hil.rig import Rig
from hil.rig_toml import Bench, BenchBoard


def test_labgrid_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def version(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    board = boards.load("stm32h7b3")
    said = r"rig.toml names a labgrid place, and labgrid is not installed: pip install 'trainrig\[labgrid\]'\.$"
    with (
        Rig(Bench(board=[BenchBoard(name=board.name, place="h7")])) as rig,
        pytest.raises(RigError, match=said),
        rig.take(board, Image(tmp_path / "no.elf", "0" * 64), tmp_path / "log"),
    ):
        pass


@pytest.mark.parametrize("installed", ["24.0.3", "27.0", "unknown"])
def test_labgrid_of_another_version(monkeypatch: pytest.MonkeyPatch, installed: str) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: installed)
    with pytest.raises(RigError, match=f"labgrid {installed} is installed, and the rig knows version 25 or 26: pip"):
        load()


def test_a_bench_without_places_never_imports_it() -> None:
    look = "import sys, hil.session.rig_session, hil.commands.main, hil.rig.places; print({'labgrid', 'grpc'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "set()"
