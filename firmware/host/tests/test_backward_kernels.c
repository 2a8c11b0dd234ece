#include <string.h>

#include "check.h"
#include "kernels/convolution.h"
#include "kernels/elementwise.h"
#include "kernels/fully_connected.h"
#include "kernels/gradients.h"
#include "kernels/pooling.h"
#include "kernels/updates.h"
#include "naive.h"
#include "shapes_drawn.h"

enum { ROUNDS = 300 };

/* Errors with many zeros, as relu and pooling leave them, or with none. */
static int8_t *draw_error(uint32_t n) {
    int8_t *error = draw_s8(n, 127);
    const int32_t zeros = draw(0, 3);
    for (uint32_t i = 0; i < n; i++) {
        error[i] = draw(0, 3) < zeros ? 0 : error[i];
    }
    return error;
}

/* Gradients as a step may have gathered them, some of them at most 9999 from the ends of -most..most. */
static int32_t *draw_gradient(uint32_t n, int32_t most) {
    int32_t *gradient = take(n * sizeof *gradient);
    for (uint32_t i = 0; i < n; i++) {
        const int32_t kind = draw(0, 9);
        gradient[i] = kind == 0   ? most - draw(0, 9999)
                      : kind == 1 ? -most - 1 + draw(0, 9999)
                                  : draw(-1000000, 1000000);
    }
    return gradient;
}

static void gather_expected(int32_t *gradient, const int64_t *sums, uint32_t n, int32_t shift) {
    for (uint32_t i = 0; i < n; i++) {
        gradient[i] = (int32_t)naive_sat32(gradient[i] + naive_trunc(sums[i], shift));
    }
}

static int32_t *copy_of(const int32_t *values, uint32_t n) {
    return memcpy(take(n * sizeof *values), values, n * sizeof *values);
}

typedef struct {
    const int8_t *in, *weights, *error;
    int64_t *gradient, *input_error;
} products_t;

static void add_products(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const products_t *p = context;
    p->gradient[weight] += p->error[output] * p->in[input];
    p->input_error[input] += p->error[output] * p->weights[weight];
}

static void check_wide(const int32_t *found, const int64_t *expected, uint32_t n, const char *what) {
    for (uint32_t i = 0; i < n; i++) {
        CHECK(found[i] == expected[i], "%s, element %u: %d, not %lld", what, i, found[i], (long long)expected[i]);
    }
}

static void check_conv2d(const layer_shape_t *shape) {
    const uint32_t inputs = shape_inputs(shape), weights = conv2d_weights(shape);
    const int32_t shift = draw(0, 3) == 0 ? draw(0, 40) : draw(0, 8);
    int8_t *in = draw_s8(inputs, 127), *kernel = draw_s8(weights, 127), *error = draw_error(shape_outputs(shape));
    int64_t *sums = calloc(weights, sizeof *sums), *spread = calloc(inputs, sizeof *spread);
    CHECK(sums != NULL && spread != NULL, "no memory");
    naive_conv2d(shape, add_products,
                 &(products_t){.in = in, .weights = kernel, .error = error, .gradient = sums, .input_error = spread});

    int32_t *gradient = draw_gradient(weights, INT32_MAX), *expected = copy_of(gradient, weights);
    int8_t *scratch = take(conv2d_s8_weight_gradient_scratch(shape));
    conv2d_s8_weight_gradient(in, error, shape, shift, scratch, gradient);
    gather_expected(expected, sums, weights, shift);
    check_s32(gradient, expected, weights, "conv2d_s8_weight_gradient");

    int32_t *acc = take(inputs * sizeof *acc);
    conv2d_s8_input_error(error, kernel, shape, acc);
    check_wide(acc, spread, inputs, "conv2d_s8_input_error");
    void *all[] = {in, kernel, error, sums, spread, gradient, expected, scratch, acc};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

/* Shapes by chance; then every width of a few fours of positions, for the kernels and channels that are summed by
   fours; then rows and planes long enough that more fours of positions wait than are held. */
static void test_conv2d(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t shape = draw_conv2d();
        check_conv2d(&shape);
    }
    for (int32_t kernel = 1; kernel <= 5; kernel += 2) {
        for (int32_t in_c = 1; in_c <= 4; in_c++) {
            for (int32_t w = kernel; w < kernel + 9; w++) {
                const layer_shape_t shape =
                    conv2d_shape(kernel + draw(0, 3), w, in_c, draw(1, 9), kernel, draw(0, kernel - 1));
                check_conv2d(&shape);
            }
        }
    }
    const layer_shape_t first = conv2d_shape(28, 28, 1, 6, 5, 2), wide = conv2d_shape(7, 150, 3, 5, 3, 1);
    for (int round = 0; round < 8; round++) {
        check_conv2d(&first);
        check_conv2d(&wide);
    }
}

