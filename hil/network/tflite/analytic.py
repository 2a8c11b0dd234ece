"""What a step of the second family costs by count (PMT, section 4.3): layer runs, multiply-accumulates, bytes."""

from __future__ import annotations

from dataclasses import dataclass

from hil.network.tflite.layers import Graph
from hil.network.tflite.settings import GraphSettings


@dataclass(frozen=True)
class Work:
    """Runs of each layer in the forward passes of a step, in the order of the layers, and what they come to."""

    runs: tuple[int, ...]
    macs: int

    @property
    def layer_runs(self) -> int:
        """All runs of all layers."""
        return sum(self.runs)


def step_work(graph: Graph, settings: GraphSettings) -> Work:
    """Count the forward work of a step of `settings.batch` samples (docs/arithmetic-zeroth-order.md, section 7).

    The sparse form of DeepZero draws its coordinates; all of them are counted here.
    """
    n, trained = len(graph.layers), settings.trained(graph)
    sides = 2 if settings.difference == "central" else 1
    runs = [1] * n
    if settings.wise == "model":
        by_nodes = any(settings.by_nodes(graph.layers[index]) for index in trained)
        runs = [1 + sides * settings.queries + by_nodes] * n
    else:
        for place, index in enumerate(trained):
            layer = graph.layers[index]
            coordinates = layer.weights * settings.trains_weights + layer.channels * settings.train_bias
            passes = coordinates if settings.method == "deepzero" else sides * settings.queries
            for later in range(index + settings.by_nodes(layer), n):
                runs[later] += passes
            on_the_way = trained[place + 1 : place + 2]
            runs[index] += bool(settings.by_nodes(layer) or on_the_way)
            for later in range(index + 1, max(on_the_way, default=0)):
                runs[later] += 1
    runs = [settings.batch * each for each in runs]
    return Work(tuple(runs), sum(each * layer.macs for each, layer in zip(runs, graph.layers, strict=True)))


def training_bytes(graph: Graph, settings: GraphSettings) -> int:
    """Return trained parameters (weights int8, biases int32), the peak of inference (input and output of a layer with what a residual holds),
    seeds and losses, and the gradient of the largest layer trained by nodes, in 8 bits as PMT's in-place swap has it."""
    trained = [graph.layers[index] for index in settings.trained(graph)]
    parameters = sum(layer.weights * settings.trains_weights + 4 * layer.channels * settings.train_bias for layer in trained)
    by_nodes = max((layer.weights for layer in trained if settings.by_nodes(layer)), default=0)
    return parameters + inference_peak(graph) + 8 * settings.queries + by_nodes


def inference_peak(graph: Graph) -> int:
    """Return the most bytes of values that live at once while the layers run one after the other."""
    sizes = [graph.in_shape[0] * graph.in_shape[1] * graph.in_shape[2], *(layer.out_size for layer in graph.layers)]
    last = [graph.last_use(value) for value in range(len(sizes))]
    return max(
        sum(size for value, size in enumerate(sizes) if value - 1 <= slot <= last[value]) for slot in range(len(graph.layers))
    )
