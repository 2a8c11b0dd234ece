/* The buffers of QZO-FF, and when they are in use: docs/memory.md. */
#include "methods/forward_passes.h"
#include "methods/qzo_ff.h"

/* A buffer for each trained layer. */
static void stand_line(plan_t *plan, const model_t *model, enum plan_line line, uint32_t bytes, uint32_t per) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const uint64_t elements = per == 1 ? trained_count(&model->training, layer) : graph_weight_count(layer);
        if (in_set(model->training.layers, l)) {
            plan_stand(plan, plan_place(line, l), bytes * ((elements + per - 1) / per));
        }
    }
}

void qzo_stand(plan_t *plan, const model_t *model) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    forward_stand(plan, model);
    plan_stand(plan, QZO_DIRECTIONS, sizeof(qzo_direction_t) * (uint64_t)qzo_directions(settings));
    if (settings->sparse != SPARSE_OFF) {
        stand_line(plan, model, QZO_MASK, 1, 8);
    }
    if (settings->guide > 0) {
        stand_line(plan, model, QZO_GUIDE, sizeof(int16_t), 1);
    }
    if (settings->optimizer == OPTIMIZER_ADAMW) {
        stand_line(plan, model, QZO_MOMENTS, sizeof(adamw_moments_t), 1);
    }
}

void qzo_demand(placing_t *placing, const model_t *model, start_t start) {
    forward_demand(placing, model, start, QZO_NOISE, QZO_NOISE_BYTES);
}
