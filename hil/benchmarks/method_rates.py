"""How fast the references of ElasticZO FP32, QZO-FF and FQT train on one core, in the form that experiments use."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from hil.benchmarks import one_core
from hil.benchmarks.rows import Row
from hil.data import load
from hil.graph.graph import Graph
from hil.reference.methods import Reference
from hil.reference.methods.elasticzo_fp32 import ElasticZoFp32
from hil.reference.methods.fqt import Fqt
from hil.reference.methods.qzo_ff import QzoFf
from hil.reference.native import float32, w16a8
from hil.trial.prepare import prepare
from hil.trial.spec import TrialSpec

STEPS = 10


@dataclass(frozen=True)
class Case:
    """A method on a network. `unit`: what `per_step` counts of a step, from method and batch."""

    spec: TrialSpec
    reference: Callable[[Graph, Any], Reference]
    unit: str
    per_step: Callable[[Any, int], int]


def _samples(method: Any, batch: int) -> int:
    return batch


def _passes(method: Any, batch: int) -> int:
    return int(method.passes()) * batch


def _on(variant: str, network: str, method: str, batch: int) -> TrialSpec:
    return TrialSpec("imxrt1062", variant, network, method, batch=batch, slots=1, steps=1, evaluate=0)


def _elasticzo_fp32(graph: Graph, settings: Any) -> Reference:
    return ElasticZoFp32(graph, settings, float32.fastest(graph))


def _qzo_ff(graph: Graph, settings: Any) -> Reference:
    return QzoFf(graph, settings, w16a8.fastest_network)


CASES = (
    Case(_on("cls1", "lenet5-float32", "elasticzo-fp32", 32), _elasticzo_fp32, "samples/s", _samples),
    Case(_on("full", "lenet5-w16a8", "qzo-ff", 50), _qzo_ff, "passes/s", _passes),
    Case(_on("uint8", "fqt-cnn-uint8", "fqt", 48), Fqt, "samples/s", _samples),
    Case(_on("float32", "fqt-cnn-float32", "fqt", 48), Fqt, "samples/s", _samples),
)


def rows() -> Iterator[Row]:
    """Yield one row for each case."""
    for case, rate in zip(CASES, one_core.printed_by("method_rates"), strict=True):
        spec = case.spec
        yield Row(
            f"reference, {spec.method} {spec.variant}", rate, case.unit,
            f"{spec.network_name}, batch {spec.batch}, one core",
        )  # fmt: skip


def rate_of(case: Case, steps: int = STEPS) -> float:
    """Return samples or passes per second of processor time."""
    method, batch = prepare(case.spec).method, case.spec.batch
    given = one_core.some_batches(load("fashion-mnist-1k"), steps, batch)
    step = case.reference(method.network, method.settings).step
    return one_core.best_rate(step, given) * case.per_step(method, batch)


def main() -> None:
    """Print the rates as JSON."""
    one_core.stay_on_one_core()
    print(json.dumps([rate_of(case) for case in CASES]))
