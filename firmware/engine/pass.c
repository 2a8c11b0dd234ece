#include "engine/pass.h"

#include <stddef.h>

#include "engine/format.h"

const int8_t *pass_value(const model_t *model, const pass_t *pass, uint8_t value) {
    if (value == 0 && plan_at(&model->plan, PLAN_VALUE, 0) == PLAN_NOWHERE) {
        return pass->sample;
    }
    return value > 0 && value == pass->replaced ? pass->nodes : model_buffer(model, PLAN_VALUE, value);
}

/* Show the output of a layer. A value within a chain is never whole, and is shown as 0 bytes. */
static void show(const model_t *model, uint8_t l) {
    const uint8_t value = (uint8_t)(l + 1);
    if (is_joined_behind(&model->training, l)) {
        observe(model->observer, model_s8(model, 0), 0, 0);
    } else {
        observe(model->observer, model_buffer(model, PLAN_VALUE, value), (uint32_t)graph_size(&model->file, value),
                model->exponent[value]);
    }
}

void pass_run(model_t *model, const pass_t *pass, uint8_t from, uint8_t to) {
    if (from == 0 && model_format(model, 0)->open != NULL) {
        model_format(model, 0)->open(model, pass);
    }
    for (uint8_t l = from; l < to; l++) {
        if (!in_set(model->training.joined, l)) {
            const format_t *format = model_format(model, l);
            (is_joined_behind(&model->training, l) ? format->run_chain : format->run)(model, pass, l);
        }
        const graph_layer_t *layer = graph_layer(&model->file, l);
        if (model->watch.running) {
            model->macs += graph_products(layer) * pass->count;
            model->layer_runs += pass->count;
        }
        stopwatch_book(&model->watch, &model->account.forward[l]);
        if (model->observer != NULL) {
            show(model, l);
        }
    }
}

void pass_enter(model_t *model, uint8_t from) {
    model_place_start(model, from);
    stopwatch_book(&model->watch, &model->account.perturb);
}

void pass_run_all(model_t *model, const pass_t *pass) {
    const uint8_t first = first_of_set(model->training.starts);
    model_place_first(model);
    if (first > 0) {
        pass_run(model, pass, 0, first);
        pass_enter(model, first);
    }
    pass_run(model, pass, first, model->file.layers);
}

float pass_loss(model_t *model, const pass_t *pass, uint16_t label) {
    const uint8_t n = model->file.layers;
    const float loss = model_format(model, (uint8_t)(n - 1))->loss(model, pass_value(model, pass, n), label);
    stopwatch_book(&model->watch, &model->account.forward[n - 1]);
    return loss;
}
