"""Train networks in `float32` by ElasticZO on the board, compared bit for bit with NumPy.

LeNet-5 needs the 421 KiB of its weights in RAM, and as much again for the gradients of full back-propagation. Where it
does not fit, a network of 21,662 parameters is trained, which fits every board.
"""

import pytest

from hil.training.graph.graph import Format
from hil.training.matrix.cells import Cell
from hil.training.methods import METHODS
from hil.training.networks import names
from hil.trial import LatencySteps, TrialSpec, does_not_fit

NIGHTLY = pytest.mark.tier("nightly")
METHOD = "elasticzo-fp32"
VARIANTS = tuple(METHODS[METHOD].variants)
SMALL = "convnet-tiny-float32"
NETWORKS = ("lenet5-float32", SMALL)  # the first that fits is trained
SCHEDULE = ((1, {"eta": 0.008}),)
# Steps and learning rate of the nightly trials that must learn.
LEARNS = {"cls1": (400, 0.005), "full-bp": (200, 0.05)}


def train(hil_trial, spec):
    """Run a trial; skip if it does not fit the board."""
    reason = does_not_fit(spec)
    if reason:
        pytest.skip(reason)
    outcome = hil_trial(spec)
    assert outcome.verdict == "pass", outcome.reason


def on_board(board, variant, **others):
    """Return the trial of a variant on the first network that fits, on the smallest if none does."""
    specs = [TrialSpec(board, variant, network, METHOD, **{"evaluate": 0} | others) for network in NETWORKS]
    return next((spec for spec in specs if not does_not_fit(spec)), specs[-1])


def test_a_batch_in_parts_with_a_schedule(hil_board, hil_trial):
    """Train by zeroth order and back-propagation, with a decaying rate; the board holds one sample of two."""
    settings = {"eta": 0.01, "epsilon": 0.01, "g_clip": 1.0}
    sizes = {"batch": 2, "slots": 1, "steps": 2, "evaluate": 2}
    train(hil_trial, TrialSpec(hil_board, "cls2", SMALL, METHOD, **sizes, settings=settings, schedule=SCHEDULE))


@NIGHTLY
@pytest.mark.parametrize("network", names(Format.FLOAT32))
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_cell_of_the_matrix(hil_board, variant, network, hil_trial):
    """Train every variant on every network."""
    train(hil_trial, Cell(METHOD, variant, network, hil_board).spec())


@NIGHTLY
@pytest.mark.parametrize("variant", VARIANTS)
def test_latency_by_layer(hil_board, variant, hil_trial):
    """Measure every layer, forward and backward."""
    train(hil_trial, on_board(hil_board, variant, batch=1, steps=1, latency=LatencySteps(10, layers=True)))


@NIGHTLY
@pytest.mark.parametrize("variant", LEARNS)
def test_training_learns(hil_board, variant, hil_trial):
    """Train LeNet-5 until its accuracy rises."""
    steps, eta = LEARNS[variant]
    sizes = {"batch": 16, "steps": steps, "evaluate": 200}
    train(hil_trial, TrialSpec(hil_board, variant, "lenet5-float32", METHOD, settings={"eta": eta}, **sizes))
