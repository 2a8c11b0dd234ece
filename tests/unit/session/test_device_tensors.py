"""Tensors that are kept beside a test: a reference for another run; too many, or a full disk, cost no test."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hil.comparison import recorded
from hil.session.device_tensors import MOST, KeptTensors


def test_they_are_a_reference(tmp_path: Path):
    kept = KeptTensors(tmp_path / "tensors.npz")
    for step in range(3):
        kept.step(step, {"w": np.full(4, step, np.float32)})
    kept.close()
    assert recorded(tmp_path).step(2)["w"].tolist() == [2, 2, 2, 2] and kept.dropped == ""


def test_too_many_are_dropped_with_their_file(tmp_path: Path):
    kept = KeptTensors(tmp_path / "tensors.npz")
    kept.step(0, {"w": np.zeros(MOST // 8 - 1, np.float64)})
    kept.step(1, {"w": np.zeros(2, np.float64)})
    kept.step(2, {"w": np.zeros(1, np.float64)})
    kept.close()
    assert kept.dropped == "the tensors of the comparison have more than 16 MB" and list(tmp_path.iterdir()) == []
    assert not kept.lost, "it is a rule, and the record is whole"


def test_a_disk_that_takes_nothing_costs_the_file_only(tmp_path: Path):
    kept = KeptTensors(tmp_path / "gone" / "tensors.npz")
    kept.step(0, {"w": np.zeros(2)})
    kept.close()
    assert kept.dropped == "No such file or directory" and kept.lost
