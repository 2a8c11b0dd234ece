"""The memory plan and the work of FQT (docs/arithmetic-fqt.md, section 10): by hand, and lifetimes against accesses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from network.drawn_affine8 import affine8_graphs
from reference.affine8_networks import F32, network_a, network_b, network_c, samples

from hil.errors import RigError
from hil.training.graph.file import encode, file_size
from hil.training.graph.formats import GATED, Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.plan import ArenaBuffer
from hil.training.methods import METHODS
from hil.training.methods.figures import StepWork
from hil.training.methods.fqt import Fqt
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods.fqt import FqtReference


def on(graph: Graph, in_flash: bool = True, **chosen: object) -> Fqt:
    return Fqt(graph, FqtSettings(**{"batch": 2, **chosen}), in_flash)


def rows(buffers: tuple[ArenaBuffer, ...]) -> list[tuple[str, int, int, int]]:
    return [(one.name, one.size, one.first, one.last) for one in buffers]


def passing(method: Fqt) -> dict[str, tuple[int, int, int]]:
    """Return size, first and last slot of what is placed after what lives through all of training."""
    ((start, _),) = method.plan.memory(1).starts
    return {one.name: (one.size, one.first, one.last) for one in start.passing}


def standing(method: Fqt, slots: int = 1) -> dict[str, int]:
    return {one.name: one.size for one in method.plan.memory(slots).standing}


def test_network_a_by_hand() -> None:
    """Slots: layers 0 to 2, loss 3, backward 4 to 6."""
    method = on(network_a())
    assert list(standing(method, 2).items()) == [
        ("theta[0]", 48), ("beta[0]", 8), ("theta[2]", 88), ("beta[2]", 16), ("labels", 8), ("samples", 72),
        ("observed", 8), ("grad[0]", 80), ("grad[2]", 232), ("kept[0]", 8), ("kept[2]", 8), ("statistics[0]", 24),
        ("statistics[2]", 40),
    ]  # fmt: skip
    ((start, _),) = method.plan.memory(2).starts
    assert rows(start.passing) == [
        ("value[1]", 72, 0, 6), ("value[2]", 24, 1, 4), ("value[3]", 8, 2, 4),
        ("work[0]", 512, 0, 0), ("work[2]", 16, 2, 2),
        ("error[1]", 72, 5, 6), ("error[2]", 24, 4, 5), ("error[3]", 8, 3, 4),
        ("rank[0]", 16, 6, 6), ("rank[2]", 24, 4, 4),
        ("sums[0]", 440, 6, 6), ("sums[2]", 240, 4, 4),
        ("back[2]", 80, 4, 4), ("back[1]", 0, 5, 5),
    ]  # fmt: skip
    assert method.plan.memory(2).total == 640 + 600  # slot 6: sums[0], error[1], value[1] above work[0], rank[0]
    assert method.plan.slots() == ("conv1", "pool1", "fc1", "loss", "fc1 backward", "pool1 backward", "conv1 backward")


def test_where_the_tensors_lie() -> None:
    graph = network_b()
    method = on(graph)
    found = dict(
        zip((tensor.name for tensor in method.plan.tensors), method.plan.places(method.plan.memory(1)), strict=True)
    )
    offsets = {one.name: one.offset for one in method.plan.memory(1).standing}
    assert found["dw1"] == offsets["theta[2]"] and found["dw1.bias"] == offsets["beta[2]"]
    assert found["hswish1.range"] == offsets["theta[1]"]
    in_ram = on(graph, in_flash=False)
    blob = encode(graph)
    for (name, array), place in zip(in_ram.plan.arrays, in_ram.plan.places(in_ram.plan.memory(1)), strict=True):
        assert blob[place : place + array.nbytes] == array.tobytes(), name
    assert next(iter(standing(in_ram).items())) == ("file", -(-file_size(graph) // 8) * 8)
    sizes = {tensor.name: tensor.size for tensor in method.plan.tensors}
    assert (sizes["dw1"], sizes["dw1.bias"], sizes["hswish1.range"]) == (36 + 16, 16, 8)


def test_tables_and_what_layers_work_in() -> None:
    """Network B, whose value 2 is read by layers 2 and 8, and value 3 by layers 3 and 6."""
    method = on(network_b())
    back = {name: one for name, one in passing(method).items() if name.startswith("back")}
    slot = {index: 24 - index for index in range(12)}
    for name, size in (("back[6]", 16), ("back[3]", 64), ("back[1]", 0), ("back[8]", 0), ("back[10]", 0)):
        index = int(name[5:-1])
        assert back[name] == (size, slot[index], slot[index]), name
    assert back["back[2]"][0] == 256 + 64 + -(-(6 * 6 + 8 + 9) // 8) * 8
    assert "back[0]" not in back and standing(method)["table[1]"] == 768
    frozen = on(network_b(), last_layers=1)
    assert standing(frozen)["table[1]"] == 256
    assert passing(method)["work[2]"] == (-(-(2 * (36 + 9) + 8) // 8) * 8, 2, 2)
    assert passing(method)["value[3]"] == (64, 2, 22)  # the gate of the depthwise layer is last
    assert passing(method)["value[2]"] == (
        64,
        1,
        22,
    )  # a hard_swish has no gate: the depthwise layer is its last reader
    assert passing(method)["value[1]"] == (64, 0, 24)
    assert passing(method)["error[2]"] == (64, slot[8], slot[1])


def test_buffers_of_settings() -> None:
    plain, other = (
        standing(on(network_a(), **chosen))
        for chosen in ({}, {"train_bias": 0, "standardise": "batch", "error_range": "running"})
    )
    assert plain.keys() - other.keys() == {"beta[0]", "beta[2]", "statistics[0]", "statistics[2]"}
    assert other["error_ranges"] == 48 and (other["grad[0]"], other["grad[2]"]) == (72, 216)


@pytest.mark.parametrize(("optimizer", "name", "each"), [("momentum", "velocity", 4), ("adam", "moments", 8)])
def test_what_an_optimizer_keeps_comes_last(optimizer: str, name: str, each: int) -> None:
    """Layer 0 of network A has 18 weights in 2 channels, layer 2 54 in 3; without biases only weights have a state."""
    for train_bias, counts in ((1, (20, 57)), (0, (18, 54))):
        chosen = {"optimizer": optimizer, "standardise": "accumulated", "train_bias": train_bias}
        its = standing(on(network_a(), **chosen))
        assert list(its)[-4:] == ["statistics[0]", "statistics[2]", f"{name}[0]", f"{name}[2]"]
        assert [its[f"{name}[{index}]"] for index in (0, 2)] == [-(-each * count // 8) * 8 for count in counts]
        plain = on(network_a(), **chosen | {"optimizer": "sgd"})
        more = sum(its.values()) - sum(standing(plain).values())
        assert on(network_a(), **chosen).figures.analytic()["trainable"] - plain.figures.analytic()["trainable"] == more


def test_float32_and_a_cast() -> None:
    floating, mixed = on(network_a(F32)), on(network_c())
    assert passing(floating)["value[0]"] == (144, 0, 6) and "work[0]" not in passing(floating)
    assert passing(floating)["value[1]"] == (288, 0, 6) and "sums[0]" not in passing(floating)
    assert standing(floating)["theta[2]"] == 216 and standing(floating)["samples"] == 40
    assert passing(mixed)["value[3]"] == (72, 2, 5) and passing(mixed)["value[2]"] == (24, 1, 2)
    assert passing(mixed)["back[2]"] == (0, 6, 6) and standing(mixed)["theta[3]"] == 216


def test_segments_of_the_papers_figure() -> None:
    method = on(network_a(), in_flash=False)
    found = method.figures.analytic()
    planned = on(network_a()).plan.memory(1)
    assert found["trainable"] == 48 + 8 + 88 + 16 + 80 + 232 + 16 + 24 + 40
    assert found["trainable"] + found["feature_maps"] == found["bytes"] == planned.total
    assert found["static"] == file_size(network_a())


def test_work_by_hand() -> None:
    forward, conv, fc = 648 + 54, 648, 54
    assert on(network_a()).figures.work() == StepWork((4, 4, 4), 2 * (forward + conv + 2 * fc))
    assert on(network_a(), last_layers=1).figures.work() == StepWork((2, 2, 4), 2 * (forward + fc))
    sparse = on(network_a(), lambda_min=0.1, lambda_max=0.8, sparse_head=1)
    assert sparse.figures.work() is None and sparse.figures.step_macs() == on(network_a()).figures.step_macs()
    reference = FqtReference(network_a(), sparse.settings)
    reference.step(*samples(network_a()))  # keeps 1 and 1 channels of the convolution, 2 and 1 of the last layer
    assert reference.last_work() == StepWork((4, 4, 4), 2 * forward + 2 * conv // 2 + 3 * 2 * fc // 3)
    dense = FqtReference(network_a(), FqtSettings(batch=2))
    dense.step(*samples(network_a()))
    assert dense.last_work() is None


@settings(max_examples=60, deadline=None)
@given(graph=affine8_graphs(), data=st.data())
def test_no_buffer_is_overwritten_while_it_is_needed(graph: Graph, data: st.DataObject) -> None:
    try:
        method = Fqt.on(graph, "last-5", last_layers=data.draw(st.integers(1, 6)), batch=2)
    except RigError:
        assume(False)
    method = Fqt(method.network, method.settings, in_flash=data.draw(st.booleans()))
    plan = method.plan.memory(data.draw(st.integers(1, 2)))
    ((_, placed),) = plan.starts
    for index, one in enumerate((*plan.standing, *placed)):
        assert one.offset % 8 == 0 and one.offset + one.size <= plan.total
        for other in (*plan.standing, *placed)[:index]:
            apart = one.offset + one.size <= other.offset or other.offset + other.size <= one.offset
            assert apart or one.last < other.first or other.last < one.first, (one, other)
    lives = {one.name: (one.first, one.last) for one in placed}
    for slot, name in accesses(method):
        first, last = lives[name]
        assert first <= slot <= last, (slot, name, lives[name])


def accesses(method: Fqt) -> Iterator[tuple[int, str]]:
    """Yield slot and name of every value and error that a step touches, from the words of the text alone."""
    graph, backward = method.network, method.plan.backward
    kept = int(graph.format_of(0) is not Format.FLOAT32)
    for index, layer in enumerate(graph.layers):
        yield from ((index, f"value[{value}]") for value in (*layer.reads, index + 1) if value >= kept)
    yield len(graph.layers), f"value[{len(graph.layers)}]"
    yield len(graph.layers), f"error[{len(graph.layers)}]"
    for index in backward.reached:
        layer, slot = graph.layers[index], 2 * len(graph.layers) - index
        yield slot, f"error[{index + 1}]"
        if layer.op in GATED:
            yield slot, f"value[{index + 1}]"
        gives = [value for value in layer.reads if value - 1 >= backward.first]
        yield from ((slot, f"error[{value}]") for value in gives)
        looks = layer.own is not None or (bool(gives) and layer.op in (Op.MAX_POOL, Op.HARD_SWISH, Op.MULTIPLY))
        yield from ((slot, f"value[{value}]") for value in layer.reads if looks and value >= kept)


def test_the_last_layer_alone() -> None:
    for graph in (network_a(), network_c(), network_a(F32)):
        alone = Fqt(graph, FqtSettings()).last_layer(4)
        assert alone.network.in_shape == (1, 1, 18)
        images = np.random.default_rng(1).integers(0, 256, (4, 1, 1, 18)).astype(np.uint8)
        assert encode(alone.network) and FqtReference(alone.network, alone.settings).step(images, np.zeros(4, np.uint8))


def test_it_is_among_the_methods() -> None:
    kind = METHODS["fqt"]
    assert kind is Fqt and kind.default_variant == "uint8"


@pytest.mark.parametrize("in_flash", [True, False])
def test_the_form_that_fits(in_flash: bool) -> None:
    method = on(network_a(), in_flash=not in_flash)
    assert method.resident(method.plan.memory(1).total, (in_flash,)).in_flash is in_flash
