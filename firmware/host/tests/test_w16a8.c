/* The vectors of docs/arithmetic-w16a8.md, section 7; kernels against sums in 64 bits. */
#include <stdbool.h>
#include <string.h>

#include "arith/xxh32.h"
#include "check.h"
#include "kernels/elementwise.h"
#include "kernels/losses.h"
#include "kernels/w16a8_sums.h"

static void test_rescale(void) {
    static const int32_t a[10] = {3, 4, 5, -4, -5, 100000, -100000, 8388608, INT32_MAX, INT32_MIN};
    static const struct {
        int32_t multiplier, shift, out[10];
    } rows[] = {
        {1 << 30, -2, {0, 1, 1, 0, -1, 12500, -12500, 1048576, 268435456, -268435456}},
        {1 << 30, -22, {0, 0, 0, 0, 0, 0, 0, 1, 256, -256}},
        {1518500250, -16, {0, 0, 0, 0, 0, 1, -1, 91, 23170, -23170}},
        {INT32_MAX, -2, {1, 1, 1, -1, -1, 25000, -25000, 2097152, 536870912, -536870912}},
    };
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < 10; j++) {
            const int32_t found = w16a8_rescale(a[j], rows[i].multiplier, rows[i].shift);
            CHECK(found == rows[i].out[j], "rescale of %d, line %u: %d", a[j], i, found);
        }
    }
}

/* fully_connected with one output, of `n` inputs that are all `in`; weights of the first half and of the second. */
static void check_sum(uint32_t n, int8_t in, int8_t zero, int16_t first, int16_t second, int32_t bias, int8_t out_zero,
                      int32_t multiplier, int32_t shift, int8_t expected) {
    int8_t *inputs = take(n), *out = take(1);
    int16_t *weights = take(2 * n), *scratch = take(w16a8_fully_connected_scratch(n));
    memset(inputs, in, n);
    for (uint32_t i = 0; i < n; i++) {
        weights[i] = i < (n + 1) / 2 ? first : second;
    }
    const w16a8_layer_t layer = {.input_zero = zero,
                                 .output_zero = out_zero,
                                 .act_min = -128,
                                 .act_max = 127,
                                 .multiplier = multiplier,
                                 .shift = shift,
                                 .bias = &bias};
    w16a8_fully_connected(inputs, weights, n, 1, &layer, scratch, out);
    CHECK(*out == expected, "fully_connected of %u: %d, not %d", n, *out, expected);
    free(inputs), free(out), free(weights), free(scratch);
}

static void test_sums(void) {
    const int8_t in[] = {5, -128, 127};
    const int16_t weights[] = {32767, -32767, 1200};
    const int32_t bias = -12345;
    const w16a8_layer_t layer = {.input_zero = -3,
                                 .output_zero = -3,
                                 .act_min = -128,
                                 .act_max = 127,
                                 .multiplier = 1518500250,
                                 .shift = -16,
                                 .bias = &bias};
    int16_t scratch[4];
    int8_t out;
    w16a8_fully_connected(in, weights, 3, 1, &layer, scratch, &out);
    CHECK(out == 46, "three inputs: %d", out);
    check_sum(600, 127, -128, 32767, 32767, 0, -128, 1 << 30, -22, 127);
    check_sum(600, 127, -128, 32767, -32767, 1000, 0, 1 << 30, -9, 1);
    check_sum(257, 127, -128, 32767, 32767, 0, -128, 1 << 30, -22, 127);
}

static void test_conv2d(void) {
    static const int8_t in[] = {10, -128, 127, 0}, expected[] = {-20, -18, 75, 16};
    static const int16_t weights[] = {1000, -2000, 3000, -4000, 32767, 6000, 7000, -8000, -32767};
    static const int32_t bias = 500;
    const layer_shape_t shape = {.in_h = 2,
                                 .in_w = 2,
                                 .in_c = 1,
                                 .out_h = 2,
                                 .out_w = 2,
                                 .out_c = 1,
                                 .kernel_h = 3,
                                 .kernel_w = 3,
                                 .padding_h = 1,
                                 .padding_w = 1,
                                 .stride_h = 1,
                                 .stride_w = 1};
    const w16a8_layer_t layer = {.input_zero = -128,
                                 .output_zero = -20,
                                 .act_min = -20,
                                 .act_max = 127,
                                 .multiplier = 1518500250,
                                 .shift = -16,
                                 .bias = &bias};
    int16_t *scratch = take(w16a8_conv2d_scratch(&shape));
    int8_t out[4];
    w16a8_conv2d(in, weights, &shape, &layer, scratch, out);
    check_s8(out, expected, 4, "conv2d");
    free(scratch);
}

