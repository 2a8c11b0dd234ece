"""Mistakes in the arithmetic of ElasticZO FP32 on `float32`."""

from __future__ import annotations

from functools import partial

from .row import ELASTICZO_FP32, row

TRAINED = (r"(conv|dw|pw|fc)\d+(\.bias)?",)
LOSSES = ("loss", *TRAINED)
OUTPUTS = (r"(conv|pool|fc|mean|add|dw|pw)\d+",)


_row = partial(row, ELASTICZO_FP32)

ELASTICZO_FP32_ROWS = (
    _row("scale: the second pass comes back only to the weights at rest", "fp32 full-zo", "methods/elasticzo_fp32.c", "-2.0f * settings->epsilon);", "-settings->epsilon);", LOSSES, ""),
    _row("scale: the projected gradient is not divided by the samples", "fp32 full-zo", "methods/elasticzo_fp32.c", "(float)step->through * (2.0f * settings->epsilon)", "2.0f * settings->epsilon", TRAINED, "weight"),
    _row("saturation: the projected gradient is not clipped", "fp32 cls2, clipped", "methods/elasticzo_fp32.c", "settings->eta * clamp_f32(quotient, -settings->g_clip, settings->g_clip)", "settings->eta * quotient", TRAINED, "weight"),
    _row("index: the biases are not perturbed", "fp32 cls2, clipped", "methods/elasticzo_fp32.c", "i < TENSORS_OF_LAYER * settings->partition; i++", "i < TENSORS_OF_LAYER * settings->partition; i += 2", LOSSES, ""),
    _row("rounding: a product is not rounded before it is added", "fp32 full-bp", "kernels/sums_f32.h", "vmla.f32 %0", "vfma.f32 %0", OUTPUTS, "output"),
    _row("index: the error of a maximum goes to the last of equals", "fp32 full-bp", "kernels/pooling_f32.c", "in[at] > in[found] ? at : found", "in[at] >= in[found] ? at : found", OUTPUTS, "error"),
    _row("sign: errors pass an output that is on its limit", "fp32 full-bp", "kernels/elementwise_f32.c", "least < y &&", "least <= y &&", OUTPUTS, "error"),
    _row("scale: the error of a step is not divided by the samples", "fp32 full-bp", "methods/elasticzo_fp32.c", "elasticzo_fp32_settings(model)->eta / (float)step->through", "elasticzo_fp32_settings(model)->eta", TRAINED, "weight"),
    _row("stale buffer: the gradients of the step before stay", "fp32 full-bp", "methods/elasticzo_fp32_backward.c", "gradient_elements(model, l) * sizeof(float)", "gradient_elements(model, l)", TRAINED, "weight"),
    _row("sign: the label's error is not lowered", "fp32 cls2, clipped", "kernels/softmax_f32.c", "error[label] = error[label] - 1.0f;", "error[label] = 1.0f - error[label];", OUTPUTS, "error"),
    _row("index: the gradient of a row leaves its first input out", "fp32 full-bp", "kernels/fully_connected_f32.c", "add_row(in, error[o], inputs, gradient);", "add_row(in + 1, error[o], inputs - 1, gradient + 1);", TRAINED, "weight"),
    _row("order: back-propagation sees the weights of the pass before", "fp32 cls2, clipped", "methods/elasticzo_fp32.c", "step->pass + 1 == model->training.passes && back_propagates(model)", "step->pass == 0 && back_propagates(model)", TRAINED, "weight"),
)  # fmt: skip
