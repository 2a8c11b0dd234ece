"""Mistakes in the arithmetic of QZO-FF on `w16a8`."""

from __future__ import annotations

from functools import partial

from .row import QZO_FF, row

TRAINED = (r"(conv|fc)\d+(\.bias)?",)
LOSSES = ("loss", *TRAINED)


_row = partial(row, QZO_FF)

QZO_FF_ROWS = (
    _row("sign: of two losses the larger one is taken for the smaller", "qzo-ff", "methods/forward_passes.c", "return (step->pair[0] > step->pair[1]) - (step->pair[0] < step->pair[1]);", "return (step->pair[0] < step->pair[1]) - (step->pair[0] > step->pair[1]);", LOSSES),
    _row("scale: the second pass is that of the weights at rest", "qzo-ff", "methods/qzo_ff.c", "FROM_PLUS_TO_MINUS = -2", "FROM_PLUS_TO_MINUS = -1", LOSSES),
    _row("rounding: what the weights come back by is cut off", "qzo-ff", "methods/qzo_ff_update.c", "move = round_away(tensor->epsilon * z, Z_BITS) -", "move = (tensor->epsilon * z >> Z_BITS) -", LOSSES, gate=True),
    _row("saturation: an updated weight is not held", "qzo-ff at a large rate", "kernels/directions.c", "w = add_lanes_saturating(w, by);", "w = add_lanes_s16(w, by);", LOSSES),
    _row("saturation: an updated weight is held one too high", "qzo-ff at a large rate", "methods/qzo_ff_update.c", "of, tensor->limit);", "of, tensor->limit + 1);", LOSSES),
    _row("rounding: the mean of directions is cut off", "qzo-ff, three directions", "methods/qzo_ff_update.c", "(magnitude(sum) + settings->directions / 2u) * reciprocal", "magnitude(sum) * reciprocal", LOSSES),
    _row("index: the direction of sharpness is the first of the step", "sharpness", "methods/qzo_ff.c", "return pair == 0 ? settings->directions : pair - 1;", "return pair == 0 ? 0 : pair - 1;", LOSSES),
    _row("order: weights stay where sharpness moved them", "sharpness", "methods/qzo_ff.c", "    if (qzo_is_sharp(settings)) {\n        qzo_move(model, step->step, settings->directions, 0, -qzo_direction", "    if (qzo_is_sharp(settings) && model->file.layers == 0) {\n        qzo_move(model, step->step, settings->directions, 0, -qzo_direction", LOSSES),
    _row("sign: the momentum of guided sampling is pushed away", "guided", "methods/qzo_ff_update.c", "(GUIDE_STEP * g - v) * update", "(GUIDE_STEP * g + v) * update", LOSSES),
    _row("constant: both moments are weighed by the first beta", "adamw", "methods/qzo_ff_update.c", ".weigh2 = 1.0f - model->kept[1],", ".weigh2 = 1.0f - model->kept[0],", LOSSES),
    _row("sparsity: all weights as large as the last one are selected", "sparse", "methods/qzo_ff_mask.c", "equal -= size == (uint32_t)least;", "equal -= 0;", LOSSES),
    _row("sparsity: the mask is selected anew in each step", "sparse", "methods/qzo_ff.c", "if (step->step == settings->first_step) {", "if (step->step >= settings->first_step) {", LOSSES),
    _row("scale: the norm of a gradient counts masked weights", "enhanced", "methods/qzo_ff_update.c", "const int32_t g = gradient_of(settings, reciprocal, sum[next.place % 4]);\n            gradients += (uint32_t)(g * g);", "for (uint32_t i = 0; i < 4; i++) {\n                const int32_t g = gradient_of(settings, reciprocal, sum[i]);\n                gradients += (uint32_t)(g * g);\n            }", LOSSES),
)  # fmt: skip
