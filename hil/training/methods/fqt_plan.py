"""The plan of FQT: the last layers, and their memory (docs/arithmetic-fqt.md, sections 2 and 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from hil.training.formats import kernels_of
from hil.training.formats.float32 import VALUE
from hil.training.formats.tflite8 import gradient_sums, input_error
from hil.training.graph.file import file_size, parameters_in_file, places_in_file
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.plan import ArenaBuffer, ArenaLayout, Plan, Span, Start, up
from hil.training.methods.backward_pass import BackwardPass
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.methods.fqt_tensors import BIAS, RANGE, FqtTensor, array_of, trained_tensors, with_arrays
from hil.training.methods.plan import MethodPlan

HEAD, RANGE_BYTES = 16, 8  # of the parameters of a layer with weights; low and high
TABLE, TABLES = 256, 768  # of a hard_swish: outputs, and with the slopes
OBSERVED, ERROR_RANGES, STATISTICS = 2, 16, 12  # bytes a layer, a layer, a channel
OPTIMIZED = {"momentum": ("velocity", 4), "adam": ("moments", 8)}  # by optimizer: name, and bytes a trained element
# buffers of trained weights and their gradients
TRAINABLE = ("theta", "beta", "grad", "kept", "statistics", *(name for name, _ in OPTIMIZED.values()))
Passing = Iterator[tuple[str, int, Span | None]]  # name, bytes and lifetime; None: it is not needed


@dataclass(frozen=True)
class FqtPlan(MethodPlan):
    """The plan: weights, biases and ranges of the last layers."""

    settings: FqtSettings

    @cached_property
    def trained(self) -> tuple[int, ...]:
        """Indices of the trained layers, input to output."""
        return self.settings.trained(self.network)

    @cached_property
    def backward(self) -> BackwardPass:
        """Which layers errors reach, and when.

        Raises:
            RigError: a pool that errors cannot be handed through.
        """
        return BackwardPass(self.network, self.trained, True)

    @cached_property
    def trained_tensors(self) -> tuple[FqtTensor, ...]:
        """The trained tensors, input to output."""
        return trained_tensors(self.network, self.trained, bool(self.settings.train_bias))

    @property
    def parts(self) -> tuple[tuple[int, bool], ...]:
        """Of each trained tensor its layer, and whether it has biases."""
        return tuple((tensor.layer, tensor.part == BIAS) for tensor in self.trained_tensors)

    @cached_property
    def arrays(self) -> tuple[tuple[str, np.ndarray], ...]:
        """Name and first values of the trained tensors, which have more than weights and biases."""
        layers = self.network.layers
        return tuple((one.name, array_of(layers[one.layer], one.part)) for one in self.trained_tensors)

    def with_arrays(self, arrays: Sequence[np.ndarray]) -> Graph:
        """Return the network with other trained tensors."""
        return with_arrays(self.network, self.trained_tensors, arrays)

    def places(self, plan: Plan) -> tuple[int, ...]:
        """Return where each trained tensor lies; in the file, a range is at the start of the parameters."""
        if self.in_flash:
            return super().places(plan)
        own, parameters = places_in_file(self.network), parameters_in_file(self.network)
        return tuple(
            plan.front + (parameters[tensor.layer] if tensor.part == RANGE else own[tensor.layer][tensor.part == BIAS])
            for tensor in self.trained_tensors
        )

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and the layers backward."""
        return (*self.layers, "loss", *(f"{name} backward" for name in reversed(self.layers[self.backward.first :])))

    def memory(self, slots: int) -> Plan:
        """Return the memory plan of docs/arithmetic-fqt.md, section 10."""
        passing = _passing(self.network, self.backward, self.trained)
        buffers = tuple(ArenaBuffer.of(name, size, span) for name, size, span in passing if span is not None)
        return Plan.of(
            self._standing(slots), self.backward.slot(self.backward.first), ArenaLayout([Start(0, (), buffers)])
        )

    def _standing(self, slots: int) -> Iterator[tuple[str, int]]:
        """Yield name and size of what lives through all of training."""
        graph, settings = self.network, self.settings
        if self.in_flash:
            yield from self._in_ram()
        else:
            yield "file", file_size(graph)
        yield "labels", 2 * slots
        yield "samples", slots * prod(graph.in_shape)
        yield "observed", OBSERVED * len(graph.layers)
        if settings.error_range == "running":
            yield "error_ranges", ERROR_RANGES * len(graph.layers)
        for index, layer in enumerate(graph.layers):
            if layer.op is Op.HARD_SWISH and layer.format is Format.AFFINE8:
                yield f"table[{index}]", TABLES if index in self.backward.reached else TABLE
        yield from self._of_gradients()

    def _of_gradients(self) -> Iterator[tuple[str, int]]:
        """Yield name and size of the gradients, and of what goes on from step to step."""
        settings, trained = self.settings, {index: self.network.layers[index] for index in self.trained}
        elements = {
            index: layer.weight_count + layer.channels * settings.train_bias for index, layer in trained.items()
        }
        for index, count in elements.items():
            yield f"grad[{index}]", VALUE * count
        for index, layer in trained.items():
            yield f"kept[{index}]", (layer.channels + 7) // 8
        if settings.runs_statistics:
            for index, layer in trained.items():
                yield f"statistics[{index}]", STATISTICS * layer.channels
        if settings.optimizer in OPTIMIZED:
            name, size = OPTIMIZED[settings.optimizer]
            for index, count in elements.items():
                yield f"{name}[{index}]", size * count

    def _in_ram(self) -> Iterator[tuple[str, int]]:
        """Yield name and size of what is trained, as it lies in RAM if the network file is in flash."""
        parts = {tensor.layer: tensor.part for tensor in reversed(self.trained_tensors)}  # of each layer the first
        for index, part in sorted(parts.items()):
            layer = self.network.layers[index]
            if part == RANGE:
                yield f"theta[{index}]", RANGE_BYTES
                continue
            if layer.format is Format.AFFINE8:
                yield f"theta[{index}]", up(layer.weight_count, 4) + HEAD + 4 * layer.channels
            else:
                yield f"theta[{index}]", VALUE * layer.weight_count
            if self.settings.train_bias:
                yield f"beta[{index}]", 4 * layer.channels


