#include <string.h>

#include "check.h"
#include "kernels/convolution.h"
#include "kernels/fully_connected.h"
#include "kernels/gradients.h"
#include "kernels/layer_errors.h"
#include "naive_tflite.h"
#include "tflite_drawn.h"

enum { ROUNDS = 500 };

/* Errors with many zeros, as the gate leaves them, or with none. */
static int8_t *draw_error(uint32_t n) {
    int8_t *error = draw_bytes(n);
    const int32_t zeros = draw(0, 3);
    for (uint32_t i = 0; i < n; i++) {
        error[i] = draw(0, 3) < zeros ? 0 : error[i];
    }
    return error;
}

typedef struct {
    const int8_t *in, *weights, *error;
    int64_t input_zero, *gradient, *input_error;
} products_t;

static void add_products(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const products_t *p = context;
    p->gradient[weight] += p->error[output] * (p->in[input] - p->input_zero);
    p->input_error[input] += p->error[output] * p->weights[weight];
}

/* What is found has been added to what was there before. */
static void check_sums(const int32_t *found, const int32_t *before, const int64_t *expected, uint32_t n,
                       const char *what) {
    for (uint32_t i = 0; i < n; i++) {
        const int64_t sum = expected[i] + (before == NULL ? 0 : before[i]);
        CHECK(found[i] == sum, "%s, element %u: %d, not %lld", what, i, found[i], (long long)sum);
    }
}

typedef enum { CONV2D, POINTWISE, DEPTHWISE } kind_t;

static void run(kind_t kind, const products_t *p, const layer_shape_t *shape, int32_t *gradient, int32_t *acc) {
    const int8_t zero = (int8_t)p->input_zero;
    if (kind == POINTWISE) {
        tflite_pointwise_s8_weight_gradient(p->in, p->error, shape, zero, gradient);
        tflite_pointwise_s8_input_error(p->error, p->weights, shape, acc);
    } else if (kind == CONV2D) {
        int8_t *scratch = take(gradient_scratch(OP_CONV2D, shape));
        tflite_conv2d_s8_weight_gradient(p->in, p->error, shape, zero, scratch, gradient);
        free(scratch);
        int32_t *spread = take(input_error_scratch(OP_CONV2D, shape));
        tflite_conv2d_s8_input_error(p->error, p->weights, shape, spread, acc);
        free(spread);
    } else {
        int8_t *scratch = take(gradient_scratch(OP_DEPTHWISE, shape));
        tflite_depthwise_s8_weight_gradient(p->in, p->error, shape, zero, scratch, gradient);
        free(scratch);
        scratch = take(input_error_scratch(OP_DEPTHWISE, shape));
        tflite_depthwise_s8_input_error(p->error, p->weights, shape, scratch, acc);
        free(scratch);
    }
}

