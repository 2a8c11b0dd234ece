"""Runs that adapt a pre-trained graph: what they leave open, and what a board is asked to repeat."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.data import batches, load
from hil.training.experiments.certify import Segment, segments, trial_of
from hil.training.experiments.choice import CHOICE_FILE, outdated, resolved
from hil.training.experiments.curve import (
    STATE,
    EpochRow,
    checkpoint_path,
    read_checkpoint,
    read_curve,
    read_run,
    read_state,
    write_curve,
    write_run,
)
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.rate_search import (
    MOST_RATES,
    RateResult,
    RateSearch,
    above,
    below,
    best_of,
    best_rate,
    equal_rates,
    results,
    search_facts,
    stem_of,
)
from hil.training.experiments.train import Training, mean_loss
from hil.training.networks import build
from hil.training.reference.methods import reference_of, training_loop
from hil.training.reference.native.tflite8 import fastest
from hil.training.trial.prepare import prepare

from .folders import by_slices, counted, same

DATA = "fashion-mnist-1k+fog-5@40-10"
SMALL = GraphRun(
    DATA, "fog", "row", 1, 2, 20, "lenet5-tflite", "poor-mans-training", (("blocks", 8), ("queries", 3)), eta=0.02
)


def begin(runs: Path, run: GraphRun) -> Path:
    folder = runs / run.name
    folder.mkdir(parents=True)
    write_run(folder, run, load(run.data).sha256)
    return folder


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


def test_the_reference_trains_in_c_where_it_can_and_a_certificate_compares_with_numpy() -> None:
    schedule = SMALL.schedule(4)
    learner, method = SMALL.learner(None, schedule), SMALL._method(schedule)
    plain = reference_of(method)
    assert learner.arithmetic == fastest(method.network, method.settings).arithmetic and plain.arithmetic == "NumPy"
    data = load(DATA)
    for chosen in islice(batches(data, SMALL.batch, 1), 2):
        images, labels = data.train_images[chosen], data.train_labels[chosen]
        assert learner.step(images, labels) == plain.step(images, labels)
    deep_zero = replace(SMALL, method="deepzero", given=(("blocks", 8),))
    assert deep_zero.learner(None, schedule).arithmetic == "NumPy"


def ended(epochs: int, loss: float, accuracy: float, moved: float = 0.0, before: float = 0.0) -> list[EpochRow]:
    """A curve whose rows all have the figures of its end, but the first its accuracy."""
    rows = [
        EpochRow(epoch, epoch, loss, None, 0.5, accuracy if epoch else before, 0, 0, moved=moved)
        for epoch in range(epochs + 1)
    ]
    return counted(rows)


def tried(runs: Path, base: GraphRun, said: dict[float, list[tuple[float, float, float]]]) -> str:
    """Write the runs of a search: accuracy, loss and share of moved weights by rate and seed; return its stem."""
    for eta, seeds in said.items():
        for seed, (accuracy, loss, moved) in enumerate(seeds, 1):
            run = replace(base, seed=seed, eta=eta, tag=f"eta{eta:g}")
            write_curve(begin(runs, run), ended(run.epochs, loss, accuracy, moved))
    return stem_of(base)


BASE = replace(SMALL, column="rate", eta=None)


def test_the_best_rate_over_the_seeds_is_taken(tmp_path: Path) -> None:
    """0.3 is best on seed 1 alone; of equal means the least loss counts."""
    said = {
        0.1: [(0.6, 1.0, 1.0)] * 2,
        0.3: [(0.9, 1.0, 1.0), (0.4, 1.0, 1.0)],
        0.5: [(0.7, 2.0, 1.0), (0.7, 2.0, 1.0)],
        1: [(0.6, 1.5, 1.0), (0.8, 1.5, 1.0)],
        3: [(0.9, 0.1, 0.0), (0.9, 0.1, 0.5)],  # one seed moved nothing
    }
    run = replace(SMALL, eta=None, rate_from=(tried(tmp_path, BASE, said),))
    assert resolved(run, tmp_path) == replace(SMALL, eta=1)
    late = begin(tmp_path, replace(BASE, eta=10.0, tag="eta10"))
    with pytest.raises(RigError, match="eta10-seed1 is not trained to its end"):
        resolved(run, tmp_path)
    assert late.is_dir()


def found(eta: float, right: tuple[int, ...], loss: float, **others: Any) -> RateResult:
    return RateResult(eta, right, 300, loss, **{"moved": 1.0, "start": 30} | others)  # type: ignore[arg-type]


def test_counts_decide_and_not_the_rounding_of_means() -> None:
    """The means of 7, 0 and 0, and of 0, 0 and 7 of 300 differ in their last bit, in the order of the additions."""
    one, other = found(0.1, (63, 20, 7), 1.0), found(0.3, (7, 20, 63), 0.9)
    assert best_of([one, other]) == other == best_of([replace(one, held_out_loss=1.1), other])
    same_loss = replace(other, held_out_loss=1.0)
    assert best_of([one, same_loss]) == one, "of equal counts and losses the smaller rate"


@given(counts=st.lists(st.integers(0, 900), min_size=1, max_size=8), start=st.integers(0, 900))
def test_equal_rates_are_within_a_standard_error_of_the_most(counts: list[int], start: int) -> None:
    rates = [found(0.1 * 3**place, (count, 0, 0), 1.0, start=start) for place, count in enumerate(counts)]
    most = max(counts)
    spread = (900 * (most / 900) * (1 - most / 900)) ** 0.5
    near = [one for one in counts if most - one < max(spread, 1) and (one > start or most <= start)]
    assert [one.count for one in equal_rates(rates)] == near
    assert best_of(rates).harmful == (most <= start), "a rate that gains nothing is no better than no training"


def test_a_record_says_what_decided_and_on_how_many_images(tmp_path: Path) -> None:
    tried(tmp_path, BASE, {0.1: [(0.6, 1.0, 1.0)], 0.3: [(0.605, 1.2, 1.0)], 1.0: [(0.5, 0.9, 1.0)]})
    facts = search_facts(tmp_path, RateSearch(BASE, (0.1, 0.3, 1.0), 1))
    assert (facts["chosen"], facts["by"], facts["equal"], facts["images"]) == (0.1, "loss", [0.1, 0.3], 1000)
    assert [one["right"] for one in facts["rates"]] == [(600,), (605,), (500,)] and facts["rates"][0]["start"] == 0


def test_a_curve_without_counts_decides_nothing(tmp_path: Path) -> None:
    stem = tried(tmp_path, BASE, {0.1: [(0.6, 1.0, 1.0)]})
    folder = next(tmp_path.iterdir())
    write_curve(folder, [replace(row, right=None, of=None) for row in read_curve(folder)])
    with pytest.raises(RigError, match="eta0.1-seed1 does not count the right images of its epoch 0"):
        best_rate(tmp_path, stem)


def test_a_row_counts_the_right_images_and_has_their_loss(tmp_path: Path) -> None:
    """The loss of every image is that which a step of one sample reports; the graph's logits have a scale."""
    folder, data = begin(tmp_path, replace(SMALL, epochs=1, steps=2)), load(DATA)
    row = list(Training(folder).epochs())[-1]
    weights = read_checkpoint(checkpoint_path(folder, 1)).weights
    learner = SMALL.learner(weights, ())
    right = int((learner.logits(data.test_images)[0].argmax(axis=1) == data.test_labels).sum())
    assert (row.right, row.of) == (right, len(data.test_labels)) and row.test_accuracy == right / len(data.test_labels)
    losses = []
    for image, label in zip(data.test_images[:20], data.test_labels[:20], strict=True):
        alone = replace(SMALL, batch=1).learner(weights, ())
        losses.append(alone.step(image[None], label[None]).float_loss_plus)
    logits, exponents = learner.logits(data.test_images[:20])
    assert mean_loss(logits * learner.logit_scale(), exponents, data.test_labels[:20]) == pytest.approx(np.mean(losses))


