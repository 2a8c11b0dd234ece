/* The kernels in binary32 against docs/arithmetic-float32.md, sections 3 to 5, taken literally: one element at a
   time, in the order of the text. */
#include <string.h>

#include "check.h"
#include "kernels/layers_f32.h"
#include "kernels/updates_f32.h"

enum { ROUNDS = 400 };

static float draw_f32(void) {
    const int32_t kind = draw(0, 5);
    return kind == 0 ? 0.0f : (float)draw(-1000000, 1000000) * (kind == 1 ? 0x1p-30f : 0x1p-18f);
}

static float *draw_all_f32(uint32_t n) {
    float *values = take(n * sizeof *values);
    for (uint32_t i = 0; i < n; i++) {
        values[i] = draw_f32();
    }
    return values;
}

static float *copied(const float *values, uint32_t n) {
    float *copy = take(n * sizeof *copy);
    memcpy(copy, values, n * sizeof *copy);
    return copy;
}

static void check_f32(const float *found, const float *expected, uint32_t n, const char *what) {
    for (uint32_t i = 0; i < n; i++) {
        CHECK(float32_bits(found[i]) == float32_bits(expected[i]), "%s, element %u: %a, not %a", what, i,
              (double)found[i], (double)expected[i]);
    }
}

static uint16_t draw_outputs(int32_t in, int32_t kernel, int32_t stride, int32_t padding) {
    const int32_t inside = (in + padding - 1) / stride + 1, before = inside - kernel / stride - 1;
    return (uint16_t)draw(before > 1 ? before : 1, inside);
}

static layer_shape_t draw_shape(bool depthwise) {
    layer_shape_t shape = {.in_h = (uint16_t)draw(1, 9), .in_w = (uint16_t)draw(1, 11)};
    shape.in_c = (uint16_t)(draw(0, 9) == 0 ? draw(31, 40) : draw(1, 9));
    shape.out_c = depthwise ? shape.in_c : (uint16_t)(draw(0, 9) == 0 ? draw(31, 40) : draw(1, 9));
    shape.kernel_h = (uint8_t)draw(1, shape.in_h < 4 ? shape.in_h : 4);
    shape.kernel_w = (uint8_t)draw(1, shape.in_w < 4 ? shape.in_w : 4);
    shape.stride_h = (uint8_t)draw(1, 3);
    shape.stride_w = (uint8_t)draw(1, 3);
    shape.padding_h = (uint8_t)draw(0, shape.kernel_h - 1);
    shape.padding_w = (uint8_t)draw(0, shape.kernel_w - 1);
    shape.out_h = draw_outputs(shape.in_h, shape.kernel_h, shape.stride_h, shape.padding_h);
    shape.out_w = draw_outputs(shape.in_w, shape.kernel_w, shape.stride_w, shape.padding_w);
    return shape;
}

static uint32_t input_at(const layer_shape_t *shape, int32_t y, int32_t x, uint32_t c) {
    const bool inside = y >= 0 && x >= 0 && y < shape->in_h && x < shape->in_w;
    return inside ? ((uint32_t)y * shape->in_w + (uint32_t)x) * shape->in_c + c : UINT32_MAX;
}

/* The input under a tap of an output; UINT32_MAX in the padding. */
static uint32_t under(const layer_shape_t *shape, uint32_t y, uint32_t x, uint32_t ky, uint32_t kx, uint32_t c) {
    return input_at(shape, (int32_t)(y * shape->stride_h + ky) - shape->padding_h,
                    (int32_t)(x * shape->stride_w + kx) - shape->padding_w, c);
}

static uint32_t weight_at(const layer_shape_t *shape, bool depthwise, uint32_t o, uint32_t ky, uint32_t kx,
                          uint32_t c) {
    return depthwise ? (ky * shape->kernel_w + kx) * shape->in_c + c
                     : ((o * shape->kernel_h + ky) * shape->kernel_w + kx) * shape->in_c + c;
}

static float naive_clamp_f32(float v, float least, float most) {
    v = v > least ? v : least;
    return v < most ? v : most;
}

static float product_sum(float sum, float a, float b) {
    const volatile float product = a * b;
    return sum + product;
}