static void check_layer(kind_t kind, const layer_shape_t *shape, const char *what) {
    const uint32_t weights =
        (uint32_t)shape->kernel_h * shape->kernel_w * shape->out_c * (kind == DEPTHWISE ? 1u : shape->in_c);
    const uint32_t inputs = shape_inputs(shape);
    int8_t *in = draw_bytes(inputs), *kernel = draw_s8(weights, 127), *error = draw_error(shape_outputs(shape));
    int64_t *sums = calloc(weights, sizeof *sums), *spread = calloc(inputs, sizeof *spread);
    int32_t *gradient = take(weights * sizeof *gradient), *before = take(weights * sizeof *before);
    int32_t *acc = take(inputs * sizeof *acc);
    CHECK(sums != NULL && spread != NULL, "no memory");
    for (uint32_t i = 0; i < weights; i++) {
        gradient[i] = before[i] = draw(-1000000000, 1000000000);
    }
    const products_t products = {.in = in,
                                 .weights = kernel,
                                 .error = error,
                                 .input_zero = draw(-128, 127),
                                 .gradient = sums,
                                 .input_error = spread};
    naive_products(shape, kind == DEPTHWISE, add_products, (void *)&products);
    run(kind, &products, shape, gradient, acc);
    check_sums(gradient, before, sums, weights, what);
    check_sums(acc, NULL, spread, inputs, what);
    void *all[] = {in, kernel, error, sums, spread, gradient, before, acc};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

static void test_layers(void) {
    for (int round = 0; round < ROUNDS; round++) {
        layer_shape_t shape = draw_window(false);
        check_layer(CONV2D, &shape, "backward of conv2d");
        shape = draw_window(true);
        check_layer(DEPTHWISE, &shape, "backward of depthwise");
        shape = draw_pointwise();
        check_layer(POINTWISE, &shape, "backward of pointwise");
    }
    const layer_shape_t wide = {.in_h = 4,
                                .in_w = 140,
                                .in_c = 2,
                                .out_h = 2,
                                .out_w = 70,
                                .out_c = 2,
                                .kernel_h = 5,
                                .kernel_w = 5,
                                .padding_h = 2,
                                .padding_w = 2,
                                .stride_h = 2,
                                .stride_w = 2};
    check_layer(DEPTHWISE, &wide, "backward of depthwise, wide");
    const layer_shape_t large = {.in_h = 9,
                                 .in_w = 99,
                                 .in_c = 1,
                                 .out_h = 1,
                                 .out_w = 3,
                                 .out_c = 1,
                                 .kernel_h = 9,
                                 .kernel_w = 97,
                                 .stride_h = 1,
                                 .stride_w = 1};
    check_layer(DEPTHWISE, &large, "backward of depthwise, large kernel");
}

static void test_fully_connected_and_bias(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const uint32_t inputs = (uint32_t)draw(1, 30), outputs = (uint32_t)draw(1, 20),
                       positions = (uint32_t)draw(1, 40);
        const int8_t zero = (int8_t)draw(-128, 127);
        int8_t *in = draw_bytes(inputs), *error = draw_error(positions * outputs);
        int32_t *gradient = take(inputs * outputs * sizeof *gradient), *bias = take(outputs * sizeof *bias);
        for (uint32_t i = 0; i < inputs * outputs; i++) {
            gradient[i] = 1000;
        }
        tflite_fully_connected_s8_weight_gradient(in, error, inputs, outputs, zero, gradient);
        for (uint32_t i = 0; i < inputs * outputs; i++) {
            CHECK(gradient[i] == 1000 + error[i / inputs] * (in[i % inputs] - zero), "weight %u of %u x %u", i, outputs,
                  inputs);
        }
        memset(bias, 0, outputs * sizeof *bias);
        tflite_bias_gradient_s8(error, positions, outputs, bias);
        for (uint32_t i = 0; i < positions * outputs; i++) {
            bias[i % outputs] -= error[i];
        }
        for (uint32_t o = 0; o < outputs; o++) {
            CHECK(bias[o] == 0, "bias gradient of %u positions, off by %d", positions, bias[o]);
        }
        free(in);
        free(error);
        free(gradient);
        free(bias);
    }
}

static void test_gate(void) {
    for (int32_t limit = -128; limit <= 127; limit++) {
        for (int32_t value = -128; value <= 127; value++) {
            const int8_t out[] = {(int8_t)value, (int8_t)value};
            int8_t error[] = {-128, 127};
            tflite_clamp_s8_backward(out, error, 1, (int8_t)limit, 127);
            tflite_clamp_s8_backward(out + 1, error + 1, 1, -128, (int8_t)limit);
            CHECK(error[0] == (value > limit && value < 127 ? -128 : 0), "output %d, least %d", value, limit);
            CHECK(error[1] == (value > -128 && value < limit ? 127 : 0), "output %d, most %d", value, limit);
        }
    }
}

void test_tflite_backward(void) {
    test_layers();
    test_fully_connected_and_bias();
    test_gate();
}