def test_another_search_with_a_longer_name_is_not_mixed_in(tmp_path: Path) -> None:
    stem = tried(tmp_path, BASE, {0.1: [(0.6, 1.0, 1.0)]})
    tried(tmp_path, replace(BASE, variant="row-eta0.5-block1"), {9: [(1.0, 0.0, 1.0)]})
    assert best_rate(tmp_path, stem) == 0.1


@settings(max_examples=60, deadline=None)
@given(best=st.floats(-4, 5), threshold=st.floats(-5, 5), seeds=st.integers(1, 3))
def test_a_grid_grows_until_its_best_lies_inside(best: float, threshold: float, seeds: int) -> None:
    """Accuracy has one peak, at 10^best; weights move from 10^threshold on."""
    search = RateSearch(BASE, (0.01, 0.1), seeds)
    with TemporaryDirectory() as place:
        runs = Path(place)
        more = search.first_runs()
        while more:
            for run in more:
                distance = abs(math.log10(run.eta) - best)
                moved = float(math.log10(run.eta) >= threshold)
                write_curve(begin(runs, run), ended(run.epochs, distance, 1 - distance / 20, moved))
            more = search.more_runs(runs)
        found = results(runs, search.stem)
        rates = [one.eta for one in found]
        assert all(len(one.right) == seeds for one in found) and len(found) <= MOST_RATES
        facts = search_facts(runs, search)
        assert search.over(runs) and facts["inside"] == (rates[0] < facts["chosen"] < rates[-1])
        assert facts["inside"] or len(found) == MOST_RATES or rates[0] < 1e-5
        moving = [rate for rate in rates if math.log10(rate) >= threshold]
        if moving and len(found) < MOST_RATES:
            place = rates.index(facts["chosen"])
            nearest = rates[max(place - 1, 0) : place + 2]
            assert all(after / before < 4 for before, after in pairwise(nearest)), "half a decade to either side"
        if moving:
            assert facts["chosen"] == min(moving, key=lambda rate: abs(math.log10(rate) - best))


