"""Runs that adapt a pre-trained graph: what they leave open, and what a board is asked to repeat."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from hil.data import batches, load
from hil.errors import RigError
from hil.experiment.certify import Segment, trial_of
from hil.experiment.curve import (
    EpochRow,
    checkpoint_path,
    read_checkpoint,
    read_curve,
    read_run,
    write_curve,
    write_run,
)
from hil.experiment.graphs import GraphRun
from hil.experiment.settle import best, settled
from hil.experiment.train import Training
from hil.network.tflite.networks import build_graph
from hil.reference.methods import graph_method
from hil.trial.prepare import prepare

from .folders import same

DATA = "fashion-mnist-1k+fog-5@40-10"
SMALL = GraphRun(
    DATA, "fog", "row", 1, 2, 20, "lenet5-tflite", "poor-mans-training", (("blocks", 8), ("queries", 3)), eta=0.02
)


def begin(runs: Path, run: GraphRun) -> Path:
    folder = runs / run.name
    folder.mkdir(parents=True)
    write_run(folder, run, load(run.data).sha256)
    return folder


def ended(runs: Path, run: GraphRun, accuracy: float, loss: float = 1.0) -> str:
    write_curve(begin(runs, run), [EpochRow(run.epochs, 1, loss, None, 0.5, accuracy, 0, 0)])
    return run.name


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = replace(SMALL, rate_from=("a", "b"), blocks_from=("c",), tag="eta0.02")
    assert read_run(begin(tmp_path, run))[0] == run


def test_the_rate_falls_along_half_a_cosine() -> None:
    run = replace(SMALL, epochs=4, eta=0.1)
    schedule = run.schedule(40)
    assert [step for step, _ in schedule] == [10, 20, 30]
    assert [run.settings(step, schedule).eta for step in (0, 9, 10, 25, 39)] == pytest.approx(
        [0.1, 0.1, *(0.05 * (1 + math.cos(math.pi * epoch / 4)) for epoch in (1, 2, 3))]
    )


def test_the_best_rate_is_taken(tmp_path: Path) -> None:
    rates = {0.1: (0.6, 1.0), 0.3: (0.7, 2.0), 0.5: (0.7, 1.5), 0.7: (0.7, 1.5)}
    names = tuple(ended(tmp_path, replace(SMALL, eta=eta, tag=f"eta{eta}"), *said) for eta, said in rates.items())
    run = replace(SMALL, eta=None, rate_from=names)
    assert settled(run, tmp_path) == replace(SMALL, eta=0.5), "of equals the least loss, then the first"
    late = begin(tmp_path, replace(SMALL, tag="late"))
    with pytest.raises(RigError, match="late-seed1 is not trained to its end"):
        best(tmp_path, (*names, late.name))


def test_the_best_block_is_taken_with_its_rate(tmp_path: Path) -> None:
    rate = ended(tmp_path, replace(SMALL, eta=0.07, tag="eta0.07"), 0.5)
    names = [
        ended(
            tmp_path,
            replace(SMALL, eta=None, rate_from=(rate,), given=(("train", "all"), ("blocks", mask)), tag=f"block{mask}"),
            accuracy,
        )
        for mask, accuracy in ((1, 0.4), (4, 0.6), (8, 0.5))
    ]
    ours = settled(replace(SMALL, eta=None, blocks_from=tuple(names)), tmp_path)
    assert (ours.settings(0, ()).blocks, ours.eta, ours.settings(0, ()).queries) == (4, 0.07, 3)
    assert ours.chosen() == "eta 0.07, blocks 3"
    other = replace(SMALL, method="mezo", given=(), eta=None, rate_from=(rate,), blocks_from=tuple(names))
    assert settled(other, tmp_path).settings(0, ()).blocks == 4


def test_a_budget_gives_the_steps(tmp_path: Path) -> None:
    """fc2 and fc3 are block 4: two layers of three queries; MeZO has two passes."""
    ours = settled(replace(SMALL, budget=2 * 20 * 6 * 7), tmp_path)
    assert (ours.forwards(), ours.steps, ours.per_epoch(40)) == (6, 7, 7)
    mezo = settled(replace(SMALL, method="mezo", given=(), budget=2 * 20 * 6 * 7), tmp_path)
    assert (mezo.forwards(), mezo.steps) == (2, 21)
    dense = replace(SMALL, method="deepzero", given=(("blocks", 8),), budget=1)
    assert dense.forwards() == 10_080 + 84 + 840 + 10 and settled(dense, tmp_path).steps == 1
    tenth = replace(dense, given=(("blocks", 8), ("sparsity", 230)))
    assert tenth.forwards() == round(11_014 * 26 / 256)


def test_a_run_is_what_the_reference_does_by_hand_and_goes_on_behind_a_cut(tmp_path: Path) -> None:
    run = replace(SMALL, compares=True)
    whole, cut = begin(tmp_path / "whole", run), begin(tmp_path / "cut", run)
    rows = list(Training(whole).epochs())
    list(islice(Training(cut).epochs(), 2))
    list(Training(cut).epochs())
    same(whole, cut)
    assert rows[0].test_accuracy == round(rows[0].test_accuracy * 10) / 10, "ten held-out images"
    assert [row.step for row in rows] == [0, 2, 4] and len(rows[1].cosines) == 2
    settings = run.settings(0, ())
    learner = graph_method("poor-mans")(build_graph(run.network, 1), settings)
    data = load(DATA)
    for step, chosen in enumerate(islice(batches(data, 20, 1), 4)):
        if step == 2:
            learner.configure(settings.changed(eta=0.01), 2)
        outcome = learner.step(data.train_images[chosen], data.train_labels[chosen])
    assert tuple(read_checkpoint(checkpoint_path(whole, 2)).digests[-1]) == outcome.digests
    assert read_curve(whole)[2].loss is not None


def test_a_board_is_asked_for_the_same(tmp_path: Path) -> None:
    """A segment of the second epoch begins at its checkpoint, with the rate that was chosen."""
    names = (ended(tmp_path, replace(SMALL, tag="eta"), 0.5),)
    run = replace(SMALL, eta=None, rate_from=names)
    folder = begin(tmp_path, run)
    list(Training(folder).epochs())
    spec = trial_of(Segment(run, 1, 2), "stm32h7b3", tmp_path)
    assert (spec.first_step, spec.batch, spec.settings["eta"]) == (2, 20, 0.02)
    prepared = prepare(spec)
    assert prepared.settings_at(2).eta == pytest.approx(0.01) and prepared.settings.queries == 3
    kept = read_checkpoint(checkpoint_path(folder, 1)).weights
    for ours, theirs in zip(prepared.subject.reference().weights, kept, strict=True):
        assert ours.dtype == theirs.dtype and (ours == theirs).all()
    wrong = replace(spec, settings={**spec.settings, "blocks": 4})
    with pytest.raises(RigError, match="holds int8.* for fc1: it is of another network or variant"):
        prepare(wrong)
    begins = trial_of(Segment(run, 0, 2), "stm32h7b3", tmp_path)
    assert begins.checkpoint is None and 1 <= run.longest_segment() <= 20
