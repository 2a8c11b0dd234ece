"""QZO-FF as a method: what is trained, memory, and what is refused before flashing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.errors import RigError
from hil.report.memory import lifetimes
from hil.training.graph.formats import Format
from hil.training.graph.graph import inference_peak
from hil.training.methods.qzo_ff import QzoFf
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import largest_gradient
from hil.training.networks import build
from hil.training.reference.methods import reference_of
from hil.training.reference.methods.qzo_ff import QzoFfReference
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.trial import TrialSpec, does_not_fit
from hil.trial.outcome import Outcome

LENET = "lenet5-w16a8"


def on(variant: str = "full", network: str = LENET, **settings: Any) -> QzoFf:
    return QzoFf.on(build(network, 1), variant, **settings)


def test_what_the_variants_train() -> None:
    assert [tensor.name for tensor in on().plan.tensors] == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    assert [tensor.name for tensor in on("last-3", train_bias=1).plan.tensors] == [
        "fc1", "fc1.bias", "fc2", "fc2.bias", "fc3", "fc3.bias",
    ]  # fmt: skip
    assert [(tensor.name, tensor.dtype, tensor.size) for tensor in on("linear-probe").plan.tensors] == [
        ("fc3", "int16", 1680)
    ]
    assert QzoFf.trains([Format.W16A8]) and not QzoFf.trains([Format.TFLITE8])


@pytest.mark.parametrize("variant", QzoFf.variants)
def test_every_variant_moves_weights(variant: str) -> None:
    reference = reference_of(on(variant, batch=2))
    rng = np.random.default_rng(1)
    images, labels = rng.integers(0, 256, (2, 28, 28), np.uint8), np.array([3, 7])
    before = reference.digests()
    for _ in range(2):
        reference.step(images, labels)
    assert sum(old != new for old, new in zip(before, reference.digests(), strict=True)) >= len(before) / 2


def test_memory_without_enhancements_is_inference_and_the_trained_weights() -> None:
    """At most 2 % more, and the samples (issue: memory of QZO-FF): LeNet-5, the file in flash."""
    method = replace(on(), in_flash=True)
    plan = method.plan.memory(1)
    theta = 2 * 107_550
    sizes = {buffer.name: buffer.size for buffer in plan.standing}
    assert sum(size for name, size in sizes.items() if name.startswith("theta")) == theta + 4  # conv1 is rounded to 8
    samples = sizes["samples"] + sizes["labels"]
    assert sizes["directions"] == 8
    assert plan.total - samples <= 1.02 * (inference_peak(method.network) + theta)
    assert {name for name in sizes if "[" in name} == {f"theta[{index}]" for index in (0, 2, 4, 5, 6)}


def test_memory_of_every_buffer() -> None:
    """By hand from docs/memory.md, for the last layer of LeNet-5: 840 weights, 10 biases."""
    method = replace(on("enhanced", last_layers=1, train_bias=1, optimizer="adamw", directions=3), in_flash=True)
    plan = method.plan.memory(4)
    assert [(buffer.name, buffer.size) for buffer in plan.standing] == [
        ("theta[6]", 1680), ("beta[6]", 40), ("labels", 8), ("samples", 4 * 784), ("directions", 32),
        ("mask[6]", 96), ("guide[6]", 192), ("moments[6]", 752),  # 85 weights are selected: 85 + 3 + 1 bytes
    ]  # fmt: skip
    ((_, placed),) = plan.starts
    sizes = {buffer.name: (buffer.size, buffer.first, buffer.last) for buffer in placed}
    assert sizes["noise"] == (4096, 8, 8)
    assert sizes["work[0]"] == (104, 0, 0) and sizes["work[2]"] == (600, 2, 2)
    assert sizes["work[4]"] == (1568, 4, 4) and sizes["work[6]"] == (168, 6, 6)
    assert sizes["value[1]"] == (4704, 0, 1) and sizes["value[7]"] == (16, 6, 7)
    assert "work[1]" not in sizes
    assert method.plan.places(plan) == (0, 1680)
    assert method.plan.slots()[-1] == "perturb, update" and len(method.plan.slots()) == 9


def kept(**settings: Any) -> int:
    """Return the bytes that settings of LeNet-5 need beyond training without a sparse update, the file in RAM."""
    return on(**settings).plan.memory(1).total - on().plan.memory(1).total


@pytest.mark.parametrize("sparse", ["top", "random"])
@pytest.mark.parametrize("keep", [1, 16, 26, 30, 31, 128, 255])
def test_a_sparse_update_has_a_state_of_what_it_selects_only(sparse: str, keep: int) -> None:
    method, weights = on(sparse=sparse, keep=keep), 107_550
    tensors, most = method.plan.selected, 5 * 7  # 7 of rounding for each buffer
    count = sum(tensors.values())
    assert count == pytest.approx(weights * keep / 256, rel=0.2)
    assert kept(sparse=sparse, keep=keep) <= min(count + weights // 255, weights // 8) + most + 5
    assert kept(sparse=sparse, keep=keep, guide=128) <= 2 * count + kept(sparse=sparse, keep=keep) + most
    assert kept(sparse=sparse, keep=keep, optimizer="adamw") <= 8 * count + kept(sparse=sparse, keep=keep) + most


def test_the_selection_of_random_is_that_of_the_reference() -> None:
    for train_bias in (0, 1):
        method = on(sparse="random", keep=5, seed=77, train_bias=train_bias, batch=2)
        reference = reference_of(method)
        reference.step(np.zeros((2, 28, 28), np.uint8), np.array([3, 7]))
        masks = [mask for name, mask in reference.state().items() if name.startswith("mask")]
        assert [int(mask.sum()) for mask in masks] == list(method.plan.selected.values())


def test_adamw_of_a_sparse_update_needs_hardly_more_than_inference() -> None:
    """LeNet-5, the file in RAM: weights and scratch, a 256th and a 16th of the weights, and all of them."""
    inference = on().plan.memory(1).total
    assert kept(sparse="top", keep=1, optimizer="adamw") <= 0.02 * inference
    assert kept(sparse="top", keep=16, optimizer="adamw") <= 0.27 * inference
    assert kept(optimizer="adamw") > 3.7 * inference


def test_adamw_of_three_layers_fits_the_largest_arena() -> None:
    """As in table 5: the weights need 1,050,000 bytes with moments of 8, the arena has 1,048,576."""
    settings = {"last_layers": 3, "optimizer": "adamw", "directions": 3}
    assert does_not_fit(TrialSpec("stm32h7b3", "full", LENET, "qzo-ff", slots=1, evaluate=0, settings=settings)) is None


def test_passes_and_work() -> None:
    method = on("sharpness", directions=3, batch=5)
    assert method.request.passes() == 8
    assert method.figures.work().macs == method.figures.step_macs() == 8 * 5 * 693_000
    assert method.figures.work().runs == (40,) * 7
    assert method.figures.analytic()["macs_step"] == method.figures.step_macs()


SMALLEST = 0.45942008 / 32256  # the unit of fc1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": SMALLEST * 0.49}, f"setting epsilon .* fc1, .* just above {SMALLEST / 2:.3g}: choose more"),
        ({"rho": SMALLEST * 0.49}, f"setting rho .* fc1, .* just above {SMALLEST / 2:.3g}"),
        ({"eta": SMALLEST * 0.17}, f"setting eta .* it acts from {SMALLEST * 16 / 92:.3g} on"),
        ({"eta": SMALLEST * 0.49, "optimizer": "adamw"}, f"setting eta .* it acts just above {SMALLEST / 2:.3g}"),
        ({"eta": SMALLEST, "directions": 127}, "setting directions is 127, .* at most 33 directions"),
        ({"epsilon": 0.2}, "setting epsilon is 0.2, .* together at most "),
        ({"epsilon": 0.02, "rho": 0.1}, "setting rho is 0.1, .* choose epsilon and rho of together"),
        ({"steps": 5, "warmup": 5}, "setting steps is 5 with warmup = 5"),
        ({"eta_min": 0.01}, "setting eta_min is 0.01 with eta = 0.001"),
        ({"sparse": "threshold", "threshold": 2.0}, "setting threshold is 2.0, .* its largest trained weight is 1.14"),
        ({"directions": 128}, "1..127"),
        ({"epsilon": 0.0}, "2\\^-40 to 1"),
        ({"queries": 3}, "no setting 'queries'"),
    ],
)
def test_what_is_refused_with_figures(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(RigError, match=said):
        on(**settings)


def test_a_named_value_does_act() -> None:
    """Just above the value that a refusal names, the setting is taken."""
    assert on(epsilon=SMALLEST * 0.51) and on(rho=SMALLEST * 0.51)
    assert on(eta=SMALLEST * 16 / 92 * 1.001) and on(eta=SMALLEST * 0.51, optimizer="adamw")
    assert on(eta=SMALLEST, directions=33)
    with pytest.raises(RigError, match="directions"):
        on(eta=SMALLEST, directions=34)


def test_a_normalised_rate_that_rounds_to_nothing_is_refused_with_the_rate_that_acts() -> None:
    """The first steps are those of the reference: nothing moves below the named rate, and something above it."""
    asked = TrialSpec("stm32h7b3", "normalised", LENET, "qzo-ff", batch=2, steps=1, evaluate=0)
    with pytest.raises(
        RigError, match=r"setting eta is 1e-06, .* acts from \S+ on, first in fc3: choose more"
    ) as caught:
        prepare(replace(asked, settings={"eta": 1e-6}))
    least = float(str(caught.value).partition("acts from ")[2].partition(" on")[0])
    rng = np.random.default_rng(1)
    images, labels = rng.integers(0, 256, (2, 28, 28), np.uint8), np.array([3, 7])
    for eta, acts in ((least / 2, False), (2 * least, True)):
        method = on("normalised", batch=2, eta=eta)
        assert (method.request.fault_of_weights(method.settings) == "") == acts
        reference = reference_of(method)
        before = reference.digests()
        reference.step(images, labels)
        assert (reference.digests() != before) == acts
    assert on("normalised", eta=2 * least).figures.still["eta"] == ["fc1"]
    assert "eta" not in on("normalised").figures.still


def test_settings_that_depend_on_the_weights_are_checked_with_those_of_a_checkpoint(tmp_path: Path) -> None:
    asked = TrialSpec("stm32h7b3", "linear-probe", LENET, "qzo-ff", steps=1, evaluate=0)
    np.savez(tmp_path / "zeros.npz", w0=np.zeros((10, 84), "<i2"))
    zeros = replace(asked, checkpoint=tmp_path / "zeros.npz")
    assert prepare(zeros)
    with pytest.raises(RigError, match="setting threshold is 0.1, which selects no weight .* weight is 0, choose"):
        prepare(replace(zeros, settings={"sparse": "threshold", "threshold": 0.1}))
    with pytest.raises(RigError, match="setting normalise is 1 with trained weights that are all 0"):
        prepare(replace(zeros, settings={"normalise": 1}))


def test_large_gradients() -> None:
    assert [largest_gradient("gaussian", m) for m in (1, 2, 127)] == [92, 65, 8]
    assert all(m * largest_gradient("binomial", m) ** 2 <= 91**2 for m in range(1, 128))


def test_weights_of_8_bits_are_not_refused_and_stand_still() -> None:
    """To show it is their purpose; the record names the tensors."""
    method = on(network="lenet5-8w8a")
    names = [tensor.name for tensor in method.plan.tensors]
    assert method.figures.still == {"epsilon": names, "eta": ["conv1"]}
    assert not on(network="lenet5-8w8a", epsilon=0.005, eta=0.002).figures.still
    papers = {"epsilon": method.settings.epsilon, "eta": method.settings.eta}  # a trial would take another default
    asked = TrialSpec("stm32h7b3", "full", "lenet5-8w8a", "qzo-ff", steps=1, evaluate=0, settings=papers)
    record = trial_record(Outcome(asked, planned=prepare(asked)))
    assert f"setting epsilon rounds to nothing in {', '.join(names)}" in " ".join(record.warnings)
    assert record.analytic is not None and record.analytic["bytes"] == method.figures.analytic()["bytes"]


def test_a_board_without_room_is_refused_with_figures() -> None:
    roomy = TrialSpec("stm32h7b3", "full", LENET, "qzo-ff", evaluate=0)
    assert does_not_fit(roomy) is None
    reason = does_not_fit(replace(roomy, board="rp2040", variant="adamw"))
    assert reason is not None and "bytes" in reason and "linear-probe" in reason
    assert does_not_fit(replace(roomy, board="rp2040", variant="linear-probe")) is None


@pytest.mark.parametrize("board", boards.names())
def test_every_board_can_train_all_layers_of_lenet5(board: str) -> None:
    assert does_not_fit(TrialSpec(board, "full", LENET, "qzo-ff", batch=2, evaluate=0)) is None


def test_the_file_lies_in_flash_where_ram_is_small() -> None:
    method = on("linear-probe")
    assert not method.resident(1 << 30, (False, True)).in_flash
    assert method.resident(60_000, (False, True)).in_flash
    assert QzoFfReference(method.network, QzoFfSettings(last_layers=1)).weights[0].dtype == np.int16


def test_binary32_is_what_counts() -> None:
    """A rate that is eta in binary32 is not above eta."""
    QzoFfSettings(eta=0.001, eta_min=math.nextafter(0.001, 1))


def test_every_time_slot_has_a_name_and_every_buffer_is_drawn() -> None:
    settings = {"optimizer": "adamw", "train_bias": 1, "last_layers": 1, "guide": 128, "sparse": "top"}
    asked = TrialSpec("stm32h7b3", "sharpness", LENET, "qzo-ff", steps=1, evaluate=0, settings=settings)
    plan = trial_record(Outcome(asked, planned=prepare(asked))).memory_plan
    assert plan is not None and len(plan["slots"]) == 1 + max(buffer["last"] for buffer in plan["buffers"])
    assert len(lifetimes(plan)["data"]) == len(plan["buffers"])
    kinds = {buffer["name"].partition("[")[0] for buffer in plan["buffers"]}
    assert {"directions", "mask", "guide", "moments", "noise"} <= kinds
