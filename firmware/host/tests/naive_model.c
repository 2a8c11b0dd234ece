#include "naive_model.h"

#include <string.h>

#include "arith/xxh32.h"
#include "check.h"
#include "kernels/cross_entropy_f32.h"

void naive_model_begin(naive_model_t *model, const network_file_t *file) {
    *model = (naive_model_t){.exponent = {0}};
    CHECK(network_parse(&model->network, file->bytes, file->size).code == 0, "a bad file");
    for (uint32_t i = 0; i < model->network.layers; i++) {
        const layer_t *layer = &model->network.layer[i];
        model->weights[i] = memcpy(take(layer->weights), file->bytes + layer->weights_offset, layer->weights);
        model->out[i] = take(shape_outputs(&layer->shape));
        model->gradient[i] = take(layer->weights * sizeof(int64_t));
    }
}

void naive_model_free(naive_model_t *model) {
    for (uint32_t i = 0; i < model->network.layers; i++) {
        free(model->weights[i]);
        free(model->out[i]);
        free(model->gradient[i]);
    }
}

typedef struct {
    const int8_t *weights, *in, *error;
    int64_t *acc, *gradient, *input_error;
} products_t;

static void add_forward(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const products_t *p = context;
    p->acc[output] += p->weights[weight] * p->in[input];
}

static void add_backward(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const products_t *p = context;
    p->gradient[weight] += p->error[output] * p->in[input];
    p->input_error[input] += p->weights[weight] * p->error[output];
}

static void visit_products(const layer_t *layer, naive_visit_t *visit, products_t *products) {
    const uint32_t inputs = shape_inputs(&layer->shape);
    if (layer->op == OP_CONV2D) {
        naive_conv2d(&layer->shape, visit, products);
        return;
    }
    for (uint32_t i = 0; i < layer->weights; i++) {
        visit(products, i, i % inputs, i / inputs);
    }
}

static int64_t *zeros(uint32_t n) {
    int64_t *values = calloc(n, sizeof *values);
    CHECK(values != NULL, "no memory");
    return values;
}

static void forward_layer(naive_model_t *model, uint32_t i, const int8_t *in, int32_t in_exponent) {
    const layer_t *layer = &model->network.layer[i];
    const uint32_t outputs = shape_outputs(&layer->shape);
    model->exponent[i] = in_exponent;
    if (layer->op == OP_RELU) {
        for (uint32_t j = 0; j < outputs; j++) {
            model->out[i][j] = in[j] < 0 ? 0 : in[j];
        }
    } else if (layer->op == OP_MAX_POOL) {
        naive_max_pool(in, &layer->shape, model->out[i]);
    } else {
        int64_t *acc = zeros(outputs);
        visit_products(layer, add_forward, &(products_t){.weights = model->weights[i], .in = in, .acc = acc});
        model->exponent[i] += layer->weight_exponent + naive_requantize(acc, outputs, model->out[i]);
        free(acc);
    }
}

const int8_t *naive_model_forward(naive_model_t *model, const int8_t *sample) {
    const int8_t *in = sample;
    int32_t exponent = -7;
    for (uint32_t i = 0; i < model->network.layers; i++) {
        forward_layer(model, i, in, exponent);
        in = model->out[i];
        exponent = model->exponent[i];
    }
    return in;
}

static void gather(naive_model_t *model, uint32_t i, const int64_t *gradient, int64_t x, bool first) {
    int64_t *exponent = &model->gradient_exponent[i];
    for (uint32_t j = 0; j < model->network.layer[i].weights; j++) {
        int64_t *g = &model->gradient[i][j];
        if (first) {
            *g = 0;
        } else if (x > *exponent) {
            *g = naive_trunc(*g, x - *exponent);
        }
        const int64_t common = first || x > *exponent ? x : *exponent;
        *g = naive_sat32(*g + naive_trunc(gradient[j], common - x));
    }
    *exponent = first || x > *exponent ? x : *exponent;
}

/* Replaces the error of the layer's output, in `error`, by that of its input. */
static void backward_layer(naive_model_t *model, uint32_t i, const int8_t *in, int32_t in_exponent, int8_t **error,
                           int32_t *exponent, bool first) {
    const layer_t *layer = &model->network.layer[i];
    const uint32_t inputs = shape_inputs(&layer->shape);
    int8_t *input_error = take(inputs);
    if (layer->op == OP_RELU) {
        for (uint32_t j = 0; j < inputs; j++) {
            input_error[j] = model->out[i][j] > 0 ? (*error)[j] : 0;
        }
    } else if (layer->op == OP_MAX_POOL) {
        naive_max_pool_backward(in, *error, &layer->shape, input_error);
    } else {
        int64_t *gradient = zeros(layer->weights), *acc = zeros(inputs);
        products_t products = {
            .weights = model->weights[i], .in = in, .error = *error, .gradient = gradient, .input_error = acc};
        visit_products(layer, add_backward, &products);
        gather(model, i, gradient, *exponent + in_exponent, first);
        *exponent += layer->weight_exponent + naive_requantize(acc, inputs, input_error);
        free(gradient);
        free(acc);
    }
    free(*error);
    *error = input_error;
}

