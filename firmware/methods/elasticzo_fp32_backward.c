#include <string.h>

#include "formats/float32.h"
#include "methods/elasticzo_fp32.h"
#include "methods/reach.h"

static uint32_t gradient_elements(const model_t *model, uint8_t l) {
    return trained_count(&model->training, graph_layer(&model->file, l));
}

void elasticzo_fp32_clear_gradients(const model_t *model) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (elasticzo_fp32_has_gradient(model, l)) {
            memset(float32_buffer(model, PLAN_GRADIENT, l), 0, gradient_elements(model, l) * sizeof(float));
        }
    }
}

/* Products of a step, and not of a trace. */
static void count_products(model_t *model, uint8_t l) {
    model->macs += model->watch.running ? graph_products(graph_layer(&model->file, l)) : 0;
}

/* Give an error to a value that a layer reads, if it is to have one. `arrived`: bit v - 1, value v has one. */
static void hand_on(model_t *model, uint8_t l, uint8_t read, uint64_t *arrived) {
    const uint8_t value = graph_layer(&model->file, l)->reads[read];
    if (has_error(&model->training, value)) {
        const kept_f32_t all = {.count = graph_layer(&model->file, l)->out_c};
        float32_input_error(model, l, read, in_set(*arrived, (uint8_t)(value - 1)), &all);
        *arrived |= UINT64_C(1) << (value - 1);
        count_products(model, l);
    }
}

static void pass_back(model_t *model, const pass_t *pass, uint8_t l, uint64_t *arrived) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    observe(model->observer, model_buffer(model, PLAN_ERROR, (uint8_t)(l + 1)),
            (uint32_t)graph_size(&model->file, (uint8_t)(l + 1)), 0);
    if (graph_has_limits(layer)) {
        float32_gate(model, l);
    }
    hand_on(model, l, 0, arrived);
    if (graph_read_count(layer) > 1) {
        hand_on(model, l, 1, arrived);
    }
    if (graph_has_weights(layer)) {
        float32_gradient(model, pass, l);
        count_products(model, l);
    }
    model->layer_runs += model->watch.running;
    stopwatch_book(&model->watch, &model->account.backward[l]);
}

void elasticzo_fp32_backward(model_t *model, const pass_t *pass, uint16_t label) {
    uint64_t arrived = UINT64_C(1) << (model->file.layers - 1);
    float32_logits_error(model, label);
    for (uint8_t l = model->file.layers; l-- > model->training.first_backward;) {
        if (elasticzo_fp32_reaches(&model->training, l)) {
            pass_back(model, pass, l, &arrived);
        }
    }
}
