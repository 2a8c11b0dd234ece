"""One virtual board against fixtures/golden (tests/unit/golden has NumPy and the C engine)."""

from __future__ import annotations

import pytest
from board_side import BoardTrainer

from tests.unit.golden.compare import wrong
from tests.unit.golden.rows import Row, committed
from tests.unit.golden.settings import VARIED

ROWS = committed()
IN_THE_GATE = {  # of a virtual board: a cheap row of every method
    ("elasticzo-int8", "cls1", "lenet5"),
    ("poor-mans-training", "block3", "resnet-tiny"),
    ("mezo", "mezo", "resnet-tiny"),
    ("deepzero", "last-sparse", "resnet-tiny"),
    ("last-layer", "adaptive", "resnet-tiny"),
    ("bias-only", "adaptive", "lenet5-tflite"),
    ("int8-bp", "qas", "lenet5-tflite"),
    ("mcutrain", "block3", "resnet-tiny"),
    ("elasticzo-fp32", "cls1", "lenet5-float32"),
    ("qzo-ff", "adamw", "lenet5-w16a8"),
}


def in_the_gate(row: Row) -> bool:
    return row.key[:3] in IN_THE_GATE and row.setting == VARIED


on_a_board = pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id="-".join(row.key), marks=() if in_the_gate(row) else pytest.mark.tier("nightly"))
        for row in ROWS
    ],
)


@on_a_board
def test_virtual_board(row: Row, board_trainer: BoardTrainer) -> None:
    lines = wrong(board_trainer, row)
    assert not lines, "\n".join(lines)


def test_one_row_of_every_method_is_trained_on_a_board_in_the_gate() -> None:
    assert sorted(row.method for row in ROWS if in_the_gate(row)) == sorted({row.method for row in ROWS})
