"""Train LeNet-5 by ElasticZO-INT8 on the board, compared bit for bit with NumPy.

Full ZO needs far more steps to learn, so only its bits are compared; ZO-Feat-Cls1 must also improve the accuracy.
"""

from dataclasses import replace

import pytest

from hil import boards
from hil.suite.fitting import train
from hil.training.session.plugin import RunTrial
from hil.trial import EnergyWindows, LatencySteps, TrialSpec, does_not_fit

# Steps of the longest trial of the quick tier, and images of its evaluation: what a stand-in does in ten seconds.
# A Cortex-M0+ needs more than twice the instructions.
STEPS, IMAGES = 50, 150
M0PLUS_STEPS, M0PLUS_IMAGES = 20, 60
QUICK_LATENCY = LatencySteps(32)
NIGHTLY = pytest.mark.tier("nightly")
PAPER_SCHEDULE = ((2, {"b_bp": 4, "p_zero": 128}), (4, {"b_bp": 3, "p_zero": 230}))


@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1", "full-bp"])
def test_elasticzo_int8(hil_board: str, variant: str, hil_trial: RunTrial) -> None:
    """Train in lock-step; Cls1 is also evaluated, with latency, and with energy if the board has a meter."""
    spec = TrialSpec(hil_board, variant, steps=4, evaluate=0)
    if variant == "cls1":
        slow = boards.load(hil_board).core == "cortex-m0plus"
        steps, images = (M0PLUS_STEPS, M0PLUS_IMAGES) if slow else (STEPS, IMAGES)
        spec = replace(spec, steps=steps, evaluate=images, latency=QUICK_LATENCY, energy=EnergyWindows())
    train(hil_trial, spec)


@NIGHTLY
@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1", "full-bp"])
def test_latency_of_a_thousand_steps(hil_board: str, variant: str, hil_trial: RunTrial) -> None:
    """Measure the latency of 1,000 consecutive steps of every variant."""
    train(hil_trial, TrialSpec(hil_board, variant, steps=1, evaluate=0, latency=LatencySteps(1000)))


@NIGHTLY
def test_latency_by_layer(hil_board: str, hil_trial: RunTrial) -> None:
    """Measure every layer, forward and backward, with back-propagation in all layers."""
    train(hil_trial, TrialSpec(hil_board, "full-bp", steps=1, evaluate=0, latency=LatencySteps(100, layers=True)))


def test_integers_only(hil_board: str, hil_trial: RunTrial) -> None:
    """Train INT8* with exact restoration, a schedule of settings, and a batch that is streamed in parts."""
    spec = TrialSpec(
        hil_board, "cls1", batch=12, slots=5, steps=6, evaluate=0,
        settings={"loss": "integer", "perturb": "exact", "r_max": 63}, schedule=PAPER_SCHEDULE,
    )  # fmt: skip
    train(hil_trial, spec)


@NIGHTLY
@pytest.mark.parametrize("fraction", [1, 4, 6])
def test_integers_with_fraction_bits(hil_board: str, fraction: int, hil_trial: RunTrial) -> None:
    """Train INT8* with fraction bits in powers and logarithms."""
    settings: dict[str, float | str] = {"loss": "integer", "loss_fraction": fraction}
    train(hil_trial, TrialSpec(hil_board, "cls2", batch=6, slots=3, steps=4, evaluate=0, settings=settings))


def test_one_exponent_for_the_batch(hil_board: str, hil_trial: RunTrial) -> None:
    """Train with exponent scope `batch`, as in NITI's public code, and zero-sum errors; the largest batch that fits."""
    settings = {"scope": "batch", "logit_error": "zero-sum"}
    specs = [TrialSpec(hil_board, "cls2", batch=batch, steps=4, evaluate=0, settings=settings) for batch in (8, 4, 2)]
    train(hil_trial, next((spec for spec in specs if not does_not_fit(spec)), specs[-1]))


@NIGHTLY
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("loss", ["float", "integer"])
@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1", "full-bp"])
def test_long_training(hil_board: str, variant: str, loss: str, seed: int, hil_trial: RunTrial) -> None:
    """Train 300 steps of every variant, with both kinds of loss and three seeds."""
    if variant == "full-bp" and loss == "integer":
        pytest.skip("Full BP compares no losses, so INT8* makes no difference")
    settings = {} if variant == "full-bp" else {"loss": loss}
    train(hil_trial, TrialSpec(hil_board, variant, steps=300, seed=seed, evaluate=500, settings=settings))


@NIGHTLY
@pytest.mark.parametrize("scope", ["sample", "batch"])
@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1"])
def test_the_paper_s_batch(hil_board: str, variant: str, scope: str, hil_trial: RunTrial) -> None:
    """Train with batch 256, streamed if it does not fit; scope `batch` needs all of it in memory."""
    train(hil_trial, TrialSpec(hil_board, variant, batch=256, steps=5, evaluate=0, settings={"scope": scope}))
