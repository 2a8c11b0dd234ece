"""The memory of ElasticZO on `float32`: buffers of a step (docs/memory.md, float32), and the paper's formulas."""

from __future__ import annotations

from collections.abc import Iterator

from hil.training.formats.float32 import VALUE
from hil.training.graph.file import file_size
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node
from hil.training.graph.plan import ArenaBuffer, ArenaLayout, Plan, Span, Start
from hil.training.methods.backward_pass import BackwardPass


def backward_of(network: Graph, partition: int) -> BackwardPass | None:
    """Return the backward pass through the layers that back-propagation trains; None if there are none.

    Raises:
        RigError: a pool that errors cannot be handed through.
    """
    trained = list(network.own)[partition:]
    return BackwardPass(network, trained, True) if trained else None


def plan(network: Graph, backward: BackwardPass | None, slots: int) -> Plan:
    """Place the buffers of a training step on a board that holds `slots` samples at a time, 1..batch."""
    end = len(network.layers) if backward is None else backward.slot(backward.first)
    passing = (ArenaBuffer.of(*wanted) for wanted in _passing(network, backward))
    return Plan.of(_standing(network, backward, slots), end, ArenaLayout([Start(0, (), tuple(passing))]))


def value_elements(network: Graph) -> list[int]:
    """Return the elements of every value, the input first."""
    return [network.layers[0].in_size, *(layer.out_size for layer in network.layers)]


def _standing(network: Graph, backward: BackwardPass | None, slots: int) -> Iterator[tuple[str, int]]:
    yield "file", file_size(network)
    yield "labels", 2 * slots
    yield "samples", slots * network.layers[0].in_size
    for index, layer in enumerate(network.layers):
        if backward is not None and index in backward.reached and layer.own is not None:
            yield f"grad[{index}]", VALUE * (layer.weight_count + layer.channels)


def _passing(network: Graph, backward: BackwardPass | None) -> Iterator[tuple[str, int, Span]]:
    sizes = [VALUE * elements for elements in value_elements(network)]
    yield "value[0]", sizes[0], (0, _last_use_of_input(network, backward))
    for value, size in enumerate(sizes[1:], 1):
        back = backward.last_read(value) if backward is not None else None
        last = network.last_use(value) if back is None else back
        yield f"value[{value}]", size, (value - 1, last)
    if backward is None:
        return
    for value, size in enumerate(sizes[1:], 1):
        span = backward.error(value)
        if span is not None:
            yield f"error[{value}]", size, span
    for index, layer in enumerate(network.layers):  # value 0 is not kept: its bytes are still in `samples`
        span = backward.sums(index)
        if span is not None and layer.own is not None and 0 in layer.reads:
            yield f"input[{index}]", sizes[0], span


def _last_use_of_input(network: Graph, backward: BackwardPass | None) -> int:
    """Return the last slot in which value 0 is wanted; for gradients it is computed again."""
    for index, layer in enumerate(network.layers):
        passes = backward is not None and index in backward.reached and backward.passes_on(index)
        if backward is not None and passes and layer.op is Op.MULTIPLY and 0 in layer.reads:
            return backward.slot(index)
    return network.last_use(0)


def training_bytes(network: Graph, partition: int, batch: int) -> int:
    """Return the bytes of training memory by ElasticZO's equation (4); C = 0 gives (2), C = L gives (3).

    Activations and errors of all samples of a batch stay allocated, and a ReLU has an activation of its own: so the
    paper's figures come out (docs/arithmetic-float32.md, section 12).
    """
    first, elements = network.first_bp(partition), 0
    for index, layer in enumerate(network.nodes(Float32Node)):
        parameters = layer.weight_count + layer.channels
        activations = batch * layer.out_size * (2 if layer.act_min == 0 else 1)
        elements += (parameters + activations) * (2 if index >= first else 1)
    return VALUE * elements
