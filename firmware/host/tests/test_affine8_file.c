/* What is refused of a file in affine8, and of files with several formats: docs/arithmetic-affine8.md, section 8. */
#include <math.h>
#include <string.h>

#include "affine8_made.h"
#include "check.h"
#include "graph/checks.h"

enum { HEADER = 255 };

static const float minus_zero = -0.0f, not_a_number = NAN;

static void put_f32(uint8_t *to, float x) {
    memcpy(to, &x, sizeof x);
}

static uint8_t *parameters(const graph_made_t *made, uint32_t layer) {
    return made->bytes + made_record(made, layer)->parameters_offset;
}

static uint8_t *range_of(const graph_made_t *made, uint32_t layer) {
    return parameters(made, layer) + (made_record(made, layer)->weights_offset > 0 ? 8 : 0);
}

/* A network, a change of its bytes, and what is then refused. */
typedef struct {
    char network;
    void (*change)(graph_made_t *made);
    uint32_t layer, check;
} refusal_row_t;

#define CHANGE(name, statement)                                                                                        \
    static void name(graph_made_t *made) {                                                                             \
        statement;                                                                                                     \
    }

CHANGE(no_change, (void)made)
static void round_down(const graph_made_t *made) {
    for (uint32_t l = 0; l < made->header.layers; l++) {
        made_record(made, l)->rounding = made->layer[l].format == FORMAT_AFFINE8 ? ROUNDS_DOWN : 0;
    }
}

