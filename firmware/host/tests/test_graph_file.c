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
CHANGE_HEADER(third_rounding, header->single = 2)
CHANGE_HEADER(zero_is_set, header->none = 256)
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
    for (uint16_t version = 0; version < 5; version++) {
        header->version = version;
        made_expect(&made, version == 3 ? FAILURE_NONE : FAILURE_NETWORK_VERSION, version == 3 ? 0 : version,
                    version == 3 ? 0 : 3, "version");
    }
    *header = good;
    header->digest ^= 1;
    made_expect(&made, FAILURE_NETWORK_DIGEST, good.digest, good.digest ^ 1, "digest");
    *header = good;
    header->layers = 65535;
    made_expect(&made, FAILURE_NETWORK_TRUNCATED, made.size, 32 + 65535 * 32, "more records than bytes");
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
        {third_rounding, CHECK_ZERO},
        {zero_is_set, CHECK_ZERO},
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
CHANGE(op_unknown, layer->op = 12)
CHANGE(reads_itself, layer->reads[0] = 2)
CHANGE(reads_two, layer->reads[1] = 1)
CHANGE(adds_another_shape, layer->reads[1] = 2)
CHANGE(add_grows, layer->out_c++)
CHANGE(input_differs, layer->in_h++)
CHANGE(one_row_more, layer->out_h += 2)
CHANGE(channels_differ, layer->out_c++)
CHANGE(padding_of_the_kernel, layer->padding = 3)
CHANGE(kernel_of_none, layer->kernel_h = 0)
CHANGE(fully_connected_wide, layer->out_w = 2)
CHANGE(stride_of_none, layer->stride = 0)
CHANGE(add_with_kernel, layer->kernel_w = 1)
CHANGE(format_none, layer->format = 0)
CHANGE(format_other, layer->format = FORMAT_BFP8)
CHANGE(op_relu, layer->op = OP_RELU; layer->reads[1] = 0)
CHANGE(weights_elsewhere, layer->weights_offset += 4)
CHANGE(parameters_elsewhere, layer->parameters_offset -= 4)
CHANGE(add_with_offset, layer->weights_offset = 32)
CHANGE(none_is_set, layer->none = 1)
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

static void test_every_check(void) {
    enum { CONV = 0, DW = 1, PW = 2, MEAN = 6, ADD = 7, FC = 11 };
    static const bad_layer_t bad[] = {
        {CONV, CHECK_OP, op_none},
        {FC, CHECK_OP, op_unknown},
        {DW, CHECK_INPUT, reads_itself},
        {DW, CHECK_INPUT, reads_two},
        {ADD, CHECK_INPUT, adds_another_shape},
        {ADD, CHECK_INPUT, add_grows},
        {FC, CHECK_INPUT, input_differs},
        {CONV, CHECK_OUTPUT, one_row_more},
        {DW, CHECK_OUTPUT, channels_differ},
        {PW, CHECK_OUTPUT, one_row_more},
        {MEAN, CHECK_OUTPUT, channels_differ},
        {CONV, CHECK_OUTPUT, padding_of_the_kernel},
        {CONV, CHECK_OUTPUT, kernel_of_none},
        {FC, CHECK_OUTPUT, fully_connected_wide},
        {MEAN, CHECK_WINDOW, stride_of_none},
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
        {FC, CHECK_ZERO, exponent_is_set},
        {MEAN, CHECK_ZERO, exponent_is_set},
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
        {MEAN, CHECK_LIMITS, pool_with_zero},
        {MEAN, CHECK_LIMITS, pool_with_scale},
    };
    graph_made_t made;
    made_small(&made);
    uint8_t *good = memcpy(take(made.size), made.bytes, made.size);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bad[i].change(made_record(&made, bad[i].layer), &made);
        made_seal(&made);
        char what[32];
        snprintf(what, sizeof what, "change %zu", i);
        made_expect(&made, FAILURE_NETWORK_LAYER, bad[i].layer, bad[i].check, what);
        memcpy(made.bytes, good, made.size);
    }
    free(good);
    made_free(&made);
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
    test_whole_files();
}
