#include <string.h>

#include "check.h"
#include "kernels/convolution.h"
#include "kernels/fully_connected.h"
#include "kernels/pooling.h"
#include "kernels/requantize.h"
#include "naive.h"
#include "naive_tflite.h"
#include "tflite_drawn.h"

enum { ROUNDS = 500 };

typedef struct {
    const int8_t *in, *weights;
    int64_t input_zero, *acc;
} sums_t;

static void add_product(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const sums_t *sums = context;
    sums->acc[output] += sums->weights[weight] * (sums->in[input] - sums->input_zero);
}

/* What the text says of one layer, the bias not folded. */
static int8_t *expected_outputs(const layer_shape_t *shape, bool depthwise, const int8_t *in, const int8_t *weights,
                                const tflite_layer_t *layer) {
    const uint32_t outputs = shape_outputs(shape);
    int64_t *acc = calloc(outputs, sizeof *acc);
    int8_t *out = take(outputs);
    CHECK(acc != NULL, "no memory");
    naive_products(shape, depthwise, add_product,
                   &(sums_t){.in = in, .weights = weights, .input_zero = layer->input_zero, .acc = acc});
    for (uint32_t i = 0; i < outputs; i++) {
        const uint32_t o = i % shape->out_c;
        const int64_t wide = acc[i] + layer->bias[o];
        CHECK(wide == naive_sat32(wide), "the test has to stay in the range of the text");
        const bool single = layer->requantize == requantize_channels_single_s8;
        const int64_t multiplier = layer->multiplier[o], shift = layer->shift[o];
        const int64_t scaled = (single ? naive_rescale_single : naive_rescale_double)(wide, multiplier, shift);
        out[i] = (int8_t)naive_clamp(scaled + layer->output_zero, layer->act_min, layer->act_max);
    }
    free(acc);
    return out;
}

static tflite_layer_t folded(const tflite_layer_t *layer, const int8_t *weights, uint32_t taps, uint32_t channels,
                             bool depthwise) {
    tflite_layer_t copy = *layer;
    int32_t *bias = take(channels * sizeof *bias);
    tflite_fold_bias(layer->bias, weights, taps, depthwise ? channels : 1, channels, depthwise ? 1 : taps,
                     layer->input_zero, bias);
    copy.bias = bias;
    return copy;
}

typedef enum { CONV2D, POINTWISE, DEPTHWISE, FULLY_CONNECTED } kind_t;

static void run(kind_t kind, const int8_t *in, const int8_t *weights, const layer_shape_t *shape,
                const tflite_layer_t *layer, int8_t *out) {
    if (kind == CONV2D) {
        int8_t *scratch = take(forward_scratch(OP_CONV2D, shape));
        tflite_conv2d_s8(in, weights, shape, layer, scratch, out);
        free(scratch);
    } else if (kind == POINTWISE) {
        int8_t *scratch = take(forward_scratch(OP_POINTWISE, shape));
        tflite_pointwise_s8(in, weights, shape, layer, scratch, out);
        free(scratch);
    } else if (kind == DEPTHWISE) {
        int8_t *scratch = take(forward_scratch(OP_DEPTHWISE, shape));
        tflite_depthwise_s8(in, weights, shape, layer, scratch, out);
        free(scratch);
    } else {
        int32_t *acc = take(shape->out_c * sizeof *acc);
        tflite_fully_connected_s8(in, weights, shape->in_c, shape->out_c, layer, acc, out);
        free(acc);
    }
}

static void check_layer(kind_t kind, const layer_shape_t *shape, const char *what) {
    const bool depthwise = kind == DEPTHWISE;
    const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w * (depthwise ? 1u : shape->in_c);
    int8_t *in = draw_bytes(shape_inputs(shape)), *weights = draw_s8(taps * shape->out_c, 127);
    tflite_layer_t plain = draw_layer(shape->out_c, taps),
                   layer = folded(&plain, weights, taps, shape->out_c, depthwise);
    int8_t *out = take(shape_outputs(shape)), *expected = expected_outputs(shape, depthwise, in, weights, &plain);
    run(kind, in, weights, shape, &layer, out);
    check_s8(out, expected, shape_outputs(shape), what);
    void *all[] = {in, weights, out, expected, (void *)layer.bias};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
    draw_layer_free(&plain);
}

static void test_layers(void) {
    for (int round = 0; round < ROUNDS; round++) {
        layer_shape_t shape = draw_window(false);
        check_layer(CONV2D, &shape, "tflite_conv2d_s8");
        shape = draw_window(true);
        check_layer(DEPTHWISE, &shape, "tflite_depthwise_s8");
        shape = draw_pointwise();
        check_layer(POINTWISE, &shape, "tflite_pointwise_s8");
        shape.in_h = shape.in_w = shape.out_h = shape.out_w = 1;
        check_layer(FULLY_CONNECTED, &shape, "tflite_fully_connected_s8");
    }
}

