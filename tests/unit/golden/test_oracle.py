"""The slow oracles, written from the texts alone, against fixtures/golden: a first step of some rows, and nightly all rows whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import pytest
import xxhash

from hil.training.data import load
from hil.training.methods import Method
from tests.oracle import PlainElasticZoFp32, PlainPerturbedScales, PlainQuzo, PlainQzoFf

from .compare import same_loss
from .rows import Row, committed
from .subjects import subject
from .train import hexed


class Oracle(Protocol):
    """What an oracle gives."""

    def digests(self) -> tuple[int, ...]: ...
    def step(self, step: int, images: np.ndarray, labels: np.ndarray) -> tuple[Any, Any, int]: ...
    def logits(self, image: np.ndarray) -> Sequence[Any]: ...


ORACLES: dict[str, tuple[Callable[[Method], Oracle], str]] = {  # with the type of its logits
    "elasticzo-fp32": (lambda of: PlainElasticZoFp32(of.network, of.settings), "<f4"),
    "qzo-ff": (lambda of: PlainQzoFf(of.network, of.settings), "i1"),
    "quzo": (lambda of: PlainQuzo(of.network, of.settings), "i1"),
    "perturbed-scales": (lambda of: PlainPerturbedScales(of.network, of.settings), "i1"),
}
QUICK = {  # whose first step takes seconds
    ("elasticzo-fp32", "cls2", "lenet5-float32", "varied"),
    ("qzo-ff", "linear-probe", "lenet5-w16a8", "varied"),
    ("qzo-ff", "normalised", "lenet5-w16a8", "varied"),
    ("quzo", "linear-probe", "lenet5-w16a8", "base"),
    ("quzo", "linear-probe", "lenet5-tflite", "base"),
    ("perturbed-scales", "linear-probe", "lenet5-tflite", "base"),
}
ROWS = [row for row in committed() if row.method in ORACLES]


def test_every_method_has_a_quick_row() -> None:
    assert {row.method for row in ROWS if row.key in QUICK} == {row.method for row in ROWS}


def check(row: Row, steps: int) -> Oracle:
    """Train some steps of a row, and compare what they give with the golden file."""
    said, data = row.recorded, load(row.recorded["data"])
    oracle = ORACLES[row.method][0](subject(row, said["settings"]))
    assert hexed(oracle.digests()) == said["start"]
    for step, (samples, golden) in enumerate(zip(said["samples"][:steps], said["steps"], strict=False)):
        plus, minus, sign = oracle.step(step, data.train_images[samples], data.train_labels[samples])
        assert same_loss(golden["loss_plus"], float(plus)), f"step {step}"
        assert same_loss(golden["loss_minus"], float(minus)), f"step {step}"
        assert sign == golden["sign"], f"step {step}"
        assert hexed(oracle.digests()) == golden["digests"], f"step {step}"
    return oracle


@pytest.mark.parametrize("row", [pytest.param(row, id="-".join(row.key)) for row in ROWS if row.key in QUICK])
def test_a_first_step(row: Row) -> None:
    check(row, 1)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("row", [pytest.param(row, id="-".join(row.key)) for row in ROWS])
def test_a_whole_row(row: Row) -> None:
    oracle, type = check(row, len(row.recorded["steps"])), ORACLES[row.method][1]
    said, images = row.recorded["evaluation"], load(row.recorded["data"]).test_images
    for place, image in enumerate(said["images"]):
        logits = oracle.logits(images[image])
        assert logits.index(max(logits)) == said["predictions"][place]
        data = np.array(logits, type).tobytes() + b"\0\0"
        assert f"{xxhash.xxh32_intdigest(data):08x}" == said["logits"][place]
