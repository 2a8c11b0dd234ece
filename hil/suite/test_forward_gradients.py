"""Train networks in `w16a8` by QZO-FF on the board, compared bit for bit with NumPy."""

import pytest

from hil.suite.fitting import train
from hil.training.matrix.cells import Cell
from hil.training.methods.qzo_ff import QzoFf
from hil.training.networks import names
from hil.training.session.plugin import RunTrial
from hil.trial import LatencySteps, TrialSpec

NIGHTLY = pytest.mark.tier("nightly")
NETWORK = "lenet5-w16a8"  # fits every board
ALL_SWITCHES: dict[str, float | str] = {
    "directions": 2, "rho": 0.001, "guide": 200, "guide_from": 1, "sparse": "random", "keep": 128,
    "optimizer": "adamw", "distribution": "binomial", "train_bias": 1, "warmup": 1, "steps": 4, "eta_min": 1e-5,
}  # fmt: skip


def test_qzo_ff(hil_board: str, hil_trial: RunTrial) -> None:
    """Train all layers for two steps; the nightly tier has the rest of the matrix."""
    train(hil_trial, Cell("qzo-ff", "full", NETWORK, hil_board).spec())


def test_every_switch_and_a_streamed_batch(hil_board: str, hil_trial: RunTrial) -> None:
    """Train the last layer with all enhancements, AdamW, biases and a schedule, two samples of three at a time."""
    spec = TrialSpec(
        hil_board, "linear-probe", NETWORK, "qzo-ff", batch=3, slots=2, steps=3, evaluate=5, settings=ALL_SWITCHES
    )
    train(hil_trial, spec)


@NIGHTLY
@pytest.mark.parametrize("network", names(QzoFf.format))
@pytest.mark.parametrize("variant", QzoFf.variants)
def test_every_cell_of_the_matrix(hil_board: str, variant: str, network: str, hil_trial: RunTrial) -> None:
    """Train every variant on every network, with weights of 16 and of 8 bits."""
    train(hil_trial, Cell("qzo-ff", variant, network, hil_board).spec())


@NIGHTLY
def test_latency_of_a_step(hil_board: str, hil_trial: RunTrial) -> None:
    """Measure the latency of a hundred autonomous steps of a linear probe."""
    train(
        hil_trial,
        TrialSpec(
            hil_board, "linear-probe", NETWORK, "qzo-ff", batch=2, steps=1, evaluate=0, latency=LatencySteps(100)
        ),
    )
