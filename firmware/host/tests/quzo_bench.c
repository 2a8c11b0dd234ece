#include "quzo_bench.h"

#include <math.h>

#include "arith/random.h"
#include "check.h"
#include "formats/w16a8.h"
#include "kernels/directions.h"

enum { ARENA = 1 << 16 };

const quzo_settings_t quzo_plain = {.method = METHOD_QUZO,
                                    .batch = 2,
                                    .slots = 2,
                                    .seed = 1,
                                    .directions = 1,
                                    .epsilon = 0.01f,
                                    .eta = 0.01f,
                                    .last_layers = 64};

static uint32_t no_cycles(void) {
    return 0;
}

quzo_bench_t quzo_bench_of(uint8_t *bytes, uint32_t size, bool flash) {
    quzo_bench_t bench = {.engine = take(sizeof *bench.engine), .arena = take(ARENA)};
    engine_init(bench.engine, registry_formats, bench.arena, ARENA, no_cycles);
    if (!flash) {
        CHECK(engine_load_begin(bench.engine, size).code == 0, "load_begin");
        CHECK(engine_load_data(bench.engine, 0, bytes, size).code == 0, "load_data");
    }
    const failure_t failure = flash ? engine_use_flash(bench.engine, bytes, size) : engine_load_end(bench.engine);
    CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return bench;
}

void quzo_bench_free(quzo_bench_t *bench) {
    free(bench->engine);
    free(bench->arena);
}

failure_t quzo_configure(quzo_bench_t *bench, const quzo_settings_t *settings) {
    bench->settings = *settings;
    return engine_configure(bench->engine, registry_method(METHOD_QUZO), settings, &bench->planned);
}

void quzo_put(quzo_bench_t *bench, uint16_t slot, uint16_t sample) {
    const graph_file_t *file = &bench->engine->model.file;
    const uint32_t n = (uint32_t)graph_elements(file, 0);
    uint8_t *pixels = take(n);
    for (uint32_t i = 0; i < n; i++) {
        pixels[i] = (uint8_t)((sample + 1u) * 2654435761u * (i + 7) >> 11);
    }
    const uint16_t label = (uint16_t)(sample % graph_header(file)->classes);
    CHECK(engine_put_sample(bench->engine, slot, label, pixels, n).code == 0, "a sample");
    free(pixels);
}

void quzo_part(quzo_bench_t *bench, uint32_t step, uint8_t pass, uint16_t sample) {
    quzo_put(bench, 0, sample);
    const failure_t failure = engine_part(bench->engine, step, pass, sample, 1);
    CHECK(failure.code == 0, "part: code %u, a %u, b %u", failure.code, failure.a, failure.b);
}

step_result_t quzo_step(quzo_bench_t *bench, uint32_t step, uint16_t count, bool at_once, uint32_t digests[]) {
    step_result_t result;
    const uint16_t passes = bench->engine->model.training.passes;
    for (uint16_t pass = 0; !at_once && pass < passes; pass++) {
        for (uint16_t sample = 0; sample < count; sample++) {
            quzo_part(bench, step, (uint8_t)pass, sample);
        }
    }
    for (uint16_t sample = 0; at_once && sample < count; sample++) {
        quzo_put(bench, sample, sample);
    }
    const failure_t failure = engine_step(bench->engine, step, count, &result, digests);
    CHECK(failure.code == 0, "step: code %u, a %u, b %u", failure.code, failure.a, failure.b);
    return result;
}

uint32_t quzo_outcome(quzo_bench_t *bench, uint16_t count, bool at_once) {
    uint32_t digests[ENGINE_MAX_TENSORS], sum = 0;
    for (uint32_t step = 0; step < 3; step++) {
        const step_result_t result = quzo_step(bench, step, count, at_once, digests);
        for (uint8_t t = 0; t < model_tensors(&bench->engine->model); t++) {
            sum = sum * 31u + digests[t];
        }
        sum = sum * 31u + (uint32_t)(result.loss_plus * 0x1p20f) * 7u + (uint32_t)(result.loss_minus * 0x1p20f);
    }
    quzo_bench_free(bench);
    return sum;
}

static const graph_layer_t *layer_of(const quzo_bench_t *bench, uint8_t tensor) {
    const model_t *model = &bench->engine->model;
    return graph_layer(&model->file, model_tensor(model, tensor).layer);
}

