#include <string.h>

#include "check.h"
#include "graph/checks.h"
#include "graph_made.h"

static void test_good_files(void) {
    for (int round = 0; round < 300; round++) {
        graph_made_t made;
        made_random(&made);
        made_expect(&made, FAILURE_NONE, 0, 0, "a good file");
        made_free(&made);
    }
}

/* Every length below the full one, in memory that ends where the file does. */
static void test_truncation(void) {
    graph_made_t made;
    made_small(&made);
    for (uint32_t n = 0; n < made.size; n++) {
        uint8_t *part = memcpy(take(n), made.bytes, n);
        graph_file_t file;
        const failure_t failure = graph_file_open(&file, part, n);
        CHECK(failure.code == FAILURE_NETWORK_TRUNCATED && failure.a == n && failure.b == (n < 32 ? 32 : made.size),
              "%u bytes: code %u, b %u", n, failure.code, failure.b);
        free(part);
    }
    made_free(&made);
}

#define CHANGE_HEADER(name, statement)                                                                                 \
    static void name(graph_header_t *header) {                                                                         \
        statement;                                                                                                     \
    }
CHANGE_HEADER(no_layers, header->layers = 0)
CHANGE_HEADER(one_class, header->classes = 1)
CHANGE_HEADER(many_classes, header->classes = 1025)
CHANGE_HEADER(zero_is_set, header->none[0] = 1)
CHANGE_HEADER(last_zero_is_set, header->none[2] = 1)
CHANGE_HEADER(scale_below_zero, header->scale = -1.0f)
CHANGE_HEADER(no_width, header->in_w = 0)

static void test_header(void) {
    graph_made_t made;
    made_small(&made);
    graph_header_t *header = (graph_header_t *)(void *)made.bytes;
    const graph_header_t good = *header;
    header->magic++;
    made_expect(&made, FAILURE_NETWORK_MAGIC, good.magic + 1, 0, "magic");
    *header = good;
    for (uint16_t version = 0; version < 6; version++) {
        header->version = version;
        made_expect(&made, version == 4 ? FAILURE_NONE : FAILURE_NETWORK_VERSION, version == 4 ? 0 : version,
                    version == 4 ? 0 : 4, "version");
    }
    *header = good;
    header->digest ^= 1;
    made_expect(&made, FAILURE_NETWORK_DIGEST, good.digest, good.digest ^ 1, "digest");
    *header = good;
    header->layers = 65535;
    made_expect(&made, FAILURE_NETWORK_TRUNCATED, made.size, 32 + 65535 * 36, "more records than bytes");
    *header = good;
    header->size = made.size - 4;
    made_expect(&made, FAILURE_NETWORK_TRUNCATED, made.size, made.size - 4, "bytes after the file");
    *header = good;
    const struct {
        void (*change)(graph_header_t *header);
        uint32_t check;
    } bad[] = {
        {no_layers, 0},
        {one_class, 0},
        {many_classes, 0},
        {zero_is_set, CHECK_ZERO},
        {last_zero_is_set, CHECK_ZERO},
        {scale_below_zero, CHECK_SCALE},
        {no_width, CHECK_DIMENSION},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        *header = good;
        bad[i].change(header);
        made_seal(&made);
        made_expect(&made, FAILURE_NETWORK_LAYER, 255, bad[i].check, "a field of the header");
    }
    made_free(&made);
}

/* One change of a record, or of the parameters behind it, of the small network, and the check that sees it. */
typedef struct {
    uint8_t layer;
    enum graph_check check;
    void (*change)(graph_layer_t *layer, const graph_made_t *made);
} bad_layer_t;

static graph_output_t *output_of(const graph_layer_t *layer, const graph_made_t *made) {
    return (graph_output_t *)(void *)(made->bytes + layer->parameters_offset);
}

static graph_factors_t *factors_of(const graph_layer_t *layer, const graph_made_t *made) {
    return (graph_factors_t *)(void *)(output_of(layer, made) + 1);
}

/* The parameters by output channel. */
static int32_t *words_of(const graph_layer_t *layer, const graph_made_t *made) {
    return (int32_t *)(void *)(output_of(layer, made) + 1);
}

#define CHANGE(name, statement)                                                                                        \
    static void name(graph_layer_t *layer, const graph_made_t *made) {                                                 \
        (void)made;                                                                                                    \
        statement;                                                                                                     \
    }