def segments(planned: Plan) -> tuple[int, int]:
    """Return the bytes of trainable weights with their gradient buffers, and of the feature maps (DT, figure 4)."""
    trainable = sum(buffer.size for buffer in planned.standing if buffer.name.startswith(TRAINABLE))
    return trainable, planned.total - trainable


def _passing(graph: Graph, backward: BackwardPass, trained: Sequence[int]) -> Passing:
    """Yield what lives while layers run, forward or backward, in the order of the table."""
    sizes = _value_sizes(graph)
    for value in range(int(graph.format_of(0) is not Format.FLOAT32), len(sizes)):
        back = backward.last_read(value)
        yield f"value[{value}]", sizes[value], (max(value - 1, 0), graph.last_use(value) if back is None else back)
    for index, layer in enumerate(graph.layers):
        if layer.own is not None and layer.format is not Format.FLOAT32:
            yield f"work[{index}]", kernels_of(layer.format).work(layer), (index, index)
    for value in range(1, len(sizes)):
        yield f"error[{value}]", sizes[value], backward.error(value)
    yield from _passing_back(graph, backward, trained)


def _passing_back(graph: Graph, backward: BackwardPass, trained: Sequence[int]) -> Passing:
    """Yield what lives while a reached layer is passed backward."""
    reached = {index: graph.layers[index] for index in sorted(backward.reached)}
    at = {index: (backward.slot(index), backward.slot(index)) for index in reached}
    for index, layer in reached.items():
        if layer.own is not None:
            yield f"rank[{index}]", up(4 * layer.channels, 8) + up(2 * layer.channels, 8), at[index]
    for index in trained:
        if index in reached and reached[index].format is Format.AFFINE8:
            yield f"sums[{index}]", gradient_sums(reached[index], True), at[index]
    for index, layer in reached.items():
        if layer.own is not None and layer.format is Format.AFFINE8 and backward.passes_on(index):
            yield f"back[{index}]", input_error(layer, layer.in_size), at[index]
    for index, layer in reached.items():
        if layer.own is None and (layer.format is Format.AFFINE8 or layer.op is Op.CAST) and backward.passes_on(index):
            yield f"back[{index}]", _without_weights(graph, backward, index), at[index]


def _without_weights(graph: Graph, backward: BackwardPass, index: int) -> int:
    """Return what a layer without weights works in: sums of a multiply, and errors that are added to others."""
    layer = graph.layers[index]
    own = up(4 * layer.in_shape[2], 8) if layer.op is Op.MULTIPLY else 0
    sizes = _value_sizes(graph)
    further = (value for value in layer.reads if backward.has_error(value) and backward.last_reader(value) != index)
    return own + sum(up(sizes[value], 8) for value in further)


def _value_sizes(graph: Graph) -> list[int]:
    """Return the bytes of every value, the input first."""
    elements = [prod(graph.in_shape), *(layer.out_size for layer in graph.layers)]
    return [size * (VALUE if graph.format_of(value) is Format.FLOAT32 else 1) for value, size in enumerate(elements)]
