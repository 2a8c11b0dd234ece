#include "graph_made.h"

#include <string.h>

#include "arith/xxh32.h"
#include "check.h"

enum { DIGEST_FROM = 16, CHANNEL_BYTES = 16 };

void made_begin(graph_made_t *made, uint16_t h, uint16_t w, uint16_t c, uint16_t classes) {
    *made = (graph_made_t){.header = {.magic = 0x54454E48u,
                                      .version = 4,
                                      .in_h = h,
                                      .in_w = w,
                                      .in_c = c,
                                      .classes = classes,
                                      .scale = 0.0039f,
                                      .zero = (int8_t)draw(-128, 127)},
                           .most_rounding = ROUNDS_SINGLE};
}

graph_layer_t *made_append(graph_made_t *made, enum op op, enum format format, uint8_t value) {
    CHECK(made->header.layers < GRAPH_MAX_LAYERS, "too many layers");
    graph_layer_t *layer = &made->layer[made->header.layers++];
    const graph_layer_t *maker = value > 0 ? &made->layer[value - 1] : NULL;
    *layer = (graph_layer_t){
        .op = (uint8_t)op,
        .format = (uint8_t)format,
        .reads = {value, 0},
        .in_h = maker != NULL ? maker->out_h : made->header.in_h,
        .in_w = maker != NULL ? maker->out_w : made->header.in_w,
        .in_c = maker != NULL ? maker->out_c : made->header.in_c,
    };
    return layer;
}

/* The same in tflite8, with limits and scale that are its own. */
static graph_layer_t *append(graph_made_t *made, enum op op, uint8_t value) {
    const int32_t limit = draw(-128, 0);
    made->output[made->header.layers] = (graph_output_t){
        .scale = (float)draw(1, 99) / 1024.0f,
        .zero = (int8_t)draw(-128, 127),
        .act_min = (int8_t)limit,
        .act_max = (int8_t)draw(limit + 1, 127),
    };
    graph_layer_t *layer = made_append(made, op, FORMAT_TFLITE8, value);
    layer->rounding = (uint8_t)draw(0, made->most_rounding);
    return layer;
}

static uint16_t outputs_of(int32_t in, int32_t kernel, int32_t stride, int32_t padding) {
    const int32_t all = (in + 2 * padding - kernel) / stride + 1, inside = (in + padding - 1) / stride + 1;
    return (uint16_t)(all < inside ? all : inside);
}

void made_window(graph_made_t *made, enum op op, uint8_t value, uint16_t out_c, uint8_t kernel_h, uint8_t kernel_w,
                 uint8_t stride, uint8_t padding) {
    const uint16_t h = value > 0 ? made->layer[value - 1].out_h : made->header.in_h,
                   w = value > 0 ? made->layer[value - 1].out_w : made->header.in_w;
    const layer_shape_t window = {.kernel_h = kernel_h,
                                  .kernel_w = kernel_w,
                                  .stride_h = stride,
                                  .stride_w = stride,
                                  .padding_h = padding,
                                  .padding_w = padding,
                                  .out_h = outputs_of(h, kernel_h, stride, padding),
                                  .out_w = outputs_of(w, kernel_w, stride, padding)};
    made_axes(made, op, value, out_c, &window);
}

void made_axes(graph_made_t *made, enum op op, uint8_t value, uint16_t out_c, const layer_shape_t *window) {
    graph_output_t *output = &made->output[made->header.layers];
    graph_layer_t *layer = append(made, op, value);
    layer->kernel_h = window->kernel_h;
    layer->kernel_w = window->kernel_w;
    layer->stride_h = window->stride_h;
    layer->stride_w = window->stride_w;
    layer->padding_h = window->padding_h;
    layer->padding_w = window->padding_w;
    layer->out_h = window->out_h;
    layer->out_w = window->out_w;
    layer->out_c = layer->in_c;
    if (op == OP_MAX_POOL || op == OP_AVERAGE_POOL) {
        output->zero = value > 0 ? made->output[value - 1].zero : made->header.zero;
        output->scale = value > 0 ? made->output[value - 1].scale : made->header.scale;
        return;
    }
    layer->out_c = op == OP_DEPTHWISE ? layer->in_c : out_c;
    layer->block = (uint8_t)draw(1, 4);
}

