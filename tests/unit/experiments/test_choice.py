"""A run whose choice has changed since it was trained is trained again: `--resume` with one more seed in a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from hil.cluster import Workers
from hil.errors import RigError
from hil.training.data import load
from hil.training.experiments.choice import outdated
from hil.training.experiments.command import _all_complete
from hil.training.experiments.curve import EpochRow, checkpoint_path, read_checkpoint, write_curve, write_run
from hil.training.experiments.float_runs import FloatRun
from hil.training.experiments.pool import Pool, RunLines
from hil.training.experiments.rate_search import stem_of
from hil.training.experiments.slices import keep, request, train_slice
from hil.training.experiments.train import Training

from .folders import by_slices, counted, same, untimed

DATA = "fashion-mnist-1k@40-10"
BASE = FloatRun(DATA, "rate", "full-bp", 1, 1, 10, "lenet5-float32", 100)
RESULT = replace(BASE, column="fp32", rate_from=(stem_of(BASE),))


def begin(runs: Path, run: FloatRun) -> Path:
    folder = runs / run.name
    folder.mkdir(parents=True, exist_ok=True)
    write_run(folder, run, load(run.data).sha256)
    return folder


def tried(runs: Path, eta: float, accuracy: float, seed: int = 1) -> None:
    """Write a finished run of the search."""
    run = replace(BASE, seed=seed, eta=eta, tag=f"eta{eta:g}")
    rows = [EpochRow(epoch, 4 * epoch, 1.0, None, 0.5, accuracy, 0, 0, moved=1.0) for epoch in (0, 1)]
    write_curve(begin(runs, run), counted(rows))


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    """The folder of a run that was trained with the rate 0.01."""
    tried(tmp_path, 0.01, 0.8)
    tried(tmp_path, 0.03, 0.7)
    folder = begin(tmp_path, RESULT)
    list(Training(folder).epochs())
    return folder


def test_a_run_is_trained_again_when_another_rate_is_chosen(finished: Path, tmp_path: Path, workers: Workers) -> None:
    before = untimed(finished)
    tried(tmp_path, 0.01, 0.1, seed=2)
    tried(tmp_path, 0.03, 0.7, seed=2)
    assert outdated(finished)
    Pool(workers, RunLines(Console(quiet=True))).train([finished])
    fresh = begin(tmp_path / "fresh", replace(RESULT, rate_from=(), eta=0.03))
    list(Training(fresh).epochs())
    same(finished, fresh)
    assert untimed(finished) != before and not outdated(finished)


def test_an_unfinished_run_does_not_go_on_with_another_rate(tmp_path: Path) -> None:
    tried(tmp_path, 0.01, 0.8)
    folder = begin(tmp_path, replace(RESULT, epochs=2))
    next(training := Training(folder).epochs())
    next(training)
    tried(tmp_path, 0.03, 0.9)
    list(Training(folder).epochs())
    fresh = begin(tmp_path / "fresh", replace(RESULT, epochs=2, rate_from=(), eta=0.03))
    list(Training(fresh).epochs())
    same(folder, fresh)


def test_slices_of_runs_that_choose_and_of_those_that_start_from_others(finished: Path, tmp_path: Path) -> None:
    """A worker gets what was chosen, and the weights to start from; an outdated run begins again."""
    there = tmp_path / "there"
    tried(there, 0.01, 0.8)
    sliced = begin(there, RESULT)
    assert by_slices(sliced) == [1, 1]
    same(finished, sliced)
    for runs, train in ((tmp_path, lambda folder: list(Training(folder).epochs())), (there, by_slices)):
        after = begin(runs, replace(BASE, column="tuned", eta=0.01, epochs=2, start=RESULT.name))
        train(after)
    same(tmp_path / after.name, after)
    assert by_slices(begin(there, replace(BASE, column="long", eta=0.01, epochs=3)), 60.0) == [4]
    tried(there, 0.03, 0.9)
    assert outdated(sliced)
    keep(sliced, train_slice(*request(sliced), 0.0))
    assert [row.epoch for row in untimed(sliced)] == [0]


def test_a_worker_with_other_data_refuses(finished: Path) -> None:
    name, needed = request(finished)
    needed[name]["run.json"] = needed[name]["run.json"].replace(load(DATA).sha256.encode(), b"0" * 64)
    with pytest.raises(RigError, match=f"{DATA} of the worker is another one .*give the worker the same files"):
        train_slice(name, needed, 0.0)


@pytest.mark.parametrize("note", [Path.unlink, lambda path: path.write_text("{}")])
def test_a_finished_run_without_a_note_of_its_choice_is_trained_again(
    finished: Path, note: Callable[[Path], object]
) -> None:
    """A folder of an older version says nothing about the rate."""
    assert not outdated(finished)
    note(finished / "choice.json")
    assert outdated(finished)


def test_a_run_is_left_alone_when_the_choice_stays(finished: Path, tmp_path: Path, workers: Workers) -> None:
    tried(tmp_path, 0.01, 0.6, seed=2)
    tried(tmp_path, 0.03, 0.1, seed=2)
    changed = checkpoint_path(finished, 1).stat().st_mtime_ns
    Pool(workers, RunLines(Console(quiet=True))).train([finished])
    assert checkpoint_path(finished, 1).stat().st_mtime_ns == changed


def test_a_run_is_trained_again_when_the_one_before_it_ends_with_other_weights(tmp_path: Path) -> None:
    before = begin(tmp_path, replace(BASE, eta=0.01))
    list(Training(before).epochs())
    after = begin(tmp_path, replace(BASE, column="fp32", eta=0.01, start=before.name))
    list(Training(after).epochs())
    assert not outdated(after)
    for path in before.glob("*.*"):
        path.unlink()
    begin(tmp_path, replace(BASE, eta=0.03, column="rate"))
    list(Training(before).epochs())
    assert outdated(after)
    list(Training(after).epochs())
    for ours, theirs in zip(
        read_checkpoint(checkpoint_path(after, 0)).weights,
        read_checkpoint(checkpoint_path(before, 1)).weights,
        strict=True,
    ):
        assert (ours == theirs).all()


def test_a_choice_that_cannot_be_made_is_named(finished: Path, tmp_path: Path) -> None:
    begin(tmp_path, replace(BASE, eta=0.1, tag="eta0.1"))
    with pytest.raises(RigError, match="eta0.1-seed1 is not trained to its end"):
        outdated(finished)


def test_an_outdated_run_is_not_certified(tmp_path: Path) -> None:
    """`--certify-only` trains nothing, so it says what to do."""
    tried(tmp_path / "runs", 0.01, 0.8)
    folder = begin(tmp_path / "runs", RESULT)
    list(Training(folder).epochs())
    table: Any = SimpleNamespace(runs=[RESULT])
    _all_complete(table, tmp_path)
    tried(tmp_path / "runs", 0.03, 0.9)
    with pytest.raises(RigError, match="1 runs in .* the first is .*fp32-full-bp-seed1: add --resume, which trains"):
        _all_complete(table, tmp_path)