@settings(max_examples=40, deadline=None)
@given(diverged=st.lists(st.integers(7, 13), min_size=16, max_size=16), useful=st.sampled_from([0.0001, 0.001, 0.003]))
def test_rates_that_all_diverge_are_no_choice(diverged: list[int], useful: float) -> None:
    """Above the useful rate every accuracy is chance, about 10 %; the weights before training have 40 %, at the useful rate 60 %."""
    search = RateSearch(BASE, (0.01, 0.03), 1)
    chance = iter(diverged)
    with TemporaryDirectory() as place:
        runs = Path(place)
        more = search.first_runs()
        while more:
            for run in more:
                accuracy = 0.6 if run.eta == useful else 0.4 if run.eta < useful else next(chance) / 100
                write_curve(begin(runs, run), ended(run.epochs, 1.0, accuracy, 1.0, before=0.4))
            more = search.more_runs(runs)
        facts = search_facts(runs, search)
        assert facts["harmful"] == (len(results(runs, search.stem)) == MOST_RATES and facts["chosen"] > useful)
        assert facts["harmful"] or (facts["chosen"] == useful and facts["inside"])


def test_a_search_ends_where_no_weight_moves_and_says_that_no_rate_helps(tmp_path: Path) -> None:
    """The best rate lies inside the grid from the start, but all are worse than no training."""
    search = RateSearch(BASE, (0.003, 0.01, 0.03), 1)
    more = search.first_runs()
    while more:
        for run in more:
            moves = run.eta > 0.0005
            accuracy = 0.3 - abs(math.log10(run.eta) + 2) / 10 if moves else 0.4
            write_curve(begin(tmp_path, run), ended(run.epochs, 1.0, accuracy, float(moves), before=0.4))
        more = search.more_runs(tmp_path)
    facts = search_facts(tmp_path, search)
    assert [one["eta"] for one in facts["rates"]] == [0.0003, 0.001, 0.003, 0.01, 0.03]
    assert facts["chosen"] == 0.01 and facts["inside"] and facts["harmful"]


@given(done=st.integers(0, 2))
def test_a_rate_that_was_cut_while_it_was_trained_is_ended_first(done: int) -> None:
    """A night ended within the third rate of a grid: the same three runs are asked for again."""
    search = RateSearch(BASE, (0.01, 0.1), 3)
    with TemporaryDirectory() as place:
        runs = Path(place)
        for run in search.first_runs():
            write_curve(begin(runs, run), ended(run.epochs, 1.0, run.eta, 1.0))
        third = search.more_runs(runs)
        assert {run.eta for run in third} == {0.3}
        for run in third[:done]:
            write_curve(begin(runs, run), ended(run.epochs, 1.0, 0.0, 1.0))
        begin(runs, third[done])
        assert search.more_runs(runs) == third and not search.over(runs)


@given(st.integers(-6, 6), st.sampled_from([1, 3]))
def test_two_rates_a_decade(power: int, mantissa: int) -> None:
    rate = float(f"{mantissa}e{power}")
    assert below(above(rate)) == rate == above(below(rate))
    assert above(above(rate)) == pytest.approx(10 * rate)


