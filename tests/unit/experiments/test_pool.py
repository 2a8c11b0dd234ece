"""Runs in processes of their own give the bits of a run in this one."""

from __future__ import annotations

from io import StringIO
from itertools import islice
from pathlib import Path

import pytest
from rich.console import Console

from hil.errors import RigError
from hil.experiments.curve import EpochRow, read_curve
from hil.experiments.pool import Pool, complete
from hil.experiments.progress import RunLines
from hil.experiments.train import Training

from .folders import same


class Notes:
    """A watcher that keeps what it was told."""

    def __init__(self) -> None:
        self.said: list[tuple] = []

    def begin(self, name: str, done: int, epochs: int) -> None:
        self.said.append(("begin", name, done, epochs))

    def epoch(self, name: str, row: EpochRow) -> None:
        self.said.append(("epoch", name, row.epoch))

    def end(self, name: str, rows: list[EpochRow]) -> None:
        self.said.append(("end", name, len(rows)))


def test_processes_give_the_same_bits_and_go_on_behind_a_cut(begun) -> None:
    here = begun("here", epochs=2)
    list(Training(here).epochs())
    cut, done = begun("there", epochs=2), begun("there", epochs=1, variant="full-zo")
    list(islice(Training(cut).epochs(), 2))
    list(Training(done).epochs())
    assert not complete(cut) and complete(done)
    notes = Notes()
    with Pool(2, notes) as pool:
        pool.train([cut, done])
    same(here, cut)
    assert notes.said == [("begin", cut.name, 1, 2), ("epoch", cut.name, 2), ("end", cut.name, 3)], (
        "what is complete is left alone"
    )


def test_one_that_fails_is_named_and_the_others_train(begun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINRIG_DATA", str(tmp_path / "nowhere"))
    good, bad = begun(epochs=1), begun(epochs=1, data="mnist")
    with (
        Pool(1, Notes()) as pool,
        pytest.raises(
            RigError,
            match=r"1 of 2 runs failed, the first: mnist-int8-cls1-seed1 ended with 2 \(the data set mnist is not in",
        ),
    ):
        pool.train([bad, good])
    assert complete(good)


def test_a_log_gets_one_line_a_run(begun) -> None:
    text = StringIO()
    folder = begun(epochs=2)
    with RunLines(Console(file=text, width=200)) as lines, Pool(1, lines) as pool:
        pool.train([folder])
    said = [line for line in text.getvalue().splitlines() if line.strip()]
    assert len(said) == 1 and said[0].startswith(
        f"{folder.name}: 2 epochs, test {read_curve(folder)[-1].test_accuracy:.2%}"
    )
