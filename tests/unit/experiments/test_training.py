"""A run trains what its description says, and a cut does not change a bit of it."""

from __future__ import annotations

import json
import shutil
from itertools import islice

import numpy as np
import pytest
import xxhash

from hil.errors import RigError
from hil.training.data import batches, load
from hil.training.experiments.curve import (
    CURVE_FILE,
    checkpoint_path,
    read_checkpoint,
    read_curve,
    read_run,
    write_curve,
)
from hil.training.experiments.train import Training
from hil.training.networks import build
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from hil.training.reference.native.bfp8 import fastest

from .folders import same


@pytest.mark.parametrize("column, variant", [("int8", "cls1"), ("int8star", "full-zo")])
def test_a_cut_at_any_place_gives_the_same_bits(begun, column: str, variant: str) -> None:
    whole = begun("whole", column=column, variant=variant)
    assert [row.epoch for row in Training(whole).epochs()] == [0, 1, 2, 3]
    for done in (2, 3):
        cut = begun(f"cut{done}", column=column, variant=variant)
        list(islice(Training(cut).epochs(), done))
        if done == 3:  # cut between the checkpoint and its row of the curve, and in the middle of writing
            write_curve(cut, read_curve(cut)[:-1])
            (cut / "epoch-002.part").write_bytes(b"half")
        list(Training(cut).epochs())
        same(whole, cut)


def test_a_run_is_what_the_reference_does_by_hand(begun) -> None:
    """Steps, schedule and accuracy beside a plain loop over the reference."""
    folder = begun(variant="cls2", epochs=5)
    rows = list(Training(folder).epochs())
    data, run = load("fashion-mnist-1k"), read_run(folder)[0]
    schedule = {20: {"b_bp": 4, "p_zero": 128}, 50: {"b_bp": 3, "p_zero": 230}}  # epochs 20 and 50 of 100, of 100 steps
    settings = run.settings(0, ())
    learner = ElasticZoInt8Reference(build("lenet5", 1), settings)
    losses = []
    for step, chosen in enumerate(islice(batches(data, 50, 1), 100)):
        if step in schedule:
            settings = settings.changed(**schedule[step])
            learner.configure(settings, step)
        outcome = learner.step(data.train_images[chosen], data.train_labels[chosen])
        losses.append((outcome.float_loss_plus + outcome.float_loss_minus) / 100)
    assert rows[-1].step == 100
    assert rows[-1].loss == pytest.approx(np.mean(losses[80:]))
    assert rows[-1].test_accuracy == learner.accuracy(data.test_images, data.test_labels)
    kept = read_checkpoint(checkpoint_path(folder, 5))
    assert tuple(kept.digests[-1]) == learner.digests() and kept.digests.shape == (20, 5)
    assert rows[-1].digest == xxhash.xxh32_intdigest(np.array(learner.digests(), "<u4").tobytes())
    assert rows[-1].right_signs == 1.0
    assert {row.arithmetic for row in rows} == {fastest(build("lenet5", 1)).name}
    assert learner.arithmetic == "NumPy"


def test_it_learns(begun) -> None:
    rows = list(Training(begun(variant="cls1", epochs=6)).epochs())
    assert rows[-1].test_accuracy > rows[0].test_accuracy + 0.3
    assert rows[-1].loss < rows[1].loss


def test_signs_are_counted_only_where_they_are_taken(begun) -> None:
    rows = list(Training(begun(variant="full-bp", epochs=1)).epochs())
    assert [row.right_signs for row in rows] == [None, None]
    star = list(Training(begun("star", variant="full-zo", column="int8star", epochs=1)).epochs())
    assert 0.5 < star[1].right_signs < 1


def test_fine_tuning_starts_from_the_other_run_s_last_weights(begun) -> None:
    before = begun(variant="full-bp", epochs=1)
    list(Training(before).epochs())
    after = begun(variant="full-zo", epochs=1, start=before.name, column="int8star")
    rows = list(Training(after).epochs())
    ours, theirs = read_checkpoint(checkpoint_path(after, 0)), read_checkpoint(checkpoint_path(before, 1))
    for a, b in zip(ours.weights, theirs.weights, strict=True):
        np.testing.assert_array_equal(a, b)
    assert rows[0].test_accuracy == read_curve(before)[1].test_accuracy
    assert ours.step == 0


def test_damage_is_named(begun) -> None:
    folder = begun(epochs=1)
    list(Training(folder).epochs())
    keep = checkpoint_path(folder, 1).read_bytes()
    checkpoint_path(folder, 1).write_bytes(keep[: len(keep) // 2])
    with pytest.raises(RigError, match=r"the checkpoint .*epoch-001.npz cannot be read"):
        Training(folder)
    (folder / CURVE_FILE).write_text(json.dumps([{"epoch": 1}]))
    with pytest.raises(
        RigError, match=r"curve.json, row 0 is damaged \(step: field required\): delete its run's folder and resume"
    ):
        Training(folder)
    shutil.rmtree(folder)
    with pytest.raises(RigError, match=r"run.json cannot be read \(No such file or directory\)"):
        Training(folder)
