"""Train networks in `float32` by ElasticZO on the board, compared bit for bit with NumPy.

LeNet-5 needs the 421 KiB of its weights in RAM, and as much again for the gradients of full back-propagation. Where it
does not fit, a network of 21,662 parameters is trained, which fits every board.
"""

import pytest

from hil.suite.fitting import train
from hil.training.graph.formats import Format
from hil.training.matrix.cells import Cell
from hil.training.methods import METHODS
from hil.training.networks import names
from hil.training.session.plugin import RunTrial
from hil.trial import LatencySteps, TrialSpec, does_not_fit

NIGHTLY = pytest.mark.tier("nightly")
METHOD = "elasticzo-fp32"
VARIANTS = tuple(METHODS[METHOD].variants)
SMALL = "convnet-tiny-float32"
NETWORKS = ("lenet5-float32", SMALL)  # the first that fits is trained
SCHEDULE = ((1, {"eta": 0.008}),)
# Steps and learning rate of the nightly trials that must learn.
LEARNS = {"cls1": (400, 0.005), "full-bp": (200, 0.05)}


def test_a_batch_in_parts_with_a_schedule(hil_board: str, hil_trial: RunTrial) -> None:
    """Train by zeroth order and back-propagation, with a decaying rate; the board holds one sample of two."""
    spec = TrialSpec(
        hil_board, "cls2", SMALL, METHOD, batch=2, slots=1, steps=2, evaluate=2,
        settings={"eta": 0.01, "epsilon": 0.01, "g_clip": 1.0}, schedule=SCHEDULE,
    )  # fmt: skip
    train(hil_trial, spec)


@NIGHTLY
@pytest.mark.parametrize("network", names(Format.FLOAT32))
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_cell_of_the_matrix(hil_board: str, variant: str, network: str, hil_trial: RunTrial) -> None:
    """Train every variant on every network."""
    train(hil_trial, Cell(METHOD, variant, network, hil_board).spec())


@NIGHTLY
@pytest.mark.parametrize("variant", VARIANTS)
def test_latency_by_layer(hil_board: str, variant: str, hil_trial: RunTrial) -> None:
    """Measure every layer, forward and backward, of the first network that fits; of the smallest if none does."""
    latency = LatencySteps(10, layers=True)
    specs = [
        TrialSpec(hil_board, variant, network, METHOD, batch=1, steps=1, evaluate=0, latency=latency)
        for network in NETWORKS
    ]
    train(hil_trial, next((spec for spec in specs if not does_not_fit(spec)), specs[-1]))


@NIGHTLY
@pytest.mark.parametrize("variant", LEARNS)
def test_training_learns(hil_board: str, variant: str, hil_trial: RunTrial) -> None:
    """Train LeNet-5 until its accuracy rises."""
    steps, eta = LEARNS[variant]
    spec = TrialSpec(
        hil_board, variant, "lenet5-float32", METHOD, batch=16, steps=steps, evaluate=200, settings={"eta": eta}
    )
    train(hil_trial, spec)