CHANGE(op_none, layer->op = 0)
CHANGE(op_unknown, layer->op = 14)
CHANGE(reads_itself, layer->reads[0] = 2)
CHANGE(reads_two, layer->reads[1] = 1)
CHANGE(adds_another_shape, layer->reads[1] = 2)
CHANGE(add_grows, layer->out_c++)
CHANGE(input_differs, layer->in_h++)
CHANGE(one_row_more, layer->out_h += 2)
CHANGE(one_column_more, layer->out_w += 2)
CHANGE(channels_differ, layer->out_c++)
CHANGE(padding_of_the_kernel, layer->padding_h = 3)
CHANGE(padding_across, layer->padding_w = 3)
CHANGE(kernel_of_none, layer->kernel_h = 0)
CHANGE(fully_connected_wide, layer->out_w = 2)
CHANGE(stride_of_none, layer->stride_h = 0)
CHANGE(stride_across_of_none, layer->stride_w = 0)
CHANGE(point_of_two, layer->kernel_w = 2)
CHANGE(with_padding, layer->padding_w = 1)
CHANGE(add_with_kernel, layer->kernel_w = 1)
CHANGE(format_none, layer->format = 0)
CHANGE(format_other, layer->format = FORMAT_BFP8)
CHANGE(op_relu, layer->op = OP_RELU; layer->reads[1] = 0)
CHANGE(weights_elsewhere, layer->weights_offset += 4)
CHANGE(parameters_elsewhere, layer->parameters_offset -= 4)
CHANGE(add_with_offset, layer->weights_offset = 32)
CHANGE(none_is_set, layer->none[2] = 1)
CHANGE(rounding_two, layer->rounding = 2)
CHANGE(exponent_is_set, layer->weight_exponent = -8)
CHANGE(output_none_is_set, output_of(layer, made)->none = 1)
CHANGE(factors_none_is_set, factors_of(layer, made)->none = 1)
CHANGE(block_five, layer->block = 5)
CHANGE(block_none, layer->block = 0)
CHANGE(add_in_a_block, layer->block = 1)
CHANGE(padding_behind_weights, made->bytes[layer->weights_offset + graph_weight_count(layer)] = 1)
CHANGE(padding_behind_shifts, made->bytes[layer->parameters_offset + 8 + 17u * layer->out_c] = 1)
CHANGE(scale_zero, output_of(layer, made)->scale = 0.0f)
CHANGE(scale_tiny, output_of(layer, made)->scale = 0x1p-41f)
CHANGE(weight_scale_negative, words_of(layer, made)[2 * layer->out_c] |= INT32_MIN)
CHANGE(bias_large, words_of(layer, made)[0] = (1 << 30) + 1)
CHANGE(multiplier_small, words_of(layer, made)[layer->out_c] = (1 << 30) - 1)
CHANGE(shift_large, ((int8_t *)(words_of(layer, made) + 4 * layer->out_c))[0] = 31)
CHANGE(add_shifts_up, factors_of(layer, made)->shift[1] = 1)
CHANGE(weight_128, made->bytes[layer->weights_offset] = 0x80)
CHANGE(sum_differs, words_of(layer, made)[3 * layer->out_c]++)
CHANGE(add_multiplier_small, factors_of(layer, made)->multiplier[2] = (1 << 30) - 1)
CHANGE(limits_crossed, output_of(layer, made)->act_min = 5; output_of(layer, made)->act_max = 4)
CHANGE(pool_with_zero, output_of(layer, made)->zero++)
CHANGE(pool_with_scale, output_of(layer, made)->scale *= 2.0f)

/* Each change of a good file, which is as it was afterwards. */
static void expect_each(const graph_made_t *made, const bad_layer_t *bad, size_t n) {
    uint8_t *good = memcpy(take(made->size), made->bytes, made->size);
    graph_made_t changed = *made;
    for (size_t i = 0; i < n; i++) {
        bad[i].change(made_record(made, bad[i].layer), made);
        made_seal(&changed);
        char what[32];
        snprintf(what, sizeof what, "change %zu", i);
        made_expect(made, FAILURE_NETWORK_LAYER, bad[i].layer, bad[i].check, what);
        memcpy(made->bytes, good, made->size);
    }
    free(good);
}

