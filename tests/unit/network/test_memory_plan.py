"""The memory plan against the accesses of a training step, and its placement against brute force (docs/memory.md)."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.graph.file import encode
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.plan import ArenaBuffer, Plan
from hil.training.methods.elasticzo_memory import plan
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks import build
from network.drawn import networks

ALWAYS = ("blob", "labels", "samples", "plus_", "grad")


def accesses(network: Graph, partition: int) -> dict[str, list[int]]:
    """Walk through a step and write down in which slot which buffer is touched; a relu works in its predecessor's buffer."""
    layers, n, first_bp = network.layers, len(network.layers), network.first_bp(partition)
    touched: dict[str, list[int]] = defaultdict(list)
    if partition > 0:
        touched["noise"].append(2 * n + 1)  # perturbing and the update come before, between and after the passes

    def home(i: int) -> int:
        return i - 1 if layers[i].op is Op.RELU else i

    def touch(slot: int, kind: str, i: int) -> None:
        if i >= 0:  # the input of the first layer is `samples`
            touched[f"{kind}[{i}]"].append(slot)

    for i, layer in enumerate(layers):
        touch(i, "act", home(i))
        if i > 0:
            touch(i, "act", home(i - 1))
        if layer.weights is not None:
            touch(i, "acc", i)
        if layer.op is Op.CONV2D:
            touch(i, "scratch", i)
    touch(n, "act", home(n - 1))
    if first_bp < n:
        touch(n, "err", home(n - 1))
    for i in range(n - 1, first_bp - 1, -1):
        slot, layer = 2 * n - i, layers[i]
        touch(slot, "err", home(i))
        if layer.op is Op.RELU:
            touch(slot, "act", home(i))  # where its output is > 0
            continue
        if i > 0:
            touch(slot, "act", home(i - 1))  # the input: for the weight gradient, for the maximum of a window
        if layer.op is Op.CONV2D:
            touch(slot, "bscratch", i)
        if i > first_bp:
            touch(slot, "err", home(i - 1))
            if layer.weights is not None:
                touch(slot, "eacc", i)
    return touched


def check_lifetimes(network: Graph, chosen: ElasticZoSettings, made: Plan) -> None:
    n, first_bp = len(network.layers), network.first_bp(chosen.partition)
    touched = accesses(network, chosen.partition)
    passing = {b.name: (b.first, b.last) for b in made.buffers if not b.name.startswith(ALWAYS)}
    assert passing == {name: (min(slots), max(slots)) for name, slots in touched.items()}
    lasting = {b.name: (b.first, b.last) for b in made.buffers if b.name.startswith(ALWAYS)}
    grads = {f"grad[{i}]" for i, layer in enumerate(network.layers) if layer.weights is not None and i >= first_bp}
    kept = {"plus_logits", "plus_exponents"} if chosen.loss == "integer" and chosen.partition else set()
    assert set(lasting) == {"blob", "labels", "samples"} | kept | grads
    assert set(lasting.values()) == {(0, 2 * n + 1)}


