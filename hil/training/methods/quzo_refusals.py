"""What QuZO refuses before anything is flashed (docs/arithmetic-quzo.md, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from hil.errors import RigError
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods.directions import FRACTION
from hil.training.methods.last_layers import check_layers
from hil.training.methods.quzo_settings import QuzoSettings
from hil.training.methods.quzo_tensors import LARGEST_Z, RAISED, QuzoTensor

TRAINED = (Format.W16A8, Format.TFLITE8)


def check(graph: Graph, settings: QuzoSettings, tensors: Sequence[QuzoTensor]) -> None:
    """Check settings against a network.

    Raises:
        RigError: a network without weights or with a layer in another format, or an epsilon that moves nothing, or too
            much.
    """
    check_layers(graph, TRAINED, "QuZO")
    if not any(tensor.parts.any() for tensor in tensors):
        unit, name = min((float(tensor.unit.min()), tensor.name) for tensor in tensors)
        raise RigError(
            f"setting epsilon is {settings.epsilon}, which moves nothing in every trained tensor; in {name}, whose "
            f"step is the smallest ({unit:.3g}), it moves just above {unit / (2 * float(RAISED)):.3g}: choose more."
        )
    for tensor in tensors:
        _check_reach(tensor, settings)


def _check_reach(tensor: QuzoTensor, settings: QuzoSettings) -> None:
    half, reach = tensor.largest // 2, int(tensor.reach.max())
    if reach <= half:
        return
    unit = float(tensor.unit.min())
    largest = half * unit * 2**FRACTION / LARGEST_Z
    raise RigError(
        f"setting epsilon is {settings.epsilon}, which moves weights of {tensor.name} by up to {reach:,} steps of "
        f"{unit:.3g}, more than half of their range: choose at most {largest:.3g}."
    )