static void test_every_check(void) {
    enum { CONV = 0, DW = 1, PW = 2, POOL = 6, ADD = 7, FC = 11 };
    static const bad_layer_t bad[] = {
        {CONV, CHECK_OP, op_none},
        {FC, CHECK_OP, op_unknown},
        {DW, CHECK_INPUT, reads_itself},
        {DW, CHECK_INPUT, reads_two},
        {ADD, CHECK_INPUT, adds_another_shape},
        {ADD, CHECK_INPUT, add_grows},
        {FC, CHECK_INPUT, input_differs},
        {CONV, CHECK_OUTPUT, one_row_more},
        {CONV, CHECK_OUTPUT, one_column_more},
        {DW, CHECK_OUTPUT, channels_differ},
        {PW, CHECK_OUTPUT, one_row_more},
        {POOL, CHECK_OUTPUT, channels_differ},
        {CONV, CHECK_OUTPUT, padding_of_the_kernel},
        {CONV, CHECK_OUTPUT, padding_across},
        {CONV, CHECK_OUTPUT, kernel_of_none},
        {FC, CHECK_OUTPUT, fully_connected_wide},
        {POOL, CHECK_WINDOW, stride_of_none},
        {POOL, CHECK_WINDOW, stride_across_of_none},
        {PW, CHECK_WINDOW, point_of_two},
        {ADD, CHECK_WINDOW, with_padding},
        {FC, CHECK_WINDOW, with_padding},
        {ADD, CHECK_WINDOW, add_with_kernel},
        {FC, CHECK_WINDOW, add_with_kernel},
        {CONV, CHECK_FORMAT, format_none},
        {CONV, CHECK_FORMAT, format_other},
        {DW, CHECK_FORMAT, format_other},
        {ADD, CHECK_FORMAT, op_relu},
        {CONV, CHECK_PLACE, weights_elsewhere},
        {DW, CHECK_PLACE, parameters_elsewhere},
        {ADD, CHECK_PLACE, add_with_offset},
        {PW, CHECK_ZERO, none_is_set},
        {PW, CHECK_ZERO, rounding_two},
        {ADD, CHECK_ZERO, rounding_two},
        {POOL, CHECK_ZERO, rounding_two},
        {FC, CHECK_ZERO, exponent_is_set},
        {POOL, CHECK_ZERO, exponent_is_set},
        {FC, CHECK_ZERO, output_none_is_set},
        {ADD, CHECK_ZERO, factors_none_is_set},
        {CONV, CHECK_ZERO, block_five},
        {CONV, CHECK_ZERO, block_none},
        {ADD, CHECK_ZERO, add_in_a_block},
        {CONV, CHECK_ZERO, padding_behind_weights},
        {CONV, CHECK_ZERO, padding_behind_shifts},
        {ADD, CHECK_SCALE, scale_zero},
        {CONV, CHECK_SCALE, scale_tiny},
        {DW, CHECK_SCALE, weight_scale_negative},
        {FC, CHECK_SUMS, bias_large},
        {CONV, CHECK_SUMS, multiplier_small},
        {DW, CHECK_SUMS, shift_large},
        {ADD, CHECK_SUMS, add_shifts_up},
        {ADD, CHECK_SUMS, add_multiplier_small},
        {PW, CHECK_WEIGHT, weight_128},
        {DW, CHECK_WEIGHT, sum_differs},
        {CONV, CHECK_LIMITS, limits_crossed},
        {POOL, CHECK_LIMITS, pool_with_zero},
        {POOL, CHECK_LIMITS, pool_with_scale},
    };
    graph_made_t made;
    made_small(&made);
    expect_each(&made, bad, sizeof bad / sizeof bad[0]);
    made_free(&made);
}

static graph_mean_t *mean_of(const graph_layer_t *layer, const graph_made_t *made) {
    return (graph_mean_t *)(void *)(output_of(layer, made) + 1);
}

CHANGE(two_rows, layer->out_h = 2)
CHANGE(narrower, layer->out_w--)
CHANGE(kernel_is_set, layer->kernel_h = 1)
CHANGE(format_float32, layer->format = FORMAT_FLOAT32)
CHANGE(format_affine8, layer->format = FORMAT_AFFINE8)
CHANGE(format_w16a8, layer->format = 4)
CHANGE(second_value, layer->reads[1] = 1)
CHANGE(mean_none_is_set, mean_of(layer, made)->none[2] = 1)
CHANGE(mean_multiplier_small, mean_of(layer, made)->multiplier = (1 << 29) - 1)
CHANGE(mean_multiplier_negative, mean_of(layer, made)->multiplier = INT32_MIN)
CHANGE(mean_shift_small, mean_of(layer, made)->shift = -32)
CHANGE(mean_shift_large, mean_of(layer, made)->shift = 31)
CHANGE(least_of_table, output_of(layer, made)->act_min = -127)
CHANGE(most_of_table, output_of(layer, made)->act_max = 126)