static void naive_forward(const layer_shape_t *shape, bool depthwise, const float *in, const float *w,
                          const float *bias, const limits_f32_t *limits, float *out) {
    for (uint32_t i = 0; i < shape_outputs(shape); i++) {
        const uint32_t o = i % shape->out_c, x = i / shape->out_c % shape->out_w, y = i / shape->out_c / shape->out_w;
        float acc = 0.0f;
        for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
            for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
                for (uint32_t c = depthwise ? o : 0; c < (depthwise ? o + 1 : shape->in_c); c++) {
                    const uint32_t at = under(shape, y, x, ky, kx, c);
                    acc =
                        product_sum(acc, w[weight_at(shape, depthwise, o, ky, kx, c)], at < UINT32_MAX ? in[at] : 0.0f);
                }
            }
        }
        out[i] = naive_clamp_f32(acc + bias[o], limits->least, limits->most);
    }
}

/* Add the products of one tap of an input's error: of the output position that has it there. */
static float add_tap_errors(float acc, const layer_shape_t *shape, bool depthwise, const float *error, const float *w,
                            uint32_t input, uint32_t ky, uint32_t kx) {
    const uint32_t c = input % shape->in_c;
    for (uint32_t p = 0; p < (uint32_t)shape->out_h * shape->out_w; p++) {
        if (under(shape, p / shape->out_w, p % shape->out_w, ky, kx, c) == input) {
            for (uint32_t o = depthwise ? c : 0; o < (depthwise ? c + 1 : shape->out_c); o++) {
                acc = product_sum(acc, w[weight_at(shape, depthwise, o, ky, kx, c)], error[p * shape->out_c + o]);
            }
        }
    }
    return acc;
}

static float naive_given(float before, float e, bool further) {
    e = naive_clamp_f32(e, -0x1p40f, 0x1p40f);
    return further ? naive_clamp_f32(before + e, -0x1p40f, 0x1p40f) : e;
}

static void naive_input_error(const layer_shape_t *shape, bool depthwise, const float *error, const float *w,
                              bool further, float *to) {
    for (uint32_t i = 0; i < shape_inputs(shape); i++) {
        float acc = 0.0f;
        for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
            for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
                acc = add_tap_errors(acc, shape, depthwise, error, w, i, ky, kx);
            }
        }
        to[i] = naive_given(to[i], acc, further);
    }
}

static void naive_gradient(const layer_shape_t *shape, bool depthwise, const float *in, const float *error, float *g) {
    for (uint32_t o = 0; o < shape->out_c; o++) {
        for (uint32_t ky = 0; ky < shape->kernel_h; ky++) {
            for (uint32_t kx = 0; kx < shape->kernel_w; kx++) {
                for (uint32_t c = depthwise ? o : 0; c < (depthwise ? o + 1 : shape->in_c); c++) {
                    float sum = 0.0f;
                    for (uint32_t p = 0; p < (uint32_t)shape->out_h * shape->out_w; p++) {
                        const uint32_t at = under(shape, p / shape->out_w, p % shape->out_w, ky, kx, c);
                        sum = product_sum(sum, at < UINT32_MAX ? in[at] : 0.0f, error[p * shape->out_c + o]);
                    }
                    float *to = &g[weight_at(shape, depthwise, o, ky, kx, c)];
                    *to = *to + sum;
                }
            }
        }
    }
}

/* Some channels, or all without a list; the errors of the others become 0, and `packed` gets those that are kept. */
static kept_f32_t draw_kept(float *error, uint32_t positions, uint16_t channels, uint16_t *list, float *packed) {
    const bool all = draw(0, 2) == 0;
    kept_f32_t kept = {.list = all ? NULL : list, .count = all ? channels : 0};
    for (uint32_t o = 0; o < channels && !all; o++) {
        if (draw(0, 2) == 0 || (kept.count == 0 && o + 1u == channels)) {
            list[kept.count++] = (uint16_t)o;
        } else {
            for (uint32_t p = 0; p < positions; p++) {
                error[p * channels + o] = 0.0f;
            }
        }
    }
    memcpy(packed, error, positions * channels * sizeof *packed);
    if (!all) {
        pack_channels_f32(packed, positions, channels, &kept);
    }
    return kept;
}