void made_fully_connected(graph_made_t *made, uint8_t value, uint16_t outputs) {
    graph_layer_t *layer = append(made, OP_FULLY_CONNECTED, value);
    layer->out_h = layer->out_w = 1;
    layer->out_c = outputs;
    layer->block = (uint8_t)draw(1, 4);
}

void made_add(graph_made_t *made, uint8_t a, uint8_t b) {
    graph_factors_t *factors = &made->factors[made->header.layers];
    graph_layer_t *layer = append(made, OP_ADD, a);
    layer->reads[1] = b;
    layer->out_h = layer->in_h;
    layer->out_w = layer->in_w;
    layer->out_c = layer->in_c;
    for (uint32_t i = 0; i < 3; i++) {
        factors->multiplier[i] = draw(1 << 30, INT32_MAX);
        factors->shift[i] = (int8_t)(i < 2 ? -draw(0, 2) : -draw(17, 20));
    }
}

void made_mean(graph_made_t *made, uint8_t value) {
    graph_mean_t *mean = &made->mean[made->header.layers];
    graph_layer_t *layer = append(made, OP_MEAN, value);
    layer->out_h = layer->out_w = 1;
    layer->out_c = layer->in_c;
    mean->multiplier = draw(1 << 29, INT32_MAX);
    for (uint32_t n = (uint32_t)layer->in_h * layer->in_w; n > 1; n /= 2) {
        mean->shift--;
    }
}

void made_table(graph_made_t *made, uint8_t value) {
    graph_output_t *output = &made->output[made->header.layers];
    graph_layer_t *layer = append(made, OP_TABLE, value);
    output->act_min = -128;
    output->act_max = 127;
    layer->out_h = layer->in_h;
    layer->out_w = layer->in_w;
    layer->out_c = layer->in_c;
}

/* The shift that brings sums of so many products to int8. */
static int8_t shift_for(uint32_t taps) {
    int32_t shift = -5;
    for (uint32_t n = taps; n > 0; n /= 4) {
        shift--;
    }
    return (int8_t)(shift + draw(-1, 1));
}

static bool has_weights(const graph_layer_t *layer) {
    return layer->op == OP_CONV2D || layer->op == OP_FULLY_CONNECTED || layer->op == OP_DEPTHWISE ||
           layer->op == OP_POINTWISE;
}

static uint32_t taps_of(const graph_layer_t *layer) {
    if (layer->op == OP_FULLY_CONNECTED) {
        return (uint32_t)layer->in_h * layer->in_w * layer->in_c;
    }
    return (uint32_t)layer->kernel_h * layer->kernel_w * (layer->op == OP_DEPTHWISE ? 1u : layer->in_c);
}

static uint32_t weights_of(const graph_layer_t *layer) {
    return has_weights(layer) ? taps_of(layer) * layer->out_c : 0;
}

static uint32_t padded(uint32_t size) {
    return (size + 3) / 4 * 4;
}

/* Bias, multiplier, scale, sum and shift of every output channel. */
static void write_channels(const graph_layer_t *layer, const int8_t *weights, int32_t *words) {
    const uint32_t n = layer->out_c, taps = taps_of(layer);
    for (uint32_t o = 0; o < n; o++) {
        const float scale = (float)draw(1, 255) / 65536.0f;
        words[o] = draw(-2000, 2000);
        words[n + o] = draw(1 << 30, INT32_MAX);
        memcpy(words + 2 * n + o, &scale, sizeof scale);
        for (uint32_t t = 0; t < taps; t++) {
            words[3 * n + o] += weights[layer->op == OP_DEPTHWISE ? t * n + o : o * taps + t];
        }
        ((int8_t *)(words + 4 * n))[o] = shift_for(taps);
    }
}