def test_the_best_block_is_taken_with_its_own_rate(tmp_path: Path) -> None:
    stems, names = [], []
    for mask, accuracy in ((1, 0.4), (4, 0.6), (8, 0.5)):
        base = replace(BASE, variant=f"block{mask}", given=(("train", "all"), ("blocks", mask), ("queries", 9)))
        stems.append(tried(tmp_path, base, {0.01 * mask: [(0.5, 1.0, 1.0)]}))
        tested = replace(base, column="block", epochs=1, rate_from=(stems[-1],))
        write_curve(begin(tmp_path, tested), ended(1, 1.0, accuracy))
        names.append(tested.name)
    ours = resolved(replace(SMALL, eta=None, rate_from=tuple(stems), blocks_from=tuple(names)), tmp_path)
    assert (ours.settings(0, ()).blocks, ours.eta, ours.settings(0, ()).queries) == (4, 0.04, 3)
    assert ours.chosen() == "eta 0.04, blocks 3"
    fixed = resolved(replace(SMALL, eta=0.5, blocks_from=tuple(names)), tmp_path)
    assert (fixed.settings(0, ()).blocks, fixed.eta) == (4, 0.5)


def test_the_batch_is_made_smaller_where_the_budget_gives_few_steps(tmp_path: Path) -> None:
    """A sample of fc2 and fc3 costs DeepZero 11,014 passes: 40 samples in all, so 4 for each of 10 steps."""
    dense = replace(SMALL, method="deepzero", given=(("blocks", 8),), budget=11_014 * 40, fewest_steps=10, epochs=1)
    ours = resolved(dense, tmp_path)
    assert (ours.batch, ours.steps, ours.budget) == (4, 10, None)
    large = resolved(replace(dense, budget=11_014 * 20 * 30), tmp_path)
    assert (large.batch, large.steps) == (20, 30), "never larger than asked for"
    assert resolved(replace(dense, budget=1), tmp_path).batch == 1


def test_a_budget_gives_the_steps(tmp_path: Path) -> None:
    """fc2 and fc3 are block 4: two layers of three queries; MeZO has two passes."""
    ours = resolved(replace(SMALL, budget=2 * 20 * 6 * 7), tmp_path)
    assert (ours.forwards(), ours.steps, ours.per_epoch(40)) == (6, 7, 7)
    mezo = resolved(replace(SMALL, method="mezo", given=(), budget=2 * 20 * 6 * 7), tmp_path)
    assert (mezo.forwards(), mezo.steps) == (2, 21)
    dense = replace(SMALL, method="deepzero", given=(("blocks", 8),), budget=1)
    assert dense.forwards() == 10_080 + 84 + 840 + 10 and resolved(dense, tmp_path).steps == 1
    tenth = replace(dense, given=(("blocks", 8), ("sparsity", 230)))
    assert tenth.forwards() == round(11_014 * 26 / 256)


def test_the_steps_that_a_budget_gives_are_trained(tmp_path: Path) -> None:
    """As in a search, whose runs have rates of their own; a folder of a version that trained other steps is outdated."""
    folder = begin(tmp_path, replace(SMALL, budget=2 * 20 * 6 * 7))
    assert [row.step for row in Training(folder).epochs()] == [0, 7, 14]
    fixed = begin(tmp_path / "fixed", replace(SMALL, steps=7))
    list(Training(fixed).epochs())
    same(folder, fixed)
    assert not outdated(folder) and not outdated(fixed)
    (folder / CHOICE_FILE).unlink()
    assert outdated(folder)


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
    learner = training_loop("poor-mans")(build(run.network, 1), settings)
    data = load(DATA)
    for step, chosen in enumerate(islice(batches(data, 20, 1), 4)):
        if step == 2:
            learner.follow(settings.changed(eta=0.01))
        outcome = learner.step(data.train_images[chosen], data.train_labels[chosen])
    assert tuple(read_checkpoint(checkpoint_path(whole, 2)).digests[-1]) == outcome.digests
    assert read_curve(whole)[2].loss is not None


STATEFUL = {
    "tinytrain": replace(SMALL, method="tinytrain", given=(("ranking", 3), ("work_budget", 256)), epochs=4, batch=10),
    "mcutrain": replace(SMALL, method="mcutrain", given=(("train", "all"), ("blocks", 8)), epochs=4),
}


