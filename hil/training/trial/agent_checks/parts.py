"""Parts of the network, planned and trained: of a layer alone another buffer is the largest, and other edges count."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from hil.errors import Blocked, DeviceFault, RigError
from hil.link.failures import Refused
from hil.threads import ThreadPool
from hil.training.graph.file import decode, encode
from hil.training.graph.formats import CHAINS
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node
from hil.training.methods import METHODS, Method
from hil.training.methods.settings import OF_TRIAL, MethodSetting
from hil.training.reference.methods import StepFailed, reference_of
from hil.training.trial.batch import Batch
from hil.training.trial.board_step import BoardSteps
from hil.training.trial.difference import differing_tensors, differing_terms
from hil.training.trial.lockstep import LockStep
from hil.training.trial.step_failure import both

BATCHES = (1, 2, 3, 5)
DRAWS = 8  # of methods, variants and settings for a part, until one can train it
CHANGED = 3  # settings at most that are drawn
STEPS = 2
MOST_MACS = 400_000  # of a step: DeepZero runs a pass for every weight
MOST_NUMBER = 16  # above the least of a whole number that is drawn: queries and directions cost time
EXPONENTS = (-12, 4)  # of a real number that is drawn
WHITE = 255


def check_parts(trial: LockStep) -> None:
    """Load layers of the network alone, and those from each layer on; compare the planned arena, and train two steps.

    Method, variant and some settings are drawn for each part from the trial's seed. The network on the board is another
    one afterwards.
    """
    rng = random.Random(trial.p.spec.seed)
    with ThreadPool(max_workers=1) as worker:
        for part in parts_of(trial.p.method.network):
            trial.device.load(encode(part))
            drawn = _drawn(part, trial.p.image.arena_size - trial.p.plan.front, rng)
            if drawn is not None:
                _check(trial, drawn, rng, worker)


@dataclass(frozen=True)
class _Drawn:
    """How a part is trained; `settings` are those in which it differs from the variant."""

    variant: str
    method: Method
    slots: int
    settings: Mapping[str, Any]


def _check(trial: LockStep, drawn: _Drawn, rng: random.Random, worker: ThreadPool) -> None:
    device, method, slots = trial.device, drawn.method, drawn.slots
    where = (
        f"{method.network.name} of {trial.p.spec.network_name} by {method.name}, {drawn.variant}, batch "
        f"{method.settings.batch}, {slots} slots, {dict(drawn.settings)}:"
    )
    wanted = method.plan.memory(slots).behind(trial.p.plan.front).total
    try:
        planned = device.configure(method.request.configuration(method.settings, slots, 0)).arena_planned
    except Refused as refusal:
        raise DeviceFault(f"{where} {refusal}") from refusal
    if planned != wanted:
        raise DeviceFault(f"{where} the agent plans {planned:,} bytes of arena, but docs/memory.md gives {wanted:,}.")
    if method.figures.step_macs() > MOST_MACS or method.request.fault_of_weights(method.settings):
        return
    reference = reference_of(method)
    reference.configure(method.settings, 0)
    steps, batch = BoardSteps(device, method.request, slots), method.settings.batch
    for step in range(STEPS):
        images, labels = _samples(method.network, batch, rng)
        pending = worker.submit(reference.step, images, labels)
        try:
            reply, outcome = both(partial(steps.train, step, Batch(images, labels)), pending, step, method.plan.layers)
        except StepFailed:  # on both sides alike
            return
        wrong = [method.plan.tensors[index].name for index in differing_tensors(reply.digests, outcome.digests)]
        wrong += [name for name, _, _ in differing_terms(reply, outcome)]
        if wrong:
            raise DeviceFault(f"{where} {', '.join(wrong)} of step {step} differ from the reference.")


def _samples(network: Graph, count: int, rng: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return noise, of which a part is black or white, as uint8 [count, height, width, channels], and labels."""
    draws = np.random.Generator(np.random.PCG64(rng.getrandbits(32)))
    images = draws.integers(-WHITE, 2 * WHITE, (count, *network.in_shape)).clip(0, WHITE).astype(np.uint8)
    return images, draws.integers(0, network.classes, count)


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
    own = network.own[len(network.layers) - 1]
    weights = np.resize(own.weights, (network.classes, int(np.prod(shape))))
    head = replace(last, reads=(len(moved),), in_shape=shape).with_own(own.with_weights(weights))
    of_input = 0 if layers[0].format in CHAINS else first  # in a chain only the network's input has a scale
    return Graph(
        name, (*moved, head), moved[0].in_shape, network.classes, network.scale_of(of_input), network.zero_of(of_input)
    )


def _drawn(part: Graph, arena: int, rng: random.Random) -> _Drawn | None:
    """Return how a part is trained in an arena; None if none of some draws can be."""
    kinds = [kind for kind in METHODS.house().values() if kind.variants_on(part.formats)]
    for _ in range(DRAWS if kinds else 0):
        kind = rng.choice(kinds)
        variant = rng.choice(kind.variants_on(part.formats))
        batch = rng.choice(BATCHES)
        try:
            plain = kind.on(part, variant, batch=batch)
            settings = _settings(plain, rng)
            method = kind.on(part, variant, **settings, batch=batch)
            slots = rng.randint(1, batch) if method.request.streams() else batch
            if method.plan.memory(slots).fits(arena):
                return _Drawn(variant, method, slots, settings)
        except (RigError, Blocked):
            continue
    return None


def _settings(method: Method, rng: random.Random) -> dict[str, Any]:
    """Return other values for some settings of a method."""
    table = {name: setting for name, setting in method.settings.table.items() if name not in OF_TRIAL}
    names = rng.sample(sorted(table), min(rng.randint(0, CHANGED), len(table)))
    return {name: _value(table[name], rng) for name in names}


def _value(setting: MethodSetting, rng: random.Random) -> Any:
    if setting.words:
        return rng.choice(setting.words)
    if setting.limits is None:
        return 2.0 ** rng.uniform(*EXPONENTS)
    low, high = setting.limits
    return rng.randint(low, min(high, low + MOST_NUMBER))
