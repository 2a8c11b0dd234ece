"""A small experiment on the data set that comes along: 20 steps an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.cluster import Workers
from hil.training.data import load
from hil.training.experiments.curve import write_run
from hil.training.experiments.exponents import ExponentRun

DATA, BATCH = "fashion-mnist-1k", 50


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the finished runs of a test from others."""
    monkeypatch.setattr("hil.training.experiments.finished.cache_folder", lambda: tmp_path / "cache")


@pytest.fixture
def begun(tmp_path: Path):
    """A function that makes the folder of a run."""

    def begin(where: str = "runs", **fields: object) -> Path:
        run = ExponentRun(
            **{
                "data": DATA,
                "column": "int8",
                "variant": "cls1",
                "seed": 1,
                "epochs": 3,
                "batch": BATCH,
                "r_max": 15,
                **fields,
            }
        )
        folder = tmp_path / where / run.name
        folder.mkdir(parents=True, exist_ok=True)
        write_run(folder, run, load(DATA).sha256)
        return folder

    return begin


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    """Two workers, which begin with the first task of the session."""
    with Workers(2) as started:
        yield started
