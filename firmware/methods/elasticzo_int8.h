/* ElasticZO-INT8: docs/arithmetic.md, section 9. A step is one or two passes of all its samples, which may come in
   parts; then its end. */
#ifndef ELASTICZO_INT8_H
#define ELASTICZO_INT8_H

#include "engine/method.h"

/* Section 9 there. */
typedef struct {
    SETTINGS_OF_ALL;
    uint8_t partition; /* the first so many trained tensors by zeroth order, the rest by back-propagation */
    uint8_t b_zo, b_bp;
    uint8_t p_zero;
    uint8_t r_max;
    uint8_t loss, scope, perturb, logit_error;
    uint8_t loss_fraction; /* bits below the point of an integer loss */
} elasticzo_settings_t;

_Static_assert(sizeof(elasticzo_settings_t) <= SETTINGS_BYTES, "the engine has room for them");

enum loss { LOSS_FLOAT = 0, LOSS_INTEGER = 1 };
enum scope { SCOPE_SAMPLE = 0, SCOPE_BATCH = 1 };
enum perturb { PERTURB_CLAMPED = 0, PERTURB_EXACT = 1 };
enum logit_error { LOGIT_ERROR_NITI = 0, LOGIT_ERROR_ZERO_SUM = 1 };

/* Its own buffers: logits of the plus pass and their exponents, until those of the minus pass are there; the words of
   moves_t. */
enum { ELASTICZO_LOGITS = PLAN_METHOD, ELASTICZO_EXPONENTS, ELASTICZO_NOISE };

extern const method_t elasticzo_int8;

static inline const elasticzo_settings_t *elasticzo_settings(const model_t *model) {
    return (const elasticzo_settings_t *)(const void *)&model->settings;
}

/* Whether the logits of the plus pass are kept until those of the minus pass are there. */
static inline bool elasticzo_keeps_logits(const elasticzo_settings_t *settings) {
    return settings->loss == LOSS_INTEGER && settings->partition > 0;
}

/* The buffers of docs/memory.md. */
void elasticzo_demand(placing_t *placing, const model_t *model, start_t start);

#endif
