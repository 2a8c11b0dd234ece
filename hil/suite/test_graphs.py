"""Poor Man's Training and its baselines on graphs in TFLite's convention, on the board, every update bit for bit against NumPy.

`hil matrix` shows what these trials have seen, cell by cell.
"""

import pytest

from hil.matrix.cells import Cell
from hil.network.tflite.methods import METHODS
from hil.trial import TrialSpec, does_not_fit

NIGHTLY = pytest.mark.tier("nightly")
QUICK = [
    ("poor-mans-training", "adaptive"),
    ("poor-mans-training", "model-node"),
    ("poor-mans-training", "block2"),
    ("mezo", "mezo"),
    ("deepzero", "last-sparse"),
    ("bias-only", "adaptive"),
    ("int8-bp", "qas"),
    ("mcutrain", "block3"),
]
SMALL = ("lenet5-tflite", "resnet-tiny", "resnet-tiny-32", "mcunet-48")
EVERY = [(method, variant) for method, variants in METHODS.items() for variant in variants]
FULL_ITERATION = {"queries": 50}  # PMT, section 4.3: the query budget of tables 8 and 9


def train(hil_trial, spec):
    """Run a trial; skip what this board cannot hold."""
    reason = does_not_fit(spec)
    if reason:
        pytest.skip(reason)
    outcome = hil_trial(spec)
    assert outcome.verdict == "pass", outcome.reason


@pytest.mark.parametrize(("method", "variant"), QUICK)
def test_method_on_a_small_residual_net(hil_board, method, variant, hil_trial):
    """A few steps of each, on the network with all operations; the rest of the matrix is of the nightly tier."""
    train(hil_trial, Cell(method, variant, "resnet-tiny", hil_board).spec())


def test_gradient_accumulation_and_evaluation(hil_board, hil_trial):
    """Several samples a step, of which the board holds one at a time; the accuracy on both sides, before and after."""
    train(
        hil_trial,
        TrialSpec(
            hil_board, "block4", "resnet-tiny", "poor-mans-training", batch=3, slots=1, steps=2, evaluate=60,
            settings={"queries": 8},
        ),
    )  # fmt: skip


@NIGHTLY
@pytest.mark.parametrize("network", SMALL)
@pytest.mark.parametrize(("method", "variant"), EVERY)
def test_every_cell_of_the_matrix(hil_board, method, variant, network, hil_trial):
    """Every method in every variant on every small network."""
    train(hil_trial, Cell(method, variant, network, hil_board).spec())


@NIGHTLY
@pytest.mark.parametrize("variant", ["adaptive", "block3"])
def test_one_iteration_of_mcunet_at_128(hil_board, variant, hil_trial):
    """One step of the full model (within the arena of stm32h7b3) and of the third block, with 50 queries a layer (PMT, tables 8 and 9)."""
    train(
        hil_trial,
        TrialSpec(
            hil_board, variant, "mcunet-128", "poor-mans-training", "fashion-mnist-1k@128x128x3", batch=1, steps=1, evaluate=0,
            settings=FULL_ITERATION,
        ),
    )  # fmt: skip
