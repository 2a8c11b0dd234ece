#include "naive_step.h"

#include <string.h>

#include "check.h"
#include "kernels/losses.h"

/* All samples of a step. */
typedef struct {
    const int8_t *samples;
    const uint8_t *labels;
    uint32_t count;
} step_batch_t;

/* What a pass leaves behind: every sample's logits with their exponents. */
typedef struct {
    int8_t *logits;
    int32_t *exponent;
} naive_pass_t;

static naive_pass_t run_pass(naive_model_t *model, const elasticzo_settings_t *settings, const step_batch_t *batch,
                             bool backwards) {
    const uint32_t inputs = graph_inputs(graph_layer(&model->file, 0)), last = model->file.layers - 1u;
    const uint32_t classes = graph_header(&model->file)->classes;
    const uint32_t group = settings->scope == SCOPE_BATCH ? batch->count : 1;
    const naive_pass_t pass = {.logits = take(batch->count * classes),
                               .exponent = take(batch->count * sizeof(int32_t))};
    for (uint32_t b = 0; b < batch->count; b += group) {
        const int8_t *logits = naive_model_forward(model, batch->samples + b * inputs, group);
        memcpy(pass.logits + b * classes, logits, group * classes);
        for (uint32_t i = 0; i < group; i++) {
            pass.exponent[b + i] = model->exponent[last];
        }
        if (backwards) {
            naive_model_backward(model, settings, batch->samples + b * inputs, batch->labels + b, group, b == 0);
        }
    }
    return pass;
}

static void free_pass(naive_pass_t *pass) {
    free(pass->logits);
    free(pass->exponent);
}

static float float_loss(const naive_model_t *model, const step_batch_t *batch, const naive_pass_t *pass) {
    const uint32_t classes = graph_header(&model->file)->classes;
    float total = 0.0f;
    for (uint32_t b = 0; b < batch->count; b++) {
        total += cross_entropy_f32(pass->logits + b * classes, classes, pass->exponent[b], batch->labels[b]);
    }
    return total;
}

/* L_plus and L_minus in integers. */
static naive_terms_t integer_losses(const naive_model_t *model, const elasticzo_settings_t *settings,
                                    const step_batch_t *batch, const naive_pass_t *plus, const naive_pass_t *minus) {
    const uint32_t classes = graph_header(&model->file)->classes;
    naive_terms_t total = {.a = 0};
    for (uint32_t b = 0; b < batch->count; b++) {
        const naive_terms_t terms =
            naive_integer_loss(plus->logits + b * classes, plus->exponent[b], minus->logits + b * classes,
                               minus->exponent[b], classes, batch->labels[b], settings->loss_fraction);
        if (batch->count == 1) {
            return terms;
        }
        total.a += naive_log2(terms.a, settings->loss_fraction);
        total.b += naive_log2(terms.b, settings->loss_fraction);
    }
    return total;
}

static void compare_losses(const naive_model_t *model, const elasticzo_settings_t *settings, const step_batch_t *batch,
                           const naive_pass_t *plus, const naive_pass_t *minus, step_result_t *result) {
    if (settings->loss == LOSS_INTEGER) {
        const naive_terms_t losses = integer_losses(model, settings, batch, plus, minus);
        result->loss_plus = (float)losses.a;
        result->loss_minus = (float)losses.b;
        result->sign = (int8_t)((losses.a > losses.b) - (losses.a < losses.b));
    } else {
        result->loss_plus = float_loss(model, batch, plus);
        result->loss_minus = float_loss(model, batch, minus);
        result->sign = (int8_t)((result->loss_plus > result->loss_minus) - (result->loss_plus < result->loss_minus));
    }
}

/* What a change of a weight depends on beside its z. */
typedef struct {
    int64_t limit; /* W */
    int64_t sign, shift;
} change_t;

typedef int64_t naive_change_t(int64_t weight, int64_t z, const change_t *change);

