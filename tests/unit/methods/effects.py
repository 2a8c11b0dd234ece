"""Settings that are drawn, and whether one of them has an effect: two short trainings in NumPy, at two of its values."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from network.w16a8_graphs import text_network
from reference.affine8_networks import A8, F32
from reference.affine8_networks import network_a as affine8_network
from reference.drawn_graphs import Builder
from reference.float32_networks import network_a as float32_network

from hil.errors import RigError
from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods import METHODS, Method
from hil.training.methods.acting import Need
from hil.training.reference.methods import StepFailed, reference_of

STEPS, DRAWS = 4, 150
BUDGETS = ("memory_budget", "work_budget")  # they have an effect where they refuse what they do not allow
REFUSED = (b"refused",)
OF_TRIAL = ("method", "partition", "batch", "seed")  # they follow from the loop, or are fields of the trial
SAVE_MEMORY = ("consumed", "fused")  # settings whose effect is another memory plan; that of all others is other bits
VALUES: dict[str, dict[str, tuple[Any, ...]]] = {  # by table; words have all of theirs
    "elasticzo": {
        "partition": (0, 1, 2, 3), "b_zo": (1, 3), "b_bp": (3, 5), "p_zero": (0, 84, 220), "r_max": (3, 31, 63),
        "loss_fraction": (0, 6), "batch": (1, 4), "seed": (1, 2, 3),
    },
    "elasticzo_fp32": {
        "partition": (0, 1, 2), "epsilon": (0.001, 0.05), "eta": (0.01, 0.1), "g_clip": (0.01, 5.0), "batch": (1, 3),
        "seed": (1, 2, 3),
    },
    "qzo_ff": {
        "directions": (1, 3), "epsilon": (0.01, 0.05), "rho": (0.0, 0.02), "eta": (0.01, 0.05),
        "eta_min": (0.0, 0.005), "warmup": (0, 2), "steps": (0, 4), "beta1": (0.0, 0.9), "beta2": (0.5, 0.95),
        "last_layers": (1, 64), "train_bias": (0, 1), "guide": (0, 200), "guide_from": (0, 2), "smoothing": (26, 255),
        "keep": (26, 200), "threshold": (0.0, 0.4), "normalise": (0, 1), "batch": (1, 3), "seed": (1, 2, 3),
    },
    "fqt": {
        "last_layers": (1, 64), "train_bias": (0, 1), "eta": (0.01, 0.05), "statistics_momentum": (0.5, 1.0),
        "epsilon": (1e-8, 0.5), "range_momentum": (0.0625, 0.5), "range_growth": (0.0, 0.25),
        "lambda_min": (0.1, 0.7, 1.0), "lambda_max": (0.7, 0.9, 1.0), "sparse_head": (0, 1), "beta1": (0.9, 0.5),
        "beta2": (0.999, 0.5), "batch": (1, 3), "seed": (1, 2, 3),
    },
    "tflite8": {
        "blocks": (1, 6, 8, 15), "train_bias": (0, 1), "gns": (0, 1), "qas": (0, 1), "sparsity": (0, 128),
        "queries": (2, 5), "eta": (0.1, 300.0), "consumed": (0, 1), "fused": (0, 1), "momentum": (0.0, 0.9),
        "ranking": (1, 2), "memory_budget": (500, 20, 1 << 20), "work_budget": (100, 1, 256), "channels": (1, 128, 256),
        "batch": (1, 3), "seed": (1, 2, 3),
    },
    "quzo": {
        "directions": (1, 3), "epsilon": (0.01, 0.05), "eta": (0.01, 0.05), "last_layers": (1, 64), "batch": (1, 3),
        "seed": (1, 2, 3),
    },
    "perturbed_scales": {
        "epsilon": (0.01, 0.03), "eta": (0.01, 0.05), "clip": (0.0, 0.01), "last_layers": (1, 64), "batch": (1, 3),
        "seed": (1, 2, 3),
    },
}  # fmt: skip


@cache
def networks(loop: str) -> tuple[Graph, ...]:
    """Return small networks that a loop trains, with more than one trained layer each."""
    if loop == "elasticzo-int8":
        return (_bfp8(),)
    if loop == "elasticzo-fp32":
        return (float32_network(),)
    if loop in ("qzo-ff", "quzo"):
        return (text_network(),)
    if loop == "fqt":
        return affine8_network(A8), affine8_network(cast=True), affine8_network(F32)
    return (_tflite8(),)


def _bfp8() -> Graph:
    """Return three fully connected layers, with weights near their limits and logits that are near each other."""
    draws = np.random.default_rng(5)
    sizes = ((16, 6), (6, 5), (5, 7))
    layers = (
        bfp8_node(
            f"fc{number}", Op.FULLY_CONNECTED, (4, 4, 1) if number == 1 else (1, 1, inputs), (1, 1, outputs),
            weights=draws.integers(-127, 128, (outputs, inputs), np.int8), weight_exp=-9,
        )
        for number, (inputs, outputs) in enumerate(sizes, start=1)
    )  # fmt: skip
    return chain(tuple(layers), sizes[-1][1])


def _tflite8() -> Graph:
    """Return a chain of a convolution, a depthwise and two pointwise layers, and the last one in the last of four blocks."""
    builder = Builder(np.random.default_rng(11), (6, 6, 2), "double", 3, bits=6)
    builder.append(Op.CONV2D, (6, 6, 4), (3, 3), 1, 1)
    builder.append(Op.DEPTHWISE, (3, 3, 4), (3, 3), 2, 1)
    builder.append(Op.POINTWISE, (3, 3, 5), (1, 1), 1, 0)
    builder.append(Op.POINTWISE, (3, 3, 4), (1, 1), 1, 0)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    layers = tuple(replace(layer, block=min(1 + index, 4)) for index, layer in enumerate(builder.graph.layers))
    return replace(builder.graph, layers=layers)


@dataclass(frozen=True)
class Case:
    """A drawn combination: the method on a network with it."""

    method: Method

    def __str__(self) -> str:
        """Return the network and the settings."""
        return f"{self.method.network.name}, {self.method.settings}"

    def idle(self) -> list[str]:
        """Return the settings that are declared not to act here."""
        return [name for name in self.method.settings.table if not self.acts(name)]

    def acts(self, name: str) -> bool:
        """Return whether the setting is declared to act here."""
        return self.method.settings.unmet(name, self.method.facts) is None

    def unmet(self, name: str) -> list[Need]:
        """Return every declared need of the setting that is not met here."""
        values = vars(self.method.settings) | dict(self.method.facts)
        return [need for need in self.method.settings.table[name].acts_with if not need.holds(values)]

    def changed(self, name: str) -> Iterator[Method]:
        """Yield the method with each value of the setting that is tried and goes with the others."""
        for value in values_of(self.method.loop, name):
            with suppress(RigError):
                method = replace(self.method, settings=replace(self.method.settings, **{name: value}))
                if method.plan.tensors:
                    yield method

    def can_change(self, name: str) -> bool:
        """Return whether the setting can have two of its values here."""
        return len(list(islice(self.changed(name), 2))) > 1

    def differs(self, name: str) -> bool:
        """Return whether the setting has an effect: whether two of its values give different bits, or plans."""
        effect = memory if name in SAVE_MEMORY else trained
        found = [one for one in map(effect, self.changed(name)) if name in BUDGETS or one is not REFUSED]
        return any(one != found[0] for one in found)


@cache
def kind_of(loop: str) -> type[Method]:
    """Return a method of a loop."""
    return next(kind for kind in METHODS.values() if kind.loop == loop)


@cache
def table_of(loop: str) -> str:
    """Return the name of the table of a loop's settings."""
    return next(name for name, values in VALUES.items() if {*values} <= {*kind_of(loop).kind.table})


