"""Drift: one row a step and tensor, as columns that pyarrow and pandas take; and what importing the room costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from hil.comparison import Difference, compare

COLUMNS = {
    "tensor": "<U4", "step": "int64", "elements": "int64", "differing": "int64", "nonfinite": "int64", "within": "bool",
    "max_abs": "float64", "mean_abs": "float64", "max_relative": "float64", "max_ulp": "uint64", "worst_index": "int64",
}  # fmt: skip


class Ones:
    def step(self, index: int) -> dict[str, Any]:
        return {"fc1": np.ones((2, 2), np.float32), "loss": 2.0}


def test_a_row_for_each_step_and_tensor(tmp_path: Path) -> None:
    run = compare(Ones(), rtol=0.2)
    for index in range(4):
        weights = np.ones((2, 2), np.float32)
        weights[1, 0] += np.float32(index * 2**-23)  # `index` units in the last place of 1.0
        run.step(index, {"loss": 2.0 + index / 16, "fc1": weights})
    table = run.drift.table()
    assert {name: str(column.dtype) for name, column in table.items()} == COLUMNS
    assert len(run.drift) == 8 and run.drift.tensors == ("loss", "fc1")
    assert table["step"].tolist() == [0, 0, 1, 1, 2, 2, 3, 3] and table["tensor"].tolist() == ["loss", "fc1"] * 4
    weights_only = run.drift.of("fc1")
    assert weights_only["max_ulp"].tolist() == [0, 1, 2, 3] and weights_only["worst_index"].tolist() == [-1, 2, 2, 2]
    assert weights_only["mean_abs"].tolist() == [index * 2**-25 for index in range(4)]
    assert run.drift.of("loss")["max_relative"].tolist() == [index / 32 for index in range(4)]
    assert len(run.drift.of("none")["step"]) == 0
    pyarrow.parquet.write_table(pyarrow.table(table), tmp_path / "drift.parquet")
    again = pyarrow.parquet.read_table(tmp_path / "drift.parquet").to_pydict()
    assert again == {name: column.tolist() for name, column in table.items()}


def test_the_step_of_the_first_difference_is_in_the_drift_with_all_its_tensors() -> None:
    run = compare(Ones(), exact=True)
    with pytest.raises(Difference, match="step 0, tensor fc1"):
        run.step(0, {"fc1": np.full((2, 2), np.nan, np.float32), "loss": 3.0})
    table = run.drift.table()
    assert table["tensor"].tolist() == ["fc1", "loss"] and table["within"].tolist() == [False, False]
    assert table["nonfinite"].tolist() == [4, 0] and table["max_abs"].tolist() == [np.inf, 1.0]
    assert table["max_ulp"].tolist()[0] == 2**64 - 1


def test_an_empty_drift_has_all_columns() -> None:
    table = compare(Ones(), exact=True).drift.table()
    assert list(table) == list(COLUMNS) and {len(column) for column in table.values()} == {0}


def test_importing_the_room_loads_numpy_and_nothing_heavy() -> None:
    code = "import sys, hil.comparison; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    heavy = {"pandas", "pyarrow", "torch", "pydantic", "pytest", "serial", "pyocd", "elftools", "plotly", "sqlalchemy"}
    assert heavy.isdisjoint(loaded)
