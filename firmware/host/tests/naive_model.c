#include "naive_model.h"

#include <string.h>

#include "arith/xxh32.h"
#include "check.h"

void naive_model_begin(naive_model_t *model, const graph_made_t *made, uint32_t most) {
    *model = (naive_model_t){.exponent = {0}};
    CHECK(graph_file_open(&model->file, made->bytes, made->size).code == 0, "a bad file");
    for (uint32_t i = 0; i < model->file.layers; i++) {
        const graph_layer_t *layer = graph_layer(&model->file, (uint8_t)i);
        const uint32_t n = graph_weight_count(layer);
        model->weights[i] = memcpy(take(n), made->bytes + layer->weights_offset, n);
        model->out[i] = take(most * graph_outputs(layer));
        model->gradient[i] = take(n * sizeof(int64_t));
    }
}

void naive_model_free(naive_model_t *model) {
    for (uint32_t i = 0; i < model->file.layers; i++) {
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

static void visit_products(const graph_layer_t *layer, naive_visit_t *visit, products_t *products) {
    const uint32_t inputs = graph_inputs(layer), n = graph_weight_count(layer);
    if (layer->op == OP_CONV2D) {
        const layer_shape_t shape = graph_shape(layer);
        naive_conv2d(&shape, visit, products);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        visit(products, i, i % inputs, i / inputs);
    }
}

static int64_t *zeros(uint32_t n) {
    int64_t *values = calloc(n, sizeof *values);
    CHECK(values != NULL, "no memory");
    return values;
}

/* conv2d and fully_connected: the largest of all sums of the group decides its exponent. */
static void forward_trained(naive_model_t *model, uint32_t i, const int8_t *in, uint32_t count) {
    const graph_layer_t *layer = graph_layer(&model->file, (uint8_t)i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    int64_t *acc = zeros(count * outputs);
    for (uint32_t b = 0; b < count; b++) {
        products_t products = {.weights = model->weights[i], .in = in + b * inputs, .acc = acc + b * outputs};
        visit_products(layer, add_forward, &products);
    }
    model->exponent[i] += layer->weight_exponent + naive_requantize(acc, count * outputs, model->out[i]);
    free(acc);
}

static void forward_layer(naive_model_t *model, uint32_t i, const int8_t *in, int32_t in_exponent, uint32_t count) {
    const graph_layer_t *layer = graph_layer(&model->file, (uint8_t)i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    const layer_shape_t shape = graph_shape(layer);
    model->exponent[i] = in_exponent;
    if (layer->op == OP_RELU) {
        for (uint32_t j = 0; j < count * outputs; j++) {
            model->out[i][j] = in[j] < 0 ? 0 : in[j];
        }
    } else if (layer->op == OP_MAX_POOL) {
        for (uint32_t b = 0; b < count; b++) {
            naive_max_pool(in + b * inputs, &shape, model->out[i] + b * outputs);
        }
    } else {
        forward_trained(model, i, in, count);
    }
}

const int8_t *naive_model_forward(naive_model_t *model, const int8_t *samples, uint32_t count) {
    const int8_t *in = samples;
    int32_t exponent = -7;
    for (uint32_t i = 0; i < model->file.layers; i++) {
        forward_layer(model, i, in, exponent, count);
        in = model->out[i];
        exponent = model->exponent[i];
    }
    return in;
}

/* One sample's gradient into G. */
static void gather(naive_model_t *model, uint32_t i, const int64_t *gradient, int64_t x, bool first) {
    int64_t *exponent = &model->gradient_exponent[i];
    for (uint32_t j = 0; j < graph_weight_count(graph_layer(&model->file, (uint8_t)i)); j++) {
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

/* A group's errors on their way towards the input, with what the layer had as its input. */
typedef struct {
    int8_t *error;
    int32_t exponent;
    const int8_t *in;
    int32_t in_exponent;
    uint32_t count;
    bool first;
} way_t;

static void backward_trained(naive_model_t *model, uint32_t i, way_t *way, int8_t *input_error) {
    const graph_layer_t *layer = graph_layer(&model->file, (uint8_t)i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    int64_t *acc = zeros(way->count * inputs);
    for (uint32_t b = 0; b < way->count; b++) {
        int64_t *gradient = zeros(graph_weight_count(layer));
        products_t products = {.weights = model->weights[i],
                               .in = way->in + b * inputs,
                               .error = way->error + b * outputs,
                               .gradient = gradient,
                               .input_error = acc + b * inputs};
        visit_products(layer, add_backward, &products);
        gather(model, i, gradient, way->exponent + way->in_exponent, way->first && b == 0);
        free(gradient);
    }
    way->exponent += layer->weight_exponent + naive_requantize(acc, way->count * inputs, input_error);
    free(acc);
}

/* Replaces the errors of the layer's outputs by those of its inputs. */
static void backward_layer(naive_model_t *model, uint32_t i, way_t *way) {
    const graph_layer_t *layer = graph_layer(&model->file, (uint8_t)i);
    const uint32_t inputs = graph_inputs(layer), outputs = graph_outputs(layer);
    const layer_shape_t shape = graph_shape(layer);
    int8_t *input_error = take(way->count * inputs);
    if (layer->op == OP_RELU) {
        for (uint32_t j = 0; j < way->count * inputs; j++) {
            input_error[j] = model->out[i][j] > 0 ? way->error[j] : 0;
        }
    } else if (layer->op == OP_MAX_POOL) {
        for (uint32_t b = 0; b < way->count; b++) {
            naive_max_pool_backward(way->in + b * inputs, way->error + b * outputs, &shape, input_error + b * inputs);
        }
    } else {
        backward_trained(model, i, way, input_error);
    }
    free(way->error);
    way->error = input_error;
}

uint32_t naive_digest(const int8_t *values, uint32_t n, int32_t exponent) {
    uint8_t *bytes = memcpy(take(n + 2), values, n);
    const int16_t last = (int16_t)exponent;
    memcpy(bytes + n, &last, sizeof last);
    const uint32_t digest = xxh32(bytes, n + 2, 0);
    free(bytes);
    return digest;
}

static void note_error(naive_model_t *model, const way_t *way, uint32_t n) {
    model->error_digest[model->errors++] = naive_digest(way->error + model->observed * n, n, way->exponent);
}

void naive_model_backward(naive_model_t *model, const elasticzo_settings_t *settings, const int8_t *samples,
                          const uint8_t *labels, uint32_t count, bool first) {
    const uint8_t partition = settings->partition;
    const uint32_t last = model->file.layers - 1u, classes = graph_header(&model->file)->classes;
    const uint32_t first_bp = graph_weighted_layer(&model->file, partition);
    way_t way = {.error = take(count * classes), .exponent = -7, .count = count, .first = first};
    for (uint32_t b = 0; b < count; b++) {
        naive_softmax_error(model->out[last] + b * classes, classes, model->exponent[last], labels[b],
                            settings->logit_error, way.error + b * classes);
    }
    model->errors = 0;
    note_error(model, &way, classes);
    for (uint32_t i = last + 1; i-- > first_bp;) {
        way.in = i == 0 ? samples : model->out[i - 1];
        way.in_exponent = i == 0 ? -7 : model->exponent[i - 1];
        backward_layer(model, i, &way);
        if (i > first_bp) {
            note_error(model, &way, graph_inputs(graph_layer(&model->file, (uint8_t)i)));
        }
    }
    free(way.error);
}
