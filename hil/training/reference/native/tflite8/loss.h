/* The loss of the logits, and its differences (docs/arithmetic-zeroth-order.md, sections 1 and 4). */
#pragma once

#include "tflite8.h"

/* Logits may have any offset. */
float loss_of(int32_t classes, const int16_t *logits, int64_t label, float scale);

int32_t delta_of(float difference);
