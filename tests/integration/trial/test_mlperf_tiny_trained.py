"""The image and keyword models of MLPerf Tiny are trained one step by every method that takes them, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.errors import Blocked
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.training.methods import METHODS
from hil.training.networks import find_network
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec, run_trial
from tests.unit.tflite_models.mlperf_files import mlperf_model

BOARDS = ("stm32h7b3", "mps2-an500")  # the second, in QEMU, for what does not fit the first
MODELS = {
    "kws_ref_model": ((49, 10, 1), 12),
    "pretrainedResnet_quant": ((32, 32, 3), 10),
    "vww_96_int8": ((96, 96, 3), 2),
}
METHODS_OF_TFLITE8 = (
    "poor-mans-training", "mezo", "deepzero", "last-layer", "bias-only", "int8-bp", "mcutrain", "tinytrain",
)  # fmt: skip
# Not the default variant: DeepZero's makes a forward pass for each weight, 10^11 multiplications a step and more.
VARIANTS = {"deepzero": "last-sparse"}
# What stm32h7b3 cannot train at batch 2, for want of memory.
TOO_LARGE = {("vww_96_int8", method) for method in ("poor-mans-training", "mezo", "int8-bp", "tinytrain")}


def step_of(board: str, model: str, method: str, variant: str, folder: Path) -> TrialSpec:
    """Return a trial of one step of two samples of drawn bytes, in as many classes as the network has."""
    shape, classes = MODELS[model]
    random = np.random.Generator(np.random.PCG64(5))
    samples = random.integers(0, 256, (2 * classes, *shape), np.uint8)
    data = folder / "drawn.npz"
    labels = np.arange(2 * classes) % classes
    np.savez(data, train_x=samples, train_y=labels, test_x=samples[:classes], test_y=labels[:classes])
    return TrialSpec(board, variant, str(mlperf_model(model)), method, data, batch=2, steps=1, evaluate=0)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("model", MODELS)
def test_the_methods_are_all_that_train_the_format_of_the_model(model: str) -> None:
    formats = find_network(str(mlperf_model(model))).formats
    assert tuple(name for name, kind in METHODS.items() if kind.trains(formats)) == METHODS_OF_TFLITE8


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("method", METHODS_OF_TFLITE8)
@pytest.mark.parametrize("model", MODELS)
def test_a_step_of_a_model_is_that_of_the_reference(model: str, method: str, tmp_path: Path) -> None:
    variant = VARIANTS.get(method, METHODS[method].default_variant)
    board = BOARDS[(model, method) in TOO_LARGE]
    if not board.startswith("mps2"):
        pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    with Rig(Bench()) as rig:
        outcome = run_trial(step_of(board, model, method, variant, tmp_path), rig, tmp_path / "trial")
    assert outcome.verdict == "pass", outcome.reason
    assert outcome.bit_exact and len(outcome.steps) == 1


@pytest.mark.tier("nightly")
@pytest.mark.parametrize(("model", "method"), sorted(TOO_LARGE))
def test_what_does_not_fit_the_smaller_board_is_told_while_planning(model: str, method: str, tmp_path: Path) -> None:
    spec = step_of(BOARDS[0], model, method, METHODS[method].default_variant, tmp_path)
    with pytest.raises(Blocked, match=r"plan: .* needs [0-9,]+ bytes, stm32h7b3 has an arena of [0-9,]+: choose"):
        prepare(spec)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("board", BOARDS)
def test_a_forward_pass_for_each_weight_of_vww_is_refused(board: str, tmp_path: Path) -> None:
    with pytest.raises(Blocked, match="plan: deepzero dense makes a forward pass for each coordinate, .* choose last-"):
        prepare(step_of(board, "vww_96_int8", "deepzero", "dense", tmp_path))
