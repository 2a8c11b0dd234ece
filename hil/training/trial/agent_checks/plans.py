"""Memory plans of parts of the network: of a layer alone some other buffer is the largest (docs/memory.md)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from hil.errors import Blocked, DeviceFault, RigError
from hil.training.graph.file import decode, encode
from hil.training.graph.graph import CHAINS, Graph, Node
from hil.training.methods import METHODS, Method
from hil.training.trial.lockstep import LockStep
from hil.training.trial.spec import TrialSpec

BATCHES = (1, 2, 3, 8)
DRAWS = 4  # of methods, variants and batches for a part, until one can train it


def check_plans(trial: LockStep) -> None:
    """Load layers of the network alone, and those from each layer on; compare the bytes of arena that the agent plans.

    The network on the board is another one afterwards.
    """
    rng = random.Random(trial.p.spec.seed)
    device, arena = trial.device, trial.p.image.arena_size
    for part in parts_of(trial.p.method.network):
        device.load(encode(part))
        drawn = _drawn(part, trial.p.spec, rng)
        if drawn is None:
            continue
        variant, method = drawn
        batch = method.settings.batch
        slots = rng.randint(1, batch) if method.streams() else batch
        wanted = method.plan(slots).total
        if wanted > arena:
            continue
        planned = device.configure(method.configuration(method.settings, slots, 0)).arena_planned
        if planned != wanted:
            raise DeviceFault(
                f"{part.name} of {trial.p.spec.network_name} by {method.name}, {variant}, batch {batch}, {slots} slots:"
                f" the agent plans {planned:,} bytes of arena, but docs/memory.md gives {wanted:,}."
            )


def parts_of(network: Graph) -> Iterator[Graph]:
    """Yield networks of one layer below the last one, and of all layers from one on, where a file can have them."""
    *others, last = network.layers
    alone = (_part(network, f"layer {node.name}", index, (node, last)) for index, node in enumerate(others))
    rest = (
        _part(network, f"what is left from {node.name}", index, network.layers[index:])
        for index, node in enumerate(others[1:], start=1)
    )
    for part in chain(alone, rest):
        if part is None:
            continue
        try:
            yield decode(encode(part), part.name)
        except RigError:  # such as a cast as the first layer
            continue


def _part(network: Graph, name: str, first: int, layers: tuple[Node, ...]) -> Graph | None:
    """Return some layers as a network whose input is value `first`; None if one of them reads an earlier value."""
    *others, last = layers
    if any(value < first for node in others for value in node.reads):
        return None
    moved = [replace(node, reads=tuple(value - first for value in node.reads)) for node in others]
    shape = moved[-1].out_shape
    assert last.own is not None
    weights = np.resize(last.own.weights, (network.classes, int(np.prod(shape))))
    head = replace(last, reads=(len(moved),), in_shape=shape, own=replace(last.own, weights=weights))
    of_input = 0 if layers[0].format in CHAINS else first  # in a chain only the network's input has a scale
    return Graph(
        name, (*moved, head), moved[0].in_shape, network.classes, network.scale_of(of_input), network.zero_of(of_input)
    )


def _drawn(part: Graph, spec: TrialSpec, rng: random.Random) -> tuple[str, Method] | None:
    """Return a variant and its method on a part, with a drawn batch; None if none of some can be."""
    kinds = [kind for kind in METHODS.house().values() if kind.variants_on(part.formats)]
    for _ in range(DRAWS if kinds else 0):
        kind = rng.choice(kinds)
        settings = dict(spec.settings) if kind.name == spec.method and rng.random() < 0.5 else {}
        variant = rng.choice(kind.variants_on(part.formats))
        try:
            return variant, kind.on(part, variant, **settings, batch=rng.choice(BATCHES))
        except (RigError, Blocked):
            continue
    return None
