"""The networks in `float32`, and what ElasticZO on them needs: counts of the paper, work, memory."""

from __future__ import annotations

import numpy as np
import pytest

from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_fp32 import ElasticZoFp32
from hil.training.methods.elasticzo_settings import VARIANTS
from hil.training.networks import NETWORKS, XAVIER, build, names
from hil.training.networks.lenet5 import xavier_uniform

KB, MB = 2**10, 2**20
DRAWN = [name for name in names(Format.FLOAT32) if NETWORKS[name].provenance == XAVIER]
OTHER_BOARDS = 30_000  # parameters of a network for boards with 256 KiB


def method(network: str, variant: str, **settings: float) -> ElasticZoFp32:
    return ElasticZoFp32.on(build(network, 1), variant, **settings)


def parameters(graph: Graph) -> int:
    return sum(layer.weight_count + layer.channels for layer in graph.layers)


def test_lenet5_has_the_papers_numbers() -> None:
    """Section 9 of docs/arithmetic-float32.md."""
    graph = build("lenet5-float32", 1)
    assert (parameters(graph), graph.macs, len(graph.layers)) == (107_786, 693_000, 7)
    by_zo = {variant: method("lenet5-float32", variant).figures.analytic()["weights_by_zo"] for variant in VARIANTS}
    assert by_zo == {"full-zo": 107_786, "cls2": 106_936, "cls1": 96_772, "full-bp": 0}


@pytest.mark.parametrize("network", [name for name in DRAWN if name != "lenet5-float32"])
def test_other_networks_are_small(network: str) -> None:
    assert parameters(build(network, 1)) <= OTHER_BOARDS


def test_lenet5_starts_where_the_one_in_int8_does() -> None:
    """The same draws, rounded to binary32 in place of int8; biases 0."""
    small, found = build("lenet5", 7), build("lenet5-float32", 7)
    rng = np.random.Generator(np.random.PCG64(7))
    for other, layer in zip(small.trained, found.trained, strict=True):
        assert layer.own is not None and other.weights is not None
        weights = layer.own.weights
        area = weights[0, ..., 0].size if weights.ndim == 4 else 1
        drawn, _ = xavier_uniform(weights.shape, weights[0].size, area * len(weights), rng)
        assert np.array_equal(weights, drawn.astype(np.float32)) and not layer.own.bias.any()
        assert weights.dtype == layer.own.bias.dtype == np.float32
        assert np.array_equal(np.rint(drawn / np.abs(drawn).max() * 127).astype(np.int8), other.weights)


@pytest.mark.parametrize("network", DRAWN)
def test_weights_are_within_the_limits_of_xavier(network: str) -> None:
    graph = build(network, 3)
    for layer in graph.trained:
        assert layer.own is not None and 0.01 < np.abs(layer.own.weights).max() < 1.1


@pytest.mark.parametrize(
    ("batch", "full_zo", "full_bp", "cls2", "cls1"), [(32, 2.6, 5.2, 4.6, 65.3), (256, 18.0, 36.1, 13.3, 221.0)]
)
def test_the_equations_give_the_papers_memory(
    batch: int, full_zo: float, full_bp: float, cls2: float, cls1: float
) -> None:
    """Section 12: MB of Full ZO and Full BP, and KB more than Full ZO of the others."""
    found = {
        variant: method("lenet5-float32", variant, batch=batch).figures.analytic()["bytes"] for variant in VARIANTS
    }
    assert (round(found["full-zo"] / MB, 1), round(found["full-bp"] / MB, 1)) == (full_zo, full_bp)
    assert round((found["cls2"] - found["full-zo"]) / KB, 1) == cls2
    assert round((found["cls1"] - found["full-zo"]) / KB, 1) == cls1


@pytest.mark.parametrize(
    ("variant", "runs", "products"),
    [("full-zo", 0, 0), ("cls2", 1, 840), ("cls1", 2, 11_760), ("full-bp", 7, 1_268_400)],
)
def test_the_work_of_a_step(variant: str, runs: int, products: int) -> None:
    """Section 12: of a sample, forward 693,000 products in 7 layer runs, and backward."""
    one = method("lenet5-float32", variant, batch=3)
    passes = 1 if variant == "full-bp" else 2
    assert one.request.passes() == passes
    assert one.figures.work().layer_runs == 3 * (7 * passes + runs)
    assert one.figures.step_macs() == one.figures.work().macs == 3 * (693_000 * passes + products)


def test_the_plan_is_that_of_the_document() -> None:
    """Cls1 of LeNet-5: conv1, pool1, conv2, pool2, fc1 forward only; fc2 and fc3 (layers 5 and 6) backward."""
    one = method("lenet5-float32", "cls1")
    plan = one.plan.memory(4)
    assert [(buffer.name, buffer.size) for buffer in plan.standing] == [
        ("file", 431_488), ("labels", 8), ("samples", 4 * 784), ("grad[5]", 4 * 10_164), ("grad[6]", 3400),
    ]  # fmt: skip
    ((_, placed),) = plan.starts
    spans = {buffer.name: (buffer.size, buffer.first, buffer.last) for buffer in placed}
    assert spans == {
        "value[0]": (3136, 0, 0), "value[1]": (18_816, 0, 1), "value[2]": (4704, 1, 2), "value[3]": (12_544, 2, 3),
        "value[4]": (3136, 3, 4), "value[5]": (480, 4, 9), "value[6]": (336, 5, 9), "value[7]": (40, 6, 8),
        "error[6]": (336, 8, 9), "error[7]": (40, 7, 8),
    }  # fmt: skip
    assert one.plan.slots() == (*one.plan.layers, "loss", "fc3 backward", "fc2 backward")
    for a in placed:
        for b in placed:
            alive = a.name != b.name and a.first <= b.last and b.first <= a.last
            assert not alive or a.offset + a.size <= b.offset or b.offset + b.size <= a.offset


def test_a_plan_without_back_propagation_keeps_no_values() -> None:
    ((_, placed),) = method("resnet-tiny-float32", "full-zo").plan.memory(1).starts
    graph = build("resnet-tiny-float32", 1)
    assert {buffer.name for buffer in placed} == {f"value[{value}]" for value in range(len(graph.layers) + 1)}
    assert all(buffer.last == graph.last_use(int(buffer.name[6:-1])) for buffer in placed)


def test_tensors_lie_in_the_file() -> None:
    one = method("resnet-tiny-float32", "cls1")
    blob, plan = one.plan.file(), one.plan.memory(1)
    for place, (name, array) in zip(one.plan.places(plan), one.plan.arrays, strict=True):
        assert blob[place : place + array.nbytes] == array.tobytes(), name


def test_the_first_wrong_tensor() -> None:
    one = method("lenet5-float32", "cls1")  # tensors 0 to 5 by zeroth order, 6 to 9 by back-propagation
    assert one.request.first_wrong([2, 3, 6, 8], losses_agree=True) == 8
    assert one.request.first_wrong([2, 3, 6, 8], losses_agree=False) == 2
    assert one.request.first_wrong([7, 9], losses_agree=False) == 9