def check_sizes(network: Graph, chosen: ElasticZoSettings, slots: int, made: Plan) -> None:
    batch, group = chosen.batch, chosen.batch if chosen.scope == "batch" else 1

    def size(name: str) -> int:
        kind, _, rest = name.partition("[")
        if not rest:
            pixels = network.layers[0].in_size
            return {
                "blob": len(encode(network)), "labels": slots, "samples": slots * pixels,
                "plus_logits": batch * network.classes, "plus_exponents": 2 * batch,
                "noise": 4096,
            }[name]  # fmt: skip
        layer = network.layers[int(rest[:-1])]
        height, width, channels = layer.in_shape
        kernel_h, kernel_w = layer.kernel
        row = (width + 2 * layer.pad[0]) * channels
        bscratch = (height + 2 * layer.pad[0]) * row + 64 + 4 * kernel_h * kernel_w * channels
        scratch = max(height + 2 * layer.pad[0], 2 * kernel_h) * row + 64 + 4 * kernel_h * (kernel_w * channels + 1)
        scratch = max(scratch, 8 * kernel_h * kernel_w * channels + 16)
        return {
            "act": group * layer.out_size, "err": group * layer.out_size,
            "acc": 4 * group * layer.out_size, "eacc": 4 * group * layer.in_size,
            "scratch": scratch, "bscratch": bscratch,
            "grad": 4 * (0 if layer.weights is None else layer.weights.size),
        }[kind]  # fmt: skip

    for buffer in made.buffers:
        assert buffer.size == -(-size(buffer.name) // 8) * 8, buffer.name


def meet(one: ArenaBuffer, other: ArenaBuffer) -> bool:
    """Whether there is a slot in which both live."""
    return bool(set(range(one.first, one.last + 1)) & set(range(other.first, other.last + 1)))


def check_placement(made: Plan) -> None:
    buffers = made.buffers
    assert (buffers[0].name, buffers[0].offset) == ("blob", 0)
    assert all(buffer.offset % 8 == 0 for buffer in buffers)
    assert made.total == max(buffer.offset + buffer.size for buffer in buffers)
    assert made.total <= sum(buffer.size for buffer in buffers)
    assert [buffer.size for buffer in buffers[1:]] == sorted((b.size for b in buffers[1:]), reverse=True)
    for index, buffer in enumerate(buffers):
        taken = [(b.offset, b.offset + b.size) for b in buffers[:index] if meet(buffer, b)]
        # A lowest offset is 0 or lies right behind a buffer: below it, all of those must be taken.
        for offset in {0, *(end for _, end in taken)}:
            free = all(offset + buffer.size <= start or end <= offset for start, end in taken)
            assert free == (offset == buffer.offset) or offset > buffer.offset, (buffer.name, offset)
        assert buffer.offset in {0, *(end for _, end in taken)}


@settings(max_examples=80, deadline=None)
@given(data=st.data(), network=networks(), batch=st.integers(1, 5), partition=st.integers(0, 9))
def test_drawn_networks(data: st.DataObject, network: Graph, batch: int, partition: int) -> None:
    words = {"loss": ["float", "integer"], "scope": ["sample", "batch"]}
    drawn = {name: data.draw(st.sampled_from(values)) for name, values in words.items()}
    chosen = ElasticZoSettings(min(partition, len(network.trained)), batch=batch, **drawn)
    slots = batch if chosen.scope == "batch" else data.draw(st.integers(1, batch))
    made = plan(network, chosen, slots)
    check_lifetimes(network, chosen, made)
    check_sizes(network, chosen, slots, made)
    check_placement(made)


@pytest.mark.parametrize("partition", range(6))
@pytest.mark.parametrize("batch", [1, 8, 32])
def test_lenet5(batch: int, partition: int) -> None:
    network = build("lenet5", 1)
    chosen = ElasticZoSettings(partition, batch=batch)
    made = plan(network, chosen, batch)
    check_lifetimes(network, chosen, made)
    check_sizes(network, chosen, batch, made)
    check_placement(made)


def test_equal_sizes_keep_the_order_of_the_document() -> None:
    names = [buffer.name for buffer in plan(build("lenet5", 1), ElasticZoSettings(0), 8).buffers]
    assert names.index("scratch[3]") < names.index("bscratch[3]")
    assert names.index("act[0]") < names.index("err[0]")
    assert names.index("act[10]") < names.index("err[10]")


def test_noise_takes_no_memory_of_its_own_beside_larger_activations() -> None:
    """It lives between the passes, so that it lies over what a pass leaves behind."""
    buffers = {buffer.name: buffer for buffer in plan(build("lenet5", 1), ElasticZoSettings(3), 8).buffers}
    noise, end = buffers["noise"], buffers["noise"].offset + buffers["noise"].size
    assert any(
        b.offset < end and noise.offset < b.offset + b.size
        for b in buffers.values()
        if b is not noise and b.last < noise.first
    )
    assert end < max(b.offset + b.size for b in buffers.values())


def test_the_plan_is_smaller_than_the_papers_formula_where_samples_stream() -> None:
    """At batch 8 the paper holds the activations of all samples, the plan those of one."""
    from hil.training.methods.elasticzo_memory import training_bytes

    network = build("lenet5", 1)
    assert plan(network, ElasticZoSettings(3), 8).total < training_bytes(network, 3, 8)
