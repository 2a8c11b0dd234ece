/* mean and table of tflite8: the kernels against the text, and mean in back-propagation. */
#include <stddef.h>
#include <string.h>

#include "check.h"
#include "graph_trainee.h"
#include "kernels/elementwise.h"
#include "kernels/pooling.h"
#include "naive_tflite.h"
#include "tflite_drawn.h"

enum { ROUNDS = 1000 };

static tflite_mean_t draw_mean(uint32_t positions) {
    const bool limited = draw(0, 1) == 1;
    const int32_t least = limited ? draw(-128, 127) : -128;
    int32_t shift = draw(-1, 2);
    for (uint32_t n = positions; n > 1; n /= 2) {
        shift--;
    }
    return (tflite_mean_t){.multiplier = draw(0, 3) == 0 ? 1 << 29 : draw(1 << 29, INT32_MAX),
                           .shift = (int8_t)(draw(0, 4) == 0 ? draw(-31, 30) : shift),
                           .input_zero = (int8_t)draw(-128, 127),
                           .output_zero = (int8_t)draw(-128, 127),
                           .act_min = (int8_t)least,
                           .act_max = (int8_t)(limited ? draw(least, 127) : 127),
                           .single = draw(0, 1) == 1};
}

static void check_mean(uint32_t positions, uint32_t channels, const tflite_mean_t *mean, const int8_t *in) {
    int8_t *out = take(channels), *expected = take(channels);
    for (uint32_t c = 0; c < channels; c++) {
        int64_t acc = 0;
        for (uint32_t p = 0; p < positions; p++) {
            acc += in[p * channels + c] - mean->input_zero;
        }
        const int64_t scaled =
            (mean->single ? naive_rescale_single : naive_rescale_double)(acc, mean->multiplier, mean->shift);
        expected[c] = (int8_t)naive_clamp(mean->output_zero + scaled, mean->act_min, mean->act_max);
    }
    tflite_mean_s8(in, positions, channels, mean, out);
    check_s8(out, expected, channels, "tflite_mean_s8");
    free(out);
    free(expected);
}

static void test_means(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t positions = (uint32_t)draw(1, 70), channels = (uint32_t)draw(1, 9);
        int8_t *in = draw_bytes(positions * channels), *error = draw_s8(channels, 127);
        int8_t *spread = take(positions * channels);
        const tflite_mean_t mean = draw_mean(positions);
        check_mean(positions, channels, &mean, in);
        tflite_mean_s8_backward(error, positions, channels, spread);
        for (uint32_t i = 0; i < positions * channels; i++) {
            CHECK(spread[i] == error[i % channels], "position %u, channel %u", i / channels, i % channels);
        }
        free(in);
        free(error);
        free(spread);
    }
}

/* 2^16 positions as far from the zero point as there are, at the ends of multipliers and shifts. */
static void test_largest_sum(void) {
    enum { POSITIONS = 1 << 16 };
    int8_t *in = memset(take(POSITIONS), -128, POSITIONS);
    for (uint32_t i = 0; i < 16; i++) {
        const tflite_mean_t mean = {.multiplier = i % 2 == 0 ? 1 << 29 : INT32_MAX,
                                    .shift = i / 2 % 2 == 0 ? -31 : 30,
                                    .input_zero = 127,
                                    .output_zero = i / 4 % 2 == 0 ? -128 : 127,
                                    .act_min = -128,
                                    .act_max = 127,
                                    .single = i / 8 == 1};
        check_mean(POSITIONS, 1, &mean, in);
    }
    free(in);
}

static void test_tables(void) {
    int8_t *table = draw_bytes(256);
    int8_t in[256], out[256];
    for (int32_t q = -128; q < 128; q++) {
        in[255 - (q + 128)] = (int8_t)q; /* every input, in another order than the entries */
    }
    tflite_table_s8(in, 256, table, out);
    for (uint32_t i = 0; i < 256; i++) {
        CHECK(out[i] == table[255 - i], "input %d", in[i]);
    }
    out[0] = 99;
    tflite_table_s8(in, 0, table, out);
    CHECK(out[0] == 99, "nothing of nothing");
    tflite_table_s8(in, 256, table, in);
    for (uint32_t i = 0; i < 256; i++) {
        CHECK(in[i] == table[255 - i], "in place");
    }
    free(table);
}

