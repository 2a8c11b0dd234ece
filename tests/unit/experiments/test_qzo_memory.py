"""The memory of QZO-FF and of back-propagation by plan: docs/qzo-ff.md has the rows as they are planned."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.training.experiments.qzo import MemoryRow, memory_rows

DOCS = (Path(__file__).parents[3] / "docs" / "qzo-ff.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("row", memory_rows(), ids=lambda row: f"{row.network}, {row.method}")
def test_the_document_has_the_row(row: MemoryRow) -> None:
    weights, scratch = row.parts["weights"], row.parts["scratch"]
    line = f"| {row.network} | {row.method} | {weights:,} | {scratch:,} |"
    assert line in DOCS, f"docs/qzo-ff.md does not have the row {line}"


def test_forward_gradients_need_less_than_back_propagation() -> None:
    """Figures 3 and 4 of the paper: weights and scratch together, of all layers."""
    totals = {(row.network, row.method): sum(row.parts.values()) for row in memory_rows()}
    for network in ("lenet5", "resnet-tiny"):
        for theirs in ("BP, all layers, float32", "BP, all layers, int8"):
            assert totals[network, "FF, all layers, 16w8a"] < totals[network, theirs]