static void test_fully_connected(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t inputs = (uint32_t)draw(1, 40), outputs = (uint32_t)draw(1, 20), weights = inputs * outputs;
        const int32_t shift = draw(0, 3) == 0 ? draw(0, 40) : draw(0, 14);
        int8_t *in = draw_s8(inputs, 127), *matrix = draw_s8(weights, 127), *error = draw_error(outputs);
        int64_t *sums = calloc(weights, sizeof *sums), *spread = calloc(inputs, sizeof *spread);
        CHECK(sums != NULL && spread != NULL, "no memory");
        for (uint32_t i = 0; i < weights; i++) {
            sums[i] = error[i / inputs] * in[i % inputs];
            spread[i % inputs] += error[i / inputs] * matrix[i];
        }
        int32_t *gradient = draw_gradient(weights, 65534 * 127 * 127), *expected = copy_of(gradient, weights);
        fully_connected_s8_weight_gradient(in, error, inputs, outputs, shift, gradient);
        gather_expected(expected, sums, weights, shift);
        check_s32(gradient, expected, weights, "fully_connected_s8_weight_gradient");

        int32_t *acc = take(inputs * sizeof *acc);
        fully_connected_s8_input_error(error, matrix, inputs, outputs, acc);
        check_wide(acc, spread, inputs, "fully_connected_s8_input_error");
        void *all[] = {in, matrix, error, sums, spread, gradient, expected, acc};
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            free(all[i]);
        }
    }
}

/* Every product of an error and an input, under every shift that leaves something, and one more. */
static void test_products(void) {
    int8_t in[255];
    for (int32_t i = 0; i < 255; i++) {
        in[i] = (int8_t)(i - 127);
    }
    for (int32_t shift = 0; shift <= 15; shift++) {
        for (int32_t error = -127; error <= 127; error++) {
            int32_t gradient[255] = {0};
            const int8_t one = (int8_t)error;
            fully_connected_s8_weight_gradient(in, &one, 255, 1, shift, gradient);
            for (int32_t i = 0; i < 255; i++) {
                CHECK(gradient[i] == naive_trunc(error * in[i], shift), "%d * %d / 2^%d gives %d", error, in[i], shift,
                      gradient[i]);
            }
        }
    }
}

static void test_max_pool_and_relu(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t shape = draw_max_pool();
        const uint32_t inputs = shape_inputs(&shape), outputs = shape_outputs(&shape);
        int8_t *in = draw_s8(inputs, round % 2 == 0 ? 127 : 1); /* with many equal maxima */
        int8_t *error = draw_error(outputs), *found = take(inputs), *expected = take(inputs);
        max_pool_s8_backward(in, error, &shape, found);
        naive_max_pool_backward(in, error, &shape, expected);
        check_s8(found, expected, inputs, "max_pool_s8_backward");
        relu_s8_backward(in, found, inputs);
        for (uint32_t i = 0; i < inputs; i++) {
            CHECK(found[i] == (in[i] > 0 ? expected[i] : 0), "relu_s8_backward, output %d, error %d", in[i],
                  expected[i]);
        }
        free(in);
        free(error);
        free(found);
        free(expected);
    }
}

static void test_update(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t n = (uint32_t)draw(1, 50);
        const int32_t b_bp = draw(1, 7);
        int32_t *gradient = draw_gradient(n, INT32_MAX);
        scale_gradient_s32(gradient, n, draw(0, 33));
        uint64_t largest = 0;
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t m = (uint64_t)llabs((int64_t)gradient[i]);
            largest = m > largest ? m : largest;
        }
        const int64_t s = naive_bits(largest) - b_bp;
        int8_t *weights = draw_s8(n, 127), *before = memcpy(take(n), weights, n);
        bp_update_s8(weights, gradient, n, b_bp);
        for (uint32_t i = 0; i < n; i++) {
            const int64_t g = s < 1 ? gradient[i] : naive_psto_shift(gradient[i], s);
            CHECK(weights[i] == naive_clip127(before[i] - g), "bp_update_s8: %d - %lld gives %d", before[i],
                  (long long)g, weights[i]);
        }
        free(gradient);
        free(weights);
        free(before);
    }
}

static void test_scale(void) {
    for (int32_t shift = 0; shift < 34; shift++) {
        int32_t *gradient = draw_gradient(64, INT32_MAX), *before = copy_of(gradient, 64);
        scale_gradient_s32(gradient, 64, shift);
        for (uint32_t i = 0; i < 64; i++) {
            CHECK(gradient[i] == naive_trunc(before[i], shift), "%d / 2^%d gives %d", before[i], shift, gradient[i]);
        }
        free(gradient);
        free(before);
    }
}

void test_backward_kernels(void) {
    test_conv2d();
    test_fully_connected();
    test_products();
    test_max_pool_and_relu();
    test_update();
    test_scale();
}
