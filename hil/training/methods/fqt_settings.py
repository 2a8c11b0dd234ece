"""The settings of FQT, what is refused before anything is flashed, and failed steps (docs/arithmetic-fqt.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hil.errors import RigError
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods.settings_fields import FqtFields

MOST_SQUARES = 2**32  # of output positions, squared, times weights of a channel
TRAINED = (Format.AFFINE8, Format.FLOAT32)
CONFIGURATIONS = {
    "uint8": "all of whose layers are in affine8, or in tflite8 before it",
    "mixed": "that casts from affine8 to float32",
    "float32": "all of whose layers are in float32",
}
"""The variants that want one kind of network, and which."""
CAUSES = {
    1: "all weights of {name} are 0, so their range collapses",
    2: "a weight or bias of {name} leaves -2^20..2^20",
    3: "the error that {name} gives has a scale above 2^40",
    4: "the range of the output of {name} is wider than 2^30",
}
"""By the number of the cause."""


@dataclass(frozen=True)
class FqtSettings(FqtFields):
    """Settings of FQT; methods.toml describes each."""

    def check_together(self) -> None:
        """Raise RigError for settings that do not go together."""
        if np.float32(self.lambda_max) < np.float32(self.lambda_min):
            raise RigError(
                f"setting lambda_max is {self.lambda_max} with lambda_min = {self.lambda_min}: it is the largest "
                "share, choose at least lambda_min."
            )

    @property
    def is_sparse(self) -> bool:
        """Whether channels may be skipped."""
        return bool(np.float32(self.lambda_min) < 1)

    @property
    def runs_statistics(self) -> bool:
        """Whether mean and deviation of a channel go on from step to step."""
        return self.standardise in ("running", "accumulated")

    def trained(self, graph: Graph) -> tuple[int, ...]:
        """Return the indices of the trained layers, input to output; none if the network has nothing to train."""
        with_weights = [
            index for index, layer in enumerate(graph.layers) if layer.own is not None and layer.format in TRAINED
        ]
        return tuple(with_weights[-self.last_layers :])


def configuration_of(formats: Sequence[Format]) -> str | None:
    """Return the configuration of the paper that networks with these formats are; None if FQT does not train them."""
    trained = [format for format in formats if format in TRAINED]
    if not trained or not set(formats) <= {Format.TFLITE8, *TRAINED}:
        return None
    if trained == [Format.AFFINE8]:
        return "uint8"
    return "float32" if tuple(formats) == (Format.FLOAT32,) else "mixed"


def check(graph: Graph, variant: str, settings: FqtSettings) -> None:
    """Check a variant and its settings against a network.

    Raises:
        RigError: they do not go together.
    """
    found = configuration_of(graph.formats)
    if found is None:
        names = ", ".join(format.name.lower() for format in graph.formats)
        raise RigError(
            f"{graph.name} has layers in {names}, and FQT trains affine8 and float32: choose another network."
        )
    if found == "mixed" and graph.layers[-1].format is not Format.FLOAT32:
        raise RigError(f"{graph.name} has a cast, but its last layer is not in float32: choose another network.")
    if variant in CONFIGURATIONS and variant != found:
        raise RigError(
            f"the variant {variant} of fqt trains a network {CONFIGURATIONS[variant]}, and {graph.name} is one "
            f"{CONFIGURATIONS[found]}: choose the variant {found}, or another network."
        )
    trained = settings.trained(graph)
    if not trained:
        raise RigError(
            f"{graph.name} has no layer with weights in affine8 or float32 to train: choose another network."
        )
    _check_frozen(graph, trained[0])
    for index in trained:
        _check_squares(graph, index)


def _check_frozen(graph: Graph, first: int) -> None:
    for layer in graph.layers[first:]:
        if layer.format is Format.TFLITE8:
            raise RigError(
                f"layer {layer.name} of {graph.name} is in tflite8 after the first trained layer, "
                f"{graph.layers[first].name}: choose a smaller last_layers."
            )


def _check_squares(graph: Graph, index: int) -> None:
    layer = graph.layers[index]
    positions = layer.out_shape[0] * layer.out_shape[1]
    if layer.format is Format.AFFINE8 and positions * positions * layer.taps > MOST_SQUARES:
        raise RigError(
            f"layer {layer.name} of {graph.name} has {positions:,} output positions and {layer.taps:,} weights a "
            "channel, and the squares of its gradients could leave 64 bits: choose a smaller last_layers."
        )


def failed_step(step: int, name: str, cause: int) -> str:
    """Return the sentence about a step that failed at a layer, by the number of the cause (section 8)."""
    what = CAUSES.get(cause, f"cause {cause} at {{name}}").format(name=name)
    return f"step {step} fails: {what}: choose a smaller eta, or begin with other weights."
