"""NumPy, its C and the C engine of this computer against fixtures/golden; neither is compared with the other here.

A virtual board is compared in tests/integration/golden.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from hil.training.data import load
from hil.training.methods import METHODS

from .c_side import CTrainer
from .compare import wrong
from .numpy_side import NativeTrainer, NumpyTrainer
from .rows import STEPS, Row, committed, wanted
from .subjects import all_settings, subject, totals
from .train import Trainer

ROWS = committed()
each_row = pytest.mark.parametrize("row", [pytest.param(row, id="-".join(row.key)) for row in ROWS])


def in_poor_mans_loop(row: Row) -> bool:
    return METHODS[row.method].loop == "poor-mans"


def check(trainer: Trainer, row: Row) -> None:
    lines = wrong(trainer, row)
    assert not lines, "\n".join(lines)


@each_row
def test_numpy(row: Row, numpy_trainer: NumpyTrainer) -> None:
    check(numpy_trainer, row)


@pytest.mark.parametrize("row", [pytest.param(row, id="-".join(row.key)) for row in ROWS if in_poor_mans_loop(row)])
def test_c_of_the_reference(row: Row, native_trainer: NativeTrainer) -> None:
    check(native_trainer, row)


@each_row
def test_c_engine_of_this_computer(row: Row, c_trainer: CTrainer) -> None:
    check(c_trainer, row)


@pytest.mark.tier("nightly")
@each_row
def test_c_engine_with_the_kernels_of_other_cores(row: Row, core_trainer: CTrainer) -> None:
    check(core_trainer, row)


@each_row
def test_a_row_is_trained_with_its_settings_and_needs_no_more_memory(row: Row) -> None:
    """Every setting that decides bits is in the file; a plan may become smaller."""
    of = subject(row, row.recorded["settings"])
    assert all_settings(of) == row.recorded["settings"]
    assert [tensor.name for tensor in of.plan.tensors] == row.recorded["tensors"]
    grown = {
        name: (now, row.recorded["plan"][name]) for name, now in totals(of).items() if now > row.recorded["plan"][name]
    }
    assert not grown, f"{row.name}: the plan has grown, bytes now and at most: {grown}"


def test_every_method_and_variant_has_two_rows_on_every_small_network() -> None:
    assert sorted(row.key for row in ROWS) == sorted(row.key for row, _ in wanted())


def test_the_samples_are_those_of_the_data_set() -> None:
    for row in ROWS:
        assert load(row.recorded["data"]).sha256 == row.recorded["data_sha256"]


@each_row
def test_a_row_says_something(row: Row) -> None:
    """Tensors move in two of three steps at least: with one sample and a few coordinates a step may have no difference of losses."""
    states: list[Any] = [row.recorded["start"], *(step["digests"] for step in row.recorded["steps"])]
    assert len(states) == STEPS + 1
    assert sum(before != after for before, after in pairwise(states)) >= 2


def test_both_settings_of_a_variant_end_apart() -> None:
    ends: dict[tuple[str, str, str], list[Any]] = {}
    for row in ROWS:
        ends.setdefault(row.key[:3], []).append(
            row.recorded["evaluation"]["logits"] + row.recorded["steps"][-1]["digests"]
        )
    assert all(one != other for one, other in ends.values())
