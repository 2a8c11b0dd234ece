/* ElasticZO-INT8: docs/arithmetic.md, section 9. */
#ifndef ELASTICZO_INT8_H
#define ELASTICZO_INT8_H

#include <stdint.h>

#include "net/model.h"
#include "net/training.h"

/* One step with the samples in slots 0..count-1. Fills all of `result` but the digests and the cycles of digest and total. */
void elasticzo_int8_step(model_t *model, const settings_t *settings, uint32_t step, uint16_t count, uint32_t (*cycles)(void),
                         step_result_t *result);

#endif
