"""One virtual board against fixtures/golden (tests/unit/golden has NumPy and the C engine)."""

from __future__ import annotations

import pytest
from board_side import BOARD, BoardTrainer

from hil.images import image_of
from hil.link.failures import Refused
from tests.unit.golden.compare import wrong
from tests.unit.golden.rows import Row, committed
from tests.unit.golden.settings import VARIED
from tests.unit.golden.subjects import subject

ROWS = committed()
ARENA = image_of(BOARD).arena_size
IN_THE_GATE = {  # of a virtual board: a cheap row of every method
    ("elasticzo-int8", "cls1", "lenet5"),
    ("poor-mans-training", "block3", "resnet-tiny"),
    ("mezo", "mezo", "resnet-tiny"),
    ("deepzero", "last-sparse", "resnet-tiny"),
    ("last-layer", "adaptive", "resnet-tiny"),
    ("bias-only", "adaptive", "lenet5-tflite"),
    ("int8-bp", "qas", "lenet5-tflite"),
    ("mcutrain", "block3", "resnet-tiny"),
    ("tinytrain", "budget", "resnet-tiny"),
    ("elasticzo-fp32", "cls1", "lenet5-float32"),
    ("qzo-ff", "adamw", "resnet-tiny-w16a8"),
    ("fqt", "sparse", "fqt-cnn-mixed"),
    ("quzo", "last-3", "resnet-tiny"),
    ("perturbed-scales", "last-3", "resnet-tiny"),
}


def in_the_gate(row: Row) -> bool:
    return row.key[:3] in IN_THE_GATE and row.setting == VARIED


def fits(row: Row) -> bool:
    """Whether the plan's smallest total is within the arena: AdamW of LeNet-5 needs 10 bytes a weight, over 1 MiB."""
    return row.recorded["plan"]["smallest"] <= ARENA


def on_a_board(rows: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "row",
        [
            pytest.param(row, id="-".join(row.key), marks=() if in_the_gate(row) else pytest.mark.tier("nightly"))
            for row in rows
        ],
    )


@on_a_board([row for row in ROWS if fits(row)])
def test_virtual_board(row: Row, board_trainer: BoardTrainer) -> None:
    lines = wrong(board_trainer, row)
    assert not lines, "\n".join(lines)


@on_a_board([row for row in ROWS if not fits(row)])
def test_virtual_board_has_no_room(row: Row, board_trainer: BoardTrainer) -> None:
    of = subject(row, row.recorded["settings"])
    with pytest.raises(Refused, match="does_not_fit"):
        board_trainer.begin(of)


def test_one_row_of_every_method_is_trained_on_a_board_in_the_gate() -> None:
    assert sorted(row.method for row in ROWS if in_the_gate(row)) == sorted({row.method for row in ROWS})
