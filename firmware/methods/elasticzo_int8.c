#include "methods/elasticzo_int8.h"

#include "arith/random.h"
#include "kernels/cross_entropy_f32.h"
#include "kernels/perturb_s8.h"
#include "kernels/zo_update_s8.h"
#include "net/backward.h"
#include "net/forward.h"

enum { PLUS = 1, FROM_PLUS_TO_MINUS = -2 };

typedef struct {
    model_t *model;
    const settings_t *settings;
    uint32_t step;
    uint16_t count;
    uint32_t (*cycles)(void);
    uint32_t lap; /* the counter when the running phase began */
    step_result_t *result;
} run_t;

/* Book the cycles since the last call to a phase. */
static void book(run_t *run, uint32_t *phase) {
    const uint32_t now = run->cycles();
    *phase += now - run->lap;
    run->lap = now;
}

static const layer_t *layer_of_tensor(const run_t *run, uint8_t tensor) {
    const network_t *network = &run->model->network;
    return &network->layer[network->tensor_layer[tensor]];
}

static noise_t noise_of_tensor(const run_t *run, uint8_t tensor) {
    return (noise_t){
        .p_zero = run->settings->p_zero,
        .r_max = run->settings->r_max,
        .state = stream_state(run->settings->seed, run->step, tensor),
    };
}

static void perturb(run_t *run, int32_t k) {
    for (uint8_t l = 0; l < run->settings->partition; l++) {
        const layer_t *layer = layer_of_tensor(run, l);
        perturb_s8(model_weights(run->model, layer), layer->weights, noise_of_tensor(run, l), k);
    }
    book(run, &run->result->cycles_perturb);
}

static void update_zeroth_order(run_t *run) {
    for (uint8_t l = 0; l < run->settings->partition; l++) {
        const layer_t *layer = layer_of_tensor(run, l);
        zo_update_s8(model_weights(run->model, layer), layer->weights, noise_of_tensor(run, l), run->result->sign,
                     run->settings->b_zo);
    }
}

static bool back_propagates(const run_t *run) {
    return run->settings->partition < run->model->network.tensors;
}

/* The loss summed over the batch; with `backwards`, the gradients of each sample too. */
static float pass(run_t *run, bool backwards) {
    model_t *model = run->model;
    const uint8_t *labels = model_labels(model);
    float total = 0.0f;
    for (uint16_t b = 0; b < run->count; b++) {
        const int8_t *sample = model_sample(model, b);
        forward(model, sample);
        const float loss =
            cross_entropy_f32(model_logits(model), model->network.classes, model_logits_exponent(model), labels[b]);
        total = total + loss;
        book(run, &run->result->cycles_forward);
        if (backwards) {
            backward(model, sample, labels[b]);
            book(run, &run->result->cycles_backward);
        }
    }
    return total;
}

static int8_t sign_of_difference(float plus, float minus) {
    return plus > minus ? 1 : plus < minus ? -1 : 0;
}

static void run_passes(run_t *run) {
    step_result_t *result = run->result;
    if (back_propagates(run)) {
        backward_begin(run->model);
        book(run, &result->cycles_backward);
    }
    if (run->settings->partition == 0) {
        result->loss_plus = pass(run, true);
        result->loss_minus = result->loss_plus;
        return;
    }
    perturb(run, PLUS);
    result->loss_plus = pass(run, false);
    perturb(run, FROM_PLUS_TO_MINUS);
    result->loss_minus = pass(run, back_propagates(run));
    result->sign = sign_of_difference(result->loss_plus, result->loss_minus);
}

void elasticzo_int8_step(model_t *model, const settings_t *settings, uint32_t step, uint16_t count, uint32_t (*cycles)(void),
                         step_result_t *result) {
    run_t run = {.model = model, .settings = settings, .step = step, .count = count, .cycles = cycles, .result = result};
    *result = (step_result_t){.step = step};
    run.lap = cycles();
    run_passes(&run);
    update_zeroth_order(&run);
    if (back_propagates(&run)) {
        backward_update(model, settings->b_bp);
    }
    book(&run, &result->cycles_update);
}
