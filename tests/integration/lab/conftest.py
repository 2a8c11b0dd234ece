"""One labgrid for the tests of this folder, which need its package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A coordinator; a test adds its exporters and places, under names of its own."""
    from .processes import running

    with running(tmp_path_factory.mktemp("lab")) as lab:
        yield lab
