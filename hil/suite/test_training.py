"""LeNet-5 on real images by ElasticZO-INT8, on the board, every update bit for bit against NumPy.

Full ZO needs far longer than this to learn and is compared for its bits; ZO-Feat-Cls1 must also end clearly above the untrained network.
"""

import pytest

from hil import boards
from hil.trial import EnergyWindows, TrialSpec, does_not_fit

# Steps of the long trials of the quick tier: what a stand-in trains in half a minute (a Cortex-M0+ needs three times the instructions).
STEPS = {"cortex-m0plus": 50}
NIGHTLY = pytest.mark.tier("nightly")
PAPER_SCHEDULE = ((2, {"b_bp": 4, "p_zero": 128}), (5, {"b_bp": 3, "p_zero": 230, "r_max": 15}))


def train(hil_trial, spec):
    """Run a trial; skip what this board cannot hold."""
    reason = does_not_fit(spec)
    if reason:
        pytest.skip(reason)
    outcome = hil_trial(spec)
    assert outcome.verdict == "pass", outcome.reason


@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1", "full-bp"])
def test_elasticzo_int8(hil_board, variant, hil_trial):
    """Train in lock-step; Cls1 is evaluated too, and its energy measured where there is a meter."""
    long = STEPS.get(boards.load(hil_board).core, 200)
    more = {
        "full-zo": {"steps": long},
        "cls1": {"steps": long, "evaluate": 400, "energy": EnergyWindows()},
    }
    train(hil_trial, TrialSpec(hil_board, variant, **{"steps": 10, "evaluate": 0} | more.get(variant, {})))


def test_integers_only(hil_board, hil_trial):
    """INT8*: the sign of the loss difference from integers; perturbations undone exactly; settings change as the schedule says."""
    settings = {"loss": "integer", "perturb": "exact"}
    train(
        hil_trial,
        TrialSpec(hil_board, "cls1", steps=10, evaluate=0, settings=settings, schedule=PAPER_SCHEDULE),
    )


def test_one_exponent_for_the_batch(hil_board, hil_trial):
    """Exponent scope `batch`, as NITI's public code has it; a batch that fits every board."""
    batch = 8 if boards.load(hil_board).core != "cortex-m0plus" else 2
    train(hil_trial, TrialSpec(hil_board, "cls2", batch=batch, steps=4, evaluate=0, settings={"scope": "batch"}))


def test_a_batch_larger_than_the_board(hil_board, hil_trial):
    """Samples stream in parts, once a pass; gradients are summed over all of them."""
    train(hil_trial, TrialSpec(hil_board, "cls1", batch=32, slots=12, steps=2, evaluate=0))


@NIGHTLY
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("loss", ["float", "integer"])
@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1", "full-bp"])
def test_long_training(hil_board, variant, loss, seed, hil_trial):
    """Every variant, both signs of the loss, three seeds, 300 steps."""
    if variant == "full-bp" and loss == "integer":
        pytest.skip("Full BP compares no losses: INT8* is the same there")
    train(hil_trial, TrialSpec(hil_board, variant, steps=300, seed=seed, evaluate=500, settings={"loss": loss}))


@NIGHTLY
@pytest.mark.parametrize("scope", ["sample", "batch"])
@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1"])
def test_the_paper_s_batch(hil_board, variant, scope, hil_trial):
    """Batch 256: resident where it fits, streamed where not; in scope `batch` only where all of it fits."""
    train(hil_trial, TrialSpec(hil_board, variant, batch=256, steps=5, evaluate=0, settings={"scope": scope}))