CHANGE(rounding_down, round_down(made))
CHANGE(header_is_set, made->bytes[29] = 1)
CHANGE(rounding_two, made_record(made, 0)->rounding = 2)
CHANGE(rounding_of_second, made_record(made, 1)->rounding = ROUNDS_DOWN)
CHANGE(rounding_of_last, made_record(made, 8)->rounding = ROUNDS_DOWN)
CHANGE(rounding_of_pool, made_record(made, 3)->rounding = ROUNDS_DOWN)
CHANGE(rounding_of_cast, made_record(made, 2)->rounding = 1)
CHANGE(unknown_op, made_record(made, 0)->op = 14)
CHANGE(mean, made_record(made, 1)->op = OP_MEAN; made_record(made, 1)->out_h = made_record(made, 1)->out_w = 1)
CHANGE(a_table, made_record(made, 1)->op = OP_TABLE)
CHANGE(first_of_multiply, made_record(made, 6)->reads[0] = 4)
CHANGE(second_of_multiply, made_record(made, 6)->reads[1] = 3)
CHANGE(second_of_hard_swish, made_record(made, 1)->reads[1] = 1)
CHANGE(output_of_multiply, made_record(made, 6)->out_w = 3)
CHANGE(output_of_hard_swish, made_record(made, 1)->out_c = 5)
CHANGE(output_of_cast, made_record(made, 2)->out_h = 9)
CHANGE(window_of_hard_swish, made_record(made, 1)->kernel_h = 1)
CHANGE(relu, made_record(made, 1)->op = OP_RELU)
CHANGE(cast_in_affine8, made_record(made, 1)->op = OP_CAST)
CHANGE(float_reads_affine8, made_record(made, 3)->reads[0] = 2)
CHANGE(affine8_reads_float, made_record(made, 3)->format = FORMAT_AFFINE8)
CHANGE(hard_swish_in_tflite8, made_record(made, 1)->format = FORMAT_TFLITE8)
CHANGE(weights_elsewhere, made_record(made, 0)->weights_offset += 4)
CHANGE(padding, made->bytes[made_record(made, 0)->weights_offset + 19] = 1)
CHANGE(after_zero, parameters(made, 0)[7] = 1)
CHANGE(small_weight_scale, put_f32(parameters(made, 0), 0x1.fffffep-29f))
CHANGE(large_weight_scale, put_f32(parameters(made, 0), 0x1.000002p14f))
CHANGE(no_weight_scale, put_f32(parameters(made, 0), not_a_number))
CHANGE(large_input_scale, put_f32(made->bytes + 24, 0x1.000002p23f))
CHANGE(narrow_output, put_f32(range_of(made, 0) + 4, 0x1p-20f))
CHANGE(narrow_product, put_f32(range_of(made, 6) + 4, 0x1p-19f))
CHANGE(large_bias, put_f32(parameters(made, 0) + 24 + 8, 0x1.000002p20f))
CHANGE(large_bias_in_steps, put_f32(parameters(made, 0) + 24 + 8, 0x1p15f))
CHANGE(no_bias, put_f32(parameters(made, 0) + 24 + 8, not_a_number))
CHANGE(folded_bias, parameters(made, 0)[24] ^= 1)
CHANGE(weight, made->bytes[made_record(made, 2)->weights_offset] ^= 1)
CHANGE(weight_zero, parameters(made, 0)[4] ^= 1)
CHANGE(least_above_zero, put_f32(parameters(made, 8) + 8, 0x1p-30f))
CHANGE(most_below_zero, put_f32(parameters(made, 8) + 12, -0x1p-30f))
CHANGE(least_too_far, put_f32(parameters(made, 8) + 8, -0x1.000002p40f))
CHANGE(least_minus_zero, put_f32(parameters(made, 0) + 16, minus_zero))
CHANGE(no_limits, put_f32(parameters(made, 8) + 8, not_a_number))
CHANGE(limits_equal, (put_f32(parameters(made, 8) + 8, 0.0f), put_f32(parameters(made, 8) + 12, 0.0f)))
CHANGE(low_above_zero, put_f32(range_of(made, 1), 0x1p-30f))
CHANGE(low_minus_zero, put_f32(range_of(made, 0), minus_zero))
CHANGE(high_below_zero, put_f32(range_of(made, 1) + 4, -0x1p-4f))
CHANGE(no_high, put_f32(range_of(made, 1) + 4, not_a_number))
CHANGE(narrow, (put_f32(range_of(made, 1), 0.0f), put_f32(range_of(made, 1) + 4, 0x1.fffffep-21f)))
CHANGE(wide, (put_f32(range_of(made, 1), -0x1p29f), put_f32(range_of(made, 1) + 4, 0x1.000004p29f)))
CHANGE(low_below_least, put_f32(range_of(made, 0), -0x1p-30f))
CHANGE(high_above_most, put_f32(range_of(made, 2) + 4, 6.5f))
CHANGE(limits_of_hard_swish, put_f32(parameters(made, 1) + 8, -100.0f))
CHANGE(limits_of_multiply, put_f32(parameters(made, 6) + 12, 100.0f))
CHANGE(limits_of_pool, put_f32(parameters(made, 3) + 12, 100.0f))
CHANGE(range_of_pool, put_f32(parameters(made, 3) + 4, 1.0f))
CHANGE(range_of_pool_minus_zero, put_f32(parameters(made, 3), minus_zero))
CHANGE(limits_of_cast, put_f32(parameters(made, 2), -100.0f))
CHANGE(weight_of_float, put_f32(made->bytes + made_record(made, 3)->weights_offset, 0x1.000002p20f))

