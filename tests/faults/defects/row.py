"""One seeded defect, and the trial that must find it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from hil.training.networks import NETWORKS
from hil.trial import EnergyWindows, LatencySteps, TrialSpec

BOARD = "stm32h7b3"
MEASURING, ELASTICZO, GRAPHS = "measuring", "elasticzo-int8", "tflite8"  # the parts of the table
FQT, TINYTRAIN, QZO_FF, ELASTICZO_FP32 = "fqt", "tinytrain", "qzo-ff", "elasticzo-fp32"
HELD_OUT_MEASURING, HELD_OUT_ARITHMETIC = (
    "held out: measuring",
    "held out: arithmetic",
)  # its rows that are never changed

SHORT: dict[str, Any] = {"steps": 6, "evaluate": 0}
GRAPH: dict[str, Any] = {"batch": 1, "steps": 2, "evaluate": 0}
QUERIES = ("poor-mans-training", "last-layer", "bias-only")  # methods that have queries, and more than two by default
PAIRS: dict[str, Any] = {"batch": 2, "steps": 2, "evaluate": 0}


def graph(method: str, variant: str, network: str = "resnet-tiny", **others: Any) -> TrialSpec:
    """Return a short trial of a method that trains graphs."""
    settings = others.pop("settings", {"queries": 2} if method in QUERIES else {})
    return TrialSpec(BOARD, variant, network, method, NETWORKS[network].data, settings=settings, **GRAPH | others)


def trial(method: str, variant: str, network: str, **others: Any) -> TrialSpec:
    """Return a short trial of a method that trains in other formats, a batch of two in two steps."""
    return TrialSpec(BOARD, variant, network, method, NETWORKS[network].data, **PAIRS | others)


TRIALS: dict[str, TrialSpec] = {
    "cls1": TrialSpec(BOARD, "cls1", **SHORT),
    "full-zo": TrialSpec(BOARD, "full-zo", **SHORT),
    "full-bp": TrialSpec(BOARD, "full-bp", **SHORT),
    "cls2 in scope batch": TrialSpec(BOARD, "cls2", **SHORT, batch=4, settings={"scope": "batch", "logit_error": "zero-sum"}),
    "cls1 in scope batch": TrialSpec(BOARD, "cls1", **SHORT, batch=4, settings={"scope": "batch"}),
    "cls1 with the largest noise": TrialSpec(BOARD, "cls1", **SHORT, settings={"r_max": 127}),
    "cls1 of integers": TrialSpec(BOARD, "cls1", **SHORT, settings={"loss": "integer", "perturb": "exact", "r_max": 63}),
    "cls2 with fraction bits": TrialSpec(BOARD, "cls2", **SHORT, batch=6, settings={"loss": "integer", "loss_fraction": 4}),
    "figures": TrialSpec(BOARD, "cls1", batch=2, steps=2, evaluate=8, latency=LatencySteps(5)),
    "energy": TrialSpec(BOARD, "cls1", batch=2, steps=2, evaluate=0, energy=EnergyWindows(windows=2)),
    "figures of parts": TrialSpec(BOARD, "cls1", batch=3, steps=2, evaluate=0, slots=2),
    "figures of a graph": graph("poor-mans-training", "block2", evaluate=4, latency=LatencySteps(2)),
    "figures of int8-bp": graph("int8-bp", "qas", latency=LatencySteps(2)),
    "adaptive": graph("poor-mans-training", "adaptive"),
    "adaptive, three samples": graph("poor-mans-training", "adaptive", batch=3),
    "model-node": graph("poor-mans-training", "model-node"),
    "nodes at a large rate": graph("poor-mans-training", "node", settings={"queries": 2, "eta": 1.0}),
    "block2": graph("poor-mans-training", "block2"),
    "mezo": graph("mezo", "mezo"),
    "mezo at a large rate": graph("mezo", "mezo", settings={"eta": 64.0}),
    "mezo, weights at their limit": graph("mezo", "mezo", settings={"eta": 4096.0}),
    "bias-only": graph("bias-only", "adaptive"),
    "deepzero": graph("deepzero", "last-sparse", steps=1),
    "int8-bp": graph("int8-bp", "qas"),
    "int8-bp, three samples": graph("int8-bp", "qas", batch=3),
    "mcutrain": graph("mcutrain", "block3"),
    "last-layer": graph("last-layer", "adaptive", settings={"queries": 2, "eta": 1.0}),
    "fqt": trial("fqt", "uint8", "fqt-cnn-uint8"),
    "fqt, three steps": trial("fqt", "uint8", "fqt-cnn-uint8", steps=3),
    "fqt, last layer": trial("fqt", "uint8", "fqt-cnn-uint8", settings={"last_layers": 1}),
    "fqt, last layer, large epsilon": trial("fqt", "uint8", "fqt-cnn-uint8", settings={"last_layers": 1, "epsilon": 0.01}),
    "fqt, by batch and running ranges": trial("fqt", "uint8", "fqt-cnn-uint8", settings={"standardise": "batch", "error_range": "running", "gradient": "mean"}),
    "fqt, sparse": trial("fqt", "sparse", "fqt-cnn-uint8", settings={"lambda_max": 0.7}),
    "fqt, sparse in floats": trial("fqt", "sparse", "fqt-cnn-float32", settings={"lambda_max": 0.7}),
    "mbednet": trial("fqt", "uint8", "mbednet-uint8", batch=1),
    "mbednet, mixed": trial("fqt", "mixed", "mbednet-mixed", batch=1, steps=1),
    "tinytrain": trial("tinytrain", "budget", "resnet-tiny"),
    "tinytrain, all the work": trial("tinytrain", "budget", "resnet-tiny", settings={"work_budget": 256}),
    "tinytrain, layers of near scores": trial("tinytrain", "budget", "resnet-tiny", settings={"work_budget": 100, "memory_budget": 20_000}),
    "tinytrain, nothing to rank": trial("tinytrain", "budget", "resnet-tiny", batch=1, seed=16),  # the first sample's error is 0
    "tinytrain, six samples": trial("tinytrain", "budget", "resnet-tiny", batch=6, settings={"work_budget": 256}),
    "tinytrain, little memory": trial("tinytrain", "budget", "resnet-tiny", settings={"memory_budget": 30_000}),
    "qzo-ff": trial("qzo-ff", "full", "lenet5-w16a8"),
    "qzo-ff at a large rate": trial("qzo-ff", "full", "lenet5-w16a8", settings={"eta": 0.1}),
    "qzo-ff, three directions": trial("qzo-ff", "last-3", "lenet5-w16a8", settings={"directions": 3}),
    "sharpness": trial("qzo-ff", "sharpness", "lenet5-w16a8"),
    "guided": trial("qzo-ff", "guided", "lenet5-w16a8", steps=3),
    "adamw": trial("qzo-ff", "adamw", "lenet5-w16a8", settings={"last_layers": 2}),
    "sparse": trial("qzo-ff", "sparse", "lenet5-w16a8"),
    "enhanced": trial("qzo-ff", "enhanced", "lenet5-w16a8"),
    "fp32 full-zo": trial("elasticzo-fp32", "full-zo", "convnet-tiny-float32"),
    "fp32 cls2, clipped": trial("elasticzo-fp32", "cls2", "convnet-tiny-float32", settings={"g_clip": 0.01}),
    "fp32 full-bp": trial("elasticzo-fp32", "full-bp", "lenet5-float32"),
}  # fmt: skip


@dataclass(frozen=True)
class Patch:
    """A change of one piece of text, which must be there once; where it breaks into lines does not matter."""

    file: str
    old: str
    new: str

    def applied_to(self, text: str) -> str | None:
        """Return the text with the change, or None where `old` is not in it exactly once."""
        words = (re.escape(word) for word in self.old.split())
        changed, times = re.subn(r"\s+".join(words), lambda _: self.new, text)
        return changed if times == 1 else None


@dataclass(frozen=True)
class Row:
    """A defect.

    Attributes:
        name: what somebody got wrong.
        part: of the table.
        patches: the change of the firmware.
        trial: one of `TRIALS`, which shows it.
        names: the figures (measuring) or layers (arithmetic) one of which must be named; regular expressions of whole names.
        what: for arithmetic a part of what is named of the layer: `output`, `error`, `weight`, ...
        gate: whether the quick tier runs it.
    """

    name: str
    part: str
    patches: tuple[Patch, ...]
    trial: str
    names: tuple[str, ...]
    what: str = ""
    gate: bool = field(default=False, compare=False)

    @property
    def tier(self) -> str:
        """The tier of the project's own tests that runs the row."""
        return "quick" if self.gate else "nightly"


def change(file: str, old: str, new: str) -> tuple[Patch, ...]:
    """Return a change of one line."""
    return (Patch(file, old, new),)


def row(
    part: str,
    name: str,
    trial: str,
    file: str,
    old: str,
    new: str,
    names: tuple[str, ...],
    what: str = "",
    gate: bool = False,
) -> Row:
    """Return the row of a change of one line."""
    return Row(name, part, change(file, old, new), trial, names, what, gate)