static void test_add(void) {
    const tflite_add_t add = {.a = {1073741824, 0, -5},
                              .b = {1288490141, -1, 3},
                              .out = {1789569773, -19, -10},
                              .act_min = -128,
                              .act_max = 127,
                              .single = true};
    tflite_add_t low = add;
    const int8_t a = 100, b = -77, most = 127;
    int8_t out;
    tflite_add_s8(&a, &b, 1, &add, &out);
    CHECK(out == 38, "add: %d", out);
    low.a.zero = low.b.zero = -128;
    tflite_add_s8(&most, &most, 1, &low, &out);
    CHECK(out == 127, "add of the largest: %d", out);
}

static void test_loss(void) {
    const int8_t three[] = {10, -3, 5}, four[] = {127, -128, 0, 126};
    CHECK(cross_entropy_scaled_f32(three, 3, 0.0625f, 0) == 0x1.8dec94p-1f, "label 0");
    CHECK(cross_entropy_scaled_f32(three, 3, 0.0625f, 1) == 0x1.96f64ap+0f, "label 1");
    CHECK(cross_entropy_scaled_f32(four, 4, 0.0625f, 3) == 0x1.733c52p-1f, "label 3 of four");
}

static void test_digest(void) {
    const int16_t weights[] = {1, -2, 32767, -32767, 300};
    CHECK(xxh32(weights, sizeof weights, 0) == 0x2A504049u, "digest of weights");
}

/* One output by the definition. */
static int8_t output_of(const int8_t *in, const int16_t *weights, const layer_shape_t *shape, bool depthwise,
                        const w16a8_layer_t *layer, uint32_t y, uint32_t x, uint32_t o) {
    int64_t sum = layer->bias[o];
    for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
        for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
            const int32_t iy = (int32_t)(y * shape->stride_h + ky) - shape->padding_h,
                          ix = (int32_t)(x * shape->stride_w + kx) - shape->padding_w;
            if (iy < 0 || ix < 0 || iy >= shape->in_h || ix >= shape->in_w) {
                continue;
            }
            const int8_t *from = in + (iy * shape->in_w + ix) * shape->in_c;
            const uint32_t tap = ky * shape->kernel_w + kx;
            for (uint32_t c = depthwise ? o : 0; c < (depthwise ? o + 1 : shape->in_c); c++) {
                const uint32_t taps = (uint32_t)shape->kernel_h * shape->kernel_w;
                const int16_t w =
                    depthwise ? weights[tap * shape->in_c + o] : weights[(o * taps + tap) * shape->in_c + c];
                sum += (int64_t)(from[c] - layer->input_zero) * w;
            }
        }
    }
    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    const int64_t factor = INT64_C(1) << (31 - layer->shift), value = sum * layer->multiplier + factor / 2;
    int64_t out = value >= 0 ? value / factor : -((-value + factor - 1) / factor);
    out += layer->output_zero;
    out = out > layer->act_max ? layer->act_max : out;
    return (int8_t)(out < layer->act_min ? layer->act_min : out);
}

static layer_shape_t drawn_shape(bool depthwise) {
    layer_shape_t shape = {.in_h = (uint16_t)draw(1, 9),
                           .in_w = (uint16_t)draw(1, 9),
                           .in_c = (uint16_t)(draw(0, 5) == 0 ? draw(30, 90) : draw(1, 9)),
                           .stride_h = (uint8_t)draw(1, 3),
                           .stride_w = (uint8_t)draw(1, 3)};
    const int32_t least = shape.in_h < shape.in_w ? shape.in_h : shape.in_w;
    shape.kernel_h = (uint8_t)draw(1, least < 5 ? least : 5);
    shape.kernel_w = (uint8_t)draw(1, least < 5 ? least : 5);
    shape.padding_h = (uint8_t)draw(0, shape.kernel_h - 1);
    shape.padding_w = (uint8_t)draw(0, shape.kernel_w - 1);
    shape.out_h = (uint16_t)draw(1, (shape.in_h + shape.padding_h - 1) / shape.stride_h + 1);
    shape.out_w = (uint16_t)draw(1, (shape.in_w + shape.padding_w - 1) / shape.stride_w + 1);
    shape.out_c = depthwise ? shape.in_c : (uint16_t)draw(1, 9);
    return shape;
}

