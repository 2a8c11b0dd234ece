"""Steps of bp: momentum, quantization-aware scaling, refusals and work, by numbers made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.reference.floats import F
from hil.training.reference.methods import training_loop
from hil.training.reference.methods.back_propagation import BackPropagation
from hil.training.reference.methods.update import momentum_steps
from reference.drawn_graphs import Builder, images
from reference.test_graph_steps import after, same, whole_graph
from tests.oracle.work import work_of

BP = GraphSettings(method="bp", eta=0.5)


def test_bp_is_known_by_its_name() -> None:
    assert training_loop("bp") is BackPropagation


def velocity_after(gradients: list[int], momentum: float, exponent: int, factor: float) -> list[tuple[float, int]]:
    """Return V and D after each step of one coordinate."""
    velocity, found = np.zeros(1, F), []
    for gradient in gradients:
        velocity, by = momentum_steps(velocity, momentum, np.array([gradient]), exponent, np.array([factor], F))
        found.append((velocity.item(), by.item()))
    return found


def test_momentum_by_hand() -> None:
    assert velocity_after([6, 0, 0, -10], 0.5, 0, 0.5) == [(3.0, 3), (1.5, 2), (0.75, 1), (-4.625, -5)]
    assert velocity_after([5, 5], 0.5, -1, 1.0) == [
        (2.5, 2),
        (3.75, 4),
    ]  # halves to even: weights and V are not the same
    assert velocity_after([2**30, 2**30, -1], 0.5, 0, 1.0) == [(2**22, 2**22)] * 2 + [(2**21 - 1, 2**21 - 1)]
    assert velocity_after([2**31 - 1, 0], 0.5, 120, 1.0) == [(2**22, 2**22), (2**21, 2**21)]  # the product is infinite


def test_momentum_where_a_factor_is_not_normal() -> None:
    """F below 2^-126 is 0 and V decays; F of 2^128, or f that is not normal: nothing moves."""
    before = np.array([8.0], F)

    def moved(factor: float, exponent: int) -> tuple[float, int]:
        velocity, by = momentum_steps(before, 0.5, np.array([2**30]), exponent, np.array([factor], F))
        return velocity.item(), by.item()

    assert moved(1.0, -200) == (4.0, 4)
    assert moved(float(F(2) - F(2**-23)), -127) == (4.0, 4)
    assert moved(1.0, -126) == (4.0, 4)  # 2^30 * 2^-126 is lost beside 4
    assert moved(1.0, 127) == (2**22, 2**22)
    assert moved(1.0, 128) == (8.0, 0)
    for factor in (0.0, 2.0**-127, float("inf"), float("nan")):
        assert moved(factor, 0) == (8.0, 0)


def test_momentum_begins_anew_with_the_settings_but_not_by_a_schedule() -> None:
    """And goes on otherwise: the second of two steps is another one than the first."""
    graph = whole_graph(bits=6)
    pictures, labels = images(graph, 2, np.random.default_rng(9))
    chosen = replace(BP, eta=0.02, momentum=0.9)

    def second(anew: bool, momentum: float) -> list[np.ndarray]:
        method = BackPropagation(graph, replace(chosen, momentum=momentum))
        method.step(pictures, labels)
        if anew:
            method.configure(method.settings, 1)
        method.step(pictures, labels)
        return method.weights

    begun = second(True, 0.9)
    assert not all(np.array_equal(a, b) for a, b in zip(begun, second(False, 0.9), strict=True))
    one, other = BackPropagation(graph, chosen), BackPropagation(graph, chosen)
    for method in (one, other):
        method.step(pictures, labels)
    other.follow(chosen)
    assert one.step(pictures, labels) == other.step(pictures, labels)
    other.follow(replace(chosen, eta=2.0**-40))  # V without a gradient that counts
    before = [tensor.copy() for tensor in other.weights]
    other.step(pictures, labels)
    assert any(not np.array_equal(a, b) for a, b in zip(before, other.weights, strict=True))
    first = [BackPropagation(graph, replace(chosen, momentum=m)) for m in (0.9, 0.1)]
    for method in first:
        method.step(pictures, labels)
    for a, b in zip(*(method.weights for method in first), strict=True):  # V is 0 before the first step
        assert np.array_equal(a, b)


def test_quantization_aware_scaling_divides_by_the_square_of_the_scale() -> None:
    """Powers of two as scales, so that a learning rate takes the place of them exactly: 2^-4 weighs as 2^8, the bias's 2^-7 as 2^14."""
    graph = whole_graph()
    layers = []
    for layer in graph.layers:
        own = layer.own
        layers.append(replace(layer, own=replace(own, scale=np.full_like(own.scale, 2.0**-4))) if own else layer)
    graph = replace(graph, layers=tuple(layers), scale=2.0**-3)
    for momentum in (0.0, 0.9):
        common = replace(BP, momentum=momentum)
        scaled, plain = (after(graph, replace(common, qas=qas, eta=2.0**eta)) for qas, eta in ((1, -2), (0, 6)))
        for index, name in ((0, "conv1"), (1, "dw1"), (2, "pw1"), (5, "fc1")):
            assert np.array_equal(scaled[name][0], plain[name][0]), name
            assert not np.array_equal(plain[name][0], graph.layers[index].own.weights), name
        scaled, plain = (after(graph, replace(common, qas=qas, eta=2.0**eta)) for qas, eta in ((1, 0), (0, 14)))
        assert np.array_equal(scaled["conv1"][1], plain["conv1"][1])
        assert not np.array_equal(scaled["conv1"][1], graph.layers[0].own.bias)


