/* Shapes for which the kernels of affine8 for single cores have ways of their own, with zero points and values at both
   ends, against sums in 64 bits. Scratch has exactly the size of the memory plan. */
#include <stdbool.h>
#include <string.h>

#include "affine8_drawn.h"
#include "check.h"
#include "kernels/affine8.h"
#include "naive_tflite.h"
#include "tflite_drawn.h"

enum { ROUNDS = 20 };

typedef enum { CONV2D, POINTWISE, DEPTHWISE } kind_t;

typedef struct {
    const int8_t *in, *weights, *error;
    int64_t input_zero, weight_zero, error_zero;
    const int32_t *place; /* by output channel: in the list of those that are kept, or -1 */
    uint32_t out_c, count, taps;
    bool depthwise;
    int64_t *sums, *gradient, *back;
} layer_sums_t;

static void add_products(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const layer_sums_t *s = context;
    const uint32_t channel = output % s->out_c;
    const int64_t x = s->in[input] - s->input_zero, w = s->weights[weight] - s->weight_zero;
    s->sums[output] += x * w;
    const int32_t place = s->place[channel];
    if (place >= 0) {
        const uint32_t at = (uint32_t)place;
        const int64_t e = s->error[s->depthwise ? output : output / s->out_c * s->count + at] - s->error_zero;
        const uint32_t to = s->depthwise ? weight / s->out_c * s->count + at : at * s->taps + weight % s->taps;
        s->gradient[to] += e * x;
        s->back[input] += e * w;
    }
}

static uint64_t scratch_of(kind_t kind, const layer_shape_t *s) {
    if (kind == DEPTHWISE) {
        return 2ull * ((s->out_h - 1u) * s->stride_h + s->kernel_h) * ((s->out_w - 1u) * s->stride_w + s->kernel_w) +
               2ull * s->kernel_h * s->kernel_w + 8;
    }
    return forward_scratch(kind == CONV2D ? OP_CONV2D : OP_POINTWISE, s);
}

static void run_forward(kind_t kind, const layer_sums_t *s, const layer_shape_t *shape, const affine8_layer_t *layer,
                        int8_t *out) {
    int8_t *scratch = take(scratch_of(kind, shape));
    if (kind == CONV2D) {
        affine8_conv2d(s->in, s->weights, shape, layer, scratch, out);
    } else if (kind == POINTWISE) {
        affine8_pointwise(s->in, s->weights, shape, layer, scratch, out);
    } else {
        affine8_depthwise(s->in, s->weights, shape, layer, scratch, out);
    }
    free(scratch);
}

static void run_backward(kind_t kind, const layer_sums_t *s, const affine8_errors_t *errors, const layer_shape_t *shape,
                         int32_t *gradient, int32_t *back) {
    const int8_t zero = (int8_t)s->input_zero, weight_zero = (int8_t)s->weight_zero;
    if (kind == POINTWISE) {
        affine8_pointwise_weight_gradient(s->in, errors, shape, zero, gradient);
        affine8_pointwise_input_error(errors, s->weights, weight_zero, shape, back);
        return;
    }
    const enum op op = kind == CONV2D ? OP_CONV2D : OP_DEPTHWISE;
    int8_t *scratch = take(gradient_scratch(op, shape)), *spread = take(input_error_scratch(op, shape));
    if (kind == CONV2D) {
        affine8_conv2d_weight_gradient(s->in, errors, shape, zero, scratch, gradient);
        affine8_conv2d_input_error(errors, s->weights, weight_zero, shape, (int32_t *)(void *)spread, back);
    } else {
        affine8_depthwise_weight_gradient(s->in, errors, shape, zero, scratch, gradient);
        affine8_depthwise_input_error(errors, s->weights, weight_zero, shape, spread, back);
    }
    free(scratch), free(spread);
}

