#include "affine8_made.h"

#include <math.h>
#include <string.h>

#include "check.h"

enum { CHANNELS = 64 };

#define LIMITED(least, most) .act_min = (least), .act_max = (most)
#define UNLIMITED LIMITED(-NO_LIMIT, NO_LIMIT)
#define RELU LIMITED(0.0f, NO_LIMIT)

static const affine8_spec_t network_a[] = {
    {OP_CONV2D, FORMAT_AFFINE8, {0, 0}, 3, 1, 1, 2, 0.0f, 1.3125f, RELU},
    {OP_MAX_POOL, FORMAT_AFFINE8, {1, 0}, 2, 2, 0, 0, 0.0f, 0.0f, UNLIMITED},
    {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {2, 0}, 0, 0, 0, 3, -0.0625f, 0.9375f, UNLIMITED},
};

static const affine8_spec_t network_c[] = {
    {OP_CONV2D, FORMAT_AFFINE8, {0, 0}, 3, 1, 1, 2, 0.0f, 1.3125f, RELU},
    {OP_MAX_POOL, FORMAT_AFFINE8, {1, 0}, 2, 2, 0, 0, 0.0f, 0.0f, UNLIMITED},
    {OP_CAST, FORMAT_FLOAT32, {2, 0}, 0, 0, 0, 0, 0.0f, 0.0f, UNLIMITED},
    {OP_FULLY_CONNECTED, FORMAT_FLOAT32, {3, 0}, 0, 0, 0, 3, 0.0f, 0.0f, UNLIMITED},
};

static const affine8_spec_t network_b[] = {
    {OP_POINTWISE, FORMAT_AFFINE8, {0, 0}, 1, 1, 0, 4, -1.8125f, 3.0f, UNLIMITED},
    {OP_HARD_SWISH, FORMAT_AFFINE8, {1, 0}, 0, 0, 0, 0, -0.375f, 2.9375f, UNLIMITED},
    {OP_DEPTHWISE, FORMAT_AFFINE8, {2, 0}, 3, 1, 1, 0, 0.0f, 1.6875f, LIMITED(0.0f, 6.0f)},
    {OP_AVERAGE_POOL, FORMAT_AFFINE8, {3, 0}, 4, 4, 0, 0, 0.0f, 0.0f, UNLIMITED},
    {OP_POINTWISE, FORMAT_AFFINE8, {4, 0}, 1, 1, 0, 2, 0.0f, 0.375f, RELU},
    {OP_POINTWISE, FORMAT_AFFINE8, {5, 0}, 1, 1, 0, 4, 0.0f, 0.4375f, LIMITED(0.0f, 1.0f)},
    {OP_MULTIPLY, FORMAT_AFFINE8, {3, 6}, 0, 0, 0, 0, 0.0f, 0.4375f, UNLIMITED},
    {OP_POINTWISE, FORMAT_AFFINE8, {7, 0}, 1, 1, 0, 4, -0.1875f, 0.375f, UNLIMITED},
    {OP_ADD, FORMAT_AFFINE8, {8, 2}, 0, 0, 0, 0, -0.5f, 3.1875f, UNLIMITED},
    {OP_CONV2D, FORMAT_AFFINE8, {9, 0}, 3, 2, 1, 3, 0.0f, 2.25f, RELU},
    {OP_AVERAGE_POOL, FORMAT_AFFINE8, {10, 0}, 2, 2, 0, 0, 0.0f, 0.0f, UNLIMITED},
    {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {11, 0}, 0, 0, 0, 3, -0.375f, 0.4375f, UNLIMITED},
};

static int8_t weight(uint32_t l, uint32_t i) {
    return (int8_t)((int32_t)((37 * i + 11 * l + 5) % 256) - 128);
}

static int8_t weight_zero(uint32_t l) {
    return (int8_t)((int32_t)(29 * l % 64) - 32);
}

static float bias_of(const affine8_graph_t *graph, uint32_t l, uint32_t o) {
    return graph->without_biases ? 0.0f : ((float)((3 * o + 2 * l + 1) % 5) - 1.0f) / 8.0f;
}

/* Bytes of a file, one after the other. */
typedef struct {
    uint8_t *to;
    uint32_t at;
} bytes_t;

static void put_u8(bytes_t *bytes, uint32_t value) {
    bytes->to[bytes->at++] = (uint8_t)value;
}

static void put_u32(bytes_t *bytes, uint32_t value) {
    for (uint32_t i = 0; i < 4; i++) {
        put_u8(bytes, value >> 8 * i);
    }
}

static void put_f32(bytes_t *bytes, float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    put_u32(bytes, word);
}

