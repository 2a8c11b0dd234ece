/* The kernels of affine8 beside sums of products by their definition, in scratch of exactly the size of the plan. */
#include <string.h>

#include "check.h"
#include "formats/affine8.h"
#include "formats/tflite8_sizes.h"
#include "kernels/affine8.h"
#include "kernels/gradients.h"
#include "naive_tflite.h"
#include "tflite_drawn.h"

enum { ROUNDS = 400, MOST_CHANNELS = 40 };

typedef enum { CONV2D, POINTWISE, DEPTHWISE, FULLY_CONNECTED } kind_t;

static const enum op op_of[] = {OP_CONV2D, OP_POINTWISE, OP_DEPTHWISE, OP_FULLY_CONNECTED};

/* A drawn layer: its values and errors, the zero points of all three tensors, and the channels that are kept. */
typedef struct {
    kind_t kind;
    layer_shape_t shape;
    uint32_t taps, weight_count, inputs, outputs;
    int8_t *in, *weights, *error;
    int32_t input_zero, weight_zero, error_zero;
    uint16_t kept[MOST_CHANNELS];
    int32_t place[MOST_CHANNELS]; /* of a channel among those that are kept; -1: it is not */
    uint32_t count;
} drawn_t;

static layer_shape_t draw_shape(kind_t kind) {
    layer_shape_t shape =
        kind == POINTWISE || kind == FULLY_CONNECTED ? draw_pointwise() : draw_window(kind == DEPTHWISE);
    if (kind == FULLY_CONNECTED) {
        shape.in_h = shape.in_w = shape.out_h = shape.out_w = 1;
    }
    return shape;
}

/* All channels, or some. */
static void draw_kept(drawn_t *drawn) {
    const uint32_t channels = drawn->shape.out_c;
    const int32_t share = draw(0, 3);
    drawn->count = 0;
    for (uint32_t o = 0; o < channels; o++) {
        const bool keeps = share == 0 || draw(0, 2) < share || (o + 1 == channels && drawn->count == 0);
        drawn->place[o] = keeps ? (int32_t)drawn->count : -1;
        if (keeps) {
            drawn->kept[drawn->count++] = (uint16_t)o;
        }
    }
}

static drawn_t draw_drawn(kind_t kind) {
    drawn_t drawn = {.kind = kind, .shape = draw_shape(kind)};
    const layer_shape_t *shape = &drawn.shape;
    drawn.taps = (uint32_t)shape->kernel_h * shape->kernel_w * (kind == DEPTHWISE ? 1u : shape->in_c);
    drawn.weight_count = drawn.taps * shape->out_c;
    drawn.inputs = shape_inputs(shape);
    drawn.outputs = shape_outputs(shape);
    drawn.in = draw_bytes(drawn.inputs);
    drawn.weights = draw_bytes(drawn.weight_count);
    drawn.error = draw_bytes(drawn.outputs);
    drawn.input_zero = draw(-128, 127);
    drawn.weight_zero = draw(-128, 127);
    drawn.error_zero = draw(-128, 127);
    const int32_t zeros = draw(0, 3);
    for (uint32_t i = 0; i < drawn.outputs; i++) {
        drawn.error[i] = draw(0, 3) < zeros ? (int8_t)drawn.error_zero : drawn.error[i];
    }
    if (draw(0, 9) == 0) { /* the largest products that there are */
        memset(drawn.in, 127, drawn.inputs);
        memset(drawn.weights, -128, drawn.weight_count);
        memset(drawn.error, 127, drawn.outputs);
        drawn.input_zero = drawn.error_zero = -128;
        drawn.weight_zero = 127;
    }
    draw_kept(&drawn);
    return drawn;
}

static void drawn_free(drawn_t *drawn) {
    free(drawn->in);
    free(drawn->weights);
    free(drawn->error);
}

static graph_layer_t record_of(const drawn_t *drawn) {
    return layer_of(op_of[drawn->kind], &drawn->shape);
}

