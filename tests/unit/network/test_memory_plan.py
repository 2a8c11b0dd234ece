"""The memory plan against the accesses of a training step, and its placement against brute force (docs/memory.md)."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.network import build
from hil.network.blob import encode
from hil.network.graph import Network, Op
from hil.network.plan import Buffer, Plan, plan
from network.drawn import networks

ALWAYS = ("blob", "labels", "samples", "grad")


def accesses(network: Network, first_bp: int) -> dict[str, list[int]]:
    """Walk through a step and write down in which slot which buffer is touched; a relu works in its predecessor's buffer."""
    layers, n = network.layers, len(network.layers)
    touched: dict[str, list[int]] = defaultdict(list)

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


def check_lifetimes(network: Network, batch: int, partition: int) -> None:
    made = plan(network, batch, partition)
    n, first_bp = len(network.layers), network.first_bp(partition)
    touched = accesses(network, first_bp)
    passing = {b.name: (b.first, b.last) for b in made.buffers if not b.name.startswith(ALWAYS)}
    assert passing == {name: (min(slots), max(slots)) for name, slots in touched.items()}
    lasting = {b.name: (b.first, b.last) for b in made.buffers if b.name.startswith(ALWAYS)}
    grads = {f"grad[{i}]" for i, layer in enumerate(network.layers) if layer.weights is not None and i >= first_bp}
    assert set(lasting) == {"blob", "labels", "samples"} | grads
    assert set(lasting.values()) == {(0, 2 * n)}


def check_sizes(network: Network, batch: int, made: Plan) -> None:
    def size(name: str) -> int:
        kind, _, rest = name.partition("[")
        if not rest:
            pixels = network.layers[0].in_size
            return {"blob": len(encode(network)), "labels": batch, "samples": batch * pixels}[name]
        layer = network.layers[int(rest[:-1])]
        height, width, channels = layer.in_shape
        padded = (height + 2 * layer.pad) * (width + 2 * layer.pad) * channels + 64
        return {
            "act": layer.out_size, "err": layer.out_size, "acc": 4 * layer.out_size, "eacc": 4 * layer.in_size,
            "scratch": padded, "bscratch": padded,
            "grad": 4 * (0 if layer.weights is None else layer.weights.size),
        }[kind]  # fmt: skip

    for buffer in made.buffers:
        assert buffer.size == -(-size(buffer.name) // 8) * 8, buffer.name


def meet(one: Buffer, other: Buffer) -> bool:
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
@given(network=networks(), batch=st.integers(1, 5), partition=st.integers(0, 9))
def test_drawn_networks(network: Network, batch: int, partition: int) -> None:
    partition = min(partition, len(network.trained))
    made = plan(network, batch, partition)
    check_lifetimes(network, batch, partition)
    check_sizes(network, batch, made)
    check_placement(made)


@pytest.mark.parametrize("partition", range(6))
@pytest.mark.parametrize("batch", [1, 8, 32])
def test_lenet5(batch: int, partition: int) -> None:
    network = build("lenet5", 1)
    made = plan(network, batch, partition)
    check_lifetimes(network, batch, partition)
    check_sizes(network, batch, made)
    check_placement(made)


def test_equal_sizes_keep_the_order_of_the_document() -> None:
    names = [buffer.name for buffer in plan(build("lenet5", 1), 8, 0).buffers]
    assert names.index("scratch[3]") < names.index("bscratch[3]")
    assert names.index("act[0]") < names.index("err[0]")
    assert names.index("act[10]") < names.index("err[10]")


def test_the_plan_is_smaller_than_the_papers_formula_where_samples_stream() -> None:
    """At batch 8 the paper holds the activations of all samples, the plan those of one."""
    from hil.network.analytic import training_bytes

    network = build("lenet5", 1)
    assert plan(network, 8, 3).total < training_bytes(network, 3, 8)
