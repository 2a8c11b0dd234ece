"""Train ElasticZO in a format of a tree with its C engine, built for this computer, and with NumPy; print what both gave, as JSON.

Usage: both_formats.py FIRMWARE BUILD. `hil` is that of the tree, `golden` that of tests/unit.
"""

from __future__ import annotations

import ctypes
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from both_engines import batch_of, trained
from engine.host_engine import EngineRefused, HostEngine
from golden.c_side import CTrainer, engine_library
from golden.numpy_side import NumpyTrainer
from golden.rows import DATA
from golden.train import hexed

import hil
from hil.errors import RigError
from hil.training.data import load
from hil.training.graph.chain import chain
from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.graph.formats import Format, Op, Shape
from hil.training.graph.graph import Graph
from hil.training.graph.node import ChainNode, ChainParameters, Node, Parameters
from hil.training.methods import Method, find_method
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks.lenet5 import xavier

FORMAT = Format["FIXED16"]
CASES: dict[str, tuple[str, dict[str, Any]]] = {  # variant and settings
    "one sample": ("cls1", {"batch": 1}),
    "zeroth order": ("full-zo", {"batch": 3, "r_max": 31, "b_zo": 3}),
    "exact": ("cls2", {"batch": 2, "perturb": "exact", "r_max": 63, "p_zero": 0}),
    "back-propagation": ("full-bp", {"batch": 3, "b_bp": 6}),
    "errors that sum to zero": ("cls1", {"batch": 2, "logit_error": "zero-sum"}),
    "a group": ("full-bp", {"batch": 3, "b_bp": 6, "scope": "batch"}),
}


def network(seed: int) -> Graph:
    """Return a network of two convolutions and two fully connected layers, on images of 28 x 28."""
    rng = np.random.Generator(np.random.PCG64(seed))
    image, maps, pooled, deep, last, hidden = (28, 28, 1), (28, 28, 4), (14, 14, 4), (12, 12, 6), (6, 6, 6), (1, 1, 20)
    nodes = [
        node("conv1", Op.CONV2D, image, maps, (3, 3), 1, 1, drawn((4, 3, 3, 1), 9, 36, rng)),
        node("relu1", Op.RELU, maps, maps),
        node("pool1", Op.MAX_POOL, maps, pooled, (2, 2), 2),
        node("conv2", Op.CONV2D, pooled, deep, (3, 3), 1, 0, drawn((6, 3, 3, 4), 36, 54, rng)),
        node("relu2", Op.RELU, deep, deep),
        node("pool2", Op.MAX_POOL, deep, last, (2, 2), 2),
        node("fc1", Op.FULLY_CONNECTED, last, hidden, own=drawn((20, 216), 216, 20, rng)),
        node("relu3", Op.RELU, hidden, hidden),
        node("fc2", Op.FULLY_CONNECTED, hidden, (1, 1, 10), own=drawn((10, 20), 20, 10, rng)),
    ]
    return chain(nodes, 10)


def node(
    name: str,
    op: Op,
    read: Shape,
    made: Shape,
    kernel: tuple[int, int] = (0, 0),
    stride: int = 0,
    pad: int = 0,
    own: Parameters | None = None,
) -> Node:
    """Return a layer in the format."""
    return ChainNode(
        name, op, (0,), read, made, kernel, (stride, stride), (pad, pad), int(own is not None), own=own, format=FORMAT
    )


def drawn(shape: tuple[int, ...], fan_in: int, fan_out: int, rng: np.random.Generator) -> Parameters:
    """Return weights as `bfp8` draws them, with eight bits more."""
    weights, exponent = xavier(shape, fan_in, fan_out, rng)
    return ChainParameters(weights.astype(np.int16) * 256, exponent=exponent - 8)


def method_of(case: str) -> Method:
    """Return the method of a case on the network."""
    variant, settings = CASES[case]
    return find_method("elasticzo-int8").on(network(5), variant, **settings)


