"""What a step of the second family costs by count (PMT, section 4.3): layer runs, multiply-accumulates, bytes."""

from __future__ import annotations

from dataclasses import dataclass

from hil.graph.ir import Graph
from hil.network.tflite.lives import Lives
from hil.network.tflite.settings import GraphSettings
from hil.network.tflite.way_back import WayBack


@dataclass(frozen=True)
class Work:
    """Runs of each layer in the passes of a step, on the way back too, in the order of the layers, and the multiply-accumulates of all."""

    runs: tuple[int, ...]
    macs: int

    @property
    def layer_runs(self) -> int:
        """All runs of all layers."""
        return sum(self.runs)


def step_work(graph: Graph, settings: GraphSettings) -> Work:
    """Count the work of a step of `settings.batch` samples (docs/arithmetic-zeroth-order.md, section 7; docs/arithmetic-backward.md, section 5).

    The sparse form of DeepZero draws its coordinates; all of them are counted here.
    """
    lives = Lives(graph, settings)
    if lives.way_back is not None:
        return _work_of_bp(graph, settings, lives, lives.way_back)
    runs = [1] * lives.n
    if lives.layerwise:
        starts = sorted({lives.first(index) for index in lives.trained})
        for start, following in zip(starts, [*starts[1:], 0], strict=True):
            _layerwise(graph, settings, lives, start, following, runs)
    else:
        sides = 2 if settings.difference == "central" else 1
        runs = [1 + sides * settings.queries] * lives.n
        for index in range(max(lives.by_nodes, default=-1) + 1):
            runs[index] += 1
    runs = [settings.batch * each for each in runs]
    return Work(tuple(runs), sum(each * layer.macs for each, layer in zip(runs, graph.layers, strict=True)))


def _work_of_bp(graph: Graph, settings: GraphSettings, lives: Lives, way_back: WayBack) -> Work:
    """Count the clean passes, and the errors and gradients of the way back."""
    runs = tuple(settings.batch * (1 + (index in way_back.reached)) for index in range(lives.n))
    macs = 0
    for index, layer in enumerate(graph.layers):
        reached = index in way_back.reached
        errors = reached and way_back.has_error(layer.reads[0])
        gradients = reached and index in lives.trained and settings.trains_weights
        macs += settings.batch * layer.macs * (1 + errors + gradients)
    return Work(runs, macs)


def _layerwise(
    graph: Graph, settings: GraphSettings, lives: Lives, start: int, following: int, runs: list[int]
) -> None:
    """Add the runs of one start: the queries of its layers, and the way to the following start."""
    by_nodes = start in lives.by_nodes
    if by_nodes:
        runs[start] += 1
    for index in (index for index in lives.trained if lives.first(index) == start):
        sides = 2 if settings.difference == "central" else 1
        passes = (
            settings.coordinates(graph.layers[index]) if settings.method == "deepzero" else sides * settings.queries
        )
        for later in range(start + by_nodes, lives.n):
            runs[later] += passes
    for later in range(start + by_nodes, following):
        runs[later] += 1


def training_bytes(graph: Graph, settings: GraphSettings) -> int:
    """Return trained parameters (weights int8, biases int32), the peak of inference (input and output of a layer with what a residual holds),
    seeds and losses, and the gradient of the largest layer trained by nodes, in 8 bits as PMT's in-place swap has it.

    Of back-propagation: parameters, the peak of inference, the values that the way back looks at (PMT: the saved activations), and the
    gradient of the largest trained layer in 8 bits."""
    trained = [graph.layers[index] for index in settings.trained(graph)]
    parameters = sum(
        layer.weight_count * settings.trains_weights + 4 * layer.channels * settings.train_bias for layer in trained
    )
    if settings.method == "bp":
        largest = max(layer.weight_count * settings.trains_weights for layer in trained)
        return parameters + inference_peak(graph) + _saved(graph, settings) + largest
    by_nodes = max((layer.weight_count for layer in trained if settings.by_nodes(layer)), default=0)
    return parameters + inference_peak(graph) + 8 * settings.queries + by_nodes


def _saved(graph: Graph, settings: GraphSettings) -> int:
    """Return the bytes of the values that are wanted on the way back."""
    way_back = WayBack(graph, settings.trained(graph), settings.trains_weights)
    sizes = [graph.in_shape[0] * graph.in_shape[1] * graph.in_shape[2], *(layer.out_size for layer in graph.layers)]
    return sum(size for value, size in enumerate(sizes) if way_back.last_look(value) is not None)


def inference_peak(graph: Graph) -> int:
    """Return the most bytes of values that live at once while the layers run one after the other."""
    sizes = [graph.in_shape[0] * graph.in_shape[1] * graph.in_shape[2], *(layer.out_size for layer in graph.layers)]
    last = [graph.last_use(value) for value in range(len(sizes))]
    return max(
        sum(size for value, size in enumerate(sizes) if value - 1 <= slot <= last[value])
        for slot in range(len(graph.layers))
    )
