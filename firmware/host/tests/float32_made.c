#include "float32_made.h"

#include <string.h>

#include "check.h"
#include "trainer/registry.h"

const limits_f32_t no_limits = {-MOST_F32, MOST_F32}, relu_limits = {0.0f, MOST_F32}, relu6_limits = {0.0f, 6.0f};

/* Bytes of the weights and of the parameters of a layer. */
static uint32_t weight_bytes(const graph_layer_t *layer) {
    return graph_has_weights(layer) ? graph_weight_count(layer) * 4u : 0;
}

static uint32_t parameter_bytes(const graph_layer_t *layer) {
    return 8u + 4u * graph_channels(layer);
}

static void write_tensor(uint8_t *to, uint32_t n, uint32_t tensor, float (*element)(uint32_t, uint32_t)) {
    for (uint32_t i = 0; i < n; i++) {
        const float x = element(tensor, i);
        memcpy(to + 4 * i, &x, sizeof x);
    }
}

void float32_finish(graph_made_t *made, float scale, int8_t zero, const limits_f32_t *limits,
                    float (*element)(uint32_t tensor, uint32_t i)) {
    uint32_t end = 32 + made->header.layers * 36u, tensor = 0;
    for (uint32_t l = 0; l < made->header.layers; l++) {
        graph_layer_t *layer = &made->layer[l];
        layer->format = FORMAT_FLOAT32;
        layer->rounding = 0;
        layer->weights_offset = graph_has_weights(layer) ? end : 0;
        layer->parameters_offset = end + weight_bytes(layer);
        end = layer->parameters_offset + parameter_bytes(layer);
    }
    made->header.scale = scale;
    made->header.zero = zero;
    made->size = made->header.size = end;
    made->bytes = take(end);
    memcpy(made->bytes, &made->header, sizeof made->header);
    memcpy(made->bytes + sizeof made->header, made->layer, made->header.layers * sizeof made->layer[0]);
    for (uint32_t l = 0; l < made->header.layers; l++) {
        const graph_layer_t *layer = &made->layer[l];
        memcpy(made->bytes + layer->parameters_offset, &limits[l], sizeof limits[l]);
        if (graph_has_weights(layer)) {
            write_tensor(made->bytes + layer->weights_offset, graph_weight_count(layer), tensor++, element);
            write_tensor(made->bytes + layer->parameters_offset + 8, layer->out_c, tensor++, element);
        }
    }
    made_seal(made);
}

static uint32_t no_cycles(void) {
    return 0;
}

static failure_t use(const float32_trainee_t *trainee, const graph_made_t *made, uint32_t size,
                     const elasticzo_fp32_settings_t *settings, uint32_t *planned) {
    engine_init(trainee->engine, registry_formats, trainee->arena, size, no_cycles);
    CHECK(engine_load_begin(trainee->engine, made->size).code == 0, "load_begin");
    CHECK(engine_load_data(trainee->engine, 0, made->bytes, made->size).code == 0, "load_data");
    const failure_t failure = engine_load_end(trainee->engine);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return engine_configure(trainee->engine, registry_method(settings->method), settings, planned);
}

float32_trainee_t float32_trainee_new(const graph_made_t *made, const elasticzo_fp32_settings_t *settings) {
    float32_trainee_t trainee = {.engine = take(sizeof *trainee.engine), .arena = take(made->size)};
    failure_t failure = use(&trainee, made, made->size, settings, &trainee.planned);
    CHECK(failure.code == FAILURE_DOES_NOT_FIT, "a file alone fills an arena of its size: code %u", failure.code);
    free(trainee.arena);
    trainee.arena = take(trainee.planned);
    failure = use(&trainee, made, trainee.planned, settings, &trainee.planned);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return trainee;
}

void float32_trainee_free(float32_trainee_t *trainee) {
    free(trainee->engine);
    free(trainee->arena);
}

float vector_element(uint32_t tensor, uint32_t i) {
    return (float)((int32_t)((5 * i + 3 * tensor + 2) % 11) - 5) / 8.0f;
}

uint8_t vector_pixel(uint32_t sample, uint32_t i) {
    return (uint8_t)(31 * i + 17 * sample + 5);
}

elasticzo_fp32_settings_t vector_settings(uint8_t partition) {
    return (elasticzo_fp32_settings_t){.method = METHOD_ELASTICZO_FP32,
                                       .partition = partition,
                                       .epsilon = 0.001f,
                                       .eta = 0.05f,
                                       .g_clip = 2.0f,
                                       .batch = 2,
                                       .slots = 2,
                                       .seed = 1};
}

void made_network_a(graph_made_t *made) {
    const limits_f32_t limits[] = {relu_limits, no_limits, no_limits};
    made_begin(made, 6, 6, 1, 3);
    made_window(made, OP_CONV2D, 0, 2, 3, 3, 1, 1);
    made_window(made, OP_MAX_POOL, 1, 0, 2, 2, 2, 0);
    made_fully_connected(made, 2, 3);
    float32_finish(made, 0x1.010102p-8f, -128, limits, vector_element);
}

void made_network_b(graph_made_t *made) {
    const limits_f32_t limits[] = {relu6_limits, relu_limits, no_limits, no_limits, relu_limits, no_limits, no_limits};
    made_begin(made, 4, 4, 2, 3);
    made_window(made, OP_POINTWISE, 0, 4, 1, 1, 1, 0);
    made_window(made, OP_DEPTHWISE, 1, 0, 3, 3, 1, 1);
    made_window(made, OP_POINTWISE, 2, 4, 1, 1, 1, 0);
    made_add(made, 3, 1);
    made_window(made, OP_CONV2D, 4, 3, 3, 3, 2, 1);
    made_window(made, OP_AVERAGE_POOL, 5, 0, 2, 2, 2, 0);
    made_fully_connected(made, 6, 3);
    float32_finish(made, 0x1p-7f, 0, limits, vector_element);
}

void vector_fill(engine_t *engine, uint16_t first, uint16_t count) {
    const uint32_t n = (uint32_t)graph_elements(&engine->model.file, 0);
    uint8_t *pixels = take(n);
    for (uint16_t slot = 0; slot < count; slot++) {
        const uint32_t sample = (uint32_t)first + slot;
        for (uint32_t i = 0; i < n; i++) {
            pixels[i] = vector_pixel(sample, i);
        }
        CHECK(engine_put_sample(engine, slot, (uint8_t)sample, pixels, n).code == 0, "a slot");
    }
    free(pixels);
}

void float32_fill(const float32_trainee_t *trainee, uint16_t first, uint16_t count) {
    vector_fill(trainee->engine, first, count);
}
