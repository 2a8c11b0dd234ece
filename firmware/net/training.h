/* What goes into a training step and what comes out of it. */
#ifndef TRAINING_H
#define TRAINING_H

#include <stdbool.h>
#include <stdint.h>

#define ENGINE_MAX_LAYERS 32
#define ENGINE_MAX_TENSORS ENGINE_MAX_LAYERS

/* The settings of docs/arithmetic.md, section 9; the fields in the order of the request `configure`. */
typedef struct {
    uint8_t partition; /* the first so many trained tensors by zeroth order, the rest by back-propagation */
    uint8_t b_zo, b_bp;
    uint8_t p_zero;
    uint8_t r_max;
    uint8_t loss, scope, perturb, logit_error;
    uint8_t loss_fraction; /* bits below the point of an integer loss */
    uint16_t batch;
    uint32_t seed;
    uint16_t slots;      /* samples held at a time */
    uint32_t first_step; /* index of the next step */
} settings_t;

enum loss { LOSS_FLOAT = 0, LOSS_INTEGER = 1 };
enum scope { SCOPE_SAMPLE = 0, SCOPE_BATCH = 1 };
enum perturb { PERTURB_CLAMPED = 0, PERTURB_EXACT = 1 };
enum logit_error { LOGIT_ERROR_NITI = 0, LOGIT_ERROR_ZERO_SUM = 1 };

/* The samples that share the exponents of their activations. */
static inline uint16_t settings_group(const settings_t *settings) {
    return settings->scope == SCOPE_BATCH ? settings->batch : 1;
}

/* Whether the logits of the plus pass are kept until those of the minus pass are there. */
static inline bool settings_keep_logits(const settings_t *settings) {
    return settings->loss == LOSS_INTEGER && settings->partition > 0;
}

/* One step, or several in a row: the losses of the last, the cycles of all. */
typedef struct {
    uint32_t step;
    float loss_plus, loss_minus;
    int8_t sign;
    uint64_t cycles_perturb, cycles_forward, cycles_backward, cycles_update, cycles_digest, cycles_total;
    uint32_t digests[ENGINE_MAX_TENSORS]; /* XXH32 of each trained tensor after the step */
} step_result_t;

enum { ENGINE_MAX_LAPS = 32 };

/* Cycles of one step of a run. */
typedef struct {
    uint64_t perturb, forward, backward, update;
} lap_t;

/* One evaluation. The caller provides room for `count` predictions. */
typedef struct {
    uint16_t correct;
    uint32_t logits_digest; /* XXH32 over, sample after sample, the logits (int8) and their exponent (int16) */
    uint8_t *predictions;
} infer_result_t;

#endif
