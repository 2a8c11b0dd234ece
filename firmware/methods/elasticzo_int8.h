/* ElasticZO-INT8: docs/arithmetic.md, section 9. A step is one or two passes of all its samples, which may come in
   parts, and an update. */
#pragma once

#include "engine/method.h"
#include "methods/settings.h"

/* Its own buffers: logits of the plus pass and their exponents, which the minus pass needs; the words of moves_t. */
enum { ELASTICZO_LOGITS = PLAN_METHOD, ELASTICZO_EXPONENTS, ELASTICZO_NOISE };

extern const method_t elasticzo_int8;

static inline const elasticzo_settings_t *elasticzo_settings(const model_t *model) {
    return (const elasticzo_settings_t *)(const void *)&model->settings;
}

/* Whether the logits of the plus pass are kept for the minus pass. */
static inline bool elasticzo_keeps_logits(const elasticzo_settings_t *settings) {
    return settings->loss == LOSS_INTEGER && settings->partition > 0;
}

/* The buffers of docs/memory.md. */
void elasticzo_demand(placing_t *placing, const model_t *model, start_t start);