/* Rows longer than the sums that a kernel makes at once, and images with whole blocks of positions. */
static void test_wide(void) {
    layer_shape_t shape = {.in_h = 3,
                           .in_w = 150,
                           .in_c = 2,
                           .out_h = 3,
                           .out_w = 150,
                           .out_c = 2,
                           .kernel_h = 3,
                           .kernel_w = 3,
                           .padding_h = 1,
                           .padding_w = 1,
                           .stride_h = 1,
                           .stride_w = 1};
    check_layer(DEPTHWISE, &shape, "tflite_depthwise_s8, wide");
    check_layer(CONV2D, &shape, "tflite_conv2d_s8, wide");
    shape = (layer_shape_t){.in_h = 12,
                            .in_w = 12,
                            .in_c = 48,
                            .out_h = 12,
                            .out_w = 12,
                            .out_c = 32,
                            .kernel_h = 1,
                            .kernel_w = 1,
                            .stride_h = 1,
                            .stride_w = 1};
    check_layer(POINTWISE, &shape, "tflite_pointwise_s8, wide");
}

/* Images of several bands, with every remainder of the positions that share a loop; the kernels that have loops of
   their own. */
static void test_bands(void) {
    for (uint16_t w = 5; w < 14; w++) {
        for (int32_t stride = 1; stride <= 6; stride += w % 2 + 1) {
            layer_shape_t shape = {.in_h = 26,
                                   .in_w = w,
                                   .in_c = 1,
                                   .out_c = 3,
                                   .kernel_h = 5,
                                   .kernel_w = 5,
                                   .padding_h = 2,
                                   .padding_w = 2,
                                   .stride_h = (uint8_t)stride,
                                   .stride_w = (uint8_t)stride,
                                   .out_h = (uint16_t)(25 / stride + 1),
                                   .out_w = (uint16_t)((w - 1) / stride + 1)};
            check_layer(CONV2D, &shape, "tflite_conv2d_s8, one channel");
            shape.in_c = 7;
            check_layer(CONV2D, &shape, "tflite_conv2d_s8, seven channels");
            shape.in_c = 12;
            shape.kernel_h = shape.kernel_w = 1;
            shape.padding_h = shape.padding_w = 0;
            check_layer(CONV2D, &shape, "tflite_conv2d_s8, 1 x 1");
        }
    }
}

static void test_pools(void) {
    for (int round = 0; round < ROUNDS; round++) {
        const layer_shape_t shape = draw_window(true);
        const uint32_t outputs = shape_outputs(&shape);
        const int32_t act_min = draw(0, 1) == 0 ? -128 : draw(-128, 127),
                      act_max = draw(0, 1) == 0 ? 127 : draw(act_min, 127);
        const uint32_t inputs = shape_inputs(&shape);
        int8_t *in = draw(0, 1) == 0 ? draw_bytes(inputs) : draw_s8(inputs, 2); /* small sums have ties */
        int8_t *out = take(outputs), *expected = take(outputs);
        tflite_max_pool_s8(in, &shape, (int8_t)act_min, (int8_t)act_max, out);
        naive_tflite_max_pool(in, &shape, act_min, act_max, expected);
        check_s8(out, expected, outputs, "tflite_max_pool_s8");
        tflite_average_pool_s8(in, &shape, (int8_t)act_min, (int8_t)act_max, out);
        naive_tflite_average_pool(in, &shape, act_min, act_max, expected);
        check_s8(out, expected, outputs, "tflite_average_pool_s8");
        free(in);
        free(out);
        free(expected);
    }
}

/* Where the folded bias wraps around, the sum comes back: only it has to fit. */
static void test_fold_wraps(void) {
    const int32_t bias[] = {INT32_MAX, INT32_MIN};
    const int8_t weights[] = {127, 127, -127, -127}, in[] = {-128, -128};
    int32_t wrapped[2];
    tflite_fold_bias(bias, weights, 2, 1, 2, 2, -128, wrapped);
    CHECK(wrapped[0] == INT32_MIN + 254 * 128 - 1 && wrapped[1] == INT32_MAX - 254 * 128 + 1, "%d, %d", wrapped[0],
          wrapped[1]);
    const int32_t multiplier[] = {1 << 30, 1 << 30};
    const int8_t shift[] = {-24, -24};
    const tflite_layer_t layer = {.input_zero = -128,
                                  .act_min = -128,
                                  .act_max = 127,
                                  .bias = wrapped,
                                  .multiplier = multiplier,
                                  .shift = shift,
                                  .requantize = requantize_channels_single_s8};
    int32_t acc[2];
    int8_t out[2];
    tflite_fully_connected_s8(in, weights, 2, 2, &layer, acc, out);
    CHECK(out[0] == 64 && out[1] == -64, "%d, %d", out[0],
          out[1]); /* the input is the real 0: the bias itself, 2^31 / 2^25 */
}

void test_tflite_forward(void) {
    test_layers();
    test_wide();
    test_bands();
    test_pools();
    test_fold_wraps();
}