static uint16_t outputs_of(int32_t in, const affine8_spec_t *spec) {
    const int32_t all = (in + 2 * spec->padding - spec->kernel) / spec->stride + 1;
    return (uint16_t)all;
}

static void append(graph_made_t *made, const affine8_spec_t *spec, uint8_t rounding) {
    graph_layer_t *layer = made_append(made, spec->op, spec->format, spec->reads[0]);
    layer->reads[1] = spec->reads[1];
    layer->rounding = spec->format == FORMAT_TFLITE8   ? rounding & 1
                      : spec->format == FORMAT_AFFINE8 ? rounding >> 1
                                                       : 0;
    layer->kernel_h = layer->kernel_w = spec->kernel;
    layer->stride_h = layer->stride_w = spec->stride;
    layer->padding_h = layer->padding_w = spec->padding;
    layer->out_h = spec->kernel > 0 ? outputs_of(layer->in_h, spec) : layer->in_h;
    layer->out_w = spec->kernel > 0 ? outputs_of(layer->in_w, spec) : layer->in_w;
    layer->out_c = spec->out_c > 0 ? spec->out_c : layer->in_c;
    layer->block = graph_has_weights(layer);
    if (spec->op == OP_FULLY_CONNECTED) {
        layer->out_h = layer->out_w = 1;
    }
}

/* s and z of a value, as the text has them. */
static void params_of(const affine8_graph_t *graph, uint8_t value, float *s, int32_t *z) {
    const affine8_spec_t *spec = value > 0 ? &graph->layer[value - 1] : NULL;
    if (spec == NULL) {
        *s = graph->scale;
        *z = graph->zero;
    } else if (spec->op == OP_MAX_POOL || spec->op == OP_AVERAGE_POOL) {
        params_of(graph, spec->reads[0], s, z);
    } else {
        *s = (spec->high - spec->low) / 255.0f;
        const float j = 1.0f / *s, steps = (0.0f - spec->low) * j;
        const float whole = (graph->rounding & 2) != 0 ? floorf(steps) : rintf(steps);
        *z = (int32_t)(whole < 255.0f ? whole : 255.0f) - 128;
    }
}

/* b' of channel o of the l-th layer with weights. */
static int32_t folded_of(const affine8_graph_t *graph, const affine8_spec_t *spec, const graph_layer_t *layer,
                         uint32_t l, uint32_t o) {
    float s;
    int32_t z;
    params_of(graph, spec->reads[0], &s, &z);
    const float j = 1.0f / (s * 0x1p-8f), steps = rintf(fminf(fmaxf(bias_of(graph, l, o) * j, -0x1p29f), 0x1p29f));
    const uint32_t taps = graph_taps(layer);
    int32_t sum = 0;
    for (uint32_t t = 0; t < taps; t++) {
        sum += weight(l, spec->op == OP_DEPTHWISE ? t * layer->out_c + o : o * taps + t) - weight_zero(l);
    }
    return (int32_t)steps - z * sum;
}

static void put_affine8(bytes_t *bytes, const affine8_graph_t *graph, const affine8_spec_t *spec,
                        const graph_layer_t *layer, uint32_t l) {
    const uint32_t channels = graph_has_weights(layer) ? layer->out_c : 0, weights = graph_weight_count(layer);
    for (uint32_t i = 0; i < weights; i++) {
        put_u8(bytes, (uint8_t)weight(l, i));
    }
    while (bytes->at % 4 != 0) {
        put_u8(bytes, 0);
    }
    if (channels > 0) {
        put_f32(bytes, 0x1p-8f);
        put_u32(bytes, (uint8_t)weight_zero(l));
    }
    put_f32(bytes, spec->low);
    put_f32(bytes, spec->high);
    put_f32(bytes, spec->act_min);
    put_f32(bytes, spec->act_max);
    for (uint32_t o = 0; o < channels; o++) {
        put_u32(bytes, (uint32_t)folded_of(graph, spec, layer, l, o));
    }
    for (uint32_t o = 0; o < channels; o++) {
        put_f32(bytes, bias_of(graph, l, o));
    }
}

static void put_float32(bytes_t *bytes, const affine8_graph_t *graph, const affine8_spec_t *spec,
                        const graph_layer_t *layer, uint32_t l) {
    const uint32_t channels = graph_has_weights(layer) ? layer->out_c : 0, weights = graph_weight_count(layer);
    for (uint32_t i = 0; i < weights; i++) {
        put_f32(bytes, (float)(weight(l, i) - weight_zero(l)) / 256.0f);
    }
    put_f32(bytes, spec->act_min);
    put_f32(bytes, spec->act_max);
    for (uint32_t o = 0; o < channels; o++) {
        put_f32(bytes, bias_of(graph, l, o));
    }
}