/* Sums by definition, in 64 bits. */
typedef struct {
    const drawn_t *drawn;
    int64_t *acc, *gradient, *input_error;
} sums_t;

static void add_product(void *context, uint32_t weight, uint32_t input, uint32_t output) {
    const sums_t *sums = context;
    const drawn_t *drawn = sums->drawn;
    const int64_t x = drawn->in[input] - drawn->input_zero, w = drawn->weights[weight] - drawn->weight_zero,
                  e = drawn->error[output] - drawn->error_zero;
    sums->acc[output] += x * w;
    if (drawn->place[output % drawn->shape.out_c] >= 0) {
        sums->gradient[weight] += e * x;
        sums->input_error[input] += w * e;
    }
}

static int64_t divide_down(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static void check_forward(const drawn_t *drawn, const int64_t *acc) {
    const graph_layer_t record = record_of(drawn);
    const uint32_t channels = drawn->shape.out_c;
    const bool floors = draw(0, 1) == 1, depthwise = drawn->kind == DEPTHWISE;
    int32_t bias[MOST_CHANNELS], folded[MOST_CHANNELS];
    affine8_layer_t layer = {.input_zero = (int8_t)drawn->input_zero,
                             .weight_zero = (int8_t)drawn->weight_zero,
                             .output_zero = (int8_t)draw(-128, 127),
                             .least = (int8_t)draw(-128, 0),
                             .most = (int8_t)draw(0, 127),
                             .bias = folded};
    layer.factor = (affine8_factor_t){
        .m = (uint16_t)draw(32768, 65535), .n = (uint8_t)draw(draw(0, 3) == 0 ? 16 : 21, 30), .floors = floors};
    for (uint32_t o = 0; o < channels; o++) {
        bias[o] = draw(-100000, 100000);
    }
    affine8_fold_bias(bias, drawn->weights, layer.weight_zero, drawn->taps, depthwise ? channels : 1, channels,
                      depthwise ? 1 : drawn->taps, layer.input_zero, folded);
    int8_t *scratch = take(affine8_work(&record)), *out = take(drawn->outputs);
    switch (drawn->kind) {
    case CONV2D: affine8_conv2d(drawn->in, drawn->weights, &drawn->shape, &layer, scratch, out); break;
    case POINTWISE: affine8_pointwise(drawn->in, drawn->weights, &drawn->shape, &layer, scratch, out); break;
    case DEPTHWISE: affine8_depthwise(drawn->in, drawn->weights, &drawn->shape, &layer, scratch, out); break;
    default:
        affine8_fully_connected(drawn->in, drawn->weights, drawn->inputs, channels, &layer, (int32_t *)(void *)scratch,
                                out);
    }
    for (uint32_t i = 0; i < drawn->outputs; i++) {
        const int64_t power = INT64_C(1) << layer.factor.n, half = floors ? 0 : power / 2;
        const int64_t scaled = divide_down((acc[i] + bias[i % channels]) * layer.factor.m + half, power);
        const int64_t expected = naive_clamp(layer.output_zero + scaled, layer.least, layer.most);
        CHECK(out[i] == expected, "forward of kind %d, output %u: %d, not %lld", (int)drawn->kind, i, out[i],
              (long long)expected);
    }
    free(scratch);
    free(out);
}

/* The errors as the kernels take them: packed, but of depthwise. */
static affine8_errors_t errors_of(const drawn_t *drawn, int8_t **packed) {
    const uint32_t channels = drawn->shape.out_c, positions = drawn->outputs / channels;
    *packed = take(positions * drawn->count);
    gather_channels_s8(drawn->error, positions, channels, drawn->kept, drawn->count, *packed);
    return (affine8_errors_t){.error = drawn->kind == DEPTHWISE ? drawn->error : *packed,
                              .zero = (int8_t)drawn->error_zero,
                              .kept = drawn->kept,
                              .count = drawn->count};
}

static void check_input_error(const drawn_t *drawn, const affine8_errors_t *errors, const int64_t *expected) {
    const graph_layer_t record = record_of(drawn);
    const back_layout_t layout = back_layout(&record, drawn->inputs);
    int8_t *scratch = take(layout.end - layout.scratch);
    int32_t *acc = take(drawn->inputs * sizeof *acc);
    const int8_t zero = (int8_t)drawn->weight_zero;
    switch (drawn->kind) {
    case CONV2D:
        affine8_conv2d_input_error(errors, drawn->weights, zero, &drawn->shape, (int32_t *)(void *)scratch, acc);
        break;
    case POINTWISE: affine8_pointwise_input_error(errors, drawn->weights, zero, &drawn->shape, acc); break;
    case DEPTHWISE: affine8_depthwise_input_error(errors, drawn->weights, zero, &drawn->shape, scratch, acc); break;
    default: affine8_fully_connected_input_error(errors, drawn->weights, zero, drawn->inputs, acc);
    }
    for (uint32_t i = 0; i < drawn->inputs; i++) {
        CHECK(acc[i] == expected[i], "input error of kind %d, %u: %d, not %lld", (int)drawn->kind, i, acc[i],
              (long long)expected[i]);
    }
    free(scratch);
    free(acc);
}

/* The place of a weight among the gradients of the channels that are kept; -1: it has none. */
static int64_t gradient_place(const drawn_t *drawn, uint32_t weight) {
    const bool depthwise = drawn->kind == DEPTHWISE;
    const uint32_t channels = drawn->shape.out_c, o = depthwise ? weight % channels : weight / drawn->taps,
                   t = depthwise ? weight / channels : weight % drawn->taps;
    if (drawn->place[o] < 0) {
        return -1;
    }
    return depthwise ? (int64_t)t * drawn->count + drawn->place[o] : (int64_t)drawn->place[o] * drawn->taps + t;
}

/* What is found has been added to what was there before. */
static void check_gradient(const drawn_t *drawn, const affine8_errors_t *errors, const int64_t *expected) {
    const graph_layer_t record = record_of(drawn);
    const sums_layout_t layout = sums_layout(&record, true);
    const uint32_t n = drawn->taps * drawn->count;
    int8_t *scratch = take(layout.end - layout.scratch);
    int32_t *gradient = take(n * sizeof *gradient);
    const int8_t zero = (int8_t)drawn->input_zero;
    memset(gradient, 0, n * sizeof *gradient);
    gradient[n - 1] = 1000;
    switch (drawn->kind) {
    case CONV2D: affine8_conv2d_weight_gradient(drawn->in, errors, &drawn->shape, zero, scratch, gradient); break;
    case POINTWISE: affine8_pointwise_weight_gradient(drawn->in, errors, &drawn->shape, zero, gradient); break;
    case DEPTHWISE: affine8_depthwise_weight_gradient(drawn->in, errors, &drawn->shape, zero, scratch, gradient); break;
    default: affine8_fully_connected_weight_gradient(drawn->in, errors, drawn->inputs, zero, gradient);
    }
    gradient[n - 1] -= 1000;
    for (uint32_t i = 0; i < drawn->weight_count; i++) {
        const int64_t place = gradient_place(drawn, i);
        CHECK(place < 0 || gradient[place] == expected[i], "gradient of kind %d, %u: %d, not %lld", (int)drawn->kind, i,
              gradient[place], (long long)expected[i]);
    }
    free(scratch);
    free(gradient);
}

static void check_channels(const drawn_t *drawn) {
    const uint32_t channels = drawn->shape.out_c, positions = drawn->outputs / channels;
    const affine8_errors_t errors = {
        .error = drawn->error, .zero = (int8_t)drawn->error_zero, .kept = drawn->kept, .count = drawn->count};
    int32_t bias[MOST_CHANNELS] = {0};
    uint32_t norms[MOST_CHANNELS];
    affine8_bias_gradient(&errors, positions, channels, bias);
    affine8_error_norms(drawn->error, errors.zero, positions, channels, norms);
    for (uint32_t o = 0; o < channels; o++) {
        int64_t sum = 0, norm = 0;
        for (uint32_t p = 0; p < positions; p++) {
            const int64_t e = drawn->error[p * channels + o] - drawn->error_zero;
            sum += e;
            norm += e < 0 ? -e : e;
        }
        CHECK(norms[o] == norm, "norm of channel %u: %u, not %lld", o, norms[o], (long long)norm);
        CHECK(drawn->place[o] < 0 || bias[drawn->place[o]] == sum, "bias of channel %u", o);
    }
}

static void check_layer(kind_t kind) {
    drawn_t drawn = draw_drawn(kind);
    sums_t sums = {.drawn = &drawn,
                   .acc = calloc(drawn.outputs, sizeof *sums.acc),
                   .gradient = calloc(drawn.weight_count, sizeof *sums.gradient),
                   .input_error = calloc(drawn.inputs, sizeof *sums.input_error)};
    int8_t *packed;
    CHECK(sums.acc != NULL && sums.gradient != NULL && sums.input_error != NULL, "no memory");
    naive_products(&drawn.shape, kind == DEPTHWISE, add_product, &sums);
    const affine8_errors_t errors = errors_of(&drawn, &packed);
    check_forward(&drawn, sums.acc);
    check_input_error(&drawn, &errors, sums.input_error);
    check_gradient(&drawn, &errors, sums.gradient);
    check_channels(&drawn);
    free(sums.acc);
    free(sums.gradient);
    free(sums.input_error);
    free(packed);
    drawn_free(&drawn);
}

static void test_sums(void) {
    enum { MOST = 100 };
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const uint32_t n = (uint32_t)draw(1, MOST);
        const int32_t bound = draw(1, 2130739200);
        const affine8_factor_t factor = {
            .m = (uint16_t)draw(32768, 65535), .n = (uint8_t)draw(16, 46), .floors = draw(0, 1) == 1};
        const int8_t zero = (int8_t)draw(-128, 127);
        int32_t sums[MOST];
        int8_t *out = take(n);
        int64_t least = 0, most = 0;
        for (uint32_t i = 0; i < n; i++) {
            sums[i] = draw(-bound, bound);
            least = sums[i] < least ? sums[i] : least;
            most = sums[i] > most ? sums[i] : most;
        }
        const affine8_extent_t extent = affine8_extent_s32(sums, n);
        CHECK(extent.least == least && extent.most == most, "the extent of %u sums", n);
        int32_t within[MOST]; /* those that no byte cuts off */
        int8_t *bytes = take(n), *found = take(n);
        uint32_t count = 0;
        affine8_requantize_s32(sums, n, factor, zero, false, out);
        for (uint32_t i = 0; i < n; i++) {
            const int64_t power = INT64_C(1) << factor.n, half = factor.floors ? 0 : power / 2;
            const int64_t scaled = divide_down((int64_t)sums[i] * factor.m + half, power);
            CHECK(out[i] == naive_clamp(zero + scaled, -128, 127), "sum %d", sums[i]);
            if (out[i] == zero + scaled) {
                within[count] = sums[i];
                bytes[count++] = out[i];
            }
        }
        affine8_requantize_s32(within, count, factor, zero, true, found);
        check_s8(found, bytes, count, "within");
        affine8_requantize_s32(within, count, factor, zero, true, (int8_t *)within);
        check_s8((int8_t *)within, bytes, count, "within, in place");
        affine8_requantize_s32(sums, n, factor, zero, false, (int8_t *)sums);
        check_s8((int8_t *)sums, out, n, "in place");
        free(bytes);
        free(found);
        free(out);
    }
}

void test_affine8_kernels(void) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        check_layer(CONV2D);
        check_layer(POINTWISE);
        check_layer(DEPTHWISE);
        check_layer(FULLY_CONNECTED);
    }
    test_sums();
}