static void write_data(const graph_made_t *made, uint32_t i, int32_t bound) {
    const graph_layer_t *layer = &made->layer[i];
    int8_t *weights = (int8_t *)made->bytes + layer->weights_offset;
    uint8_t *parameters = made->bytes + layer->parameters_offset;
    const uint32_t n = weights_of(layer);
    for (uint32_t j = 0; j < n; j++) {
        weights[j] = (int8_t)draw(-bound, bound);
    }
    if (layer->format != FORMAT_TFLITE8) {
        return;
    }
    memcpy(parameters, &made->output[i], sizeof made->output[i]);
    parameters += sizeof made->output[i];
    if (layer->op == OP_ADD) {
        memcpy(parameters, &made->factors[i], sizeof made->factors[i]);
    }
    if (layer->op == OP_MEAN) {
        memcpy(parameters, &made->mean[i], sizeof made->mean[i]);
    }
    for (uint32_t j = 0; layer->op == OP_TABLE && j < 256; j++) {
        parameters[j] = (uint8_t)draw(0, 255);
    }
    if (has_weights(layer)) {
        write_channels(layer, weights, (int32_t *)(void *)parameters);
    }
}

static uint32_t parameters_of(const graph_layer_t *layer) {
    const uint32_t channels = has_weights(layer) ? layer->out_c : 0;
    const uint32_t own = layer->op == OP_ADD ? 16 : layer->op == OP_MEAN ? 8 : layer->op == OP_TABLE ? 256 : 0;
    return 8 + own + channels * CHANNEL_BYTES + padded(channels);
}

void made_finish(graph_made_t *made, int32_t bound) {
    uint32_t end = 32 + made->header.layers * 36u;
    for (uint32_t i = 0; i < made->header.layers; i++) {
        graph_layer_t *layer = &made->layer[i];
        if (has_weights(layer)) {
            layer->weights_offset = end;
            end += padded(weights_of(layer));
        }
        if (layer->format == FORMAT_TFLITE8) {
            layer->parameters_offset = end;
            end += parameters_of(layer);
        }
    }
    made->size = made->header.size = end;
    made->bytes = take(end);
    memset(made->bytes, 0, end);
    memcpy(made->bytes, &made->header, sizeof made->header);
    memcpy(made->bytes + sizeof made->header, made->layer, made->header.layers * sizeof made->layer[0]);
    for (uint32_t i = 0; i < made->header.layers; i++) {
        write_data(made, i, bound);
    }
    made_seal(made);
}

void made_seal(graph_made_t *made) {
    ((graph_header_t *)(void *)made->bytes)->digest = xxh32(made->bytes + DIGEST_FROM, made->size - DIGEST_FROM, 0);
}

void made_free(graph_made_t *made) {
    free(made->bytes);
}

graph_layer_t *made_record(const graph_made_t *made, uint32_t layer) {
    return (graph_layer_t *)(void *)(made->bytes + sizeof(graph_header_t)) + layer;
}

void made_expect(const graph_made_t *made, uint8_t code, uint32_t a, uint32_t b, const char *what) {
    graph_file_t file;
    const failure_t failure = graph_file_open(&file, made->bytes, made->size);
    CHECK(failure.code == code && failure.a == a && failure.b == b, "%s: code %u, a %u, b %u, not %u, %u, %u", what,
          failure.code, failure.a, failure.b, code, a, b);
}

void made_small(graph_made_t *made) {
    made_begin(made, 13, 11, 3, 4);
    made_window(made, OP_CONV2D, 0, 5, 3, 3, 2, 1);
    made_window(made, OP_DEPTHWISE, 1, 0, 3, 3, 1, 1);
    made_window(made, OP_POINTWISE, 2, 4, 1, 1, 1, 0);
    made_window(made, OP_POINTWISE, 3, 9, 1, 1, 1, 0);
    made_window(made, OP_DEPTHWISE, 4, 0, 5, 3, 1, 1);
    made_window(made, OP_POINTWISE, 5, 4, 1, 1, 1, 0);
    made_window(made, OP_AVERAGE_POOL, 3, 0, 3, 1, 1, 0);
    made_add(made, 7, 6);
    made_window(made, OP_CONV2D, 8, 6, 2, 2, 1, 0);
    made_window(made, OP_DEPTHWISE, 9, 0, 3, 2, 2, 0);
    made_window(made, OP_MAX_POOL, 10, 0, 1, 2, 1, 0);
    made_fully_connected(made, 11, 4);
    made_finish(made, 127);
}

