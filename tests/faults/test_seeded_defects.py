"""Twelve defects seeded into the firmware's arithmetic, one at a time: each image is built, flashed and caught, and the right layer is named.

Each line is a mistake that somebody could make: rounding, sign, saturation, index, stale buffer.
"""

from dataclasses import dataclass

import pytest
from firmware_copy import build_changed, need_compiler


@dataclass(frozen=True)
class Defect:
    """A change of one line, the variant that shows it, and where it must be found."""

    kind: str
    file: str
    old: str
    new: str
    layers: tuple[str, ...]
    what: str
    variant: str = "cls1"


DEFECTS = [
    Defect("rounding: half of a negative number towards zero", "kernels/requantize_s8_dsp.c", "(s < 2 ? 2 : s))) + 1u)", "(s < 2 ? 2 : s))))", ("conv1", "conv2"), "output"),
    Defect("index: pooling window one channel off", "kernels/max_pool_s8_dsp.c", "pool_window(window, k,", "pool_window(window + (x == 3), k,", ("pool1",), "output"),
    Defect("sign: relu keeps negative numbers of the last value", "kernels/relu_s8_dsp.c", "where_at_least_s8(word, 0, word, 0)", "where_at_least_s8(word, n == 4 ? 0x80000000u : 0, word, 0)", ("relu1", "relu2", "relu3", "relu4"), "output"),
    Defect("index: padding is stale on one side", "kernels/conv_band_fill_s8.c", "repeat(rows->zero, rows->behind,", "repeat(1, rows->behind,", ("conv1",), "output"),
    Defect("sign: the perturbation is subtracted", "kernels/move_s8_dsp.c", "put_both(&shape, e, z, 0)", "put_both(&shape, e, wrap_bytes(0, z), 0)", ("conv1",), "weight"),
    Defect("saturation: a perturbed weight wraps around", "kernels/move_s8_dsp.c", "return add_bytes(add_bytes(w, move), ONES)", "return unwrap_bytes(unwrap_bytes(w, move), ONES)", ("conv1", "conv2", "fc1"), "weight"),
    Defect("rounding: pseudo-stochastic ties go up", "arith/psto_shift.h", "hi > lo ? 1 : 0", "hi >= lo ? 1 : 0", ("fc3",), "error"),
    Defect("sign: the label's error does not cancel the others", "kernels/softmax_error_s8.c", "psto_shift(-shares, 4)", "psto_shift(-shares / 2, 4)", ("fc3",), "error"),
    Defect("sign: the relu gate lets zeros through", "kernels/relu_s8_backward_dsp.c", "(0, load_word(out), 0, load_word(error))", "(load_word(out), 0, load_word(error), 0)", ("relu4",), "error handed on"),
    Defect("stale buffer: gradients of the step before stay", "net/backward.c", "memset(gradient_of(model, i), 0, layer->weights *", "memset(gradient_of(model, i), 0, (layer->weights & 1) *", ("fc3",), "weight"),
    Defect("index: the weight gradient skips the last four inputs", "kernels/fully_connected_s8_weight_gradient_dsp.c", ".end = in + fours}", ".end = in + fours - 4}", ("fc3",), "weight"),
    Defect("rounding: the loss forgets a term", "kernels/cross_entropy_scaled_f32.c", "j < n; j++", "j + 1 < n; j++", ("loss",), "loss", "full-zo"),
]  # fmt: skip


@pytest.fixture(scope="module")
def toolchain():
    need_compiler()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.kind)
def test_a_seeded_defect_is_caught_in_the_right_layer(defect, toolchain, broken_trial, tmp_path):
    outcome = broken_trial(defect.variant, steps=6, elf=build_changed(tmp_path / "firmware", "stm32h7b3", defect.file, defect.old, defect.new))
    assert outcome.verdict == "fail", "the defect went unseen"
    found = outcome.difference
    assert found is not None, outcome.reason
    assert found.layer in defect.layers, found.sentence()
    assert defect.what in found.what, found.sentence()
    assert found.board != found.reference
