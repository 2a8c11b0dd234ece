"""Runs on workers give the bits of a run in this process."""

from __future__ import annotations

from io import StringIO
from itertools import islice
from pathlib import Path

import pytest
from rich.console import Console

from hil.cluster import Workers
from hil.errors import RigError
from hil.training.experiments import pool
from hil.training.experiments.curve import EpochRow, complete, read_curve
from hil.training.experiments.pool import Pool, RunLines
from hil.training.experiments.slices import keep, request, train_slice
from hil.training.experiments.train import Training

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

    def copied(self, name: str, rows: list[EpochRow]) -> None:
        self.said.append(("copied", name, len(rows)))


def test_workers_give_the_same_bits_and_go_on_behind_a_cut(begun, workers: Workers) -> None:
    here = begun("here", epochs=2)
    list(Training(here).epochs())
    cut, done = begun("there", epochs=2), begun("there", epochs=1, variant="full-zo")
    list(islice(Training(cut).epochs(), 2))
    list(Training(done).epochs())
    assert not complete(cut) and complete(done)
    notes = Notes()
    Pool(workers, notes).train([cut, done])
    same(here, cut)
    assert notes.said == [("begin", cut.name, 1, 2), ("epoch", cut.name, 2), ("end", cut.name, 3)], (
        "what is complete is left alone"
    )


def test_slices_on_two_workers_give_the_same_bits_and_a_rerun_computes_nothing(
    begun, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "SLICE_S", 0.0)  # every epoch by another worker, perhaps
    variants = ("cls1", "full-bp", "full-zo")
    here = [begun("here", variant=variant, epochs=2) for variant in variants]
    there = [begun("there", variant=variant, epochs=2) for variant in variants]
    for folder in here:
        list(Training(folder).epochs())
    notes = Notes()
    Pool(workers, notes).train(there)
    for one, other in zip(here, there, strict=True):
        same(one, other)
        assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in other.iterdir())
        epochs = [one for one in notes.said if one[:2] == ("epoch", other.name)]
        assert [epoch for _, _, epoch in epochs] == [0, 1, 2]
    again = Notes()
    with Workers(1) as idle:
        Pool(idle, again).train(there)
        assert not again.said and not idle.begun


def test_the_curve_is_written_after_what_it_stands_for(begun) -> None:
    folder = begun(epochs=1)
    trained = train_slice(*request(folder), 60.0)
    (folder / "epoch-001.npz").mkdir()  # which cannot be written
    with pytest.raises(OSError):
        keep(folder, trained)
    assert not read_curve(folder) and not list(folder.glob("*.part"))


def test_one_that_fails_is_named_and_the_others_train(begun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINRIG_DATA", str(tmp_path / "nowhere"))
    good, bad = begun(epochs=1), begun(epochs=1, data="mnist")
    with (
        Workers(1) as alone,  # they have the environment of their beginning
        pytest.raises(
            RigError, match=r"1 of 2 runs failed, the first: mnist-int8-cls1-seed1 \(the data set mnist is not in"
        ),
    ):
        Pool(alone, Notes()).train([bad, good])
    assert complete(good)


def test_a_log_gets_a_line_when_a_run_begins_and_one_at_its_end(begun, workers: Workers) -> None:
    text = StringIO()
    folder = begun(epochs=2)
    with RunLines(Console(file=text, width=200)) as lines:
        Pool(workers, lines).train([folder])
    said = [line for line in text.getvalue().splitlines() if line.strip()]
    last = read_curve(folder)[-1]
    assert len(said) == 2 and said[0] == f"{folder.name}: begins, 2 epochs"
    assert said[1].startswith(f"{folder.name}: 2 epochs in {last.arithmetic}, test {last.test_accuracy:.2%}")
