"""The second family: graphs in TFLite's convention, trained by Poor Man's Training and its baselines (docs/arithmetic-zeroth-order.md,
docs/arithmetic-backward.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.graph.file import encode, file_size, places_in_file
from hil.graph.ir import Graph
from hil.network.tflite.analytic import Work, step_work, training_bytes
from hil.network.tflite.lives import Lives
from hil.network.tflite.plan import GraphPlan, plan_graph
from hil.network.tflite.settings import WORDS, GraphSettings
from hil.reference.methods import graph_method
from hil.trial.confirm.least import LeastCycles, least_forward, least_moves
from hil.trial.subject.subject import Configuration, Tensor

if TYPE_CHECKING:
    from hil.reference.methods import Method
    from hil.trial.device import Device

CONSUMED, FUSED = 1, 2  # bits of `flags`
SAVINGS = ({}, {"consumed": 1}, {"fused": 1}, {"consumed": 1, "fused": 1})  # in the order in which they are tried


class GraphSubject:
    """A graph and settings of the second family.

    Args:
        graph: the network with its first weights.
        settings: before the first change of the schedule.
        in_flash: whether the network file stays in flash.
    """

    chosen = True

    def __init__(self, graph: Graph, settings: GraphSettings, in_flash: bool = False) -> None:
        self.network, self.settings, self.in_flash = graph, settings, in_flash
        self.in_shape = graph.in_shape
        self.layers = tuple(layer.name for layer in graph.layers)

    @cached_property
    def trained(self) -> tuple[int, ...]:
        """Indices of the trained layers, input to output."""
        return self.settings.trained(self.network)

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """What is trained, input to output."""
        return tuple(tensor for index in self.trained for tensor in self._tensors(index))

    def _tensors(self, index: int) -> Iterator[Tensor]:
        layer = self.network.layers[index]
        if self.settings.trains_weights:
            yield Tensor(layer.name, "int8", layer.weight_count)
        if self.settings.train_bias:
            yield Tensor(f"{layer.name}.bias", "int32", layer.channels)

    def file(self, weights: Sequence[np.ndarray] | None = None) -> bytes:
        """Return the network file (docs/network.md)."""
        return encode(self.network if weights is None else self.settings.with_trained(self.network, weights))

    def reference(self) -> Method:
        """Return the method in NumPy."""
        return graph_method(self.settings.method)(self.network, self.settings)

    def plan(self, slots: int) -> GraphPlan:
        """Return the plan of docs/memory-graph.md."""
        return plan_graph(self.network, self.settings, slots, file_size(self.network), self.in_flash)

    def slots(self) -> tuple[str, ...]:
        """Return every layer, the loss, and what follows: the queries' gradient, or the layers of the way back."""
        if self.settings.method == "bp":
            return (*self.layers, "loss", *(f"{name} backward" for name in reversed(self.layers[self.trained[0] :])))
        return (*self.layers, "loss", "gradient, update")

    def configuration(self, settings: GraphSettings, slots: int, first_step: int) -> Configuration:
        """Return the request `configure_graph`."""
        words = {name: choices.index(getattr(settings, name)) for name, choices in WORDS.items()}
        names = ("blocks", "train_bias", "gns", "qas", "sparsity", "queries", "eta", "batch", "seed", "momentum")
        flags = CONSUMED * settings.consumed | FUSED * settings.fused
        numbers = {name: getattr(settings, name) for name in names}
        return Configuration(
            "configure_graph", words | numbers | {"flags": flags, "slots": slots, "first_step": first_step}
        )

    def give(self, device: Device, weights: Sequence[np.ndarray], configuration: Configuration) -> None:
        """Write the trained tensors; the rest of the network has not changed."""
        device.configure(configuration)
        for index, tensor in enumerate(weights):
            device.write(index, tensor.astype(tensor.dtype.newbyteorder("<")).tobytes())

    def passes(self) -> int:
        """Each sample goes through all its queries before the next."""
        return 1

    def streams(self) -> bool:
        """Samples are independent of each other."""
        return True

    def traced(self, reference: Method, before: Sequence[np.ndarray], step: int) -> Iterator[Sequence[np.ndarray]]:
        """Yield the weights of the clean pass: a perturbed one starts in mid-network, from what the clean one left."""
        yield before

    def shows(self, stage: int) -> bool:
        """All but those within a chain, which never exist whole."""
        return Lives(self.network, self.settings).whole(stage + 1)

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Layers take their turns from input to output, of back-propagation from output to input."""
        return tensors[-1] if self.settings.method == "bp" else tensors[0]

    def places(self, plan: GraphPlan) -> tuple[int, ...]:
        """Where the file is in flash, trained tensors have buffers of their own; else they are used where they lie in the file."""
        lie = places_in_file(self.network)
        places = []
        for index in self.trained:
            weights, bias = lie[index]
            if self.settings.trains_weights:
                places.append(plan.offset(f"theta[{index}]") if self.in_flash else weights)
            if self.settings.train_bias:
                places.append(plan.offset(f"beta[{index}]") if self.in_flash else bias)
        return tuple(places)

    def analytic(self) -> dict[str, Any]:
        """Return what PMT counts (section 4.3, memory cost): trained parameters, the peak of inference, and a gradient."""
        work = step_work(self.network, self.settings)
        by_zo = () if self.settings.method == "bp" else self.trained
        return {
            "equation": "PMT, section 4.3",
            "bytes": training_bytes(self.network, self.settings),
            "macs_forward": self.network.macs,
            "macs_step": work.macs,
            "layer_runs": work.layer_runs,
            "weights": sum(layer.weight_count for layer in self.network.layers),
            "weights_by_zo": sum(self.network.layers[index].weight_count for index in by_zo),
        }

    def bookings(self) -> None:
        """The board counts them: they depend on queries and starts."""
        return

    def work(self) -> Work | None:
        """Return the passes of a step; None where it draws its coordinates."""
        return (
            None
            if self.settings.sparsity and self.settings.method == "deepzero"
            else step_work(self.network, self.settings)
        )

    def least_cycles(self) -> LeastCycles:
        """Every pass of every layer; of DeepZero, which draws its coordinates, the clean ones.

        In a chain that runs row by row the last layer has the cycles of all. Back-propagation perturbs nothing, but limits its weights once.
        DeepZero updates the coordinates that it has drawn, the others every trained number.
        """
        settings, layers = self.settings, self.network.layers
        counted = settings.method == "poor-mans"
        runs = step_work(self.network, settings).runs if counted else (settings.batch,) * len(layers)
        forward = tuple(
            1 if settings.fused else least_forward(layer, each) for layer, each in zip(layers, runs, strict=True)
        )
        update = 1 if settings.method == "deepzero" else least_moves(sum(tensor.elements for tensor in self.tensors))
        return LeastCycles(
            forward,
            {
                "perturb": None if settings.method == "bp" else 1,
                "forward": sum(forward),
                "backward": 1,
                "update": update,
            },
        )

    def integers_only(self) -> bool:
        """Whether signs come from integers alone: there are no signs."""
        return False

    def step_macs(self) -> int:
        """Return those of all forward passes of a step."""
        return step_work(self.network, self.settings).macs

    def smaller(self) -> str:
        """A block, or a smaller network."""
        return "a variant that trains fewer layers (block1 to block4, last-layer), a batch of 1, or a smaller network"

    def budget_scope(self) -> str:
        """The catalogue's budgets are those of the first family."""
        return ""


def resident(graph: Graph, settings: GraphSettings, arena: int, places: Sequence[bool]) -> GraphSubject:
    """Return the subject in the plainest form that fits: the file in RAM if it can be, else in flash; then what saves memory.

    Where nothing fits it is the smallest form, for its figures.

    Args:
        graph, settings: what is trained, and how.
        arena: bytes of the board's arena.
        places: where the file may lie: whether in flash, in the order in which they are tried.
    """
    found = GraphSubject(graph, settings, places[0])
    for in_flash in places:
        for saving in SAVINGS if settings.batch == 1 else SAVINGS[::2]:
            found = GraphSubject(graph, replace(settings, **saving), in_flash)
            if found.plan(1).fits(arena):
                return found
    return found