static void check_drawn(bool depthwise, bool pointwise) {
    layer_shape_t shape = drawn_shape(depthwise);
    if (pointwise) {
        shape.kernel_h = shape.kernel_w = shape.stride_h = shape.stride_w = 1;
        shape.padding_h = shape.padding_w = 0;
        const bool whole = draw(0, 1) == 1; /* else conv2d of one tap, which may leave out the last inputs */
        shape.out_h = whole ? shape.in_h : (uint16_t)draw(1, shape.in_h);
        shape.out_w = whole ? shape.in_w : (uint16_t)draw(1, shape.in_w);
    }
    const uint32_t window = (uint32_t)shape.kernel_h * shape.kernel_w, taps = depthwise ? window : window * shape.in_c;
    const uint32_t outputs = shape_outputs(&shape);
    int8_t *in = draw_s8(shape_inputs(&shape), 127), *out = take(outputs), *expected = take(outputs);
    int16_t *weights = take(2 * taps * shape.out_c), *scratch = take(w16a8_conv2d_scratch(&shape));
    int32_t *bias = take(4u * shape.out_c);
    for (uint32_t i = 0; i < taps * shape.out_c; i++) {
        weights[i] = (int16_t)draw(-32767, 32767);
    }
    for (uint32_t o = 0; o < shape.out_c; o++) {
        bias[o] = draw(-(1 << 20), 1 << 20);
    }
    int32_t size = 0;
    while (1u << size < taps) {
        size++;
    }
    const int32_t limit = draw(-128, 126);
    const w16a8_layer_t layer = {.input_zero = (int8_t)draw(-128, 127),
                                 .output_zero = (int8_t)draw(-128, 127),
                                 .act_min = (int8_t)(draw(0, 1) ? limit : -128),
                                 .act_max = (int8_t)(draw(0, 1) ? draw(limit, 127) : 127),
                                 .multiplier = draw(1 << 30, INT32_MAX),
                                 .shift = draw(0, 9) == 0 ? -draw(2, 31) : -13 - draw(size / 2, size),
                                 .bias = bias};
    if (depthwise) {
        w16a8_depthwise(in, weights, &shape, &layer, out);
    } else {
        w16a8_conv2d(in, weights, &shape, &layer, scratch, out);
    }
    for (uint32_t i = 0; i < outputs; i++) {
        const uint32_t p = i / shape.out_c;
        expected[i] =
            output_of(in, weights, &shape, depthwise, &layer, p / shape.out_w, p % shape.out_w, i % shape.out_c);
    }
    check_s8(out, expected, outputs, depthwise ? "depthwise" : pointwise ? "pointwise" : "conv2d");
    free(in), free(out), free(expected), free(weights), free(scratch), free(bias);
}

/* Sums of many parts; the inputs are the window of a convolution of one position. */
static void check_drawn_long(uint32_t taps, uint16_t outputs) {
    const layer_shape_t shape = {.in_h = 1,
                                 .in_w = 1,
                                 .in_c = (uint16_t)taps,
                                 .out_h = 1,
                                 .out_w = 1,
                                 .out_c = outputs,
                                 .kernel_h = 1,
                                 .kernel_w = 1,
                                 .stride_h = 1,
                                 .stride_w = 1};
    int8_t *in = draw_s8(taps, 127), *out = take(outputs), *expected = take(outputs);
    int16_t *weights = take(2 * taps * outputs), *scratch = take(w16a8_fully_connected_scratch(taps));
    int32_t *bias = take(4u * outputs);
    for (uint32_t i = 0; i < taps * outputs; i++) {
        weights[i] = (int16_t)draw(-32767, 32767);
    }
    memset(bias, 0, 4u * outputs);
    const w16a8_layer_t layer = {.input_zero = (int8_t)draw(-128, 127),
                                 .act_min = -128,
                                 .act_max = 127,
                                 .multiplier = draw(1 << 30, INT32_MAX),
                                 .shift = -20,
                                 .bias = bias};
    w16a8_fully_connected(in, weights, taps, outputs, &layer, scratch, out);
    for (uint32_t o = 0; o < outputs; o++) {
        expected[o] = output_of(in, weights, &shape, false, &layer, 0, 0, o);
    }
    check_s8(out, expected, outputs, "fully_connected");
    free(in), free(out), free(expected), free(weights), free(scratch), free(bias);
}

static void test_drawn(void) {
    for (uint32_t i = 0; i < 60; i++) {
        check_drawn(false, false);
        check_drawn(false, true);
        check_drawn(true, false);
        check_drawn_long((uint32_t)draw(1, 1100), (uint16_t)draw(1, 7));
    }
    check_drawn_long(256, 4);
    check_drawn_long(255, 3);
    check_drawn_long(512, 5);
}

void test_w16a8(void) {
    test_rescale();
    test_sums();
    test_conv2d();
    test_add();
    test_loss();
    test_digest();
    test_drawn();
}