/* tflite8: one scale, one multiplier; the weights without their zero point, which fit where it is small. */
static void put_tflite8(bytes_t *bytes, const affine8_spec_t *spec, const graph_layer_t *layer, uint32_t l) {
    const uint32_t channels = graph_has_weights(layer) ? layer->out_c : 0, weights = graph_weight_count(layer);
    int32_t sums[CHANNELS] = {0};
    for (uint32_t i = 0; i < weights; i++) {
        const int32_t w = weight(l, i) / 2;
        sums[spec->op == OP_DEPTHWISE ? i % channels : i / graph_taps(layer)] += w;
        put_u8(bytes, (uint8_t)w);
    }
    while (bytes->at % 4 != 0) {
        put_u8(bytes, 0);
    }
    put_f32(bytes, spec->high / 255.0f);
    put_u32(bytes, 0x7F8080); /* zero point and limits: -128; -128, 127 */
    for (uint32_t word = 0; word < 4; word++) {
        for (uint32_t o = 0; o < channels; o++) {
            const uint32_t values[] = {1000 * o, 0x50000000u, 0x3B800000u, (uint32_t)sums[o]};
            put_u32(bytes, values[word]);
        }
    }
    for (uint32_t o = 0; o < (channels + 3) / 4 * 4; o++) {
        put_u8(bytes, o < channels ? (uint8_t)-8 : 0);
    }
}

static uint32_t parameter_bytes(const graph_layer_t *layer) {
    const uint32_t channels = graph_has_weights(layer) ? layer->out_c : 0;
    switch (layer->format) {
    case FORMAT_AFFINE8: return channels > 0 ? 24 + 8 * channels : 16;
    case FORMAT_FLOAT32: return 8 + 4 * channels;
    default: return 8 + 16 * channels + (channels + 3) / 4 * 4;
    }
}

void affine8_finish(graph_made_t *made, const affine8_graph_t *graph) {
    uint32_t end, l = 0;
    made_begin(made, graph->h, graph->w, graph->c, graph->layer[graph->layers - 1].out_c);
    made->header.scale = graph->scale;
    made->header.zero = graph->zero;
    for (uint8_t i = 0; i < graph->layers; i++) {
        append(made, &graph->layer[i], graph->rounding);
    }
    end = 32 + graph->layers * 36u;
    for (uint8_t i = 0; i < graph->layers; i++) {
        graph_layer_t *layer = &made->layer[i];
        if (graph_has_weights(layer)) {
            layer->weights_offset = end;
            end += (graph_weight_count(layer) * (layer->format == FORMAT_FLOAT32 ? 4u : 1u) + 3u) / 4u * 4u;
        }
        layer->parameters_offset = end;
        end += parameter_bytes(layer);
    }
    made->size = made->header.size = end;
    made->bytes = take(end);
    memcpy(made->bytes, &made->header, sizeof made->header);
    memcpy(made->bytes + sizeof made->header, made->layer, graph->layers * sizeof made->layer[0]);
    bytes_t bytes = {.to = made->bytes, .at = 32 + graph->layers * 36u};
    for (uint8_t i = 0; i < graph->layers; i++) {
        const graph_layer_t *layer = &made->layer[i];
        const affine8_spec_t *spec = &graph->layer[i];
        switch (layer->format) {
        case FORMAT_AFFINE8: put_affine8(&bytes, graph, spec, layer, l); break;
        case FORMAT_FLOAT32: put_float32(&bytes, graph, spec, layer, l); break;
        default: put_tflite8(&bytes, spec, layer, l);
        }
        l += graph_has_weights(layer);
    }
    CHECK(bytes.at == end, "%u bytes, not %u", bytes.at, end);
    made_seal(made);
}

void affine8_network(graph_made_t *made, char name, bool in_float32, uint8_t rounding) {
    const bool is_b = name == 'B';
    affine8_spec_t layers[12];
    affine8_graph_t graph = {.h = is_b ? 4 : 6,
                             .w = is_b ? 4 : 6,
                             .c = is_b ? 2 : 1,
                             .scale = is_b ? 0x1p-5f : 1.0f / 255.0f,
                             .zero = is_b ? 0 : -128,
                             .rounding = rounding,
                             .layers = is_b          ? 12
                                       : name == 'A' ? 3
                                                     : 4,
                             .layer = layers};
    memcpy(layers, is_b ? network_b : name == 'A' ? network_a : network_c, graph.layers * sizeof layers[0]);
    for (uint8_t i = 0; in_float32 && i < graph.layers; i++) {
        layers[i].format = FORMAT_FLOAT32;
    }
    affine8_finish(made, &graph);
}