static int64_t add_noise(int64_t weight, int64_t z, const change_t *change) {
    return naive_clip127(naive_clip(weight, change->limit) + z);
}

static int64_t take_noise_twice(int64_t weight, int64_t z, const change_t *change) {
    (void)change;
    return naive_clip127(weight - 2 * z);
}

static int64_t restore_and_update(int64_t weight, int64_t z, const change_t *change) {
    const int64_t u = change->shift < 1 ? change->sign * z : naive_psto_shift(change->sign * z, change->shift);
    return naive_clip(naive_clip(weight + z, change->limit) - u, change->limit);
}

static void change_weights(naive_model_t *model, const elasticzo_settings_t *settings, uint32_t step, int8_t sign,
                           naive_change_t *how) {
    const change_t change = {.limit = settings->perturb == PERTURB_EXACT ? 127 - settings->r_max : 127,
                             .sign = sign,
                             .shift = naive_bits(settings->r_max) - settings->b_zo};
    for (uint32_t l = 0; l < settings->partition; l++) {
        const uint8_t layer = graph_weighted_layer(&model->file, (uint8_t)l);
        const uint32_t n = graph_weight_count(graph_layer(&model->file, layer));
        int8_t *z = take(n);
        naive_noise(z, n, settings, step, l);
        for (uint32_t j = 0; j < n; j++) {
            int8_t *weight = &model->weights[layer][j];
            *weight = (int8_t)how(*weight, z[j], &change);
        }
        free(z);
    }
}

static void update_by_gradients(naive_model_t *model, const elasticzo_settings_t *settings) {
    for (uint32_t l = settings->partition; l < graph_weighted(&model->file); l++) {
        const uint8_t layer = graph_weighted_layer(&model->file, (uint8_t)l);
        const uint32_t n = graph_weight_count(graph_layer(&model->file, layer));
        int64_t largest = 0;
        for (uint32_t j = 0; j < n; j++) {
            const int64_t m = llabs(model->gradient[layer][j]);
            largest = m > largest ? m : largest;
        }
        const int64_t s = naive_bits((uint64_t)largest) - settings->b_bp;
        for (uint32_t j = 0; j < n && largest > 0; j++) {
            const int64_t g = s < 1 ? model->gradient[layer][j] : naive_psto_shift(model->gradient[layer][j], s);
            model->weights[layer][j] = (int8_t)naive_clip127(model->weights[layer][j] - g);
        }
    }
}

/* C = 0. */
static void train_by_gradients(naive_model_t *model, const elasticzo_settings_t *settings, const step_batch_t *batch,
                               step_result_t *result) {
    naive_pass_t only = run_pass(model, settings, batch, true);
    if (settings->loss == LOSS_FLOAT) {
        result->loss_plus = result->loss_minus = float_loss(model, batch, &only);
    }
    free_pass(&only);
}

static void train_by_differences(naive_model_t *model, const elasticzo_settings_t *settings, uint32_t step,
                                 const step_batch_t *batch, step_result_t *result) {
    change_weights(model, settings, step, 0, add_noise);
    naive_pass_t plus = run_pass(model, settings, batch, false);
    change_weights(model, settings, step, 0, take_noise_twice);
    naive_pass_t minus = run_pass(model, settings, batch, settings->partition < graph_weighted(&model->file));
    compare_losses(model, settings, batch, &plus, &minus, result);
    change_weights(model, settings, step, result->sign, restore_and_update);
    free_pass(&plus);
    free_pass(&minus);
}

step_result_t naive_step(naive_model_t *model, const elasticzo_settings_t *settings, uint32_t step,
                         const int8_t *samples, const uint8_t *labels, uint32_t count) {
    const step_batch_t batch = {.samples = samples, .labels = labels, .count = count};
    step_result_t result = {.step = step};
    if (settings->partition == 0) {
        train_by_gradients(model, settings, &batch, &result);
    } else {
        train_by_differences(model, settings, step, &batch, &result);
    }
    update_by_gradients(model, settings);
    return result;
}
