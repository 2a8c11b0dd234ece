"""Train networks in `float32` by ElasticZO on the board, compared bit for bit with NumPy.

LeNet-5 needs the 421 KiB of its weights in RAM; on a smaller board a small residual network is trained.
"""

import pytest

from hil import boards
from hil.graph.graph import Format
from hil.matrix.cells import Cell
from hil.methods import METHODS
from hil.networks import names
from hil.trial import LatencySteps, TrialSpec, does_not_fit

NIGHTLY = pytest.mark.tier("nightly")
METHOD = "elasticzo-fp32"
VARIANTS = tuple(METHODS[METHOD].variants)
NETWORKS = ("lenet5-float32", "resnet-tiny-float32")  # the first that fits is trained
ON_QEMU = ("full-zo", "cls1")
SCHEDULE = ((2, {"eta": 0.008}), (3, {"eta": 0.0064}))
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


@pytest.mark.parametrize("variant", VARIANTS)
def test_elasticzo_fp32(hil_board, variant, hil_trial):
    """Train two steps of every variant."""
    if boards.load(hil_board).stand_in == "qemu" and variant not in ON_QEMU:
        pytest.skip("QEMU is slow: it runs two variants in the quick tier and all in the nightly tier")
    train(hil_trial, on_board(hil_board, variant, **METHODS[METHOD].cell))


def test_a_batch_in_parts_with_a_schedule(hil_board, hil_trial):
    """Train with a decaying learning rate and a batch that is sent in parts, and evaluate before and after."""
    settings = {"eta": 0.01, "epsilon": 0.01, "g_clip": 1.0}
    sizes = {"batch": 3, "slots": 2, "steps": 4, "evaluate": 10}
    train(hil_trial, on_board(hil_board, "cls2", **sizes, settings=settings, schedule=SCHEDULE))


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
