"""The memory plan of `float32` (docs/memory.md): its example, and lifetimes against the accesses of a step."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference.float32_networks import CLASSES, Maker

from hil.errors import RigError
from hil.training.graph.formats import POOLS, Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.plan import ArenaBuffer
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.elasticzo_fp32 import ElasticZoFp32
from hil.training.methods.elasticzo_fp32_memory import backward_of, plan
from hil.training.methods.elasticzo_settings import VARIANTS
from hil.training.networks import build, names
from network.drawn_float32 import float32_graphs

STANDING = [  # name, bytes
    ("file", 431_488), ("labels", 8), ("samples", 784), ("grad[0]", 624), ("grad[2]", 9664), ("grad[4]", 376_800),
    ("grad[5]", 40_656), ("grad[6]", 3400),
]  # fmt: skip
BASE = 863_424  # the end of what lives through all of training
EXAMPLE = [  # name, bytes, first and last slot, place from BASE on
    ("value[1]", 18_816, 0, 14, 0),
    ("error[1]", 18_816, 13, 14, 18_816),
    ("value[3]", 12_544, 2, 12, 18_816),
    ("error[3]", 12_544, 11, 12, 31_360),
    ("value[2]", 4704, 1, 12, 43_904),
    ("error[2]", 4704, 12, 13, 48_608),
    ("value[0]", 3136, 0, 0, 18_816),
    ("value[4]", 3136, 3, 10, 31_360),
    ("error[4]", 3136, 10, 11, 48_608),
    ("input[0]", 3136, 14, 14, 37_632),
    ("value[5]", 480, 4, 10, 34_496),
    ("error[5]", 480, 9, 10, 34_976),
    ("value[6]", 336, 5, 9, 35_456),
    ("error[6]", 336, 8, 9, 35_792),
    ("value[7]", 40, 6, 8, 34_976),
    ("error[7]", 40, 7, 8, 35_016),
]


def method(network: str, variant: str) -> ElasticZoFp32:
    return ElasticZoFp32.on(build(network, 1), variant)


def test_the_example_row_for_row() -> None:
    made = method("lenet5-float32", "full-bp").plan.memory(1)
    assert [(buffer.name, buffer.size) for buffer in made.standing] == STANDING
    ((_, placed),) = made.starts
    assert list(placed) == [ArenaBuffer(*row, BASE + place) for *row, place in EXAMPLE]


@pytest.mark.parametrize(
    ("network", "slots", "total"),
    [
        ("lenet5-float32", 1, 916_736),
        ("lenet5-float32", 32, 941_096),
        ("resnet-tiny-float32", 1, 618_248),
        ("pointnet-float32", 1, 482_312),
    ],
)
def test_the_totals_of_full_bp(network: str, slots: int, total: int) -> None:
    assert method(network, "full-bp").plan.memory(slots).total == total


@pytest.mark.parametrize("network", names(Format.FLOAT32))
@pytest.mark.parametrize("variant", [variant for variant in VARIANTS if variant != "full-bp"])
def test_value_0_is_not_computed_again_where_no_gradient_reads_it(network: str, variant: str) -> None:
    ((_, placed),) = method(network, variant).plan.memory(1).starts
    assert not [buffer.name for buffer in placed if buffer.name.startswith("input")]
    assert [(buffer.first, buffer.last) for buffer in placed if buffer.name == "value[0]"] == [(0, 0)]


def branched() -> Graph:
    """Return a graph with three layers that read value 0: a pointwise and a conv2d layer, and an add."""
    net = Maker((4, 4, 2), 2.0**-7, 0)
    net.add(Op.POINTWISE, (4, 4, 2), 1, 1, 0, "relu")
    net.add(Op.CONV2D, (4, 4, 2), 3, 1, 1, reads=(0,))
    net.add(Op.ADD, (4, 4, 2), reads=(2, 1))
    net.add(Op.ADD, (4, 4, 2), reads=(3, 0))
    net.add(Op.FULLY_CONNECTED, (1, 1, CLASSES))
    return net.graph()


@pytest.mark.parametrize(
    ("partition", "inputs"),
    [(0, {"input[0]": (128, 10, 10), "input[1]": (128, 9, 9)}), (1, {"input[1]": (128, 9, 9)}), (2, {}), (3, {})],
)
def test_each_gradient_that_reads_value_0_computes_it_again(
    partition: int, inputs: dict[str, tuple[int, int, int]]
) -> None:
    graph = branched()
    ((_, placed),) = plan(graph, backward_of(graph, partition), 1).starts
    spans = {buffer.name: (buffer.size, buffer.first, buffer.last) for buffer in placed}
    assert spans["value[0]"] == (128, 0, 3)
    assert {name: span for name, span in spans.items() if name.startswith("input")} == inputs


@settings(max_examples=150, deadline=None)
@given(graph=float32_graphs(), partition=st.integers(0, 6))
def test_a_buffer_lives_while_a_step_accesses_it(graph: Graph, partition: int) -> None:
    partition = min(partition, len(graph.trained))
    try:
        backward = backward_of(graph, partition)
    except RigError:  # a pool that errors cannot pass
        assume(False)
    ((_, placed),) = plan(graph, backward, 1).starts
    touched = accesses(graph, backward)
    assert {buffer.name: (buffer.first, buffer.last) for buffer in placed} == {
        name: (min(slots), max(slots)) for name, slots in touched.items()
    }
    for index, one in enumerate(placed):
        for other in placed[:index]:
            together = one.first <= other.last and other.first <= one.last
            assert not together or one.offset + one.size <= other.offset or other.offset + other.size <= one.offset


def accesses(graph: Graph, backward: BackwardPass | None) -> dict[str, list[int]]:
    """Walk through a step and return the slots in which each buffer is touched."""
    layers, n = graph.layers, len(graph.layers)
    touched: dict[str, list[int]] = defaultdict(list)
    touched["value[0]"].append(0)  # computed from the bytes of the sample
    for index, layer in enumerate(layers):
        for value in (*layer.reads, index + 1):
            touched[f"value[{value}]"].append(index)
    for value in range(n + 1):
        if value == n or not any(value in layer.reads for layer in layers):
            touched[f"value[{value}]"].append(n)
    if backward is None:
        return touched
    touched[f"error[{n}]"].append(n)
    for index in range(n - 1, backward.first - 1, -1):
        slot, layer = 2 * n - index, layers[index]
        if f"error[{index + 1}]" not in touched:
            continue
        touched[f"error[{index + 1}]"].append(slot)
        if layer.op not in POOLS:
            touched[f"value[{index + 1}]"].append(slot)  # the gate
        given = [value for value in layer.reads if value > backward.first]
        for value in given:
            touched[f"error[{value}]"].append(slot)
        if layer.own is not None or (layer.op is Op.MAX_POOL and given):
            (read,) = layer.reads
            touched[f"value[{read}]" if read else f"input[{index}]"].append(slot)
    return touched
