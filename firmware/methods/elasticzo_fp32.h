/* ElasticZO on float32: docs/arithmetic-float32.md. */
#pragma once

#include "engine/method.h"
#include "methods/settings.h"

static inline const elasticzo_fp32_settings_t *elasticzo_fp32_settings(const model_t *model) {
    return (const elasticzo_fp32_settings_t *)(const void *)&model->settings;
}

/* Whether an error reaches the output of a layer: none does before the first layer that back-propagation trains. */
static inline bool elasticzo_fp32_reaches(const training_t *training, uint8_t l) {
    return l >= training->first_backward && in_set(training->reached, l);
}

/* Whether back-propagation trains a layer that has a gradient. */
static inline bool elasticzo_fp32_has_gradient(const model_t *model, uint8_t l) {
    return elasticzo_fp32_reaches(&model->training, l) && graph_has_weights(graph_layer(&model->file, l));
}

/* The functions `stand` and `demand` of the method: docs/memory.md, float32. */
void elasticzo_fp32_stand(plan_t *plan, const model_t *model);
void elasticzo_fp32_demand(placing_t *placing, const model_t *model, start_t start);

/* The backward pass of the sample that went through last, in `pass`: section 5. Its gradients are added to those that
   there are; elasticzo_fp32_clear_gradients() sets these to +0. */
void elasticzo_fp32_backward(model_t *model, const pass_t *pass, uint16_t label);
void elasticzo_fp32_clear_gradients(const model_t *model);
