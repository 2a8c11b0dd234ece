"""The tensors that two tests of devices have kept, beside each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.report.compare.devices import TensorRow, tensors_of


def kept(folder: Path, **arrays: np.ndarray) -> Path:
    folder.mkdir()
    np.savez(folder / "tensors.npz", **{name.replace("_at_", "@"): each for name, each in arrays.items()})
    return folder


ONE = np.array([1, 2], np.float32)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return kept(tmp_path / "first", fc_at_0=ONE, fc_at_1=ONE + 1)


def test_equal_tensors(first: Path, tmp_path: Path) -> None:
    found = tensors_of(first, kept(tmp_path / "second", fc_at_0=ONE, fc_at_1=ONE + 1))
    assert found is not None and found.sentence == "all 2 steps are bit for bit equal."
    assert found.rows == [TensorRow("fc", 2, 4, 0, 0, 0.0, 0.0)]


def test_the_first_difference_and_the_largest_error(first: Path, tmp_path: Path) -> None:
    other = np.array([2, np.nextafter(np.float32(3), np.float32(4))], np.float32)
    found = tensors_of(first, kept(tmp_path / "second", fc_at_0=ONE, fc_at_1=other, fc_at_2=ONE))
    assert found is not None
    assert found.sentence == (
        "the first difference is at step 1, tensor fc, index 1: the first has 3.0 (0x40400000), the second 3.0000002 "
        "(0x40400001). The first has 2 steps, the second 3: the first 2 are compared."
    )
    (row,) = found.rows
    assert (row.differing, row.max_ulp) == (1, 1) and row.max_abs == pytest.approx(2.384e-7, rel=1e-3)


def test_what_only_one_has_is_named_and_the_others_are_compared(first: Path, tmp_path: Path) -> None:
    second = kept(tmp_path / "second", fc_at_0=ONE, fc_at_1=ONE + 1, w_at_0=ONE, w_at_1=ONE)
    for sides, which in (((first, second), "second"), ((second, first), "first")):
        found = tensors_of(*sides)
        assert found is not None and found.rows == [TensorRow("fc", 2, 4, 0, 0, 0.0, 0.0)]
        assert found.sentence == f"all 2 steps are bit for bit equal. Only the {which} has w."


def test_a_tensor_of_some_steps_only(tmp_path: Path) -> None:
    one = kept(tmp_path / "one", fc_at_0=ONE, fc_at_1=ONE, fc_at_2=ONE, w_at_2=ONE)
    other = kept(tmp_path / "other", fc_at_0=ONE, fc_at_1=ONE, fc_at_2=ONE, w_at_1=ONE, w_at_2=ONE + 1)
    found = tensors_of(one, other)
    assert found is not None and [(row.tensor, row.steps, row.differing) for row in found.rows] == [
        ("fc", 3, 0), ("w", 1, 2)
    ]  # fmt: skip
    assert found.sentence.startswith("the first difference is at step 2, tensor w, index 0: the first has 1.0 ")


def test_other_forms_and_no_tensors(first: Path, tmp_path: Path) -> None:
    found = tensors_of(first, kept(tmp_path / "second", other_at_0=ONE, other_at_1=ONE))
    assert found is not None and not found.rows
    assert found.sentence == "Only the first has fc. Only the second has other."
    wide = kept(tmp_path / "wide", fc_at_0=ONE.astype(np.float64), fc_at_1=ONE.astype(np.float64))
    found = tensors_of(first, wide)
    assert found is not None and not found.rows and found.sentence.startswith("fc cannot be compared: step 0, ")
    assert tensors_of(first, tmp_path) is None and tensors_of(None, first) is None
