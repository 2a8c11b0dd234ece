/* DeepZero's coordinate-wise estimate: docs/arithmetic-zeroth-order.md, section 8. */
#include "arith/rademacher.h"
#include "kernels/losses.h"
#include "kernels/perturbation.h"
#include "methods/tflite8_methods.h"

enum { UNIT = -16, DRAWN = 24 /* a coordinate looks at the upper byte of its draw */ };

/* Raise, or lower, a coordinate: a weight with the sum of its channel, or a bias. */
static void move(model_t *model, uint8_t l, uint32_t j, int32_t by) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const tensors_t tensors = tflite8_tensors(model, l);
    const uint32_t weights = trained_weights(&model->training, layer);
    if (j < weights) {
        const uint32_t channel = layer->op == OP_DEPTHWISE ? j % graph_channels(layer) : j / graph_taps(layer);
        tensors.weights[j] = (int8_t)(tensors.weights[j] + by);
        tensors.sums[channel] += by;
    } else {
        const uint32_t channel = j - weights;
        tensors.bias[channel] += by * (INT32_C(1) << bias_step_exponent(tensors.shift[channel]));
    }
    stopwatch_book(&model->watch, &model->account.perturb);
}

static int32_t ask_coordinate(model_t *model, step_t *step, const sample_t *sample, uint8_t l, uint32_t j) {
    move(model, l, j, 1);
    const float loss = query_loss(model, step, &sample->clean, sample, group_first(&model->training, l));
    move(model, l, j, -1);
    return loss_delta(loss - sample->loss);
}

static int32_t *coordinates_of(const model_t *model, uint8_t l) {
    return model_words(model, TFLITE8_COORDINATES, l);
}

static void ask(model_t *model, step_t *step, const sample_t *sample, uint8_t l) {
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t n = trained_count(&model->training, layer);
    int32_t *coordinates = coordinates_of(model, l);
    /* One mask for all samples of a step. */
    uint32_t state = rademacher_state(tflite8_settings(model)->seed, step->step, 0, l, 0);
    for (uint32_t j = 0; j < n; j++) {
        state = xorshift32(state);
        const bool active = state >> DRAWN >= tflite8_settings(model)->sparsity;
        coordinates[j] = active ? ask_coordinate(model, step, sample, l, j) : 0;
    }
}

static void learn(model_t *model, step_t *step, const sample_t *sample, uint8_t l) {
    (void)step;
    const graph_layer_t *layer = graph_layer(&model->file, l);
    const uint32_t weights = trained_weights(&model->training, layer);
    const int32_t *coordinates = coordinates_of(model, l);
    const gradient_sink_t sink = gradient_open(model, sample, l, UNIT);
    gradient_take(&sink, 0, weights, coordinates);
    gradient_take(&sink, weights, trained_biases(&model->training, layer), coordinates + weights);
    stopwatch_book(&model->watch, &model->account.backward[l]);
}

static void take(model_t *model, step_t *step, uint16_t slot) {
    static const layer_method_t method = {.ask = ask, .learn = learn};
    layer_wise_sample(model, step, slot, &method);
}

static void demand(placing_t *placing, const model_t *model, start_t start) {
    tflite8_demand_passes(placing, model, start);
    tflite8_demand_coordinates(placing, model, start);
}

static uint8_t check(const settings_t *settings, const graph_file_t *file) {
    static const tflite8_only_t only[] = {{offsetof(tflite8_settings_t, wise), WISE_LAYER},
                                          {offsetof(tflite8_settings_t, direction), DIRECTION_SAMPLE}};
    return tflite8_check(settings, file, only, sizeof only / sizeof only[0]);
}

const method_t deepzero = {
    TFLITE8_METHOD,   .check = check, .training = tflite8_training, .stand = tflite8_stand,
    .demand = demand, .take = take,   .finish = tflite8_finish,
};
