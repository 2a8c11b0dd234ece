"""Mistakes in the arithmetic of graphs in `tflite8`: its operations, and each of its methods."""

from __future__ import annotations

from functools import partial

from .row import GRAPHS, row

SUMS = (r"(conv|dw|pw|fc)\d+",)
POINTWISE, BIASES = (r"pw\d+(\.bias)?",), (r"\w+\.bias",)
TRAINED, LAST = (r"(conv|dw|pw|fc)\d+(\.bias)?",), (r"fc\d(\.bias)?",)
QUERIES = ("loss",)  # where no weight is changed by it, the losses of the queries are all that differs


_row = partial(row, GRAPHS)

GRAPH_ROWS = (
    _row("rounding: a rescaled sum is not rounded", "adaptive", "kernels/requantize_channels.c", "zero = 2 * layer->output_zero + 1;", "zero = 2 * layer->output_zero;", SUMS, "output"),
    _row("saturation: the activation's lower limit is one too low", "int8-bp", "kernels/requantize_channels.c", "value = rescale_double((int32_t)((uint32_t)sums[p] + (uint32_t)layer->bias[c]), multiplier, shift);\n        value = value > most ? most : value;\n        value = value < least ? least : value;", "value = rescale_double((int32_t)((uint32_t)sums[p] + (uint32_t)layer->bias[c]), multiplier, shift);\n        value = value > most ? most : value;\n        value = value < least - 1 ? least - 1 : value;", SUMS, "output"),
    _row("rounding: a mean of negative numbers towards zero", "adaptive", "kernels/pooling_s8.c", "sum < 0 ? sum - n / 2 : sum + n / 2", "sum < 0 ? sum : sum + n / 2", ("mean1",), "output"),
    _row("index: the bias of the channel before is folded", "adaptive", "kernels/requantize_channels.c", "(uint32_t)bias[o] - (uint32_t)input_zero * (uint32_t)sums[o]", "(uint32_t)bias[o - (o > 0)] - (uint32_t)input_zero * (uint32_t)sums[o]", SUMS, "output"),
    _row("stale buffer: sums of weights do not follow their update", "adaptive", "kernels/updates.c", "sums[o] += apply(&run, weight_update_factor(update, o));\n        i += run.count;", "(void)apply(&run, weight_update_factor(update, o));\n        i += run.count;", TRAINED, ""),
    _row("rounding: the rest of a residual sum is cut off", "adaptive", "kernels/elementwise.c", "half = shift == 0 ? 0 : (int32_t)(1u << (shift - 1));", "half = 0;", (r"add\d",), "output"),
    _row("sign: weights are moved back the wrong way", "block2", "methods/poor_mans.c", "perturb_layer(model, l, signs, -1);\n    if (!is_central(model)) {\n        return forward_delta(sample, plus);", "perturb_layer(model, l, signs, 1);\n    if (!is_central(model)) {\n        return forward_delta(sample, plus);", POINTWISE, ""),
    _row("index: all queries draw the same direction", "block2", "methods/poor_mans.c", "return rademacher_begin(rademacher_state(tflite8_settings(model)->seed, step->step, number, l, q));", "return rademacher_begin(rademacher_state(tflite8_settings(model)->seed, step->step, number, l, 0 * q));", POINTWISE, "weight"),
    _row("scale: the gradient's norm counts a weight too many", "adaptive", "kernels/updates.c", "(float)(losses + dimensions - 1u)", "(float)(losses + dimensions)", TRAINED, "weight"),
    _row("sign: saturated nodes are perturbed too", "model-node", "kernels/sign_moves.h", "act_max - act_min - 1;", "act_max - act_min;", TRAINED + QUERIES, ""),
    _row("index: an error of nodes is shifted by one bit more", "nodes at a large rate", "kernels/zeroth_order_gradients.c", "bits(sum) - 7;", "bits(sum) - 6;", TRAINED, "weight"),
    _row("scale: samples of a step are not aligned", "adaptive, three samples", "methods/tflite8_gradient.c", ".shift = align(model, sample->number == 0, l, &kept, x)", ".shift = 0 * align(model, sample->number == 0, l, &kept, x)", TRAINED, "weight"),
    _row("sign: biases of the last layer learn upwards", "last-layer", "kernels/updates.c", "bias[i] - update_step", "bias[i] + update_step", LAST, "weight"),
    _row("stale buffer: a velocity keeps what it was", "mcutrain", "kernels/velocity.h", "*velocity = sum;", "*velocity = kept;", POINTWISE, "weight"),
    _row("sign: momentum is subtracted", "mcutrain", "kernels/velocity.h", "float sum = kept + added;", "float sum = added - kept;", POINTWISE, "weight"),
    _row("constant: central differences are not halved", "mezo at a large rate", "methods/poor_mans.c", "return loss_delta(difference * 0.5f);", "return loss_delta(difference);", TRAINED, "weight"),
    _row("index: the second side of a central difference is the clean one", "mezo", "methods/poor_mans.c", "perturb_all(model, step, sample, q, -1);\n    const float minus", "const float minus", TRAINED, "weight"),
    _row("index: biases are drawn with the weights' numbers", "bias-only", "kernels/perturbation.c", "signs = rademacher_skip(signs, 1);", "signs = i % 8 == 7 ? signs : rademacher_skip(signs, 1);", BIASES, "weight"),
    _row("sign: a bias learns upwards", "bias-only", "kernels/updates.c", "bias[i] - update_step", "bias[i] + update_step", BIASES, "weight"),
    _row("index: a coordinate that was lowered is not put back", "deepzero", "methods/deepzero.c", "move(model, l, j, -1);", "if (j % 8 != 7) {\n        move(model, l, j, -1);\n    }", LAST, ""),
    _row("index: a coordinate is not put back where it asks", "deepzero", "methods/deepzero.c", "move(model, l, j, -1);\n    return loss_delta(loss - sample->loss);", "move(model, l, j, loss > sample->loss ? -1 : 0);\n    return loss_delta(loss - sample->loss);", LAST, ""),
    _row("sparsity: a coordinate too many is looked at", "deepzero", "methods/deepzero.c", "state >> DRAWN >= tflite8_settings(model)->sparsity", "state >> DRAWN >= (uint32_t)tflite8_settings(model)->sparsity - 1u", LAST + QUERIES, ""),
    _row("rounding: the logits' error is cut off", "int8-bp", "kernels/losses.c", "(int8_t)float32_round(d * 127.0f)", "(int8_t)(d * 127.0f)", LAST, "weight"),
    _row("sign: errors pass a clamped output", "int8-bp", "kernels/layer_errors.c", "out[i] > act_min && out[i] < act_max ? error[i] : 0", "out[i] >= act_min && out[i] < act_max ? error[i] : 0", TRAINED, "weight"),
    _row("scale: the error of a mean is not divided", "int8-bp", "methods/tflite8_backward.c", "normalised(factor.c / (float)window, factor.exponent)", "normalised(factor.c, factor.exponent)", POINTWISE, "weight"),
    _row("index: of two readers the second one's error is lost", "int8-bp", "methods/tflite8_backward.c", "    if (has_arrived(way, value)) {\n        merge(way, value, factor, error, x);\n        return;", "    if (has_arrived(way, value)) {\n        return;", TRAINED, "weight"),
    _row("scale: the largest channel is the first", "int8-bp", "kernels/layer_errors.c", "channel_factor(multiplier, shift, o) > channel_factor(multiplier, shift, largest) ? o : largest;", "channel_factor(multiplier, shift, o) < 0.0f ? o : largest;", TRAINED, "weight"),
    _row("order: a layer learns before it hands its error on", "int8-bp", "methods/tflite8_backward.c", "    hand_on(way, l);\n    act_on(way, l, act);", "    act_on(way, l, act);\n    hand_on(way, l);", TRAINED, "weight"),
    _row("index: the gradient of biases leaves the first position out", "int8-bp, three samples", "kernels/gradients.c", "for (uint32_t p = 0; p < positions; p++) {\n        for (uint32_t o = 0;", "error += positions > 1 ? channels : 0;\n    for (uint32_t p = positions > 1; p < positions; p++) {\n        for (uint32_t o = 0;", BIASES, "weight"),
)  # fmt: skip