/* A window that fits the value, of any kind. */
static void random_window(graph_made_t *made, enum op op, uint8_t value) {
    const graph_layer_t *maker = value > 0 ? &made->layer[value - 1] : NULL;
    const int32_t h = maker != NULL ? maker->out_h : made->header.in_h,
                  w = maker != NULL ? maker->out_w : made->header.in_w;
    const uint16_t out_c = (uint16_t)draw(1, 9);
    if (op == OP_POINTWISE) {
        made_window(made, op, value, out_c, 1, 1, 1, 0);
        return;
    }
    layer_shape_t window = {.kernel_h = (uint8_t)draw(1, h < 4 ? h : 4),
                            .kernel_w = (uint8_t)draw(1, w < 4 ? w : 4),
                            .stride_h = (uint8_t)draw(1, 3),
                            .stride_w = (uint8_t)draw(1, 3)};
    window.padding_h = (uint8_t)draw(0, window.kernel_h - 1);
    window.padding_w = (uint8_t)draw(0, window.kernel_w - 1);
    window.out_h = outputs_of(h, window.kernel_h, window.stride_h, window.padding_h);
    window.out_w = outputs_of(w, window.kernel_w, window.stride_w, window.padding_w);
    if (draw(0, 3) == 0) { /* more or fewer below and right */
        window.out_h = (uint16_t)draw(1, (h + window.padding_h - 1) / window.stride_h + 1);
        window.out_w = (uint16_t)draw(1, (w + window.padding_w - 1) / window.stride_w + 1);
    }
    made_axes(made, op, value, out_c, &window);
}

void made_with_mean(graph_made_t *made) {
    const layer_shape_t window = {.kernel_h = 3,
                                  .kernel_w = 4,
                                  .stride_h = 1,
                                  .stride_w = 2,
                                  .padding_h = 2,
                                  .padding_w = 0,
                                  .out_h = 6,
                                  .out_w = 3};
    made_begin(made, 6, 7, 2, 4);
    made_table(made, 0);
    made_axes(made, OP_CONV2D, 1, 5, &window);
    made_mean(made, 2);
    made_fully_connected(made, 3, 4);
    made_finish(made, 127);
}

void made_random(graph_made_t *made) {
    static const enum op ops[] = {OP_CONV2D,    OP_DEPTHWISE,       OP_DEPTHWISE, OP_POINTWISE,
                                  OP_POINTWISE, OP_TABLE,           OP_MAX_POOL,  OP_AVERAGE_POOL,
                                  OP_ADD,       OP_FULLY_CONNECTED, OP_MEAN};
    const uint16_t classes = (uint16_t)draw(2, 6);
    made_begin(made, (uint16_t)draw(1, 12), (uint16_t)draw(1, 12), (uint16_t)draw(1, 5), classes);
    for (int32_t layers = draw(0, 9); layers > 0; layers--) {
        const enum op op = ops[draw(0, (int32_t)(sizeof ops / sizeof ops[0]) - 1)];
        const uint8_t last = (uint8_t)made->header.layers, value = draw(0, 3) == 0 ? (uint8_t)draw(0, last) : last;
        if (op == OP_ADD) {
            made_add(made, value, value);
        } else if (op == OP_FULLY_CONNECTED) {
            made_fully_connected(made, value, (uint16_t)draw(1, 9));
        } else if (op == OP_MEAN) {
            made_mean(made, value);
        } else if (op == OP_TABLE) {
            made_table(made, value);
        } else {
            random_window(made, op, value);
        }
    }
    made_fully_connected(made, (uint8_t)made->header.layers, classes);
    made_finish(made, 127);
}