def in_parts(library: ctypes.CDLL, of: Method) -> list[list[str]]:
    """Return the digests of every step on an engine that holds one sample."""
    data, count = load(DATA), of.settings.batch
    engine, found = HostEngine(library, of.plan.file(), 4 << 20), []
    engine.configure(of.settings, 1)
    for step in range(3):
        images, labels = data.train_images[batch_of(of, step)], data.train_labels[batch_of(of, step)]
        for number in range(of.request.passes()):
            for sample in range(count):
                engine.samples(images[sample : sample + 1], [int(labels[sample])])
                engine.part(step, number, sample, 1)
        found.append(hexed(engine.step(step, count).digests))
    engine.close()
    return found


def traces(library: ctypes.CDLL, of: Method) -> list[list[str]]:
    """Return the digests of all stages of a sample before training, of both."""
    data, found = load(DATA), []
    for trainer in (CTrainer(library), NumpyTrainer()):
        trainer.begin(of)
        trainer.samples(data.train_images[: of.settings.batch], data.train_labels[: of.settings.batch])
        found.append(hexed(trainer.trace(of.settings.batch - 1, 0)))
    return found


def plans(library: ctypes.CDLL) -> list[tuple[int, int]]:
    """Return the bytes of arena that host and engine plan, for every case and number of slots."""
    found = []
    for of in map(method_of, CASES):
        engine = HostEngine(library, of.plan.file(), 4 << 20)
        for slots in range(1 if of.request.streams() else of.settings.batch, of.settings.batch + 1):
            found.append((of.plan.memory(slots).total, engine.configure(of.settings, slots)))
        engine.close()
    return found


def integer_loss(library: ctypes.CDLL) -> list[Any]:
    """Return what host and engine say of the integer loss."""
    of, engine_says = method_of("one sample"), []
    engine = HostEngine(library, of.plan.file(), 4 << 20)
    try:
        engine.configure(ElasticZoSettings.of_variant("cls1", len(of.plan.tensors), batch=1, loss="integer"), 1)
    except EngineRefused as error:
        engine_says = [error.code, error.a]
    engine.close()
    try:
        type(of).on(of.network, "cls1", loss="integer")
    except RigError as error:
        return [str(error), engine_says]
    return ["", engine_says]


def wrong_files(library: ctypes.CDLL) -> list[list[list[int]]]:
    """Return layer and check by which host and engine refuse files that hold what the format does not."""
    good, found = network(5), []
    first, last = good.layers[0], good.layers[-1]
    assert first.own is not None and last.own is not None
    spoiled = last.own.weights.copy()
    spoiled[0, 0] = 32513
    wrong = [
        replace(good, layers=(replace(first, own=replace(first.own, exponent=0)), *good.layers[1:])),
        replace(good, layers=(*good.layers[:-1], replace(last, own=replace(last.own, weights=spoiled)))),
        replace(good, scale=2.0**-7),
        replace(good, layers=(*good.layers[:-1], replace(last, format=Format.BFP8))),
    ]
    for blob in map(encode, wrong):
        refused: list[list[int]] = []
        try:
            decode(blob)
        except NetworkFileError as error:
            refused.append([error.layer, error.check])
        try:
            HostEngine(library, blob)
        except EngineRefused as error:
            refused.append([error.a, error.b])
        found.append(refused)
    return found


def main(firmware: Path, folder: Path) -> None:
    """Print what both gave."""
    library = ctypes.CDLL(str(engine_library(firmware, folder)))
    c_trainer = CTrainer(library)
    said = {
        "from": hil.__file__,
        "c": {case: trained(c_trainer, method_of(case)) for case in CASES},
        "numpy": {case: trained(NumpyTrainer(), method_of(case)) for case in CASES},
        "parts": in_parts(library, method_of("back-propagation")),
        "traces": traces(library, method_of("back-propagation")),
        "plans": plans(library),
        "integer loss": integer_loss(library),
        "files": wrong_files(library),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:]))
