"""Train `tflite8` graphs by Poor Man's Training and its baselines on the board, compared bit for bit with NumPy.

`hil matrix` shows the results of these trials by method, network and board.
"""

from dataclasses import replace

import pytest

from hil import boards
from hil.training.matrix.cells import Cell
from hil.training.methods import METHODS, GraphMethod
from hil.training.session.plugin import RunTrial
from hil.trial import EnergyWindows, LatencySteps, TrialSpec, does_not_fit

NIGHTLY = pytest.mark.tier("nightly")
QUICK = [  # drawn networks have the other variants (test_corners.py)
    ("poor-mans-training", "block2"),
    ("mezo", "mezo"),
    ("deepzero", "last-sparse"),
    ("int8-bp", "qas"),
    ("mcutrain", "block3"),
]
ON_QEMU = QUICK[:2]
SMALL = ("lenet5-tflite", "resnet-tiny", "resnet-tiny-32", "mcunet-48")
EVERY = [
    (name, variant)
    for name, kind in METHODS.house().items()
    if issubclass(kind, GraphMethod)
    for variant in kind.variants
]
# The query budget of tables 8 and 9 (PMT, section 4.3), and the settings that save memory.
ITERATION = {"queries": 50, "consumed": 1, "fused": 1}


def train(hil_trial: RunTrial, spec: TrialSpec, kib: int | None = None) -> None:
    """Run a trial; skip if it does not fit the board. `kib`: limit of static data, arena and stack together."""
    reason = does_not_fit(spec)
    if reason:
        pytest.skip(reason)
    outcome = hil_trial(spec)
    assert outcome.verdict == "pass", outcome.reason
    if kib is not None:
        assert outcome.sram is not None
        assert outcome.sram.total <= 1024 * kib, outcome.sram


@pytest.mark.parametrize(("method", "variant"), QUICK)
def test_method_on_a_small_residual_net(hil_board: str, method: str, variant: str, hil_trial: RunTrial) -> None:
    """Train a few steps on the network with all operations; the nightly tier has the rest of the matrix."""
    if boards.load(hil_board).stand_in == "qemu" and (method, variant) not in ON_QEMU:
        pytest.skip("QEMU is slow: it runs two methods in the quick tier and all in the nightly tier")
    train(hil_trial, Cell(method, variant, "resnet-tiny", hil_board).spec())


def test_tinytrain_within_a_budget_for_every_board(hil_board: str, hil_trial: RunTrial) -> None:
    """Let the board choose layers and channels of LeNet-5 within 60,000 bytes, then train them for two steps."""
    settings = {"memory_budget": 60_000}
    train(
        hil_trial,
        TrialSpec(hil_board, "budget", "lenet5-tflite", "tinytrain", batch=1, steps=3, evaluate=8, settings=settings),
    )


@NIGHTLY
@pytest.mark.parametrize(("method", "settings"), [("mezo", {"direction": "batch"}), ("deepzero", {"sparsity": 250})])
def test_draws_that_all_samples_of_a_step_share(
    hil_board: str, method: str, settings: dict[str, float | str], hil_trial: RunTrial
) -> None:
    """Train MeZO with one direction per batch, as published, and DeepZero with one mask per step."""
    variant = {"mezo": "mezo", "deepzero": "last-sparse"}[method]
    spec = TrialSpec(hil_board, variant, "resnet-tiny", method, batch=3, steps=2, evaluate=0, settings=settings)
    train(hil_trial, spec)


def test_gradient_accumulation_and_evaluation(hil_board: str, hil_trial: RunTrial) -> None:
    """Train with several samples in a step, of which the board holds one at a time, and evaluate before and after."""
    train(
        hil_trial,
        TrialSpec(
            hil_board, "block4", "resnet-tiny", "poor-mans-training", batch=3, slots=1, steps=2, evaluate=4,
            settings={"queries": 3},
        ),
    )  # fmt: skip


@NIGHTLY
@pytest.mark.parametrize("network", SMALL)
@pytest.mark.parametrize(("method", "variant"), EVERY)
def test_every_cell_of_the_matrix(hil_board: str, method: str, variant: str, network: str, hil_trial: RunTrial) -> None:
    """Train every method in every variant on every small network."""
    train(hil_trial, Cell(method, variant, network, hil_board).spec())


@NIGHTLY
def test_latency_and_energy_of_a_step(hil_board: str, hil_trial: RunTrial) -> None:
    """Measure the latency of a hundred autonomous steps, and the energy if the board has a meter."""
    cell = Cell("poor-mans-training", "block2", "resnet-tiny", hil_board)
    train(hil_trial, replace(cell.spec(), latency=LatencySteps(100), energy=EnergyWindows()))


@NIGHTLY
def test_one_iteration_of_back_propagation_in_a_block_of_mcunet(hil_board: str, hil_trial: RunTrial) -> None:
    """Train one step with momentum and scaling in the third block (PMT, table 9, BP)."""
    spec = TrialSpec(
        hil_board, "block3", "mcunet-128", "mcutrain", "fashion-mnist-1k@128x128x3", batch=1, steps=1, evaluate=0,
        settings={"consumed": 1, "fused": 1}, network_in="flash",
    )  # fmt: skip
    train(hil_trial, spec)


@NIGHTLY
@pytest.mark.parametrize(("variant", "kib"), [("adaptive", 668), ("block3", 209)])
def test_one_iteration_of_mcunet_at_128(hil_board: str, variant: str, kib: int, hil_trial: RunTrial) -> None:
    """Train one step with 50 queries per layer, within the memory of PMT's tables 8 and 9."""
    spec = TrialSpec(
        hil_board, variant, "mcunet-128", "poor-mans-training", "fashion-mnist-1k@128x128x3", batch=1, steps=1,
        evaluate=0, settings=ITERATION, network_in="flash",
    )  # fmt: skip
    train(hil_trial, spec, kib)
