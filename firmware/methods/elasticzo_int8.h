/* ElasticZO-INT8: docs/arithmetic.md, section 9. A step is one or two passes of all its samples, which may come in parts; then its
   end. */
#ifndef ELASTICZO_INT8_H
#define ELASTICZO_INT8_H

#include <stdint.h>

#include "net/model.h"
#include "net/training.h"

/* A step under way. All zeros but `step`: it has not begun. */
typedef struct {
    uint32_t step;
    uint8_t pass;     /* 0: plus, or the only one; 1: minus */
    uint16_t through; /* samples that have been through this pass */
    uint16_t samples; /* of the step: known once pass 0 is over */
    float loss[2];    /* L of each pass; loss = float */
    uint32_t sum[2];  /* A and B of the last sample; loss = integer */
    int32_t logs[2];  /* L of each pass for more than one sample; loss = integer */
} elasticzo_step_t;

/* The passes that a step has. */
uint8_t elasticzo_int8_passes(const settings_t *settings);

/* Take the samples in slots 0..count-1 through a pass: the next of its samples, or the first of the next pass. */
void elasticzo_int8_part(model_t *model, const settings_t *settings, elasticzo_step_t *step, uint8_t pass,
                         uint16_t count);

/* End the step: sign, updates. Fills the losses and the sign of `result`. */
void elasticzo_int8_finish(model_t *model, const settings_t *settings, const elasticzo_step_t *step,
                           step_result_t *result);

#endif
