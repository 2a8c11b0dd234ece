/* Poor Man's Training and its relatives on tflite8: docs/arithmetic-zeroth-order.md. */
#include <stddef.h>

#include "arith/rademacher.h"
#include "kernels/gradients.h"
#include "kernels/losses.h"
#include "kernels/perturbation.h"
#include "methods/tflite8_methods.h"

enum {
    UNIT = -16,                 /* exponent of the deltas */
    BLOCK = 2 * SIGNS_PER_WORD, /* numbers of a gradient on the stack */
};

/* The queries of a layer. Those of all layers of a chain are kept until all have learned; the model-wise form has one
   set. */
static query_t *queries_of(const model_t *model, uint8_t l) {
    query_t *queries = (query_t *)(void *)(model->arena + model->plan.at[TFLITE8_QUERIES]);
    const uint32_t set =
        tflite8_settings(model)->wise == WISE_LAYER ? (uint32_t)l - group_first(&model->training, l) : 0;
    return queries + set * tflite8_settings(model)->queries;
}

static uint32_t signs_of(const model_t *model, const step_t *step, const sample_t *sample, uint8_t l, uint32_t q) {
    const uint32_t number = tflite8_settings(model)->direction == DIRECTION_BATCH ? 0 : sample->number;
    return rademacher_begin(rademacher_state(tflite8_settings(model)->seed, step->step, number, l, q));
}

static bool is_central(const model_t *model) {
    return tflite8_settings(model)->difference == DIFFERENCE_CENTRAL;
}

/* Add k times the draws to the weights and biases of a layer. */
static void perturb_layer(model_t *model, uint8_t l, uint32_t signs, int32_t k) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = tflite8_tensors(model, l);
    if (model->training.weights) {
        signs = perturb_weights_s8(tensors.weights, graph_weight_count(layer), signs, k);
    }
    if (model->training.biases) {
        (void)perturb_biases_s32(tensors.bias, tensors.shift, graph_channels(layer), signs, k);
    }
    stopwatch_book(&model->watch, &model->account.perturb);
}

/* delta_q: docs/arithmetic-zeroth-order.md, section 4. */
static int32_t forward_delta(const sample_t *sample, float loss) {
    return loss_delta(loss - sample->loss);
}

static int32_t central_delta(float plus, float minus) {
    const float difference = plus - minus;
    return loss_delta(difference * 0.5f);
}

static int32_t ask_weights(model_t *model, step_t *step, const sample_t *sample, uint8_t l, uint32_t signs) {
    const uint8_t start = group_first(&model->training, l);
    pass_t pass = sample->clean;
    pass.perturbed = UINT64_C(1) << l;
    perturb_layer(model, l, signs, 1);
    const float plus = query_loss(model, step, &pass, sample, start);
    perturb_layer(model, l, signs, -1);
    if (!is_central(model)) {
        return forward_delta(sample, plus);
    }
    perturb_layer(model, l, signs, -1);
    const float minus = query_loss(model, step, &pass, sample, start);
    perturb_layer(model, l, signs, 1);
    return central_delta(plus, minus);
}

static int32_t ask_nodes(model_t *model, step_t *step, const sample_t *sample, uint8_t l, uint32_t signs) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_output_t *output = graph_output(&model->file, layer);
    const uint8_t value = (uint8_t)(l + 1);
    const int8_t *clean = pass_value(model, &sample->clean, value);
    int8_t *nodes = model_buffer(model, TFLITE8_NODE, l);
    pass_t pass = sample->clean;
    (void)perturb_nodes_s8(clean, graph_outputs(layer), output->act_min, output->act_max, signs, nodes);
    stopwatch_book(&model->watch, &model->account.perturb);
    pass.replaced = value;
    pass.nodes = nodes;
    return forward_delta(sample, query_loss(model, step, &pass, sample, value));
}

static void ask(model_t *model, step_t *step, const sample_t *sample, uint8_t l) {
    const bool nodes = in_set(model->training.nodes, l);
    for (uint32_t q = 0; q < tflite8_settings(model)->queries; q++) {
        const uint32_t signs = signs_of(model, step, sample, l, q);
        const int32_t delta =
            nodes ? ask_nodes(model, step, sample, l, signs) : ask_weights(model, step, sample, l, signs);
        queries_of(model, l)[q].delta = delta;
    }
}

/* A block at a time, in the order of the draws: the weights, then the biases. */
static void weight_gradient(model_t *model, const sample_t *sample, uint8_t l, query_t *queries) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t weights = trained_weights(&model->training, layer), all = trained_count(&model->training, layer);
    const gradient_sink_t sink = gradient_open(model, sample, l, UNIT);
    int32_t block[BLOCK];
    for (uint32_t i = 0, n; i < all; i += n) {
        const uint32_t left = (i < weights ? weights : all) - i;
        n = left < BLOCK ? left : BLOCK;
        signed_sums_s32(queries, tflite8_settings(model)->queries, n, block);
        gradient_take(&sink, i, n, block);
    }
}