def test_updates_are_synchronised() -> None:
    """A layer that is trained with all others gets the update that it gets when it is trained alone."""
    graph = whole_graph(bits=6)
    together = after(graph, BP)
    for block in range(4):
        [(name, alone)] = after(graph, replace(BP, blocks=1 << block)).items()
        assert same(alone, together[name]), name


def test_perturbations_count_for_nothing() -> None:
    graph = whole_graph()
    for changes in ({"perturb": "node"}, {"wise": "model"}, {"gns": 0}, {"queries": 3}, {"sparsity": 99}, {"seed": 7}):
        assert all(
            same(a, b)
            for a, b in zip(after(graph, BP).values(), after(graph, replace(BP, **changes)).values(), strict=True)
        )


def pooled(op: Op, kernel: tuple[int, int], stride: int, pad: int, out: tuple[int, int]) -> Graph:
    """Return a pointwise layer on 4 x 5, a pool and the logits; the last in block 2."""
    builder = Builder(np.random.default_rng(1), (4, 5, 2), "double", 2)
    builder.append(Op.POINTWISE, (4, 5, 2), (1, 1), 1)
    builder.append(op, (*out, 2), kernel, stride, pad)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 2))
    first, pool, last = builder.graph.layers
    return replace(builder.graph, layers=(replace(first, block=1), pool, replace(last, block=2)))


@pytest.mark.parametrize("op", [Op.MAX_POOL, Op.AVERAGE_POOL])
def test_pools_whose_windows_overlap_or_leave_the_image_are_refused(op: Op) -> None:
    overlapping = [((2, 2), 1, 0, (3, 4)), ((2, 3), 2, 0, (2, 2))]
    for shape in (*overlapping, ((2, 2), 2, 1, (2, 3)), ((2, 2), 2, 0, (2, 3))):
        graph = pooled(op, *shape)
        with pytest.raises(RigError, match=graph.layers[1].name):
            BackPropagation(graph, BP)
        BackPropagation(graph, replace(BP, blocks=2))  # no error passes it
    one_window = [((4, 5), 1, 0, (1, 1)), ((3, 2), 2, 0, (1, 2)), ((4, 2), 2, 0, (1, 2))]
    for shape in (*one_window, ((2, 2), 2, 0, (2, 2)), ((1, 2), 3, 0, (2, 2))):
        BackPropagation(pooled(op, *shape), BP)


def test_work_by_hand() -> None:
    """Forward all; back one run a layer, products of what hands an error on, and of what trains weights."""
    graph = whole_graph()
    conv, depthwise, pointwise, logits = (layer.macs for layer in graph.layers if layer.own is not None)
    forward = conv + depthwise + pointwise + logits
    for changes, back, runs in (
        ({}, conv + 2 * (depthwise + pointwise + logits), 6),
        ({"train": "bias"}, depthwise + pointwise + logits, 6),
        ({"blocks": 4}, pointwise + logits, 4),
        ({"train": "last"}, logits, 1),
    ):
        method = BackPropagation(graph, replace(BP, **changes))
        work = work_of(method, 0, 3)
        assert (work.macs, work.layer_runs) == (3 * (forward + back), 3 * (6 + runs))
