/* The buffers of QZO-FF, and when they are in use: docs/memory.md. */
#include "methods/forward_passes.h"
#include "methods/qzo_ff.h"

static uint32_t selected_of(const model_t *model, uint8_t l) {
    uint8_t index = 0; /* of the layer's weights among the trained tensors */
    for (uint8_t before = 0; before < l; before++) {
        index = (uint8_t)(index + (in_set(model->training.layers, before) ? 1 + model->training.biases : 0));
    }
    return qzo_selected(qzo_settings(model), index, graph_weight_count(graph_layer(&model->file, l)));
}

static uint64_t selection_of(const model_t *model, uint8_t l) {
    const uint32_t n = graph_weight_count(graph_layer(&model->file, l));
    return selection_bytes(n, selected_of(model, l), qzo_keeps_gaps(qzo_settings(model)));
}

/* Of what is selected, and of biases. */
static uint64_t elements_of(const model_t *model, uint8_t l) {
    return (uint64_t)selected_of(model, l) + trained_biases(&model->training, graph_layer(&model->file, l));
}

uint64_t qzo_guide_bytes(const model_t *model, uint8_t l) {
    return qzo_settings(model)->guide > 0 ? sizeof(int16_t) * elements_of(model, l) : 0;
}

uint64_t qzo_moments_bytes(const model_t *model, uint8_t l) {
    return qzo_settings(model)->optimizer == OPTIMIZER_ADAMW ? moments_bytes(elements_of(model, l)) : 0;
}

/* A buffer for each trained layer. */
static void stand_line(plan_t *plan, const model_t *model, enum plan_line line,
                       uint64_t (*bytes_of)(const model_t *, uint8_t)) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        const uint64_t bytes = in_set(model->training.layers, l) ? bytes_of(model, l) : 0;
        if (bytes > 0) {
            plan_stand(plan, plan_place(line, l), bytes);
        }
    }
}

void qzo_stand(plan_t *plan, const model_t *model) {
    const qzo_ff_settings_t *settings = qzo_settings(model);
    forward_stand(plan, model);
    plan_stand(plan, QZO_DIRECTIONS, sizeof(qzo_direction_t) * (uint64_t)qzo_directions(settings));
    if (settings->sparse != SPARSE_OFF) {
        stand_line(plan, model, QZO_SELECTION, selection_of);
    }
    stand_line(plan, model, QZO_GUIDE, qzo_guide_bytes);
    stand_line(plan, model, QZO_MOMENTS, qzo_moments_bytes);
}

void qzo_demand(placing_t *placing, const model_t *model, start_t start) {
    forward_demand(placing, model, start, QZO_NOISE, QZO_NOISE_BYTES);
}