/* From queries at the beginning of their streams: docs/arithmetic-zeroth-order.md, section 5, NP. */
static void node_gradient(model_t *model, const sample_t *sample, uint8_t l, query_t *queries) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const graph_output_t *output = graph_output(&model->file, layer);
    const uint32_t count = tflite8_settings(model)->queries;
    const int32_t shift = node_error_shift(queries, count);
    const int8_t *clean = pass_value(model, &sample->clean, (uint8_t)(l + 1));
    int8_t *errors = model_buffer(model, TFLITE8_NODE, l);
    node_errors_s8(clean, graph_outputs(layer), output->act_min, output->act_max, queries, count, shift, errors);
    error_gradient(model, sample, l, errors, shift + UNIT);
}

static void learn(model_t *model, step_t *step, const sample_t *sample, uint8_t l) {
    query_t *queries = queries_of(model, l);
    for (uint32_t q = 0; q < tflite8_settings(model)->queries; q++) {
        queries[q].signs = signs_of(model, step, sample, l, q);
    }
    if (in_set(model->training.nodes, l)) {
        node_gradient(model, sample, l, queries);
    } else {
        weight_gradient(model, sample, l, queries);
    }
    stopwatch_book(&model->watch, &model->account.backward[l]);
}

/* Model-wise: the weights of all trained layers that have them perturbed. */
static void perturb_all(model_t *model, const step_t *step, const sample_t *sample, uint32_t q, int32_t k) {
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(model->training.layers & ~model->training.nodes, l)) {
            perturb_layer(model, l, signs_of(model, step, sample, l, q), k);
        }
    }
}

/* A pass with everything perturbed; nodes are, as the pass has computed them. */
static float loss_of_query(model_t *model, step_t *step, const sample_t *sample, uint32_t q) {
    const training_t *training = &model->training;
    pass_t pass = sample->clean;
    pass.perturbed = training->layers & ~training->nodes;
    uint8_t from = 0;
    for (uint8_t l = 0; l < model->file.layers; l++) {
        if (in_set(training->nodes, l)) {
            const graph_layer_t *layer = graph_layer(&model->file, l);
            const graph_output_t *output = graph_output(&model->file, layer);
            int8_t *value = model_buffer(model, PLAN_VALUE, (uint8_t)(l + 1));
            pass_run(model, &pass, from, (uint8_t)(l + 1));
            from = (uint8_t)(l + 1);
            (void)perturb_nodes_s8(value, graph_outputs(layer), output->act_min, output->act_max,
                                   signs_of(model, step, sample, l, q), value);
            stopwatch_book(&model->watch, &model->account.perturb);
        }
    }
    return query_loss(model, step, &pass, sample, from);
}

static int32_t ask_all(model_t *model, step_t *step, const sample_t *sample, uint32_t q) {
    perturb_all(model, step, sample, q, 1);
    const float plus = loss_of_query(model, step, sample, q);
    perturb_all(model, step, sample, q, -1);
    if (!is_central(model)) {
        return forward_delta(sample, plus);
    }
    perturb_all(model, step, sample, q, -1);
    const float minus = loss_of_query(model, step, sample, q);
    perturb_all(model, step, sample, q, 1);
    return central_delta(plus, minus);
}

/* Layers that are trained by nodes need their clean values. Up to the last of them, each group is run again before its
   update. */
static void learn_all(model_t *model, step_t *step, const sample_t *sample) {
    const training_t *training = &model->training;
    for (uint8_t first = 0, end; first < model->file.layers; first = end) {
        end = (uint8_t)(group_last(training, first) + 1);
        if (training->nodes >> first != 0) {
            pass_run(model, &sample->clean, first, end);
        }
        for (uint8_t l = first; l < end; l++) {
            if (in_set(training->layers, l)) {
                learn(model, step, sample, l);
            }
        }
    }
}

static void take(model_t *model, step_t *step, uint16_t slot) {
    static const layer_method_t layer_wise = {.ask = ask, .learn = learn};
    if (tflite8_settings(model)->wise == WISE_LAYER) {
        layer_wise_sample(model, step, slot, &layer_wise);
        return;
    }
    const sample_t sample = tflite8_take_sample(model, step, slot);
    query_t *queries = queries_of(model, 0);
    for (uint32_t q = 0; q < tflite8_settings(model)->queries; q++) {
        queries[q].delta = ask_all(model, step, &sample, q);
    }
    learn_all(model, step, &sample);
}

static void demand(placing_t *placing, const model_t *model, start_t start) {
    tflite8_demand_passes(placing, model, start);
    tflite8_demand_nodes(placing, model, start);
}

static uint8_t check(const settings_t *settings, const graph_file_t *file) {
    return tflite8_check(settings, file, NULL, 0);
}

const method_t poor_mans = {
    TFLITE8_METHOD,   .check = check, .training = tflite8_training, .stand = tflite8_stand,
    .demand = demand, .take = take,   .finish = tflite8_finish,
};