/* 0 table, 1 conv, 2 mean, 3 fc. */
static void test_mean_and_table(void) {
    static const bad_layer_t bad[] = {
        {0, CHECK_INPUT, second_value},
        {0, CHECK_OUTPUT, narrower},
        {0, CHECK_OUTPUT, channels_differ},
        {0, CHECK_WINDOW, kernel_is_set},
        {0, CHECK_WINDOW, with_padding},
        {0, CHECK_FORMAT, format_float32},
        {0, CHECK_FORMAT, format_affine8},
        {0, CHECK_FORMAT, format_w16a8},
        {0, CHECK_FORMAT, format_other},
        {0, CHECK_PLACE, weights_elsewhere},
        {0, CHECK_ZERO, add_in_a_block},
        {0, CHECK_ZERO, rounding_two},
        {0, CHECK_ZERO, output_none_is_set},
        {0, CHECK_SCALE, scale_zero},
        {0, CHECK_LIMITS, least_of_table},
        {0, CHECK_LIMITS, most_of_table},
        {2, CHECK_OUTPUT, two_rows},
        {2, CHECK_OUTPUT, channels_differ},
        {2, CHECK_WINDOW, kernel_is_set},
        {2, CHECK_WINDOW, with_padding},
        {2, CHECK_ZERO, add_in_a_block},
        {2, CHECK_ZERO, mean_none_is_set},
        {2, CHECK_ZERO, rounding_two},
        {2, CHECK_SCALE, scale_tiny},
        {2, CHECK_SUMS, mean_multiplier_small},
        {2, CHECK_SUMS, mean_multiplier_negative},
        {2, CHECK_SUMS, mean_shift_small},
        {2, CHECK_SUMS, mean_shift_large},
        {2, CHECK_LIMITS, limits_crossed},
    };
    graph_made_t made;
    made_with_mean(&made);
    made_expect(&made, FAILURE_NONE, 0, 0, "a table and a mean");
    expect_each(&made, bad, sizeof bad / sizeof bad[0]);
    graph_layer_t *mean = made_record(&made, 2);
    mean_of(mean, &made)->multiplier = 1 << 29;
    mean_of(mean, &made)->shift = 30;
    made_seal(&made);
    made_expect(&made, FAILURE_NONE, 0, 0, "the least multiplier, the largest shift");
    made_free(&made);
    for (uint16_t w = 256; w <= 257; w++) {
        made_begin(&made, 256, w, 1, 2);
        made_mean(&made, 0);
        made_fully_connected(&made, 1, 2);
        made_finish(&made, 127);
        made_expect(&made, w == 256 ? FAILURE_NONE : FAILURE_NETWORK_LAYER, 0, w == 256 ? 0 : CHECK_SUMS,
                    "2^16 positions of a mean, and more");
        made_free(&made);
    }
}

/* A padding below or right that is not that above or left: any that leaves no window outside. */
static void test_padding_behind(void) {
    for (uint16_t h = 1; h <= 9; h++) {
        const layer_shape_t window = {
            .kernel_h = 5, .kernel_w = 1, .stride_h = 1, .stride_w = 3, .padding_h = 1, .out_h = h, .out_w = 2};
        graph_made_t made;
        made_begin(&made, 6, 4, 1, 2);
        made_axes(&made, OP_CONV2D, 0, 1, &window);
        made_fully_connected(&made, 1, 2);
        made_finish(&made, 127);
        made_expect(&made, h <= 7 ? FAILURE_NONE : FAILURE_NETWORK_LAYER, 0, h <= 7 ? 0 : CHECK_OUTPUT, "a height");
        made_free(&made);
    }
}

/* What the small network cannot show: a last layer that gives no classes, too many products, too many positions, a file
   that goes on. */
static void test_whole_files(void) {
    graph_made_t made;
    made_begin(&made, 3, 3, 2, 5);
    made_fully_connected(&made, 0, 4);
    made_finish(&made, 127);
    made_expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_CLASSES, "outputs that are no classes");
    made_free(&made);
    made_begin(&made, 200, 200, 1, 2);
    made_fully_connected(&made, 0, 2);
    made_finish(&made, 127);
    made_expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_SUMS, "more than 2^15 products");
    made_free(&made);
    made_begin(&made, 300, 300, 1, 2);
    made_window(&made, OP_MAX_POOL, 0, 0, 1, 1, 1, 0);
    made_window(&made, OP_AVERAGE_POOL, 1, 0, 250, 250, 250, 0);
    made_fully_connected(&made, 2, 2);
    made_finish(&made, 127);
    made_expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_SUMS, "more than 2^16 positions");
    made_free(&made);
    made_begin(&made, 3, 3, 2, 5);
    made_fully_connected(&made, 0, 5);
    made_finish(&made, 127);
    uint8_t *longer = memset(take(made.size + 4), 0, made.size + 4);
    memcpy(longer, made.bytes, made.size);
    free(made.bytes);
    made.bytes = longer;
    made.size += 4;
    ((graph_header_t *)(void *)longer)->size = made.size;
    made_seal(&made);
    made_expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_PLACE, "a file that goes on");
    made_free(&made);
}

void test_graph_file(void) {
    test_good_files();
    test_truncation();
    test_header();
    test_every_check();
    test_mean_and_table();
    test_padding_behind();
    test_whole_files();
}
