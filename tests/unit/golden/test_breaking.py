"""The golden files can fail: with one rounding changed, in a copy of the C engine or in the reference, the row, the step and the tensor are named."""

from __future__ import annotations

import ctypes
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hil.training.reference.arith import clip127
from hil.training.reference.formats.bfp8 import arithmetic, layers
from hil.training.reference.methods import trained
from tests.host_make import HOST

from .c_side import CTrainer, engine_library
from .compare import wrong
from .numpy_side import NumpyTrainer
from .rows import Row, committed

BY_UPDATE = {  # file: a line, and the same with its rounding changed; each is of the rows of one arithmetic
    "arith/psto_shift.h": ("return hi > lo ? 1 : 0;", "return hi >= lo && s != 0 ? 1 : 0;"),
    "kernels/updates.c": ("(product + (UINT64_C(1) << (factor.n - 1))) >> factor.n", "product >> factor.n"),
}
BY_PASS = {
    "arith/rescale.h": (
        "return x < 0 ? -rounded : rounded;",
        "return x < 0 ? -(int32_t)(((magnitude(x) - 1u) >> (n - 1)) + 1u) / 2 : rounded;",
    )
}
UPDATED = [
    ("elasticzo-int8", "full-zo", "lenet5", "base"),
    ("last-layer", "adaptive", "resnet-tiny", "base"),
    ("poor-mans-training", "adaptive", "resnet-tiny", "base"),
]


def row_of(*key: str) -> Row:
    return next(row for row in committed() if row.key == key)


def built(copy: Path, changes: dict[str, tuple[str, str]]) -> ctypes.CDLL:
    """Build the engine of a copy of the firmware in which each line, which must be there once, is another."""
    shutil.copytree(HOST.parent, copy, ignore=shutil.ignore_patterns("build", "prebuilt"))
    for file, (old, new) in changes.items():
        text = (copy / file).read_text()
        assert text.count(old) == 1, f"{file} no longer has the line {old!r} once: bring the change up to date"
        (copy / file).write_text(text.replace(old, new))
    return ctypes.CDLL(str(engine_library(copy, copy / "build")))


@pytest.mark.tier("nightly")  # compiles an engine of its own
@pytest.mark.usefixtures("library")  # skips where there is no compiler
def test_a_rounding_of_the_update_in_c(tmp_path: Path) -> None:
    """The losses of the first step agree, for its weights are right; of its tensors those that the update rounded otherwise are named."""
    trainer = CTrainer(built(tmp_path / "firmware", BY_UPDATE))
    for key in UPDATED:
        row = row_of(*key)
        lines = wrong(trainer, row)
        place = rf"{re.escape(row.name)}, step 0, tensor \d+ \([\w.]+\): "
        assert lines and all(re.match(place, line) for line in lines), lines
    trainer.close()


@pytest.mark.tier("nightly")
@pytest.mark.usefixtures("library")
def test_a_rounding_of_the_forward_pass_in_c(tmp_path: Path) -> None:
    """Halves below zero go up, not away from it: the loss of the first step differs."""
    trainer = CTrainer(built(tmp_path / "firmware", BY_PASS))
    row = row_of("int8-bp", "qas", "resnet-tiny", "base")
    lines = wrong(trainer, row)
    assert lines[0].startswith(f"{row.name}, step 0, loss_plus: {trainer.name} has "), lines
    assert any(line.startswith(f"{row.name}, step 0, tensor ") for line in lines)
    trainer.close()


def psto_up(x: np.ndarray, s: int) -> np.ndarray:
    """PstoShift that rounds up where the upper half of the dropped bits is equal to the lower, too."""
    q = np.abs(x) >> s
    dropped = np.abs(x) - (q << s)
    high = dropped >> s // 2
    low = (dropped - (high << s // 2)) * (1 + s % 2)
    return clip127(np.sign(x) * (q + (high >= low)))


def away_or_up(x: np.ndarray) -> np.ndarray:
    """Halves below zero go up."""
    return np.floor(x + 0.5)


def cut_off(right: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Return the steps of the update with their halves cut off: D of a gradient less half a step, where there is one."""
    return lambda gradient, exponent, factor: right(2 * gradient, exponent, factor) // 2


@pytest.mark.parametrize(
    ("key", "where", "name", "changed", "first"),
    [
        (UPDATED[0], arithmetic, "psto_shift", psto_up, "tensor"),
        (("elasticzo-int8", "full-bp", "lenet5", "base"), layers, "round_half_away", away_or_up, "loss_plus"),
        (UPDATED[2], trained, "steps", cut_off(trained.steps), "tensor"),
    ],
    ids=["update-exponent", "pass-exponent", "update-tflite"],
)
def test_a_rounding_in_the_reference(
    monkeypatch: pytest.MonkeyPatch,
    key: tuple[str, ...],
    where: object,
    name: str,
    changed: Callable[..., np.ndarray],
    first: str,
) -> None:
    row, trainer = row_of(*key), NumpyTrainer()
    assert not wrong(trainer, row)
    monkeypatch.setattr(where, name, changed)
    lines = wrong(trainer, row)
    assert lines and lines[0].startswith(f"{row.name}, step 0, {first}")
