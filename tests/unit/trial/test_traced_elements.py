"""What differs first in a stage of a traced sample: a value, or what comes after the values."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from hil.training.reference.methods import TracedStage
from hil.training.trial.locate_difference import _element

VALUES = np.array([3, -128, 127], np.int8)


def scaled(values: np.ndarray = VALUES, scale: float = 0.5, zero: int = -3) -> bytes:
    return values.tobytes() + struct.pack("<fh", scale, zero)


@pytest.mark.parametrize(
    ("board", "what", "index", "values"),
    [
        (scaled(np.array([3, -128, 126], np.int8), 0.25), "error of", 2, (126, 127)),
        (scaled(scale=0.25, zero=4), "scale of the error of", None, (0.25, 0.5)),
        (scaled(zero=4), "zero point of the error of", None, (4, -3)),
    ],
)
def test_an_error_with_a_scale(board: bytes, what: str, index: int | None, values: tuple[float, float]) -> None:
    found = _element(5, 1, TracedStage("dw1", "error", scaled(), scaled=True), board)
    assert (found.step, found.layer, found.index) == (5, "dw1", index)
    assert (found.board, found.reference) == values and found.what == f"sample 1 of the batch, {what}"


def test_an_output_with_an_exponent() -> None:
    data = VALUES.tobytes() + struct.pack("<h", -7)
    found = _element(5, 0, TracedStage("fc1", "output", data), VALUES.tobytes() + struct.pack("<h", -8))
    assert (found.board, found.reference) == (
        -8,
        -7,
    ) and found.what == "sample 0 of the batch, exponent of the output of"
