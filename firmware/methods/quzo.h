/* QuZO: docs/arithmetic-quzo.md. What its files share. */
#pragma once

#include "engine/method.h"
#include "kernels/stochastic.h"
#include "methods/settings.h"

/* Its own buffers: C of each direction; and the pool, between passes. */
enum { QUZO_DIRECTIONS = PLAN_METHOD, QUZO_NOISE };

enum { QUZO_MOST_DIRECTIONS = 127 };

extern const method_t quzo;

static inline const quzo_settings_t *quzo_settings(const model_t *model) {
    return (const quzo_settings_t *)(const void *)&model->settings;
}

static inline int32_t *quzo_factors(const model_t *model) {
    return model_s32(model, model->plan.at[QUZO_DIRECTIONS]);
}

/* quzo_settings.c: settings, sections 2 and 5. */

uint8_t quzo_check(const settings_t *settings, const graph_file_t *file);
training_t quzo_training(const settings_t *settings, const graph_file_t *file);

/* The units of the weights of a layer: one, or one by output channel; and X. */
typedef struct {
    const float *unit;
    uint32_t count;
    int32_t largest;
} quzo_units_t;

quzo_units_t quzo_units(const graph_file_t *file, uint8_t l);

/* E. */
int32_t quzo_scale(float epsilon, float unit);

/* quzo_moves.c: all trained tensors, sections 3 and 4. */

/* w = w held in -W..W. */
void quzo_limit(const model_t *model);

/* w = w + k * u of a direction. */
void quzo_move(const model_t *model, uint32_t step, uint32_t direction, int32_t k);

/* From w - u of the last direction to the weights after the step. */
void quzo_update(const model_t *model, uint32_t step);
