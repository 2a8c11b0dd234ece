"""Mistakes in the arithmetic of FQT on `affine8`, on `float32`, and on graphs that have both."""

from __future__ import annotations

from functools import partial

from .row import FQT, row

TENSOR = r"(conv|dw|pw|fc)\d+"
OUTPUTS = (r"(conv|dw|pw|fc|hswish|mul|add|mean|pool)\d+",)
TRAINED, RANGES = (rf"{TENSOR}(\.bias)?",), (TENSOR, r"\w+\.range")


_row = partial(row, FQT)

FQT_ROWS = (
    _row("zero point: a weight's gradient forgets that of the error", "fqt", "methods/fqt_gradient.c", ".zero = learning->of.z, .kept = kept", ".zero = 0, .kept = kept", TRAINED, "weight"),
    _row("zero point: that of the error is gated to 0", "fqt", "methods/fqt_backward.c", "way->error[y].z, error_of(way, y));", "0, error_of(way, y));", OUTPUTS, "error"),
    _row("range: it does not widen where a value reached its end", "fqt", "methods/fqt_ranges.c", "return reached ? end + growth : end + step;", "(void)growth;\n    return reached ? end : end + step;", RANGES, "weight"),
    _row("stale buffer: what was observed of a value stays for the next step", "fqt, three steps", "methods/fqt.c", "    clear_observed(model);\n    stopwatch_book", "    if (step->step == 0) {\n        clear_observed(model);\n    }\n    stopwatch_book", RANGES, "weight"),
    _row("count: a channel's running mean counts a sample too many", "fqt", "methods/fqt_standard.c", "1.0f / (float)statistics->n, a", "1.0f / (float)(statistics->n + 1u), a", TRAINED, "weight"),
    _row("index: a channel is standardised by its neighbour's deviation", "fqt, last layer", "methods/fqt_standard.c", ".square = statistics->square}", ".square = statistics[o > 0 ? -1 : 0].square}", TRAINED, "weight"),
    _row("constant: the deviation has no epsilon", "fqt, last layer, large epsilon", "methods/fqt_standard.c", "rate / (root + fqt_settings(model)->epsilon)", "rate / (root + 0.0f * fqt_settings(model)->epsilon)", TRAINED, "weight"),
    _row("order: f_min and f_max are those of the weights before their update", "fqt", "methods/fqt_moves.c", "moving->low = f < moving->low ? f : moving->low; moving->high = f > moving->high ? f : moving->high;", "const float w = weight_of(moving, i);\n        moving->low = w < moving->low ? w : moving->low;\n        moving->high = w > moving->high ? w : moving->high;", TRAINED, "weight"),
    _row("rounding: a requantized weight is cut off", "fqt", "methods/fqt_update.c", "moved->weight_zero, false)", "moved->weight_zero, true)", TRAINED, "weight", gate=True),
    _row("stale buffer: the gradients of the batch before stay", "fqt", "methods/fqt_gradient.c", "memset(gradient, 0, channel.count * sizeof gradient[0]);", "memset(gradient, 0, sizeof gradient[0]);", TRAINED, "weight"),
    _row("scale: the deviation of a batch is that of the sum, not of the mean", "fqt, by batch and running ranges", "methods/fqt_standard.c", "clamp_f32(u * *gradient,", "clamp_f32(0.0f * u + *gradient,", TRAINED, "weight"),
    _row("order: a running range of an error takes in the sample before it scales it", "fqt, by batch and running ranges", "kernels/affine8_quantize.c", "range = (affine8_running_t){.low = a, .high = b};\n    }", "range = (affine8_running_t){.low = a, .high = b};\n    }\n    range.low = range.low + rule->momentum * (a - range.low);", TRAINED, "weight"),
    _row("sparsity: channels are ranked by the sum of their errors", "fqt, sparse", "kernels/affine8_error_norms.c", "distances_s8(word, zeros)", "wrap_bytes(word, zeros)", TRAINED, "weight"),
    _row("sparsity: of equal channels the last ones are kept", "fqt, sparse", "methods/fqt_channels.c", "    for (const uint32_t *four = norms; n - i >= FOUR; i += FOUR, four += FOUR) {", "    uint32_t first = 0;\n    for (uint32_t j = 0; j < n; j++) {\n        first += norms[j] == list.least;\n    }\n    for (first -= list.equal; i < n; i++) {\n        if (norms[i] == list.least && first > 0) {\n            first--;\n        } else {\n            take_large(&list, norms[i], i);\n        }\n    }\n    for (const uint32_t *four = norms; n - i >= FOUR; i += FOUR, four += FOUR) {", TRAINED, "weight"),
    _row("sparsity: the number of kept channels is rounded", "fqt, sparse", "methods/fqt_channels.c", "(int32_t)(share * (float)channels)", "(int32_t)(share * (float)channels + 0.5f)", TRAINED, "weight"),
    _row("sparsity: the number of kept channels is rounded up", "fqt, sparse", "methods/fqt_channels.c", "return count > 0 ? count : 1;", "return count + 1;", TRAINED, "weight"),
    _row("sparsity: the largest loss is that of the step", "fqt, sparse", "methods/fqt.c", "    clear_observed(model);\n    stopwatch_book", "    clear_observed(model);\n    model->kept[FQT_LARGEST_LOSS] = 0.0f;\n    stopwatch_book", TRAINED, "weight"),
    _row("order: the largest loss takes the sample in after its share", "fqt, sparse", "methods/fqt.c", "    model->kept[FQT_LARGEST_LOSS] = with_loss(model, loss);\n    stretches_mark(&model->stretches, model->watch.booked, PHASE_FORWARD);\n    if (step->failure.code == 0) {\n        sample.share = fqt_share(fqt_settings(model), loss, model->kept[FQT_LARGEST_LOSS]);", "    stretches_mark(&model->stretches, model->watch.booked, PHASE_FORWARD);\n    if (step->failure.code == 0) {\n        sample.share = fqt_share(fqt_settings(model), loss, model->kept[FQT_LARGEST_LOSS]);\n        model->kept[FQT_LARGEST_LOSS] = with_loss(model, loss);", TRAINED, "weight"),
    _row("sparsity: a channel that was skipped is updated all the same", "fqt, sparse", "methods/fqt_moves.c", "const bool kept = is_kept(moving, o);", "const bool kept = true;", TRAINED, "weight"),
    _row("sparsity: skipped channels keep their errors in floats", "fqt, sparse in floats", "methods/fqt_backward.c", "graph_has_weights(layer) && kept->count < layer->out_c;", "graph_has_weights(layer) && kept->count == 0;", TRAINED, "weight"),
    _row("index: the statistics in floats leave the first weight out", "fqt, sparse in floats", "kernels/channels_f32.c", "moments_f32_t moments = {0.0f, 0.0f};\n    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {\n        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {\n            const meeting_t meeting = meeting_of(shape, ky, kx);\n            for (uint32_t c = 0; c < shape->in_c; c++) {", "moments_f32_t moments = {0.0f, 0.0f};\n    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {\n        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {\n            const meeting_t meeting = meeting_of(shape, ky, kx);\n            moments.sum = ky == 0 && kx == 1 ? 0.0f : moments.sum;\n            for (uint32_t c = 0; c < shape->in_c; c++) {", TRAINED, "weight"),
    _row("scale: a cast uses that of the input", "mbednet, mixed", "formats/float32.c", "affine8_value(model, value);", "affine8_value(model, 0);", (r"cast\d+",), "output"),
    _row("zero point: an error goes through a cast without one", "mbednet, mixed", "methods/fqt_backward.c", "return affine8_quantize_f32(error, graph_outputs(graph_layer(&way->model->file, l)), affine8_rounds_down(way->model), to);", "affine8_error_t of = affine8_quantize_f32(error, graph_outputs(graph_layer(&way->model->file, l)),\n                                             affine8_rounds_down(way->model), to);\n    of.z = 0;\n    return of;", OUTPUTS, "error"),
    _row("table: hard-swish's slope bends at 2, not at 3", "mbednet", "kernels/affine8_elementwise.c", "x >= 3.0f ? SLOPE_ONE", "x >= 2.0f ? SLOPE_ONE", OUTPUTS, "error"),
    _row("stale buffer: hard-swish's table does not follow the range of its input", "mbednet", "methods/fqt_update.c", "        affine8_refresh(model, l);", "        if (fqt_is_trained(model, l)) {\n            affine8_refresh(model, l);\n        }", RANGES + TRAINED, ""),
    _row("index: the second value of a multiply gets no error", "mbednet", "methods/fqt_backward.c", "if (!has_error(&way->model->training, value)) {", "if (!has_error(&way->model->training, value) || (layer->op == OP_MULTIPLY && read == 1)) {", OUTPUTS, "error"),
    _row("index: the second error of a multiply is that of the first position", "mbednet", "kernels/affine8_errors.c", "p < a->positions; p++", "p < 1; p++", OUTPUTS, "error"),
    _row("scale: of two errors the second is taken in the scale of the first", "mbednet", "kernels/affine8_errors.c", "(b[i] - two->second_zero) * two->factors[1]", "(b[i] - two->second_zero) * two->factors[0]", OUTPUTS, "error"),
)  # fmt: skip