static const refusal_row_t rows[] = {
    {'A', no_change, 0, 0},
    {'B', no_change, 0, 0},
    {'C', no_change, 0, 0},
    {'A', header_is_set, HEADER, CHECK_ZERO},
    {'A', rounding_two, 0, CHECK_ZERO},
    {'B', rounding_of_second, 1, CHECK_ZERO},
    {'B', rounding_of_pool, 3, CHECK_ZERO},
    {'B', rounding_of_last, 8, CHECK_ZERO},
    {'C', rounding_of_cast, 2, CHECK_ZERO},
    {'B', mean, 1, CHECK_FORMAT},
    {'B', a_table, 1, CHECK_FORMAT},
    {'A', unknown_op, 0, CHECK_OP},
    {'B', first_of_multiply, 6, CHECK_INPUT},
    {'B', second_of_multiply, 6, CHECK_INPUT},
    {'B', second_of_hard_swish, 1, CHECK_INPUT},
    {'B', output_of_multiply, 6, CHECK_INPUT},
    {'B', output_of_hard_swish, 1, CHECK_OUTPUT},
    {'C', output_of_cast, 2, CHECK_OUTPUT},
    {'B', window_of_hard_swish, 1, CHECK_WINDOW},
    {'B', relu, 1, CHECK_FORMAT},
    {'B', cast_in_affine8, 1, CHECK_FORMAT},
    {'C', float_reads_affine8, 3, CHECK_FORMAT},
    {'C', affine8_reads_float, 3, CHECK_FORMAT},
    {'B', hard_swish_in_tflite8, 1, CHECK_FORMAT},
    {'A', weights_elsewhere, 0, CHECK_PLACE},
    {'A', padding, 0, CHECK_ZERO},
    {'A', after_zero, 0, CHECK_ZERO},
    {'A', small_weight_scale, 0, CHECK_SCALE},
    {'A', large_weight_scale, 0, CHECK_SCALE},
    {'A', no_weight_scale, 0, CHECK_SCALE},
    {'A', large_input_scale, 0, CHECK_SCALE},
    {'A', narrow_output, 0, CHECK_SCALE},
    {'B', narrow_product, 6, CHECK_SCALE},
    {'A', large_bias, 0, CHECK_SUMS},
    {'A', large_bias_in_steps, 0, CHECK_WEIGHT}, /* its b' is another one */
    {'A', no_bias, 0, CHECK_SUMS},
    {'A', folded_bias, 0, CHECK_WEIGHT},
    {'B', weight, 2, CHECK_WEIGHT},
    {'A', weight_zero, 0, CHECK_WEIGHT},
    {'A', rounding_down, 0, 0}, /* all that are read have the zero point -128 */
    {'B', rounding_down, 2, CHECK_WEIGHT},
    {'B', least_above_zero, 8, CHECK_LIMITS},
    {'B', most_below_zero, 8, CHECK_LIMITS},
    {'B', least_too_far, 8, CHECK_LIMITS},
    {'A', least_minus_zero, 0, CHECK_LIMITS},
    {'B', no_limits, 8, CHECK_LIMITS},
    {'B', limits_equal, 8, CHECK_LIMITS},
    {'B', low_above_zero, 1, CHECK_LIMITS},
    {'A', low_minus_zero, 0, CHECK_LIMITS},
    {'B', high_below_zero, 1, CHECK_LIMITS},
    {'B', no_high, 1, CHECK_LIMITS},
    {'B', narrow, 1, CHECK_LIMITS},
    {'B', wide, 1, CHECK_LIMITS},
    {'A', low_below_least, 0, CHECK_LIMITS},
    {'B', high_above_most, 4, CHECK_WEIGHT}, /* allowed; what reads it has other b' */
    {'B', limits_of_hard_swish, 1, CHECK_LIMITS},
    {'B', limits_of_multiply, 6, CHECK_LIMITS},
    {'B', limits_of_pool, 3, CHECK_LIMITS},
    {'B', range_of_pool, 3, CHECK_LIMITS},
    {'B', range_of_pool_minus_zero, 3, CHECK_LIMITS},
    {'C', limits_of_cast, 2, CHECK_LIMITS},
    {'C', weight_of_float, 3, CHECK_WEIGHT},
};

static void test_refusals(void) {
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char what[16];
        graph_made_t made;
        snprintf(what, sizeof what, "row %u", i);
        affine8_network(&made, rows[i].network, false, 0);
        rows[i].change(&made);
        made_seal(&made);
        made_expect(&made, rows[i].check > 0 ? FAILURE_NETWORK_LAYER : 0, rows[i].layer, rows[i].check, what);
        made_free(&made);
    }
}

