"""QuZO as a method: what is trained, memory, and what is refused before flashing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hil import boards
from hil.errors import RigError
from hil.report.memory import lifetimes
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph, inference_peak
from hil.training.methods.quzo import Quzo
from hil.training.networks import build
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.trial import TrialSpec, does_not_fit
from hil.trial.outcome import Outcome
from network.w16a8_graphs import text_network

INT8, SHORTS, NARROW = "lenet5-tflite", "lenet5-w16a8", "lenet5-8w8a"


def on(variant: str = "full", network: str = INT8, **settings: Any) -> Quzo:
    return Quzo.on(build(network, 1), variant, **settings)


def test_what_the_variants_train() -> None:
    assert [tensor.name for tensor in on().plan.tensors] == ["conv1", "conv2", "fc1", "fc2", "fc3"]
    assert [tensor.name for tensor in on("last-3").plan.tensors] == ["fc1", "fc2", "fc3"]
    for network, kind, size in ((INT8, "int8", 840), (SHORTS, "int16", 1680)):
        its = on("linear-probe", network).plan.tensors
        assert [(tensor.name, tensor.dtype, tensor.size) for tensor in its] == [("fc3", kind, size)]
    assert on("two-directions").request.passes() == 4


def test_formats() -> None:
    assert Quzo.trains([Format.W16A8]) and Quzo.trains([Format.TFLITE8])
    assert not Quzo.trains([Format.TFLITE8, Format.AFFINE8])
    assert not Quzo.trains([]) and not Quzo.trains([Format.FLOAT32])
    with pytest.raises(
        RigError, match="layer conv1 of lenet5-float32 is in float32, and QuZO trains w16a8 and tflite8"
    ):
        on(network="lenet5-float32")


@pytest.mark.parametrize("network", [INT8, SHORTS, NARROW])
@pytest.mark.parametrize("variant", Quzo.variants)
def test_every_variant_moves_weights(variant: str, network: str) -> None:
    reference = reference_of(on(variant, network, batch=2))
    rng = np.random.default_rng(1)
    images, labels = rng.integers(0, 256, (2, 28, 28), np.uint8), np.array([3, 7])
    before = reference.digests()
    for _ in range(2):
        reference.step(images, labels)
    assert all(old != new for old, new in zip(before, reference.digests(), strict=True))


@pytest.mark.parametrize(
    ("network", "theta"),
    [(INT8, [152 + 24, 2400 + 64, 94_080 + 480, 10_080 + 336, 840 + 40]), (SHORTS, [300, 4800, 188_160, 20_160, 1680])],
)
def test_memory_of_every_buffer(network: str, theta: list[int]) -> None:
    """By hand from docs/arithmetic-quzo.md, section 6: LeNet-5 has 150, 2400, 94080, 10080 and 840 weights."""
    method = replace(on(network=network, directions=3), in_flash=True)
    plan = method.plan.memory(4)
    sizes = {buffer.name: buffer.size for buffer in plan.standing}
    up8 = {f"theta[{layer}]": -(-size // 8) * 8 for layer, size in zip((0, 2, 4, 5, 6), theta, strict=True)}
    assert sizes == up8 | {"labels": 8, "samples": 4 * 784, "directions": 16}
    assert list(sizes)[-3:] == ["labels", "samples", "directions"]
    ((_, placed),) = plan.starts
    passing = {buffer.name: (buffer.size, buffer.first, buffer.last) for buffer in placed}
    assert passing["noise"] == (1024, 8, 8)
    assert passing["value[1]"] == (4704, 0, 1) and passing["value[7]"] == (16, 6, 7)
    assert "work[1]" not in passing and ("work[0]" in passing) and passing["work[6]"][1:] == (6, 6)
    assert method.plan.places(plan)[0] == 0 and method.plan.places(plan)[1] == up8["theta[0]"]
    assert method.plan.slots()[-1] == "perturb, update" and len(method.plan.slots()) == 9
    trained = sum(theta)
    assert method.figures.analytic()["bytes"] == inference_peak(method.network) + trained + 12


def test_the_buffers_of_kernels_are_those_of_the_formats() -> None:
    (_, shorts), (_, bytes_) = (on(network=name).plan.memory(1).starts[0] for name in (SHORTS, INT8))
    works = [{buffer.name: buffer.size for buffer in placed} for placed in (shorts, bytes_)]
    assert works[0]["work[4]"] == 1568 and works[1]["work[4]"] == 2 * 4 * 120


def test_passes_and_work() -> None:
    method = on(directions=3, batch=5)
    assert method.request.passes() == 6
    assert method.figures.work().macs == method.figures.step_macs() == 6 * 5 * 693_000
    assert method.figures.work().runs == (30,) * 7
    assert method.figures.weights_by_zo() == 107_550
    assert method.request.kept_state(method.settings) is None


def largest_epsilon(method: Quzo) -> float:
    """By the text: U = X / 2 of the finest unit."""
    return min(
        float(np.min(method.network.own[tensor.layer].scale)) * (tensor.largest // 2) * 32 / 92
        for tensor in method.plan.trained_tensors
    )


@pytest.mark.parametrize("network", [INT8, NARROW])
def test_an_epsilon_that_is_too_large_is_refused_with_the_largest(network: str) -> None:
    largest = largest_epsilon(on(network=network))
    assert on(network=network, epsilon=largest * 0.999)
    with pytest.raises(RigError, match=f"setting epsilon .* weights of fc1 .* choose at most {largest:.3g}"):
        on(network=network, epsilon=largest * 1.02)
    with pytest.raises(RigError, match="more than half of their range"):
        on(network=network, epsilon=1.0)


def test_weights_of_16_bits_move_by_at_most_half_of_their_range_too() -> None:
    with pytest.raises(RigError, match="more than half of their range"):
        on(network=SHORTS, epsilon=1.0)


def test_an_epsilon_that_moves_nothing_is_refused_with_the_one_that_acts() -> None:
    finest = min(float(tensor.unit.min()) for tensor in on().plan.trained_tensors) / 4096
    assert on(epsilon=finest * 1.01)
    with pytest.raises(RigError, match=f"setting epsilon .* in fc1, .* it moves just above {finest:.3g}: choose more"):
        on(epsilon=finest * 0.99)


def test_the_finest_unit_may_be_that_of_one_channel() -> None:
    """resnet-tiny has a channel whose weights are all nearly 0: its step decides."""
    with pytest.raises(RigError, match="moves weights of pw7 by up to .* choose at most 0.000237"):
        on(network="resnet-tiny")
    assert on(network="resnet-tiny", epsilon=2e-4)


def test_a_network_without_weights_is_refused() -> None:
    graph = text_network()
    bare = Graph("bare", (replace(graph.layers[0], own=None),), graph.in_shape, 3)
    with pytest.raises(RigError, match="bare has no layer with weights, so last_layers trains nothing"):
        Quzo.on(bare, "full")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"directions": 128}, "1..127"),
        ({"epsilon": 0.0}, "2\\^-40 to 1"),
        ({"eta": 2.0}, "2\\^-40 to 1"),
        ({"last_layers": 0}, "1..64"),
        ({"queries": 3}, "no setting 'queries'"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(RigError, match=said):
        on(**settings)


def test_the_limits_of_weights_at_rest() -> None:
    """E, U and W of section 2 by plain numbers, for every unit."""
    for tensor in on(epsilon=0.01).plan.trained_tensors:
        for unit, parts, reach, limit in zip(
            *(each.ravel().tolist() for each in (tensor.unit, tensor.parts, tensor.reach, tensor.limit)), strict=True
        ):
            assert abs(parts - 0.01 / unit * 2048) <= 0.51
            assert reach == math.ceil(92 * parts / 65536)
            assert limit == 127 - reach


@pytest.mark.parametrize("board", boards.names())
@pytest.mark.parametrize("network", [INT8, SHORTS])
def test_every_board_can_train_all_layers_of_lenet5(board: str, network: str) -> None:
    assert does_not_fit(TrialSpec(board, "full", network, "quzo", batch=2, evaluate=0)) is None


def test_every_time_slot_has_a_name_and_every_buffer_is_drawn() -> None:
    asked = TrialSpec("stm32h7b3", "two-directions", INT8, "quzo", steps=1, evaluate=0)
    record = trial_record(Outcome(asked, planned=prepare(asked)))
    plan = record.memory_plan
    assert plan is not None and len(plan["slots"]) == 1 + max(buffer["last"] for buffer in plan["buffers"])
    assert len(lifetimes(plan)["data"]) == len(plan["buffers"])
    assert {"directions", "noise"} <= {buffer["name"] for buffer in plan["buffers"]}
    assert record.analytic is not None and record.analytic["equation"] == "QuZO, inference and trained weights"
