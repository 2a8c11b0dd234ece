"""Mistakes in the arithmetic of ElasticZO-INT8 (`bfp8`): rounding, sign, saturation, index, stale buffer."""

from __future__ import annotations

from functools import partial

from .row import ELASTICZO, row

_row = partial(row, ELASTICZO)

ELASTICZO_ROWS = (
    _row("rounding: half of a negative number towards zero", "cls1", "kernels/requantize_s8.c", "(s < 2 ? 2 : s))) + 1u)", "(s < 2 ? 2 : s))))", ("conv1", "conv2"), "output"),
    _row("index: pooling window one channel off", "cls1", "kernels/max_pool_s8.c", "pool_channels(window, k,", "pool_channels(window + (x == 3), k,", ("pool1",), "output"),
    _row("sign: relu keeps negative numbers of the last value", "cls1", "kernels/elementwise.c", "where_at_least_s8(word, 0, word, 0)", "where_at_least_s8(word, n == 4 ? 0x80000000u : 0, word, 0)", ("relu1", "relu2", "relu3", "relu4"), "output"),
    _row("index: padding is stale on one side", "cls1", "kernels/conv_band_fill_s8.c", "repeat(rows->zero, rows->after,", "repeat(1, rows->after,", ("conv1",), "output"),
    _row("sign: the perturbation is subtracted", "cls1", "kernels/move_s8.c", "put_both(&shape, e, z, 0)", "put_both(&shape, e, wrap_bytes(0, z), 0)", ("conv1",), "weight"),
    _row("saturation: a perturbed weight wraps around", "cls1", "kernels/move_s8.c", "return add_bytes(add_bytes(w, move), ONES)", "return unwrap_bytes(unwrap_bytes(w, move), ONES)", ("conv1", "conv2", "fc1"), "weight"),
    _row("rounding: pseudo-stochastic ties go up", "cls1", "arith/psto_shift.h", "hi > lo ? 1 : 0", "hi >= lo ? 1 : 0", ("fc3",), "error"),
    _row("sign: the label's error does not cancel the others", "cls1", "kernels/losses.c", "psto_shift(-shares, 4)", "psto_shift(-shares / 2, 4)", ("fc3",), "error"),
    _row("sign: the relu gate lets zeros through", "cls1", "kernels/elementwise.c", "(0, load_word(out), 0, load_word(error))", "(load_word(out), 0, load_word(error), 0)", ("relu4",), "error handed on"),
    _row("stale buffer: gradients of the step before stay", "cls1", "formats/bfp8_backward.c", "memset(gradient_of(model, l), 0, graph_weight_count(layer) *", "memset(gradient_of(model, l), 0, (graph_weight_count(layer) & 1) *", ("fc3",), "weight"),
    _row("index: the weight gradient skips the last four inputs", "cls1", "kernels/fully_connected_s8_weight_gradient.c", ".inputs = inputs}", ".inputs = inputs - 4}", ("fc3",), "weight", gate=True),
    _row("rounding: the loss forgets a term", "full-zo", "kernels/losses.c", "j < n; j++) {\n        const float x", "j + 1 < n; j++) {\n        const float x", ("loss",), "loss"),
    _row("index: the error of a maximum goes to the second of equals", "full-bp", "kernels/max_pool_s8_backward.c", "where_at_least_s8(ab, cd, load_word(error), 0)", "load_word(error) ^ where_at_least_s8(cd, ab, load_word(error), 0)", ("pool1", "pool2"), "error handed on"),
    _row("index: a group's gradient leaves its first sample out", "cls2 in scope batch", "formats/bfp8_backward.c", "for (uint16_t b = 0; b < error->count; b++) {\n        add_sample_gradient(", "for (uint16_t b = error->count > 1; b < error->count; b++) {\n        add_sample_gradient(", ("fc2", "fc3"), "weight"),
    _row("scale: a group's gradient is not aligned", "cls1", "formats/bfp8_backward.c", "return *exponent - x;", "return 0;", ("fc3",), "weight"),
    _row("constant: log2(e) is taken for 23/16", "cls2 with fraction bits", "kernels/losses.c", "#define LOG2_E 47274", "#define LOG2_E 47104", ("loss",), "loss"),
    _row("table: a root of two has a wrong digit", "cls2 with fraction bits", "kernels/losses.c", "4871, 4924,", "5871, 4924,", ("loss",), "loss"),
    _row("sign: of integer losses the larger one is taken for the smaller", "cls1 of integers", "methods/elasticzo_int8.c", "return plus > minus ? 1 : plus < minus ? -1 : 0;", "return plus > minus ? -1 : plus < minus ? 1 : 0;", ("loss", "conv1", "conv2", "fc1"), ""),
    _row("saturation: the exact form holds its weights by one too much", "cls1 of integers", "methods/elasticzo_int8.c", "(uint8_t)(LARGEST_WEIGHT - settings->r_max)", "(uint8_t)(LARGEST_WEIGHT - settings->r_max + 1)", ("conv1", "conv2", "fc1", "fc2"), "weight"),
    _row("order: the weights are updated once more by the noise of the step before", "full-zo", "methods/elasticzo_int8.c", "update_zeroth_order(model, settings, step->step, sign);", "update_zeroth_order(model, settings, step->step - (step->step > 1), sign);", ("conv1", "conv2", "fc1", "fc2", "fc3"), "weight"),
    _row("saturation: an updated weight ends at -128", "full-bp", "kernels/bp_update_s8.c", "store_word(weights, add_bytes(subtract_bytes(w, 0x01010101u), 0x01010101u));", "store_word(weights, w);", ("conv1", "conv2", "fc1", "fc2", "fc3"), "weight"),
)  # fmt: skip