uint32_t quzo_weights_of(const quzo_bench_t *bench, uint8_t tensor) {
    return graph_weight_count(layer_of(bench, tensor));
}

int32_t quzo_weight(const quzo_bench_t *bench, uint8_t tensor, uint32_t i) {
    const uint8_t *bytes = model_tensor(&bench->engine->model, tensor).bytes;
    return layer_of(bench, tensor)->format == FORMAT_TFLITE8 ? ((const int8_t *)bytes)[i]
                                                             : ((const int16_t *)(const void *)bytes)[i];
}

int32_t naive_scale(const quzo_bench_t *bench, uint8_t tensor, uint32_t i, int32_t *largest) {
    const graph_file_t *file = &bench->engine->model.file;
    const graph_layer_t *layer = layer_of(bench, tensor);
    const uint8_t l = model_tensor(&bench->engine->model, tensor).layer;
    float unit;
    if (layer->format == FORMAT_TFLITE8) {
        const uint32_t channel = layer->op == OP_DEPTHWISE ? i % layer->out_c : i / graph_taps(layer);
        unit = graph_parameters(file, layer).scale[channel];
        *largest = 127;
    } else {
        unit = w16a8_parameters(file, l)->scale;
        *largest = w16a8_parameters(file, l)->largest;
    }
    const float quotient = bench->settings.epsilon / unit;
    return (int32_t)fmin(rint((double)quotient * 2048.0), 8388608.0);
}

/* Draw `i` of a stream. */
static uint32_t word_of(naive_draw_t draw, uint32_t stream, uint32_t i) {
    uint32_t state = stream_start(draw.seed, draw.step, stream);
    for (uint32_t drawn = 0; drawn <= i; drawn++) {
        state = xorshift32(state);
    }
    return state;
}

int64_t naive_floor(int64_t x) {
    const int64_t rest = (x % 65536 + 65536) % 65536;
    return (x - rest) / 65536;
}

int32_t naive_z(naive_draw_t draw, uint32_t i) {
    const uint32_t word = word_of(draw, 256 * draw.direction + draw.tensor + 1, i / 12);
    const uint32_t field = word >> (9 * (i / 4 % 3)) & 511u;
    const uint32_t byte = word_of(draw, 0, field & 255u) >> (8 * (i % 4)) & 255u;
    return field < 256 ? direction_gaussian[byte] : -direction_gaussian[byte];
}

static int32_t rounded(naive_draw_t draw, uint32_t i, int32_t scale, uint32_t shift) {
    const uint32_t word = word_of(draw, 0x10000 + 256 * draw.direction + draw.tensor + 1, i);
    return (int32_t)naive_floor((int64_t)scale * naive_z(draw, i) + (word >> shift & 0xFFFFu));
}

int32_t naive_u(naive_draw_t draw, uint32_t i, int32_t scale) {
    return rounded(draw, i, scale, 0);
}

int32_t naive_v(naive_draw_t draw, uint32_t i, int32_t scale) {
    return rounded(draw, i, scale, 16);
}

int32_t naive_r(naive_draw_t draw, uint32_t i) {
    return (int32_t)(word_of(draw, 0x20000 + draw.tensor + 1, i) >> 16);
}

int32_t naive_limit(int32_t scale, int32_t largest) {
    return largest - (int32_t)naive_floor(92ll * scale + 65535);
}

/* By quotients and doublings: no digit is counted, and nothing is shifted. */
naive_scaled_t naive_scaled(int32_t multiplier, int32_t shift, int64_t gain) {
    const int64_t product = multiplier * gain, beyond = INT64_C(1) << 31;
    naive_scaled_t scaled = {.shift = shift - 24};
    int64_t unit = 1;
    for (; product / unit >= beyond; unit *= 2) {
        scaled.shift++;
    }
    scaled.multiplier = (2 * product + unit) / (2 * unit);
    if (scaled.multiplier == beyond) {
        scaled.multiplier /= 2;
        scaled.shift++;
    }
    return scaled;
}

int64_t naive_held_gain(int64_t gain, int32_t scale) {
    const int64_t least = (1 << 22) + 92 * (int64_t)scale, most = (1 << 26) - 92 * (int64_t)scale;
    return gain < least ? least : gain > most ? most : gain;
}

int64_t naive_gain_move(int64_t factor, int32_t z) {
    const int64_t sum = factor * z + 128, rest = (sum % 256 + 256) % 256;
    return (sum - rest) / 256;
}
