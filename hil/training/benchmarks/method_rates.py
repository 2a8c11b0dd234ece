"""How fast the references train on one core, in the form that experiments use; Poor Man's Training also in NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hil.benchmarks.rows import BenchmarkRow
from hil.training.benchmarks import one_core
from hil.training.data import load
from hil.training.graph.graph import Graph
from hil.training.reference.methods import MethodReference
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference
from hil.training.reference.methods.fqt import FqtReference
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.methods.qzo_ff import QzoFfReference
from hil.training.reference.native import float32, tflite8, w16a8
from hil.training.trial.prepare import prepare
from hil.training.trial.spec import TrialSpec

STEPS = 10
DATA = "fashion-mnist-1k"


@dataclass(frozen=True)
class RateCase:
    """A method on a network.

    Attributes:
        unit: what `per_step` counts of a step, from method and batch.
        steps: that are measured.
        arithmetic: named where it is not the one that experiments use.
    """

    spec: TrialSpec
    reference: Callable[[Graph, Any], MethodReference]
    unit: str
    per_step: Callable[[Any, int], int]
    steps: int = STEPS
    arithmetic: str = ""

    @property
    def name(self) -> str:
        """What a row calls it."""
        return ", ".join(filter(None, (f"{self.spec.method} {self.spec.variant}", self.arithmetic)))


def _samples(method: Any, batch: int) -> int:
    return batch


def _passes(method: Any, batch: int) -> int:
    return int(method.request.passes()) * batch


def _perturbed(method: Any, batch: int) -> int:
    """Return the passes with a perturbation, from their layer on; each layer has passes of its own."""
    return batch * sum(int(method.figures.layer_passes(layer)) for layer in method.plan.trained)


def _on(variant: str, network: str, method: str, batch: int, data: str = DATA) -> TrialSpec:
    return TrialSpec("imxrt1062", variant, network, method, data, batch=batch, slots=1, steps=1, evaluate=0)


def _poor_mans(network: str, variant: str, batch: int, data: str = DATA) -> Iterator[RateCase]:
    """Yield Poor Man's Training with its default settings in C, then in NumPy: a step of so many samples."""
    spec = _on(variant, network, "poor-mans-training", batch, data)
    yield RateCase(spec, tflite8.fastest, "passes/s", _perturbed)
    yield RateCase(spec, PoorMans, "passes/s", _perturbed, 1, "NumPy")


def _elasticzo_fp32(graph: Graph, settings: Any) -> MethodReference:
    return ElasticZoFp32Reference(graph, settings, float32.fastest(graph))


def _qzo_ff(graph: Graph, settings: Any) -> MethodReference:
    return QzoFfReference(graph, settings, w16a8.fastest_network)


CASES = (
    RateCase(_on("cls1", "lenet5-float32", "elasticzo-fp32", 32), _elasticzo_fp32, "samples/s", _samples),
    RateCase(_on("full", "lenet5-w16a8", "qzo-ff", 50), _qzo_ff, "passes/s", _passes),
    RateCase(_on("uint8", "fqt-cnn-uint8", "fqt", 48), FqtReference, "samples/s", _samples),
    RateCase(_on("float32", "fqt-cnn-float32", "fqt", 48), FqtReference, "samples/s", _samples),
    *_poor_mans("resnet-tiny", "adaptive", 4),
    *_poor_mans("mcunet-128", "block3", 1, f"{DATA}@128x128x3"),
)


def rows() -> Iterator[BenchmarkRow]:
    """Yield one row for each case."""
    for case, rate in zip(CASES, one_core.printed_by("method_rates"), strict=True):
        spec = case.spec
        yield BenchmarkRow(
            f"reference, {case.name}", rate, case.unit,
            f"{spec.network_name}, batch {spec.batch}, one core",
        )  # fmt: skip


def rate_of(case: RateCase) -> float:
    """Return samples or passes per second of processor time."""
    method, batch = prepare(case.spec).method, case.spec.batch
    given = one_core.some_batches(load(case.spec.data), case.steps, batch)
    step = case.reference(method.network, method.settings).step
    return one_core.best_rate(step, given) * case.per_step(method, batch)


def main() -> None:
    """Print the rates as JSON."""
    one_core.stay_on_one_core()
    print(json.dumps([rate_of(case) for case in CASES]))


if __name__ == "__main__":
    main()