static void check_backward(kind_t kind, const layer_sums_t *s, const layer_shape_t *shape, const uint16_t *kept,
                           const char *what) {
    const affine8_errors_t errors = {.error = s->error, .zero = (int8_t)s->error_zero, .kept = kept, .count = s->count};
    const uint32_t weights = s->taps * s->count, inputs = shape_inputs(shape);
    int32_t *gradient = take(weights * sizeof *gradient), *before = take(weights * sizeof *before),
            *back = take(inputs * sizeof *back);
    for (uint32_t i = 0; i < weights; i++) {
        gradient[i] = before[i] = draw(INT32_MIN, INT32_MAX);
    }
    run_backward(kind, s, &errors, shape, gradient, back);
    for (uint32_t i = 0; i < weights; i++) {
        const int32_t sum = (int32_t)((uint32_t)before[i] + (uint32_t)s->gradient[i]);
        CHECK(gradient[i] == sum, "gradient of %s, element %u: %d, not %d", what, i, gradient[i], sum);
    }
    for (uint32_t i = 0; i < inputs; i++) {
        CHECK(back[i] == s->back[i], "error of %s, element %u: %d, not %lld", what, i, back[i], (long long)s->back[i]);
    }
    free(gradient), free(before), free(back);
}

static void check_forward(kind_t kind, const layer_sums_t *s, const layer_shape_t *shape, const char *what) {
    const uint32_t channels = shape->out_c, outputs = shape_outputs(shape);
    int32_t *bias = take(channels * sizeof *bias), *folded = take(channels * sizeof *folded);
    for (uint32_t o = 0; o < channels; o++) {
        bias[o] = draw(0, 5) == 0 ? draw(-(1 << 29), 1 << 29) : draw(-5000, 5000);
    }
    affine8_fold_bias(bias, s->weights, (int8_t)s->weight_zero, s->taps, kind == DEPTHWISE ? channels : 1, channels,
                      kind == DEPTHWISE ? 1 : s->taps, (int8_t)s->input_zero, folded);
    const int32_t least = draw(0, 1) == 0 ? -128 : draw(-128, 126);
    const affine8_layer_t layer = {.input_zero = (int8_t)s->input_zero,
                                   .weight_zero = (int8_t)s->weight_zero,
                                   .output_zero = draw_zero(),
                                   .least = (int8_t)least,
                                   .most = (int8_t)(draw(0, 1) == 0 ? 127 : draw(least, 127)),
                                   .factor = draw_factor(s->taps),
                                   .bias = folded};
    int8_t *out = take(outputs);
    run_forward(kind, s, shape, &layer, out);
    for (uint32_t i = 0; i < outputs; i++) {
        const int8_t expected =
            output_of(bias[i % channels] + s->sums[i], layer.factor, layer.output_zero, layer.least, layer.most);
        CHECK(out[i] == expected, "%s, output %u: %d, not %d", what, i, out[i], expected);
    }
    free(bias), free(folded), free(out);
}

static void check_layer(kind_t kind, const layer_shape_t *shape, const char *what) {
    const uint32_t window = (uint32_t)shape->kernel_h * shape->kernel_w, outputs = shape_outputs(shape);
    layer_sums_t s = {.input_zero = draw_zero(),
                      .weight_zero = draw_zero(),
                      .error_zero = draw_zero(),
                      .out_c = shape->out_c,
                      .taps = kind == DEPTHWISE ? window : window * shape->in_c,
                      .depthwise = kind == DEPTHWISE};
    const uint32_t weights = s.taps * shape->out_c, inputs = shape_inputs(shape);
    uint16_t *kept = take(shape->out_c * sizeof *kept);
    int32_t *place = take(shape->out_c * sizeof *place);
    s.place = place;
    s.count = draw_kept(shape->out_c, kept, place);
    const uint32_t errors = s.depthwise ? outputs : outputs / shape->out_c * s.count; /* packed, or where they lie */
    int8_t *error = draw_bytes(errors), *in = draw_bytes(inputs), *w = draw_bytes(weights);
    draw_zeros(error, errors, (int8_t)s.error_zero);
    s.error = error, s.in = in, s.weights = w;
    s.sums = calloc(outputs, sizeof *s.sums);
    s.gradient = calloc(weights, sizeof *s.gradient);
    s.back = calloc(inputs, sizeof *s.back);
    CHECK(s.sums != NULL && s.gradient != NULL && s.back != NULL, "no memory");
    naive_products(shape, s.depthwise, add_products, &s);
    check_forward(kind, &s, shape, what);
    check_backward(kind, &s, shape, kept, what);
    void *all[] = {kept, place, error, in, w, s.sums, s.gradient, s.back};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]);
    }
}

