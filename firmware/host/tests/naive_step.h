/* A training step of docs/arithmetic.md, section 9, over the plain passes of naive_model.h. */
#pragma once

#include "naive_model.h"

/* One step; `samples` holds `count` samples of int8 inputs. Cycles and digests of the result stay 0. */
step_result_t naive_step(naive_model_t *model, const elasticzo_settings_t *settings, uint32_t step,
                         const int8_t *samples, const uint8_t *labels, uint32_t count);
