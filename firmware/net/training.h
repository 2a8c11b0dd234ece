/* What goes into a training step and what comes out of it. */
#ifndef TRAINING_H
#define TRAINING_H

#include <stdint.h>

#define ENGINE_MAX_LAYERS 32
#define ENGINE_MAX_TENSORS ENGINE_MAX_LAYERS

/* The settings of docs/arithmetic.md, section 9; the fields in the order of the request `configure`. */
typedef struct {
    uint8_t partition; /* the first so many trained tensors by zeroth order, the rest by back-propagation */
    uint8_t b_zo, b_bp;
    uint8_t p_zero;
    uint8_t r_max;
    uint8_t loss, scope, perturb;
    uint16_t batch;
    uint32_t seed;
} settings_t;

/* One step. A cycle count is a difference of the caller's counter, modulo 2^32. */
typedef struct {
    uint32_t step;
    float loss_plus, loss_minus;
    int8_t sign;
    uint32_t cycles_perturb, cycles_forward, cycles_backward, cycles_update, cycles_digest, cycles_total;
    uint32_t digests[ENGINE_MAX_TENSORS]; /* XXH32 of each trained tensor after the step */
} step_result_t;

/* One evaluation. The caller provides room for `count` predictions. */
typedef struct {
    uint16_t correct;
    uint32_t logits_digest; /* XXH32 over, sample after sample, the logits (int8) and their exponent (int16) */
    uint8_t *predictions;
} infer_result_t;

#endif
