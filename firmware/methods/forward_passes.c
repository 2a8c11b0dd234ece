#include "methods/forward_passes.h"

#include "formats/tflite8_sizes.h"
#include "formats/w16a8.h"

training_t forward_training(const graph_file_t *file, uint8_t count, uint32_t passes) {
    training_t training = {.weights = true,
                           .starts = 1,
                           .reached = UINT64_MAX,
                           .passes = (uint16_t)passes,
                           .first_backward = file->layers};
    uint8_t left = count;
    for (uint8_t l = file->layers; l > 0 && left > 0; l--) {
        const bool trained = graph_has_weights(graph_layer(file, (uint8_t)(l - 1)));
        training.layers |= (uint64_t)trained << (l - 1);
        left = (uint8_t)(left - trained);
    }
    return training;
}

void forward_stand(plan_t *plan, const model_t *model) {
    const settings_t *settings = &model->settings;
    plan_stand(plan, PLAN_LABELS, sizeof(uint16_t) * (uint64_t)settings->slots);
    plan_stand(plan, PLAN_SAMPLES, settings->slots * graph_size(&model->file, 0));
}

/* Of a layer's pass; 0: none. */
static uint64_t work_bytes(const graph_layer_t *layer) {
    if (layer->format != FORMAT_TFLITE8) {
        return w16a8_work(layer);
    }
    return graph_has_weights(layer) ? work_layout(layer, (chained_t){.has_ring = false}).end : 0;
}

void forward_demand(placing_t *placing, const model_t *model, start_t start, uint16_t between, uint32_t bytes) {
    const graph_file_t *file = &model->file;
    const uint8_t behind = (uint8_t)(start.to + 1);
    for (uint8_t value = 1; value <= start.to; value++) {
        plan_add(placing, plan_place(PLAN_VALUE, value), graph_size(file, value), (uint8_t)(value - 1),
                 graph_last_reader(file, value));
    }
    for (uint8_t l = 0; l < start.to; l++) {
        const uint64_t work = work_bytes(graph_layer(file, l));
        if (work > 0) {
            plan_add(placing, plan_place(PLAN_WORK, l), work, l, l);
        }
    }
    plan_add(placing, between, bytes, behind, behind);
}

const int8_t (*forward_pool(const model_t *model, uint16_t between, uint32_t step))[4] {
    int8_t (*pool)[4] = (void *)model_s8(model, model->plan.at[between]);
    direction_pool(pool, pool_state(model->settings.seed, step), direction_gaussian);
    return (const void *)pool;
}

void forward_take(model_t *model, step_t *step, uint16_t slot) {
    const pass_t pass = {.sample = model_sample(model, slot), .count = 1};
    float *sum = &step->pair[step->pass % 2];
    pass_run_all(model, &pass);
    *sum = *sum + pass_loss(model, &pass, model_label(model, slot));
    stretches_mark(&model->stretches, model->watch.booked, PHASE_FORWARD);
}

int32_t forward_sign(const step_t *step) {
    return (step->pair[0] > step->pair[1]) - (step->pair[0] < step->pair[1]);
}

void forward_report(step_t *step) {
    step->loss[0] = step->loss[0] + step->pair[0];
    step->loss[1] = step->loss[1] + step->pair[1];
}

void forward_trace(model_t *model, uint16_t first, uint16_t count) {
    const pass_t pass = {.sample = model_sample(model, first), .count = count};
    pass_run_all(model, &pass);
}