@pytest.mark.parametrize("method", STATEFUL)
def test_velocities_and_a_choice_go_on_over_the_epochs_and_behind_every_cut(method: str, tmp_path: Path) -> None:
    """Beside a plain loop over the reference, whose rate follows the same cosine; steps 0 to 2 of TinyTrain rank."""
    run = STATEFUL[method]
    whole, cut, sliced = (begin(tmp_path / name, run) for name in ("whole", "cut", "sliced"))
    rows = list(Training(whole).epochs())
    for epoch in range(run.epochs + 1):
        before = (cut / STATE.format(epoch - 1)).read_bytes() if epoch > 1 else b""
        next(Training(cut).epochs())
        if epoch > 1:  # cut between the checkpoint with its state and the row of the curve
            write_curve(cut, read_curve(cut)[:-1])
            (cut / STATE.format(epoch - 1)).write_bytes(before)
            next(Training(cut).epochs())
    assert by_slices(sliced) == [1] * (run.epochs + 1)
    same(whole, cut)
    same(whole, sliced)
    schedule, data, per_epoch = run.schedule(rows[-1].step), load(DATA), rows[1].step
    learner = reference_of(run._method(schedule))
    for step, chosen in enumerate(islice(batches(data, run.batch, 1), rows[-1].step)):
        if step % per_epoch == 0:
            learner.follow(run.settings(step, schedule))
        outcome = learner.step(data.train_images[chosen], data.train_labels[chosen])
    assert tuple(read_checkpoint(checkpoint_path(whole, run.epochs)).digests[-1]) == outcome.digests
    kept = read_state(whole, run.epochs)
    assert kept.keys() == learner.state().keys() and any(its.any() for name, its in kept.items() if "velocity" in name)
    for name, array in learner.state().items():
        np.testing.assert_array_equal(kept[name], array, err_msg=name)
    assert list(whole.glob("state-*.npz")) == [whole / STATE.format(run.epochs)], "only the last one is needed"
    moved = [row.moved for row in rows]
    if method == "tinytrain":  # four steps an epoch, three of which rank in the first
        assert learner._completed == 16 and 0 < moved[1] < moved[-1]
    (segment,) = segments([run], tmp_path / "whole")
    assert segment.epoch == 0, "a board begins with weights only"


def test_an_older_folder_without_the_state_says_what_to_do(tmp_path: Path) -> None:
    folder = begin(tmp_path, STATEFUL["mcutrain"])
    list(islice(Training(folder).epochs(), 2))
    (folder / STATE.format(1)).unlink()
    with pytest.raises(RigError, match=r"state-001.npz .*delete its run's folder and resume"):
        list(Training(folder).epochs())


def test_a_run_whose_steps_all_rank_is_refused(tmp_path: Path) -> None:
    """Two epochs of two steps."""
    run = replace(SMALL, method="tinytrain", given=(("ranking", 4),))
    with pytest.raises(RigError, match="all 4 steps rank with ranking = 4, and none trains: choose more steps"):
        Training(begin(tmp_path / "refused", run))
    rows = list(Training(begin(tmp_path, replace(run, given=(("ranking", 3), ("work_budget", 256))))).epochs())
    assert rows[1].moved == 0 < rows[2].moved
    replace(SMALL, method="mcutrain", given=()).check_steps(1)


def test_a_board_is_asked_for_the_same(tmp_path: Path) -> None:
    """A segment of the second epoch begins at its checkpoint, with the rate that was chosen."""
    run = replace(SMALL, eta=None, rate_from=(tried(tmp_path, BASE, {0.02: [(0.5, 1.0, 1.0)]}),))
    folder = begin(tmp_path, run)
    list(Training(folder).epochs())
    spec = trial_of(Segment(run, 1, 2), "stm32h7b3", tmp_path)
    assert (spec.first_step, spec.batch, spec.settings["eta"]) == (2, 20, 0.02)
    prepared = prepare(spec)
    assert prepared.settings_at(2).eta == pytest.approx(0.01) and prepared.settings.queries == 3
    kept = read_checkpoint(checkpoint_path(folder, 1)).weights
    for ours, theirs in zip(reference_of(prepared.method).weights, kept, strict=True):
        assert ours.dtype == theirs.dtype and (ours == theirs).all()
    wrong = replace(spec, settings={**spec.settings, "blocks": 4})
    with pytest.raises(RigError, match="has int8.* for fc1: it belongs to another network or variant"):
        prepare(wrong)
    begins = trial_of(Segment(run, 0, 2), "stm32h7b3", tmp_path)
    assert begins.checkpoint is None and 1 <= run.longest_segment() <= 20
