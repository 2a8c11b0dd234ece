"""Methods that train the last layers with weights: which those are, and the formats that they must have."""

from __future__ import annotations

from collections.abc import Sequence

from hil.errors import RigError
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph


class LastLayers:
    """Settings that say how many layers are trained; in the order of the file, fewer if there are fewer."""

    last_layers: int

    def trained(self, graph: Graph) -> tuple[int, ...]:
        """Return the indices of the trained layers, input to output."""
        return tuple(graph.own)[-self.last_layers :]


def check_layers(graph: Graph, formats: Sequence[Format], method: str) -> None:
    """Check that a network has layers with weights, and that all of them are in formats that a method trains.

    Raises:
        RigError: they are not; `method` names the method.
    """
    if not graph.own:
        raise RigError(
            f"{graph.name} has no layer with weights, so last_layers trains nothing: choose another network."
        )
    for layer in graph.trained:
        if layer.format not in formats:
            known = " and ".join(format.name.lower() for format in formats)
            raise RigError(
                f"layer {layer.name} of {graph.name} is in {layer.format.name.lower()}, and {method} trains {known}: "
                "choose another network."
            )
