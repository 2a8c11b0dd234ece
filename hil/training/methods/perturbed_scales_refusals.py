"""What perturbed scales refuses before anything is flashed (docs/arithmetic-quzo.md, section 10)."""

from __future__ import annotations

from collections.abc import Sequence

from hil.errors import RigError
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.graph.node import Tflite8Parameters
from hil.training.methods.last_layers import check_layers
from hil.training.methods.perturbed_scales_settings import LARGEST_GAIN, SMALLEST_GAIN, PerturbedScalesSettings
from hil.training.methods.perturbed_scales_tensors import first_gains

LEAST_SHIFT, MOST_SHIFT = -29, 27


def check(graph: Graph, settings: PerturbedScalesSettings) -> None:
    """Check settings against a network.

    Raises:
        RigError: a network without weights or with a layer in another format, or a trained layer with a factor that
            its gains could move out of the limits of the format.
    """
    check_layers(graph, (Format.TFLITE8,), "perturbed-scales")
    own = graph.own_of(Tflite8Parameters)
    for index in settings.trained(graph):
        least, most = int(own[index].shift.min()), int(own[index].shift.max())
        if least < LEAST_SHIFT or most > MOST_SHIFT:
            wrong = least if least < LEAST_SHIFT else most
            raise RigError(
                f"layer {graph.layers[index].name} of {graph.name} has a channel with shift {wrong}, and a trained "
                f"one has {LEAST_SHIFT}..{MOST_SHIFT}: train fewer last_layers, or choose another network."
            )


def fault_of_gains(graph: Graph, trained: Sequence[int]) -> str:
    """Return why first gains cannot be trained, a sentence; empty if they can."""
    for index in trained:
        gains = first_gains(graph, index)
        if gains.min() < SMALLEST_GAIN or gains.max() > LARGEST_GAIN:
            wrong = gains[(gains < SMALLEST_GAIN) | (gains > LARGEST_GAIN)][0]
            return (
                f"the first gains of {graph.layers[index].name} have {wrong:,}, outside {SMALLEST_GAIN:,}.."
                f"{LARGEST_GAIN:,}: give gains that this method has trained."
            )
    return ""