/* conv; average_pool or mean over all of it; fc. The mean has the factor 1/n, n a power of two. */
static void make(graph_made_t *made, bool mean, uint16_t h, uint16_t w, const uint8_t *others) {
    made_begin(made, h, w, 2, 3);
    made_window(made, OP_POINTWISE, 0, 4, 1, 1, 1, 0);
    if (mean) {
        made_mean(made, 1);
        made->mean[1] = (graph_mean_t){.multiplier = 1 << 30, .shift = 1};
        for (uint32_t n = (uint32_t)h * w; n > 1; n /= 2) {
            made->mean[1].shift--;
        }
        made->output[1] = made->output[0];
    } else {
        made_window(made, OP_AVERAGE_POOL, 1, 0, (uint8_t)h, (uint8_t)w, 1, 0);
    }
    made->output[1].act_min = -128;
    made->output[1].act_max = 127;
    made_fully_connected(made, 2, 3);
    made_finish(made, 127);
    if (others != NULL) { /* the bytes of the same layers of the other network */
        const graph_made_t other = {.bytes = (uint8_t *)(uintptr_t)others};
        for (uint32_t l = 0; l < 3; l += 2) {
            graph_layer_t *to = made_record(made, l);
            const graph_layer_t *from = made_record(&other, l);
            const uint32_t n = graph_weight_count(to), bytes = (n + 3) / 4 * 4 + 8 + 16u * to->out_c + 4;
            memcpy(made->bytes + to->weights_offset, others + from->weights_offset, bytes);
            to->block = from->block;
            to->rounding = from->rounding;
        }
        ((graph_header_t *)(void *)made->bytes)->zero = ((const graph_header_t *)(const void *)others)->zero;
        graph_output_t *pool = (graph_output_t *)(void *)(made->bytes + made_record(made, 1)->parameters_offset);
        const graph_output_t *conv =
            (const graph_output_t *)(const void *)(made->bytes + made_record(made, 0)->parameters_offset);
        pool->zero = conv->zero;
        pool->scale = conv->scale;
        made_seal(made);
    }
}

/* The sum of the digests after steps of images whose positions are all the same. */
static uint32_t trained(const graph_made_t *made, uint32_t seed) {
    tflite8_settings_t settings = trainee_settings();
    settings.method = METHOD_BP;
    settings.eta = 1.0f;
    graph_trainee_t trainee = graph_trainee_new(made, &settings, seed % 2 == 0);
    const uint32_t n = (uint32_t)graph_elements(&trainee.engine->model.file, 0);
    uint32_t digests[ENGINE_MAX_TENSORS], sum = 0;
    uint8_t *pixels = take(n);
    for (uint32_t step = 0; step < 3; step++) {
        step_result_t result;
        for (uint32_t i = 0; i < n; i++) {
            pixels[i] = (uint8_t)((seed * 37 + step * 11) * (i % 2 + 1));
        }
        CHECK(engine_put_sample(trainee.engine, 0, (uint16_t)(step % 3), pixels, n).code == 0, "a sample");
        CHECK(engine_step(trainee.engine, step, 1, &result, digests).code == 0, "a step");
        for (uint8_t i = 0; i < model_tensors(&trainee.engine->model); i++) {
            sum = sum * 31u + digests[i];
        }
    }
    free(pixels);
    graph_trainee_free(&trainee);
    return sum;
}

/* Where all positions are the same, a mean of factor 1/n is the average_pool over the image, and trains alike. */
static void test_mean_trains_as_the_pool(void) {
    for (uint32_t round = 0; round < 40; round++) {
        graph_made_t pool, mean;
        const uint16_t h = (uint16_t)(1 << draw(0, 2)), w = (uint16_t)(1 << draw(0, 2));
        make(&pool, false, h, w, NULL);
        make(&mean, true, h, w, pool.bytes);
        CHECK(trained(&mean, round) == trained(&pool, round), "round %u", round);
        made_free(&pool);
        made_free(&mean);
    }
}

/* Errors pass no table; one before the first trained layer is of no concern. */
static void test_tables_are_refused(void) {
    graph_made_t made;
    made_begin(&made, 4, 4, 2, 3);
    made_window(&made, OP_CONV2D, 0, 4, 3, 3, 1, 1);
    made_table(&made, 1);
    made_fully_connected(&made, 2, 3);
    made_finish(&made, 127);
    tflite8_settings_t settings = trainee_settings();
    graph_trainee_t trainee = graph_trainee_new(&made, &settings, true);
    settings.method = METHOD_BP;
    const failure_t failure = graph_trainee_configure(&trainee, &settings);
    CHECK(failure.code == FAILURE_BAD_SETTING && failure.a == 0 && failure.b == METHOD_BP, "code %u, a %u, b %u",
          failure.code, failure.a, failure.b);
    settings.train = TRAIN_LAST;
    graph_trainee_free(&trainee);
    trainee = graph_trainee_new(&made, &settings, true);
    graph_trainee_free(&trainee);
    made_free(&made);
}

void test_tflite_mean(void) {
    test_means();
    test_largest_sum();
    test_tables();
    test_mean_trains_as_the_pool();
    test_tables_are_refused();
}
