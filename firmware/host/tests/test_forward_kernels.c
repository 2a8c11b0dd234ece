#include <string.h>

#include "check.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/fully_connected.h"
#include "kernels/losses.h"
#include "kernels/pooling.h"
#include "kernels/requantize.h"
#include "naive.h"
#include "shapes_drawn.h"

enum { ROUNDS = 400 };

typedef struct {
    const int8_t *in, *weights;
    int32_t *acc;
} sums_t;

static void add_product(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const sums_t *sums = context;
    sums->acc[output] += sums->weights[weight] * sums->in[input];
}

static void check_conv2d(const layer_shape_t *shape) {
    const uint32_t outputs = shape_outputs(shape);
    int8_t *in = draw_s8(shape_inputs(shape), 127);
    int8_t *weights = draw_s8(conv2d_weights(shape), 127);
    int8_t *scratch = take(conv2d_s8_scratch(shape));
    int32_t *acc = take(outputs * sizeof *acc), *expected = take(outputs * sizeof *expected);
    memset(expected, 0, outputs * sizeof *expected);
    naive_conv2d(shape, add_product, &(sums_t){.in = in, .weights = weights, .acc = expected});
    conv2d_s8(in, weights, shape, scratch, acc);
    check_s32(acc, expected, outputs, "conv2d_s8");
    free(in);
    free(weights);
    free(scratch);
    free(acc);
    free(expected);
}

static void test_conv2d(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t shape = draw_conv2d();
        check_conv2d(&shape);
    }
}

/* Every small shape with a square kernel; and the kernel that has loops of its own, under every remainder of its four
   positions. */
static void test_conv2d_shapes(void) {
    for (int32_t i = 0; i < 4 * 4 * 4 * 3 * 3; i++) {
        const int32_t h = 1 + i % 4, w = 1 + i / 4 % 4, k = 1 + i / 16 % 4, in_c = 1 + i / 64 % 3, out_c = 1 + i / 192;
        for (int32_t padding = 0; padding < k; padding++) {
            if (k <= h + 2 * padding && k <= w + 2 * padding) {
                const layer_shape_t shape = conv2d_shape(h, w, in_c, out_c, k, padding);
                check_conv2d(&shape);
            }
        }
    }
    for (int32_t w = 5; w < 14; w++) {
        for (int32_t padding = 0; padding < 5; padding++) {
            const layer_shape_t shape = conv2d_shape(6, w, 1, 2, 5, padding),
                                long_rows = conv2d_shape(5, w, 7, 3, 5, padding);
            check_conv2d(&shape);
            check_conv2d(&long_rows);
        }
    }
}

static void test_fully_connected(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t inputs = (uint32_t)draw(1, round % 4 == 0 ? 600 : 70), outputs = (uint32_t)draw(1, 20);
        int8_t *in = draw_s8(inputs, 127), *weights = draw_s8(inputs * outputs, 127);
        int32_t *acc = take(outputs * sizeof *acc);
        fully_connected_s8(in, weights, inputs, outputs, acc);
        for (uint32_t o = 0; o < outputs; o++) {
            int64_t sum = 0;
            for (uint32_t j = 0; j < inputs; j++) {
                sum += weights[o * inputs + j] * in[j];
            }
            CHECK(acc[o] == sum, "fully_connected_s8, %u x %u, output %u", outputs, inputs, o);
        }
        free(in);
        free(weights);
        free(acc);
    }
}

static void test_max_pool_and_relu(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t shape = draw_max_pool();
        const uint32_t outputs = shape_outputs(&shape);
        int8_t *in = draw_s8(shape_inputs(&shape), round % 2 == 0 ? 127 : 2);
        int8_t *out = take(outputs), *expected = take(outputs);
        max_pool_s8(in, &shape, out);
        naive_max_pool(in, &shape, expected);
        check_s8(out, expected, outputs, "max_pool_s8");
        relu_s8(out, outputs);
        for (uint32_t i = 0; i < outputs; i++) {
            CHECK(out[i] == (expected[i] < 0 ? 0 : expected[i]), "relu_s8 of %d: %d", expected[i], out[i]);
        }
        free(in);
        free(out);
        free(expected);
    }
}

/* Sums of every length in bits, with the largest positive or negative and on the edge to the next length. */
static void test_requantize(void) {
    for (int round = 0; round < 4000; round++) {
        const uint32_t n = (uint32_t)draw(1, 30);
        int32_t *acc = take(n * sizeof *acc);
        int64_t *wide = take(n * sizeof *wide);
        int8_t *out = take(n), *expected = take(n);
        const int32_t length = draw(0, 30);
        const int32_t bound = (int32_t)(naive_power(length) - 1 + (length < 30 ? draw(0, 2) : 0));
        for (uint32_t i = 0; i < n; i++) {
            acc[i] = draw(0, 3) == 0 ? (draw(0, 1) == 0 ? bound : -bound) : draw(-bound, bound);
            wide[i] = acc[i];
        }
        const int32_t growth = requantize_s8(acc, n, out);
        CHECK(growth == naive_requantize(wide, n, expected), "growth %d of sums up to %d", growth, bound);
        check_s8(out, expected, n, "requantize_s8");
        free(acc);
        free(wide);
        free(out);
        free(expected);
    }
    CHECK(largest_bits_s32((const int32_t[]){0, INT32_MIN, 5}, 3) == 32, "the magnitude of -2^31");
    CHECK(largest_bits_s32((const int32_t[]){0, -128}, 2) == 8 && largest_bits_s32((const int32_t[]){0}, 1) == 0,
          "bits");
}

/* For every shift, every multiple of its half and both neighbours: ties of either sign, and what is just no tie. */
static void test_requantize_ties(void) {
    enum { HALVES = 2 * 128, N = 2 * 3 * HALVES };
    for (int32_t s = 1; s <= 24; s++) {
        static int32_t acc[N];
        static int64_t wide[N];
        static int8_t out[N], expected[N];
        for (int32_t i = 0; i < N; i++) {
            const int32_t most = (int32_t)(naive_power(s + 7) - 1), near = (i / 6 << (s - 1)) + i % 3 - 1;
            const int32_t value = near < most ? near : most;
            wide[i] = acc[i] = i / 3 % 2 == 0 ? value : -value;
        }
        CHECK(requantize_s8(acc, N, out) == s && naive_requantize(wide, N, expected) == s, "shift %d", s);
        check_s8(out, expected, N, "requantize_s8");
    }
}

static void test_argmax(void) {
    CHECK(argmax_s8((const int8_t[]){3, 7, -1, 7}, 4) == 1, "the lowest index of equals");
    CHECK(argmax_s8((const int8_t[]){-3, -7}, 2) == 0 && argmax_s8((const int8_t[]){-3, -2}, 2) == 1,
          "negative logits");
}

void test_forward_kernels(void) {
    test_conv2d();
    test_conv2d_shapes();
    test_fully_connected();
    test_max_pool_and_relu();
    test_requantize();
    test_requantize_ties();
    test_argmax();
}