static void check_windows(bool depthwise) {
    const layer_shape_t shape = draw_shape(depthwise);
    const uint32_t inputs = shape_inputs(&shape), outputs = shape_outputs(&shape);
    const uint32_t weights = (uint32_t)shape.kernel_h * shape.kernel_w * shape.in_c * (depthwise ? 1u : shape.out_c);
    const limits_f32_t limits = {draw(0, 1) == 0 ? 0.0f : -0x1p40f, draw(0, 1) == 0 ? 6.0f : 0x1p40f};
    const bool further = draw(0, 1) == 1;
    float *in = draw_all_f32(inputs), *w = draw_all_f32(weights), *bias = draw_all_f32(shape.out_c);
    float *error = draw_all_f32(outputs), *found = take(outputs * sizeof *found), *expected = copied(found, outputs);
    float *back = draw_all_f32(inputs), *expected_back = copied(back, inputs);
    float *g = draw_all_f32(weights), *expected_g = copied(g, weights);
    (depthwise ? depthwise_f32 : conv2d_f32)(in, w, bias, &shape, &limits, found);
    naive_forward(&shape, depthwise, in, w, bias, &limits, expected);
    check_f32(found, expected, outputs, depthwise ? "depthwise" : "conv2d");
    uint16_t *list = take(shape.out_c * sizeof *list);
    float *packed = take(outputs * sizeof *packed);
    const kept_f32_t kept = draw_kept(error, outputs / shape.out_c, shape.out_c, list, packed);
    (depthwise ? depthwise_f32_input_error : conv2d_f32_input_error)(packed, &kept, w, &shape, further, back);
    naive_input_error(&shape, depthwise, error, w, further, expected_back);
    check_f32(back, expected_back, inputs, depthwise ? "depthwise input error" : "conv2d input error");
    (depthwise ? depthwise_f32_weight_gradient : conv2d_f32_weight_gradient)(in, error, &shape, g);
    naive_gradient(&shape, depthwise, in, error, expected_g);
    check_f32(g, expected_g, weights, depthwise ? "depthwise gradient" : "conv2d gradient");
    float *const all[] = {in, w, bias, error, found, expected, packed, back, expected_back, g, expected_g};
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
    free(list);
}

/* As a convolution over the whole input. */
static void check_fully_connected(void) {
    const uint16_t inputs = (uint16_t)draw(1, 70), outputs = (uint16_t)draw(1, 20);
    const layer_shape_t shape = {.in_h = 1,
                                 .in_w = 1,
                                 .in_c = inputs,
                                 .out_h = 1,
                                 .out_w = 1,
                                 .out_c = outputs,
                                 .kernel_h = 1,
                                 .kernel_w = 1,
                                 .stride_h = 1,
                                 .stride_w = 1};
    const uint32_t weights = (uint32_t)inputs * outputs;
    const limits_f32_t limits = {draw(0, 1) == 0 ? 0.0f : -0x1p40f, 0x1p40f};
    const bool further = draw(0, 1) == 1;
    float *in = draw_all_f32(inputs), *w = draw_all_f32(weights), *bias = draw_all_f32(outputs);
    float *error = draw_all_f32(outputs), *found = take(outputs * sizeof *found), *expected = copied(found, outputs);
    float *back = draw_all_f32(inputs), *expected_back = copied(back, inputs);
    float *g = draw_all_f32(weights), *expected_g = copied(g, weights);
    fully_connected_f32(in, w, bias, inputs, outputs, &limits, found);
    naive_forward(&shape, false, in, w, bias, &limits, expected);
    check_f32(found, expected, outputs, "fully connected");
    uint16_t *list = take(outputs * sizeof *list);
    float *packed = take(outputs * sizeof *packed);
    const kept_f32_t kept = draw_kept(error, 1, outputs, list, packed);
    fully_connected_f32_input_error(packed, &kept, w, inputs, further, back);
    naive_input_error(&shape, false, error, w, further, expected_back);
    check_f32(back, expected_back, inputs, "fully connected input error");
    fully_connected_f32_weight_gradient(in, error, inputs, outputs, g);
    naive_gradient(&shape, false, in, error, expected_g);
    check_f32(g, expected_g, weights, "fully connected gradient");
    float *const all[] = {in, w, bias, error, found, expected, packed, back, expected_back, g, expected_g};
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
    free(list);
}

static float naive_pooled(const layer_shape_t *shape, bool maximum, const float *in, uint32_t output) {
    const uint32_t c = output % shape->out_c, p = output / shape->out_c;
    float most = 0.0f, sum = 0.0f;
    uint32_t n = 0;
    for (uint32_t tap = 0; tap < (uint32_t)shape->kernel_h * shape->kernel_w; tap++) {
        const uint32_t at =
            under(shape, p / shape->out_w, p % shape->out_w, tap / shape->kernel_w, tap % shape->kernel_w, c);
        if (at < UINT32_MAX) {
            most = n == 0 || in[at] > most ? in[at] : most;
            sum = sum + in[at];
            n++;
        }
    }
    const float mean = sum / (float)n;
    return maximum ? most : mean + 0.0f;
}

