"""Train networks in `affine8`, mixed and in `float32` by FQT on the board, compared bit for bit with NumPy."""

import pytest

from hil.suite.fitting import train
from hil.training.matrix.cells import cells
from hil.training.methods.fqt import Fqt
from hil.training.session.plugin import RunTrial
from hil.trial import LatencySteps, TrialSpec, does_not_fit

NIGHTLY = pytest.mark.tier("nightly")
NETWORK, MIXED = "fqt-cnn-uint8", "mbednet-mixed"
NETWORKS = tuple(
    f"{name}-{configuration}"
    for name in ("fqt-cnn", "mbednet", "mbednet-vibration")
    for configuration in ("uint8", "mixed", "float32")
)
ALL_SWITCHES: dict[str, float | str] = {
    "standardise": "batch", "error_range": "running", "lambda_min": 0.2, "lambda_max": 0.8, "rate": "difference",
    "sparse_head": 1, "gradient": "mean", "range_momentum": 0.25, "last_layers": 3,
}  # fmt: skip


def test_uint8(hil_board: str, hil_trial: RunTrial) -> None:
    """Train all layers of the paper's small network for two steps."""
    train(hil_trial, TrialSpec(hil_board, "uint8", NETWORK, "fqt", batch=4, steps=2, evaluate=8))


def test_the_last_five_layers_mixed_and_sparse(hil_board: str, hil_trial: RunTrial) -> None:
    """Train the last five layers of a small MobileNetV3 with a float head; a batch that comes in parts."""
    settings = {"lambda_min": 0.1}
    train(
        hil_trial,
        TrialSpec(hil_board, "last-5", MIXED, "fqt", batch=3, slots=2, steps=2, evaluate=8, settings=settings),
    )


@NIGHTLY
def test_every_switch(hil_board: str, hil_trial: RunTrial) -> None:
    """Train with every setting other than its default."""
    train(hil_trial, TrialSpec(hil_board, "uint8", NETWORK, "fqt", batch=3, steps=3, settings=ALL_SWITCHES))


@NIGHTLY
@pytest.mark.parametrize("network", NETWORKS)
def test_every_variant(hil_board: str, network: str, hil_trial: RunTrial) -> None:
    """Train networks of every configuration in the variants that take them."""
    for cell in cells((hil_board,), (network,), (Fqt.name,)):
        if not does_not_fit(cell.spec()):
            train(hil_trial, cell.spec())


@NIGHTLY
def test_latency_of_a_step(hil_board: str, hil_trial: RunTrial) -> None:
    """Measure the latency of a hundred autonomous steps."""
    train(
        hil_trial,
        TrialSpec(hil_board, "uint8", NETWORK, "fqt", batch=2, steps=1, evaluate=0, latency=LatencySteps(100)),
    )