uint32_t naive_digest(const int8_t *values, uint32_t n, int32_t exponent) {
    uint8_t *bytes = memcpy(take(n + 2), values, n);
    put_u16(bytes + n, (uint32_t)exponent & 0xFFFFu);
    const uint32_t digest = xxh32(bytes, n + 2, 0);
    free(bytes);
    return digest;
}

static void note_error(naive_model_t *model, const int8_t *error, uint32_t n, int32_t exponent) {
    model->error_digest[model->errors++] = naive_digest(error, n, exponent);
}

void naive_model_backward(naive_model_t *model, uint8_t partition, const int8_t *sample, uint8_t label, bool first) {
    const uint32_t last = model->network.layers - 1u;
    const uint32_t first_bp = partition < model->network.tensors ? model->network.tensor_layer[partition] : last + 1;
    int8_t *error = take(model->network.classes);
    int32_t exponent = -7;
    naive_softmax_error(model->out[last], model->network.classes, model->exponent[last], label, error);
    model->errors = 0;
    note_error(model, error, model->network.classes, exponent);
    for (uint32_t i = last + 1; i-- > first_bp;) {
        const int8_t *in = i == 0 ? sample : model->out[i - 1];
        const int32_t in_exponent = i == 0 ? -7 : model->exponent[i - 1];
        backward_layer(model, i, in, in_exponent, &error, &exponent, first);
        if (i > first_bp) {
            note_error(model, error, shape_inputs(&model->network.layer[i].shape), exponent);
        }
    }
    free(error);
}

static float pass(naive_model_t *model, const settings_t *settings, const int8_t *samples, const uint8_t *labels, uint32_t count,
                  bool backwards) {
    const uint32_t inputs = shape_inputs(&model->network.layer[0].shape), last = model->network.layers - 1u;
    float total = 0.0f;
    for (uint32_t b = 0; b < count; b++) {
        const int8_t *logits = naive_model_forward(model, samples + b * inputs);
        total += cross_entropy_f32(logits, model->network.classes, model->exponent[last], labels[b]);
        if (backwards) {
            naive_model_backward(model, settings->partition, samples + b * inputs, labels[b], b == 0);
        }
    }
    return total;
}

typedef int64_t naive_change_t(int64_t weight, int64_t z, int64_t sign, int64_t s);

static int64_t add_noise(int64_t weight, int64_t z, int64_t sign, int64_t s) {
    (void)sign;
    (void)s;
    return naive_clip127(weight + z);
}

static int64_t take_noise_twice(int64_t weight, int64_t z, int64_t sign, int64_t s) {
    (void)sign;
    (void)s;
    return naive_clip127(weight - 2 * z);
}

static int64_t restore_and_update(int64_t weight, int64_t z, int64_t sign, int64_t s) {
    const int64_t u = s < 1 ? sign * z : naive_psto_shift(sign * z, s);
    return naive_clip127(naive_clip127(weight + z) - u);
}

static void change_weights(naive_model_t *model, const settings_t *settings, uint32_t step, int8_t sign, naive_change_t *change) {
    for (uint32_t l = 0; l < settings->partition; l++) {
        const uint32_t layer = model->network.tensor_layer[l], n = model->network.layer[layer].weights;
        int8_t *z = take(n);
        naive_noise(z, n, settings, step, l);
        for (uint32_t j = 0; j < n; j++) {
            int8_t *weight = &model->weights[layer][j];
            *weight = (int8_t)change(*weight, z[j], sign, naive_bits(settings->r_max) - settings->b_zo);
        }
        free(z);
    }
}

static void update_by_gradients(naive_model_t *model, const settings_t *settings) {
    for (uint32_t l = settings->partition; l < model->network.tensors; l++) {
        const uint32_t layer = model->network.tensor_layer[l], n = model->network.layer[layer].weights;
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

step_result_t naive_model_step(naive_model_t *model, const settings_t *settings, uint32_t step, const int8_t *samples,
                               const uint8_t *labels, uint32_t count) {
    step_result_t result = {.step = step};
    if (settings->partition == 0) {
        result.loss_plus = result.loss_minus = pass(model, settings, samples, labels, count, true);
    } else {
        change_weights(model, settings, step, 0, add_noise);
        result.loss_plus = pass(model, settings, samples, labels, count, false);
        change_weights(model, settings, step, 0, take_noise_twice);
        result.loss_minus = pass(model, settings, samples, labels, count, settings->partition < model->network.tensors);
        result.sign = (int8_t)((result.loss_plus > result.loss_minus) - (result.loss_plus < result.loss_minus));
        change_weights(model, settings, step, result.sign, restore_and_update);
    }
    update_by_gradients(model, settings);
    return result;
}
