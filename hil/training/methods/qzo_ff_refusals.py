"""What QZO-FF refuses before anything is flashed: settings that round to nothing, and too large ones.

docs/arithmetic-qzo-ff.md, section 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from hil.errors import RigError
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.graph.node import W16A8Parameters, WithBias
from hil.training.methods.directions import LARGEST_TABLE
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import (
    LARGEST_Z,
    MOST_STEPS,
    F,
    QzoFfTensor,
    largest_gradient,
    quotient,
    rounded_shift,
)
from hil.training.methods.request import fault_of_step

SHOWS_NOTHING = 127  # w_max: that weights of 8 bits do not move is what they are for
Acts = Callable[[QzoFfTensor], bool]


def still(graph: Graph, settings: QzoFfSettings, tensors: Sequence[QzoFfTensor]) -> dict[str, list[str]]:
    """Return the names of the tensors in which a setting rounds to nothing, by setting."""
    acting = _acting(settings)
    if _has_normalised_steps(settings):
        acting["eta"] = lambda tensor: settings.eta >= _least_normalised_rate(graph, settings, tensor)
    found = {name: [tensor.name for tensor in tensors if not acts(tensor)] for name, acts in acting.items()}
    return {name: names for name, names in found.items() if names}


def check(graph: Graph, settings: QzoFfSettings, tensors: Sequence[QzoFfTensor]) -> None:
    """Check settings against the weights of a network.

    Raises:
        RigError: a setting that rounds to nothing in every trained tensor, that is too large for one, or a threshold
            that selects no weight.
    """
    if graph.formats == (Format.FLOAT32,):
        _check_floats(graph, settings, tensors)
        return
    if _may_not_be_still(tensors):
        for name, acts in _acting(settings).items():
            if not any(acts(tensor) for tensor in tensors):
                raise RigError(_still_sentence(name, settings, tensors))
    for tensor in tensors:
        _check_reach(tensor, settings)
    fault = _fault_of_threshold(graph, settings, tensors)
    if fault:
        raise RigError(fault)


def fault_of_weights(graph: Graph, settings: QzoFfSettings, tensors: Sequence[QzoFfTensor]) -> str:
    """Return why settings that depend on the first weights cannot train them, a sentence; empty if they can."""
    if _has_normalised_steps(settings) and _may_not_be_still(tensors):
        least, name = min((_least_normalised_rate(graph, settings, tensor), tensor.name) for tensor in tensors)
        if math.isinf(least):
            return "setting normalise is 1 with trained weights that are all 0, which no rate moves: set it to 0."
        if settings.eta < least:
            return (
                f"setting eta is {settings.eta}, which with normalise = 1 rounds to nothing in every trained tensor; "
                f"it acts from {least:.3g} on, first in {name}: choose more."
            )
    return _fault_of_threshold(graph, settings, tensors)


def _may_not_be_still(tensors: Sequence[QzoFfTensor]) -> bool:
    return any(tensor.largest != SHOWS_NOTHING for tensor in tensors if not tensor.is_bias)


def _has_normalised_steps(settings: QzoFfSettings) -> bool:
    """Return whether the norm of the weights decides how long a plain step is."""
    return bool(settings.normalise) and settings.optimizer == "plain"


def _least_normalised_rate(graph: Graph, settings: QzoFfSettings, tensor: QzoFfTensor) -> float:
    """Return the rate from which a large gradient moves an element of a tensor in the first step."""
    own = graph.own_of(W16A8Parameters)[tensor.layer]
    weights = own.weights.astype(np.int64)
    selected = float(weights.size)
    if settings.sparse == "threshold":
        selected = float(np.count_nonzero(np.abs(weights) >= quotient(settings.threshold, F(own.scale))))
    elif settings.sparse != "off":
        selected *= settings.keep / 256
    if not selected or not weights.any():
        return math.inf
    norm = math.sqrt(float((weights**2).sum()) / selected) * own.scale
    return 16 * float(tensor.unit) / (LARGEST_TABLE[settings.distribution] * norm)


def _check_floats(graph: Graph, settings: QzoFfSettings, tensors: Sequence[QzoFfTensor]) -> None:
    """Check settings of the yardstick in `float32` (docs/arithmetic-qzo-ff.md, section 10)."""
    named = []
    for tensor in tensors:
        own = graph.own_of(WithBias)[tensor.layer]
        named.append((tensor.name, own.bias if tensor.is_bias else own.weights))
    for name in ("epsilon", *["rho"] * settings.has_sharpness, *["eta"] * (not settings.normalise)):
        if fault := fault_of_step(name, getattr(settings, name), named):
            raise RigError(fault)
    if settings.sparse == "threshold":
        largest = max(float(np.abs(array).max()) for _, array in named)
        if largest < F(settings.threshold):
            raise RigError(_nothing_selected(graph, settings, largest))


def _acting(settings: QzoFfSettings) -> dict[str, Acts]:
    """Return whether a setting acts in a tensor, by setting."""
    found: dict[str, Acts] = {"epsilon": lambda tensor: tensor.epsilon_steps(settings) != 0}
    if settings.has_sharpness:
        found["rho"] = lambda tensor: tensor.rho_steps(settings) != 0
    if settings.optimizer == "adamw" or not settings.normalise:
        found["eta"] = lambda tensor: tensor.rate_acts(settings, settings.directions)
    return found


def _still_sentence(name: str, settings: QzoFfSettings, tensors: Sequence[QzoFfTensor]) -> str:
    finest = min(tensors, key=lambda tensor: tensor.unit)
    unit, where = float(finest.unit), f"every trained tensor; in {finest.name}, whose step is the smallest"
    if name == "eta" and settings.optimizer == "plain":
        if finest.rate_acts(settings, 1):
            counts = range(1, settings.directions + 1)
            least = max(count for count in counts if finest.rate_acts(settings, count))
            return (
                f"setting directions is {settings.directions}, with which a gradient rounds to nothing in {where} "
                f"({unit:.3g}), eta = {settings.eta} acts with at most {least} directions: choose fewer directions or "
                "a larger eta."
            )
        acts_from = 16 * unit / largest_gradient(settings.distribution, settings.directions)
        return _larger(name, settings, where, unit, f"from {acts_from:.3g} on")
    return _larger(name, settings, where, unit, f"just above {unit / 2:.3g}")


def _larger(name: str, settings: QzoFfSettings, where: str, unit: float, acts: str) -> str:
    value = getattr(settings, name)
    return f"setting {name} is {value}, which rounds to nothing in {where} ({unit:.3g}), it acts {acts}: choose more."


def _check_reach(tensor: QzoFfTensor, settings: QzoFfSettings) -> None:
    epsilon, rho = tensor.epsilon_steps(settings), tensor.rho_steps(settings)
    most = tensor.largest // 2
    alone = rounded_shift(LARGEST_Z * epsilon, 5)
    too_large = {
        "epsilon": epsilon > MOST_STEPS or alone > most,
        "rho": rho > MOST_STEPS or tensor.reach(settings) > most,
    }
    for name, wrong in too_large.items():
        if wrong:
            largest = tensor.largest * 32 / 254 * float(tensor.unit)
            raise RigError(
                f"setting {name} is {getattr(settings, name)}, {max(epsilon, rho):,} steps of {float(tensor.unit):.3g} "
                f"in {tensor.name}, whose weights would have less than half of their range: choose epsilon and rho of "
                f"together at most {largest:.3g}."
            )


def _fault_of_threshold(graph: Graph, settings: QzoFfSettings, tensors: Sequence[QzoFfTensor]) -> str:
    """Return that a threshold selects no weight, a sentence; empty if it selects one, or there is none."""
    if settings.sparse != "threshold":
        return ""
    largest = 0.0
    for tensor in tensors:
        if tensor.is_bias:
            continue
        top = int(np.abs(graph.own[tensor.layer].weights.astype(np.int64)).max())
        if top >= quotient(settings.threshold, tensor.unit):
            return ""
        largest = max(largest, top * float(tensor.unit))
    return _nothing_selected(graph, settings, largest)


def _nothing_selected(graph: Graph, settings: QzoFfSettings, largest: float) -> str:
    return (
        f"setting threshold is {settings.threshold}, which selects no weight of {graph.name}: its largest trained "
        f"weight is {largest:.3g}, choose at most that."
    )