/* A pointwise or fully connected layer, or a multiply, of a size. */
static void expect_size(enum op op, uint16_t h, uint16_t w, uint16_t outputs, uint32_t check, const char *what) {
    const affine8_spec_t layers[] = {
        {op,
         FORMAT_AFFINE8,
         {0, 0},
         op == OP_POINTWISE,
         op == OP_POINTWISE,
         0,
         outputs,
         -1e6f,
         1e6f,
         -NO_LIMIT,
         NO_LIMIT},
        {OP_AVERAGE_POOL, FORMAT_AFFINE8, {1, 0}, 1, 200, 0, 0, 0.0f, 0.0f, -NO_LIMIT, NO_LIMIT},
        {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {2, 0}, 0, 0, 0, 3, -1e6f, 1e6f, -NO_LIMIT, NO_LIMIT}};
    const affine8_graph_t graph = {.h = h, .w = w, .c = 1, .scale = 0x1p-8f, .layers = 3, .layer = layers};
    graph_made_t made;
    affine8_finish(&made, &graph);
    made_expect(&made, check > 0 ? FAILURE_NETWORK_LAYER : 0, 0, check, what);
    made_free(&made);
}

static void test_sizes(void) {
    expect_size(OP_FULLY_CONNECTED, 128, 128, 3, 0, "2^14 products");
    expect_size(OP_FULLY_CONNECTED, 1, 16385, 3, CHECK_SUMS, "more products");
    expect_size(OP_POINTWISE, 1, 1, 8192, 0, "many products of an input's error");
    expect_size(OP_POINTWISE, 1, 1, 32769, CHECK_SUMS, "more than 2^15");
    expect_size(OP_POINTWISE, 128, 256, 1, 0, "2^15 positions");
    expect_size(OP_POINTWISE, 32769, 1, 1, CHECK_SUMS, "more positions");
    expect_size(OP_HARD_SWISH, 32769, 1, 0, 0, "no sums");
}

/* Layers of tflite8 before those of affine8, each with any rounding. */
static void test_tflite8_before(void) {
    static const affine8_spec_t layers[] = {
        {OP_CONV2D, FORMAT_TFLITE8, {0, 0}, 3, 1, 1, 2, 0.0f, 2.0f, 0.0f, 0.0f},
        {OP_MAX_POOL, FORMAT_TFLITE8, {1, 0}, 2, 2, 0, 0, 0.0f, 2.0f, 0.0f, 0.0f},
        {OP_FULLY_CONNECTED, FORMAT_AFFINE8, {2, 0}, 0, 0, 0, 3, -1.0f, 1.0f, -NO_LIMIT, NO_LIMIT}};
    for (uint8_t rounding = 0; rounding <= 3; rounding++) {
        const affine8_graph_t graph = {
            .h = 6, .w = 6, .c = 1, .scale = 0x1p-8f, .zero = -128, .rounding = rounding, .layers = 3, .layer = layers};
        graph_made_t made;
        affine8_finish(&made, &graph);
        made_expect(&made, 0, 0, 0, "tflite8 and affine8");
        if (rounding == 0) {
            made_record(&made, 1)->reads[0] = 0;
            made_record(&made, 2)->format = FORMAT_FLOAT32;
            made_seal(&made);
            made_expect(&made, FAILURE_NETWORK_LAYER, 1, CHECK_INPUT, "another shape");
            made_record(&made, 1)->reads[0] = 1;
            made_seal(&made);
            made_expect(&made, FAILURE_NETWORK_LAYER, 2, CHECK_FORMAT, "float32 reads tflite8");
        }
        made_free(&made);
    }
}

static void test_rounding_of_float32(void) {
    graph_made_t made;
    affine8_network(&made, 'B', true, 0);
    made_expect(&made, 0, 0, 0, "hard_swish and multiply in float32");
    made_record(&made, 1)->rounding = 1;
    made_seal(&made);
    made_expect(&made, FAILURE_NETWORK_LAYER, 1, CHECK_ZERO, "float32 has no rounding");
    made_record(&made, 1)->rounding = 0;
    put_f32(parameters(&made, 1), -7.0f);
    made_seal(&made);
    made_expect(&made, FAILURE_NETWORK_LAYER, 1, CHECK_LIMITS, "hard_swish has no limits");
    made_free(&made);
}

void test_affine8_file(void) {
    test_refusals();
    test_sizes();
    test_tflite8_before();
    test_rounding_of_float32();
}
