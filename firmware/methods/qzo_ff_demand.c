/* The buffers of QZO-FF, and when they are in use: docs/memory.md. */
#include "formats/w16a8.h"
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
    plan_stand(plan, PLAN_LABELS, sizeof(uint16_t) * (uint64_t)settings->slots);
    plan_stand(plan, PLAN_SAMPLES, settings->slots * graph_size(&model->file, 0));
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
    const graph_file_t *file = &model->file;
    const uint8_t between = (uint8_t)(start.to + 1);
    for (uint8_t value = 1; value <= start.to; value++) {
        plan_add(placing, plan_place(PLAN_VALUE, value), graph_size(file, value), (uint8_t)(value - 1),
                 graph_last_reader(file, value));
    }
    for (uint8_t l = 0; l < start.to; l++) {
        const uint64_t bytes = w16a8_work(graph_layer(file, l));
        if (bytes > 0) {
            plan_add(placing, plan_place(PLAN_WORK, l), bytes, l, l);
        }
    }
    plan_add(placing, QZO_NOISE, QZO_NOISE_BYTES, between, between);
}
