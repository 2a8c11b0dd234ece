"""Train a method of a tree with its C engine, built for this computer, and with its NumPy reference; print what both gave, as JSON.

Usage: both_engines.py FIRMWARE BUILD. `hil` is that of the tree, `golden` that of tests/unit.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from engine.graph_engine import GraphEngine
from engine.host_engine import EngineRefused
from golden.c_side import CTrainer, engine_library
from golden.numpy_side import NumpyTrainer
from golden.train import Trainer, hexed

import hil
from hil.errors import RigError
from hil.training.data import load
from hil.training.methods import GraphMethod, Method, graph_method
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.settings import configure_fields, sent
from hil.training.networks import NETWORKS, build
from hil.training.reference.formats.tflite8.loss import cross_entropy, summed
from hil.training.reference.methods import reference_of

NETWORK, STEPS, EVALUATED = "lenet5-tflite", 3, range(2)
EXPONENT = 2  # bytes at the end of a stage
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {  # method, variant and settings
    "a batch": ("spsa", "all", {"batch": 3, "qas": 0, "eta": 600.0, "seed": 2}),
    "every tensor": ("spsa", "all", {"batch": 2, "eta": 0.001, "seed": 7}),
    "biases": ("spsa", "all", {"batch": 2, "train": "bias", "eta": 0.001}),
    "the last layer": ("spsa", "last", {"batch": 4, "train_bias": 0, "eta": 0.03}),
    "one sample": ("spsa", "all", {"eta": 0.001}),
    "one sample, mezo": ("mezo", "mezo", {"eta": 0.001, "qas": 1}),
}
REFUSED = {"perturb": "node", "wise": "layer", "difference": "forward", "direction": "sample", "gns": 1, "queries": 2}


def method_of(case: str) -> GraphMethod:
    """Return the method of a case on the network."""
    method, variant, settings = CASES[case]
    return graph_method(method).on(build(NETWORK, 1), variant, **settings)


def batch_of(of: Method, step: int) -> slice:
    """Return the training images of a step."""
    return slice(step * of.settings.batch, (step + 1) * of.settings.batch)


def trained(trainer: Trainer, of: Method) -> list[dict[str, Any]]:
    """Return digests before the first step, then losses, digests and evaluation of every step."""
    data, count = load(NETWORKS[NETWORK].data), of.settings.batch
    trainer.begin(of)
    found: list[dict[str, Any]] = [{"digests": hexed(trainer.digests())}]
    for step in range(STEPS):
        trainer.samples(data.train_images[batch_of(of, step)], data.train_labels[batch_of(of, step)])
        done = trainer.step(step, count)
        logits = []
        for image in EVALUATED:
            trainer.samples(data.test_images[[image]], data.test_labels[[image]])
            logits.append(trainer.infer())
        losses = [float(done.loss_plus).hex(), float(done.loss_minus).hex()]
        found.append({"losses": losses, "sign": done.sign, "digests": hexed(done.digests), "logits": logits})
    return found


def in_parts(library: ctypes.CDLL, of: GraphMethod, slots: int) -> dict[str, Any]:
    """Return the digests of every step on an engine that holds fewer samples than a batch: both passes come in parts.

    With them come the multiply-accumulates and layer runs of a step, as the host counts them and as the engine does.
    """
    data, count = load(NETWORKS[NETWORK].data), of.settings.batch
    engine = GraphEngine(library, of.plan.file(), 4 << 20)
    engine.configure(of.settings, slots)
    found = []
    for step in range(STEPS):
        images, labels = data.train_images[batch_of(of, step)], data.train_labels[batch_of(of, step)]
        for number in range(of.request.passes()):
            for first in range(0, count, slots):
                part = slice(first, min(first + slots, count))
                engine.samples(images[part], labels[part].tolist())
                engine.part(step, number, first, part.stop - first)
        found.append(hexed(engine.step(step, count).digests))
    work = [[of.figures.step_work().macs, of.figures.step_work().layer_runs], engine.work()]
    engine.close()
    return {"digests": found, "work": work}


def losses_of_passes(of: GraphMethod) -> list[list[float]]:
    """Return the losses of the first step from the weights that the reference names for its passes, and as it reports them."""
    data, reference = load(NETWORKS[NETWORK].data), reference_of(of)
    images, labels = data.train_images[batch_of(of, 0)], data.train_labels[batch_of(of, 0)]
    found = []
    for weights in reference.passes(reference.weights, 0):
        stages = [reference.trace(weights, images, labels, slot)[-1] for slot in range(len(images))]
        logits = np.stack([np.frombuffer(stage.data[:-EXPONENT], np.int8) for stage in stages])
        losses = cross_entropy(logits, labels.astype(np.intp), of.network.layers[-1].scale)
        found.append(float(summed(losses, np.float32(0))))
    done = reference.step(images, labels)
    return [found, [done.loss_plus, done.loss_minus]]


def refused(library: ctypes.CDLL, of: GraphMethod) -> dict[str, Sequence[Any]]:
    """Return what host and engine say of each setting that the method does not take."""
    engine, found = GraphEngine(library, of.plan.file(), 4 << 20), {}
    for name, value in REFUSED.items():
        chosen = asdict(of.settings) | {"slots": 1, "first_step": 0, name: value}
        numbers = {one: setting.number(chosen[one]) for one, setting in sent(GraphSettings.table).items()}
        try:
            engine.configure_by(configure_fields(GraphSettings.table, numbers))
            by_engine: list[int] = []
        except EngineRefused as error:
            by_engine = [error.code, error.a, error.b]
        try:
            type(of).on(of.network, "all", **{name: value})
            by_host = ""
        except RigError as error:
            by_host = str(error)
        found[name] = (by_host, by_engine)
    engine.close()
    return found


def plans(library: ctypes.CDLL, of: GraphMethod) -> list[tuple[int, int]]:
    """Return the bytes of arena that host and engine plan, for every number of slots."""
    engine, found = GraphEngine(library, of.plan.file(), 4 << 20), []
    for slots in range(1, of.settings.batch + 1):
        found.append((of.plan.memory(slots).total, engine.configure(of.settings, slots)))
    engine.close()
    return found


def main(firmware: Path, folder: Path) -> None:
    """Print what both gave."""
    library = ctypes.CDLL(str(engine_library(firmware, folder)))
    c_trainer, batch = CTrainer(library), method_of("a batch")
    said = {
        "from": hil.__file__,
        "c": {case: trained(c_trainer, method_of(case)) for case in CASES},
        "numpy": {case: trained(NumpyTrainer(), method_of(case)) for case in CASES},
        "parts": in_parts(library, batch, 2),
        "passes": losses_of_passes(batch),
        "plans": plans(library, batch),
        "refused": refused(library, batch),
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:]))
