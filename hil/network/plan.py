"""The memory plan: every buffer of a training step placed in one arena by its lifetime (docs/memory.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hil.graph.file import file_size
from hil.graph.ir import Graph, Node, Op
from hil.network.place import end_of, place
from hil.network.settings import Settings

NOISE_BYTES = 4096  # what perturbation and update make of the pool of noise


@dataclass(frozen=True)
class Buffer:
    """One buffer: `size` bytes, alive in time slots `first`..`last`, at `offset` of the arena."""

    name: str
    size: int
    first: int
    last: int
    offset: int = 0

    def moved(self, offset: int) -> Buffer:
        """Return the same buffer at another offset."""
        return replace(self, offset=offset)


@dataclass(frozen=True)
class Plan:
    """The placed buffers, and the bytes of arena that they need."""

    buffers: tuple[Buffer, ...]
    total: int


def plan(network: Graph, settings: Settings, slots: int) -> Plan:
    """Place the buffers of a training step.

    Args:
        network: the graph.
        settings: batch, partition, scope and loss decide what is needed.
        slots: samples that the board holds at a time, 1..batch.
    """
    blob, *others = _buffers(network, settings, slots)
    placed = place(others, [blob])  # the network file is written before there is a plan, so it lies at offset 0
    return Plan(placed, end_of(placed))


def _buffers(network: Graph, settings: Settings, slots: int) -> list[Buffer]:
    layers, n = network.layers, len(network.layers)
    first_bp, batch = network.first_bp(settings.partition), settings.batch
    group = batch if settings.scope == "batch" else 1  # samples whose activations live together
    between = 2 * n + 1  # the slot of perturbation and update
    always = (0, between)
    wanted: list[tuple[str, int, tuple[int, int]]] = [
        ("blob", file_size(network), always),
        ("labels", slots, always),
        ("samples", slots * layers[0].in_size, always),
    ]
    if settings.loss == "integer" and settings.partition:
        wanted += [("plus_logits", batch * network.classes, always), ("plus_exponents", 2 * batch, always)]
    if settings.partition:
        wanted.append(("noise", NOISE_BYTES, (between, between)))
    kept = [index for index, layer in enumerate(layers) if layer.op is not Op.RELU]
    backward = range(n - 1, first_bp - 1, -1)
    wanted += [(f"act[{i}]", group * layers[i].out_size, (i, _last_use(layers, i, first_bp))) for i in kept]
    wanted += [(f"acc[{i}]", 4 * group * layers[i].out_size, (i, i)) for i in kept if layers[i].own is not None]
    wanted += [(f"scratch[{i}]", scratch_size(layers[i]), (i, i)) for i in kept if layers[i].op is Op.CONV2D]
    wanted += [(f"err[{i}]", group * layers[i].out_size, (_made(layers, i), 2 * n - i)) for i in backward if i in kept]
    wanted += [
        (f"eacc[{i}]", 4 * group * layers[i].in_size, (2 * n - i,) * 2)
        for i in backward
        if i > first_bp and layers[i].own is not None
    ]
    wanted += [
        (f"bscratch[{i}]", gradient_scratch_size(layers[i]), (2 * n - i,) * 2)
        for i in backward
        if layers[i].op is Op.CONV2D
    ]
    wanted += [(f"grad[{i}]", 4 * layers[i].weight_count, always) for i in backward if layers[i].own is not None]
    return [Buffer(name, (size + 7) & ~7, *life) for name, size, life in wanted]


def scratch_size(layer: Node) -> int:
    """Return the scratch bytes of a convolution's forward pass: what the kernel of any core asks for (docs/memory.md)."""
    (height, width, channels), (kernel_h, kernel_w) = layer.in_shape, layer.kernel
    rows = max(height + 2 * layer.pad, 2 * kernel_h)
    padded = rows * (width + 2 * layer.pad) * channels + 64 + 4 * kernel_h * (kernel_w * channels + 1)
    return max(padded, 8 * kernel_h * kernel_w * channels + 16)


def gradient_scratch_size(layer: Node) -> int:
    """Return the scratch bytes of a convolution's weight gradient: its input with padding, and the sums of one output channel."""
    (height, width, channels), (kernel_h, kernel_w) = layer.in_shape, layer.kernel
    return (height + 2 * layer.pad) * (width + 2 * layer.pad) * channels + 64 + 4 * kernel_h * kernel_w * channels


def _consumer(layers: tuple[Node, ...], i: int) -> int:
    """Return the layer that reads the value of layer i once an in-place relu is through with it; n is the loss."""
    following = i + 1
    return following + 1 if following < len(layers) and layers[following].op is Op.RELU else following


def _last_use(layers: tuple[Node, ...], i: int, first_bp: int) -> int:
    n, consumer = len(layers), _consumer(layers, i)
    last = consumer
    if first_bp <= consumer < n:
        last = 2 * n - consumer
    if consumer == i + 2 and i + 1 >= first_bp:
        last = max(last, 2 * n - (i + 1))
    return last


def _made(layers: tuple[Node, ...], i: int) -> int:
    n, consumer = len(layers), _consumer(layers, i)
    return n if consumer == n else 2 * n - consumer