@cache
def values_of(loop: str, name: str) -> tuple[Any, ...]:
    """Return the values of a setting that are tried."""
    return kind_of(loop).kind.table[name].words or VALUES[table_of(loop)][name]


def cases(loop: str, seed: int, fixed: Mapping[str, Any]) -> Iterator[Case]:
    """Yield drawn combinations, with some settings as given; those that are refused are left out.

    A setting that does not act has its default, as in every trial.
    """
    rng = random.Random(seed)
    kind = kind_of(loop)
    table = kind.kind.table
    loop_of = {"method": loop} if "method" in table else {}
    for _ in range(DRAWS):
        drawn = {name: rng.choice(values_of(loop, name)) for name in table if name != "method"} | dict(fixed)
        network = rng.choice(networks(loop))
        with suppress(RigError):
            case = Case(kind(network, kind.kind(**drawn, **loop_of)))
            while idle := [name for name in case.idle() if name not in fixed and drawn[name] != table[name].default]:
                drawn |= {name: table[name].default for name in idle}
                case = Case(kind(network, kind.kind(**drawn, **loop_of)))
            if case.method.plan.tensors:
                yield case


def memory(method: Method) -> tuple[Any, ...]:
    """Return the memory plan."""
    plan = method.plan.memory(1)
    return plan.standing, plan.starts


@cache
def trained(method: Method) -> tuple[bytes, ...]:
    """Return the trained tensors after each step; of a step that fails what it says; `REFUSED` where none can begin."""
    network, batch = method.network, method.settings.batch
    try:
        reference = reference_of(method)
    except RigError:
        return REFUSED
    draws = np.random.default_rng(method.settings.seed)
    found: list[bytes] = []
    for _ in range(STEPS):
        images = draws.integers(0, 256, (batch, *network.in_shape), np.uint8)
        try:
            reference.step(images, draws.integers(0, network.classes, batch))
        except StepFailed as failed:
            return (*found, str(failed).encode())
        found.append(b"".join(tensor.tobytes() for tensor in reference.weights))
    return tuple(found)