static void check_pool(bool maximum) {
    const layer_shape_t shape = draw_shape(true);
    const uint32_t outputs = shape_outputs(&shape);
    float *in = draw_all_f32(shape_inputs(&shape)), *found = take(outputs * sizeof *found);
    (maximum ? max_pool_f32 : average_pool_f32)(in, &shape, found);
    for (uint32_t i = 0; i < outputs; i++) {
        const float expected = naive_pooled(&shape, maximum, in, i);
        check_f32(&found[i], &expected, 1, maximum ? "max_pool" : "average_pool");
    }
    free(in);
    free(found);
}

/* Windows that neither overlap nor leave the image. */
static void check_pool_backward(bool maximum) {
    layer_shape_t shape = {.in_h = (uint16_t)draw(2, 9), .in_w = (uint16_t)draw(2, 9), .in_c = (uint16_t)draw(1, 5)};
    shape.out_c = shape.in_c;
    shape.stride_h = (uint8_t)draw(1, 3);
    shape.stride_w = (uint8_t)draw(1, 3);
    shape.kernel_h = (uint8_t)draw(1, shape.stride_h < shape.in_h ? shape.stride_h : shape.in_h);
    shape.kernel_w = (uint8_t)draw(1, shape.stride_w < shape.in_w ? shape.stride_w : shape.in_w);
    shape.out_h = (uint16_t)((shape.in_h - shape.kernel_h) / shape.stride_h + 1);
    shape.out_w = (uint16_t)((shape.in_w - shape.kernel_w) / shape.stride_w + 1);
    const uint32_t inputs = shape_inputs(&shape), outputs = shape_outputs(&shape);
    const bool further = draw(0, 1) == 1;
    float *in = draw_all_f32(inputs), *error = draw_all_f32(outputs), *found = draw_all_f32(inputs);
    float *expected = copied(found, inputs), *gets = take(inputs * sizeof *gets);
    memset(gets, 0, inputs * sizeof *gets);
    for (uint32_t i = 0; i < outputs; i++) {
        const uint32_t c = i % shape.out_c, p = i / shape.out_c, taps = (uint32_t)shape.kernel_h * shape.kernel_w;
        uint32_t best = UINT32_MAX;
        for (uint32_t tap = 0; tap < taps; tap++) {
            const uint32_t at =
                under(&shape, p / shape.out_w, p % shape.out_w, tap / shape.kernel_w, tap % shape.kernel_w, c);
            const float part = error[i] / (float)taps;
            best = best == UINT32_MAX || in[at] > in[best] ? at : best;
            gets[at] = maximum ? gets[at] : part + 0.0f;
        }
        gets[best] = maximum ? error[i] : gets[best];
    }
    for (uint32_t i = 0; i < inputs; i++) {
        expected[i] = naive_given(expected[i], gets[i], further);
    }
    if (maximum) {
        max_pool_f32_backward(in, error, &shape, further, found);
    } else {
        average_pool_f32_backward(error, &shape, further, found);
    }
    check_f32(found, expected, inputs, maximum ? "max_pool backward" : "average_pool backward");
    float *const all[] = {in, error, found, expected, gets};
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

static void test_limits(void) {
    const float big[] = {0x1p40f, -0x1p40f, 3.0f, 0.0f}, zero[] = {0.0f, 0.0f, 0.0f, 0.0f};
    const float sum_expected[] = {0x1p40f, -0x1p40f, 6.0f, 0.0f}, gated[] = {0.0f, 0.0f, 7.0f, 0.0f};
    const limits_f32_t none = {-0x1p40f, 0x1p40f}, relu = {0.0f, 0x1p40f};
    float out[4], error[] = {7.0f, 7.0f, 7.0f, 7.0f}, weights[] = {1.0f, 1.0f, 1.0f};
    const float gradient[] = {0x1p100f, -0x1p100f, 1.0f}, updated[] = {1.0f - 0x1p20f, 1.0f + 0x1p20f, 0.5f};
    add_f32(big, big, 4, &none, out);
    check_f32(out, sum_expected, 4, "add");
    gate_f32(big, 4, &relu, error);
    check_f32(error, gated, 4, "gate");
    memcpy(out, big, sizeof out);
    pass_error_f32(big, 4, true, out);
    check_f32(out, sum_expected, 4, "a further error");
    pass_error_f32(zero, 4, false, out);
    check_f32(out, zero, 4, "a first error");
    update_f32(gradient, 3, 0.5f, weights);
    check_f32(weights, updated, 3, "update");
}

void test_float32_kernels(void) {
    for (uint32_t i = 0; i < ROUNDS; i++) {
        check_windows(false);
        check_windows(true);
        check_fully_connected();
        check_pool(true);
        check_pool(false);
        check_pool_backward(true);
        check_pool_backward(false);
    }
    test_limits();
}
