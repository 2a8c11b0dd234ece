"""The memory of ElasticZO-INT8: the buffers of a step (docs/memory.md), and the paper's formula."""

from __future__ import annotations

from hil.training.formats import kernels_of
from hil.training.formats.bfp8 import EXPONENT
from hil.training.graph.file import file_size
from hil.training.graph.formats import CHAINS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from hil.training.graph.plan import ArenaBuffer, ArenaLayout, Plan, Span, Start
from hil.training.methods.elasticzo_settings import ElasticZoSettings

GRADIENT = 4  # bytes of the gradient of a weight
NOISE_BYTES = 4096  # what perturbation and update make of the pool of noise


def plan(network: Graph, settings: ElasticZoSettings, slots: int) -> Plan:
    """Place the buffers of a training step on a board that holds `slots` samples at a time, 1..batch."""
    end = 2 * len(network.layers) + 1  # the slot of perturbation and update
    start = Start(0, (), tuple(_buffers(network, settings, slots)))
    blob = "blob", file_size(network)  # the file is written before there is a plan
    return Plan.of([blob], end, ArenaLayout([start]))


def _buffers(network: Graph, settings: ElasticZoSettings, slots: int) -> list[ArenaBuffer]:
    layers, n = network.layers, len(network.layers)
    kernels, value = kernels_of(network.format_of(0)), CHAINS[network.format_of(0)].values.itemsize
    first_bp, batch = network.first_bp(settings.partition), settings.batch
    group = batch if settings.scope == "batch" else 1  # samples whose activations live together
    between = 2 * n + 1  # the slot of perturbation and update
    always = (0, between)
    wanted: list[tuple[str, int, Span]] = [
        ("labels", slots, always),
        ("samples", slots * layers[0].in_size * value, always),
    ]
    if settings.loss == "integer" and settings.partition:
        wanted += [("plus_logits", batch * network.classes, always), ("plus_exponents", EXPONENT * batch, always)]
    if settings.partition:
        wanted.append(("noise", NOISE_BYTES, (between, between)))
    kept = [index for index, layer in enumerate(layers) if layer.op is not Op.RELU]
    backward = range(n - 1, first_bp - 1, -1)
    wanted += [(f"act[{i}]", group * layers[i].out_size * value, (i, _last_use(layers, i, first_bp))) for i in kept]
    wanted += [
        (f"acc[{i}]", kernels.ACCUMULATOR * group * layers[i].out_size, (i, i))
        for i in kept
        if layers[i].own is not None
    ]
    wanted += [(f"scratch[{i}]", kernels.scratch_size(layers[i]), (i, i)) for i in kept if layers[i].op is Op.CONV2D]
    wanted += [
        (f"err[{i}]", group * layers[i].out_size * value, (_made(layers, i), 2 * n - i)) for i in backward if i in kept
    ]
    wanted += [
        (f"eacc[{i}]", kernels.ACCUMULATOR * group * layers[i].in_size, (2 * n - i,) * 2)
        for i in backward
        if i > first_bp and layers[i].own is not None
    ]
    wanted += [
        (f"bscratch[{i}]", kernels.gradient_scratch_size(layers[i]), (2 * n - i,) * 2)
        for i in backward
        if layers[i].op is Op.CONV2D
    ]
    wanted += [(f"grad[{i}]", GRADIENT * layers[i].weight_count, always) for i in backward if layers[i].own is not None]
    return [ArenaBuffer.of(name, size, life) for name, size, life in wanted if size]


def _consumer(layers: tuple[Node, ...], i: int) -> int:
    """Return the layer that reads the value of layer i after a relu that works in place; n is the loss."""
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


def training_bytes(network: Graph, partition: int, batch: int) -> int:
    """Return the bytes of training memory by ElasticZO's equation (15); C = 0 gives (13), C = L gives (14).

    Every layer has an activation, a relu too, those with weights also an int32 accumulator; everything stays allocated,
    as the paper assumes (section 4.4). With the relus counted, the ratios of section 5.3 (0.26, 4.1, 0.052, 1.4 %;
    1.8, 1.6 x) come out. The comments have the types of the paper, which are those of `bfp8`. The partition is C;
    activations and errors are held for all samples of the batch.
    """
    first_bp, chain = network.first_bp(partition), CHAINS[network.format_of(0)]
    accumulator = kernels_of(network.format_of(0)).ACCUMULATOR
    weight, value = chain.weights.itemsize, chain.values.itemsize
    total = 0
    for index, layer in enumerate(network.layers):
        weights = layer.weight_count
        total += weight * weights + value * batch * layer.out_size  # theta int8, a int8
        if weights:
            total += accumulator * batch * layer.out_size  # a int32
        if index >= first_bp:
            total += value * batch * layer.out_size  # e int8
            total += (weight + GRADIENT) * weights  # g int8, g int32
            if weights and index > first_bp:
                total += accumulator * batch * layer.in_size  # e int32 of the layer before
    return total