/* Many channels, many taps, rows of more positions than fit at once, an input of one row, strides. */
static void test_shapes(void) {
    static const struct {
        kind_t kind;
        const char *name;
        layer_shape_t shape;
    } cases[] = {
        /* height, width, channels of input and output; kernel, stride, padding: each down, across */
        {CONV2D, "conv2d", {6, 18, 16, 6, 18, 7, 3, 3, 1, 1, 1, 1}},
        {CONV2D, "conv2d of one channel", {14, 13, 1, 14, 13, 6, 5, 5, 1, 1, 2, 2}},
        {CONV2D, "conv2d of a wide image", {4, 140, 3, 4, 140, 5, 3, 3, 1, 1, 1, 1}},
        {CONV2D, "conv2d of a row", {1, 400, 1, 1, 398, 3, 1, 3, 1, 1, 0, 0}},
        {CONV2D, "conv2d of one tap", {1, 2, 70, 1, 2, 130, 1, 1, 1, 1, 0, 0}},
        {CONV2D, "conv2d of stride 2", {9, 9, 2, 5, 5, 4, 7, 7, 2, 2, 3, 3}},
        {CONV2D, "conv2d of stride 4", {9, 13, 3, 3, 4, 9, 2, 3, 4, 4, 1, 1}},
        {CONV2D, "conv2d of two strides", {9, 13, 3, 9, 7, 5, 5, 5, 1, 2, 2, 2}},
        {CONV2D, "conv2d of two other strides", {9, 13, 2, 5, 13, 5, 3, 3, 2, 1, 0, 2}},
        {CONV2D, "conv2d of one channel, two strides", {14, 13, 1, 7, 13, 6, 5, 5, 2, 1, 2, 2}},
        {CONV2D, "conv2d padded on one axis", {8, 9, 2, 10, 7, 4, 3, 3, 1, 1, 2, 0}},
        {POINTWISE, "pointwise", {9, 16, 40, 9, 16, 70, 1, 1, 1, 1, 0, 0}},
        {POINTWISE, "pointwise of one channel", {13, 11, 1, 13, 11, 3, 1, 1, 1, 1, 0, 0}},
        {POINTWISE, "pointwise of many channels", {5, 7, 97, 5, 7, 2, 1, 1, 1, 1, 0, 0}},
        {DEPTHWISE, "depthwise", {8, 16, 5, 8, 16, 5, 3, 3, 1, 1, 1, 1}},
        {DEPTHWISE, "depthwise of stride 2", {9, 16, 4, 5, 8, 4, 3, 3, 2, 2, 1, 1}},
        {DEPTHWISE, "depthwise of two strides", {9, 16, 4, 9, 8, 4, 3, 3, 1, 2, 1, 1}},
        {DEPTHWISE, "depthwise of two other strides", {9, 16, 4, 5, 16, 4, 3, 3, 2, 1, 1, 2}},
        {DEPTHWISE, "depthwise padded on one axis", {9, 8, 3, 9, 6, 3, 3, 3, 1, 1, 2, 0}},
        {DEPTHWISE, "depthwise of a wide image", {4, 140, 2, 2, 70, 2, 5, 5, 2, 2, 2, 2}},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t round = 0; round < ROUNDS; round++) {
            check_layer(cases[i].kind, &cases[i].shape, cases[i].name);
        }
    }
}

void test_affine8_shapes(void) {
    test_shapes();
}
