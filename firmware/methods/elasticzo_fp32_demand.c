/* The buffers of ElasticZO on float32, and when they are in use: docs/memory.md, float32. With n layers, slot
   2n - l is the backward pass of layer l. */
#include "formats/float32.h"
#include "methods/elasticzo_fp32.h"
#include "methods/reach.h"

static uint64_t value_bytes(const model_t *model, uint8_t value) {
    return graph_size(&model->file, value);
}

/* Whether a layer looks at the values that it reads on the way back. */
static bool looks_back(const model_t *model, uint8_t l) {
    return elasticzo_fp32_reaches(&model->training, l) &&
           looks_at_values(&model->training, graph_layer(&model->file, l));
}

/* The last slot in which a value is wanted: by the gate of its maker, by a reader on the way back, or forward. Value 0
   is computed again for gradients, so only a multiply wants it on the way back. */
static uint8_t last_use(const model_t *model, uint8_t value) {
    const uint8_t maker = (uint8_t)(value - 1);
    if (value > 0 && elasticzo_fp32_reaches(&model->training, maker) &&
        graph_has_limits(graph_layer(&model->file, maker))) {
        return slot_back(&model->file, maker);
    }
    for (uint8_t l = value; l < model->file.layers; l++) {
        const graph_layer_t *layer = graph_layer(&model->file, l);
        const bool wants = value > 0 || layer->op == OP_MULTIPLY;
        if (wants && graph_reads(layer, value) && looks_back(model, l)) {
            return slot_back(&model->file, l);
        }
    }
    return graph_last_reader(&model->file, value);
}

void elasticzo_fp32_stand(plan_t *plan, const model_t *model) {
    const uint64_t slots = model->settings.slots;
    plan_stand(plan, PLAN_LABELS, sizeof(uint16_t) * slots);
    plan_stand(plan, PLAN_SAMPLES, slots * graph_elements(&model->file, 0));
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (elasticzo_fp32_has_gradient(model, l)) {
            const uint64_t trained = trained_count(&model->training, graph_layer(&model->file, l));
            plan_stand(plan, plan_place(PLAN_GRADIENT, l), sizeof(float) * trained);
        }
    }
}

void elasticzo_fp32_demand(placing_t *placing, const model_t *model, start_t start) {
    for (uint8_t value = 0; value <= start.to; value++) {
        plan_add(placing, plan_place(PLAN_VALUE, value), value_bytes(model, value),
                 value > 0 ? (uint8_t)(value - 1) : 0, last_use(model, value));
    }
    demand_errors(placing, &model->file, &model->training);
    for (uint8_t l = model->training.first_backward; l < start.to; l++) {
        if (elasticzo_fp32_has_gradient(model, l) && graph_reads(graph_layer(&model->file, l), 0)) {
            plan_add(placing, plan_place(FLOAT32_INPUT, l), value_bytes(model, 0), slot_back(&model->file, l),
                     slot_back(&model->file, l));
        }
    }
}
