/* What becomes of a gradient at the end of a step, momentum and adam: docs/arithmetic-fqt.md, section 6. */
#include <string.h>

#include "kernels/sums_f32.h"
#include "methods/fqt.h"

#define MOST_GRADIENT 0x1p50f

/* Bytes of a layer's v, or of its m and v. */
static uint64_t bytes_of(const model_t *model, uint8_t l) {
    const uint8_t optimizer = fqt_settings(model)->optimizer;
    const uint32_t floats = optimizer == OPTIMIZER_ADAM ? 2 : optimizer == OPTIMIZER_MOMENTUM;
    const uint64_t bytes =
        sizeof(float) * floats * (uint64_t)trained_count(&model->training, graph_layer(&model->file, l));
    return (bytes + 7) / 8 * 8;
}

uint64_t fqt_optimizer_bytes(const model_t *model, uint8_t to) {
    uint64_t bytes = 0;
    for (uint8_t l = 0; l < to; l++) {
        bytes += fqt_is_trained(model, l) ? bytes_of(model, l) : 0;
    }
    return bytes;
}

void fqt_optimizer_begin(model_t *model) {
    const uint64_t bytes = fqt_optimizer_bytes(model, model->file.layers);
    model->kept[FQT_POWER_1] = model->kept[FQT_POWER_2] = 1.0f;
    if (bytes > 0) {
        memset(model_s8(model, model->plan.at[FQT_OPTIMIZER]), 0, (size_t)bytes);
    }
}

void fqt_optimizer_advance(model_t *model) {
    model->kept[FQT_POWER_1] = model->kept[FQT_POWER_1] * fqt_settings(model)->beta1;
    model->kept[FQT_POWER_2] = model->kept[FQT_POWER_2] * fqt_settings(model)->beta2;
}

fqt_optimizer_t fqt_optimizer(const model_t *model, uint8_t l) {
    const fqt_settings_t *settings = fqt_settings(model);
    if (settings->optimizer == OPTIMIZER_SGD) {
        return (fqt_optimizer_t){.moves_at_once = true};
    }
    float *first =
        (float *)(void *)model_s8(model, model->plan.at[FQT_OPTIMIZER] + (uint32_t)fqt_optimizer_bytes(model, l));
    const bool adam = settings->optimizer == OPTIMIZER_ADAM;
    return (fqt_optimizer_t){
        .adam = {.beta1 = settings->beta1,
                 .beta2 = settings->beta2,
                 .rest1 = 1.0f - settings->beta1,
                 .rest2 = 1.0f - settings->beta2,
                 .weigh1 = 1.0f - model->kept[FQT_POWER_1],
                 .weigh2 = 1.0f - model->kept[FQT_POWER_2],
                 .epsilon = settings->epsilon,
                 .rate = settings->eta},
        .first = first,
        .second = adam ? first + trained_count(&model->training, graph_layer(&model->file, l)) : NULL,
    };
}

float fqt_optimized(const fqt_optimizer_t *optimizer, uint32_t i, float e) {
    const adamw_t *adam = &optimizer->adam;
    if (optimizer->second != NULL) {
        return adamw_step(adam, clamp_f32(e, -MOST_GRADIENT, MOST_GRADIENT), &optimizer->first[i],
                          &optimizer->second[i]);
    }
    const float kept = adam->beta1 * optimizer->first[i];
    optimizer->first[i] = clamp_f32(kept + e, -MOST_GRADIENT, MOST_GRADIENT);
    return adam->rate * optimizer->first[i];
}
