#include <string.h>

#include "check.h"
#include "graph/checks.h"
#include "graph_made.h"

static void expect(const graph_made_t *made, uint8_t code, uint32_t a, uint32_t b, const char *what) {
    graph_file_t file;
    const failure_t failure = graph_file_open(&file, made->bytes, made->size);
    CHECK(failure.code == code && failure.a == a && failure.b == b, "%s: code %u, a %u, b %u, not %u, %u, %u", what, failure.code,
          failure.a, failure.b, code, a, b);
}

static void test_good_files(void) {
    for (int round = 0; round < 300; round++) {
        graph_made_t made;
        made_random(&made);
        expect(&made, FAILURE_NONE, 0, 0, "a good file");
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
        CHECK(failure.code == FAILURE_NETWORK_TRUNCATED && failure.a == n && failure.b == (n < 32 ? 32 : made.size), "%u bytes: code %u, b %u",
              n, failure.code, failure.b);
        free(part);
    }
    made_free(&made);
}

#define CHANGE_HEADER(name, statement)          \
    static void name(graph_header_t *header) { \
        statement;                             \
    }
CHANGE_HEADER(no_layers, header->layers = 0)
CHANGE_HEADER(one_class, header->classes = 1)
CHANGE_HEADER(many_classes, header->classes = 257)
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
    expect(&made, FAILURE_NETWORK_MAGIC, good.magic + 1, 0, "magic");
    *header = good;
    header->version = 3;
    expect(&made, FAILURE_NETWORK_VERSION, 3, 2, "version");
    *header = good;
    header->digest ^= 1;
    expect(&made, FAILURE_NETWORK_DIGEST, good.digest, good.digest ^ 1, "digest");
    *header = good;
    header->layers = 65535;
    expect(&made, FAILURE_NETWORK_TRUNCATED, made.size, 32 + 65535 * 64, "more records than bytes");
    const struct {
        void (*change)(graph_header_t *header);
        uint32_t check;
    } bad[] = {
        {no_layers, 0}, {one_class, 0}, {many_classes, 0}, {third_rounding, 0}, {zero_is_set, CHECK_ZERO}, {scale_below_zero, CHECK_SCALE},
        {no_width, CHECK_DIMENSION},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        *header = good;
        bad[i].change(header);
        made_seal(&made);
        expect(&made, FAILURE_NETWORK_LAYER, 255, bad[i].check, "a field of the header");
    }
    made_free(&made);
}

/* One change of a record, or of the parameters behind it, of the small network, and the check that sees it. */
typedef struct {
    uint8_t layer;
    enum graph_check check;
    void (*change)(graph_layer_t *layer, const graph_made_t *made);
} bad_layer_t;

static int32_t *words_of(const graph_layer_t *layer, const graph_made_t *made) {
    return (int32_t *)(void *)(made->bytes + layer->parameters_offset);
}

#define CHANGE(name, statement)                                               \
    static void name(graph_layer_t *layer, const graph_made_t *made) {        \
        (void)made;                                                           \
        statement;                                                            \
    }
CHANGE(op_relu, layer->op = 3)
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
CHANGE(weight_more, layer->weights++)
CHANGE(channel_more, layer->channels++)
CHANGE(add_with_weights, layer->weights = 1)
CHANGE(weights_elsewhere, layer->weights_offset += 4)
CHANGE(parameters_elsewhere, layer->parameters_offset -= 4)
CHANGE(add_with_offset, layer->weights_offset = 32)
CHANGE(none_is_set, layer->none = 1)
CHANGE(nothing_is_set, layer->nothing[4] = 1)
CHANGE(block_five, layer->block = 5)
CHANGE(block_none, layer->block = 0)
CHANGE(add_in_a_block, layer->block = 1)
CHANGE(window_with_factor, layer->add_multiplier[2] = 1)
CHANGE(window_with_shift, layer->add_shift[0] = 1)
CHANGE(padding_behind_weights, made->bytes[layer->weights_offset + layer->weights] = 1)
CHANGE(padding_behind_shifts, made->bytes[layer->parameters_offset + 17 * layer->channels] = 1)
CHANGE(scale_zero, layer->scale = 0.0f)
CHANGE(scale_tiny, layer->scale = 0x1p-41f)
CHANGE(weight_scale_negative, words_of(layer, made)[2 * layer->channels] |= INT32_MIN)
CHANGE(bias_large, words_of(layer, made)[0] = (1 << 30) + 1)
CHANGE(multiplier_small, words_of(layer, made)[layer->channels] = (1 << 30) - 1)
CHANGE(shift_large, ((int8_t *)(words_of(layer, made) + 4 * layer->channels))[0] = 31)
CHANGE(add_shifts_up, layer->add_shift[1] = 1)
CHANGE(weight_128, made->bytes[layer->weights_offset] = 0x80)
CHANGE(sum_differs, words_of(layer, made)[3 * layer->channels]++)
CHANGE(limits_crossed, layer->act_min = 5; layer->act_max = 4)
CHANGE(pool_with_zero, layer->zero++)
CHANGE(pool_with_scale, layer->scale *= 2.0f)

static void test_every_check(void) {
    enum { CONV = 0, DW = 1, PW = 2, MEAN = 6, ADD = 7, FC = 11 };
    static const bad_layer_t bad[] = {
        {CONV, CHECK_OP, op_relu}, {DW, CHECK_INPUT, reads_itself}, {DW, CHECK_INPUT, reads_two}, {ADD, CHECK_INPUT, adds_another_shape},
        {ADD, CHECK_INPUT, add_grows}, {FC, CHECK_INPUT, input_differs}, {CONV, CHECK_OUTPUT, one_row_more}, {DW, CHECK_OUTPUT, channels_differ},
        {PW, CHECK_OUTPUT, one_row_more}, {MEAN, CHECK_OUTPUT, channels_differ}, {CONV, CHECK_OUTPUT, padding_of_the_kernel},
        {CONV, CHECK_OUTPUT, kernel_of_none}, {FC, CHECK_OUTPUT, fully_connected_wide}, {MEAN, CHECK_KERNEL, stride_of_none},
        {ADD, CHECK_KERNEL, add_with_kernel}, {FC, CHECK_KERNEL, add_with_kernel}, {CONV, CHECK_COUNT, weight_more},
        {PW, CHECK_COUNT, channel_more}, {ADD, CHECK_COUNT, add_with_weights}, {CONV, CHECK_PLACE, weights_elsewhere},
        {DW, CHECK_PLACE, parameters_elsewhere}, {ADD, CHECK_PLACE, add_with_offset}, {PW, CHECK_ZERO, none_is_set}, {FC, CHECK_ZERO, nothing_is_set},
        {CONV, CHECK_ZERO, block_five}, {CONV, CHECK_ZERO, block_none}, {ADD, CHECK_ZERO, add_in_a_block}, {CONV, CHECK_ZERO, window_with_factor},
        {MEAN, CHECK_ZERO, window_with_shift}, {CONV, CHECK_ZERO, padding_behind_weights}, {CONV, CHECK_ZERO, padding_behind_shifts},
        {ADD, CHECK_SCALE, scale_zero}, {CONV, CHECK_SCALE, scale_tiny}, {DW, CHECK_SCALE, weight_scale_negative}, {FC, CHECK_SUMS, bias_large},
        {CONV, CHECK_SUMS, multiplier_small}, {DW, CHECK_SUMS, shift_large}, {ADD, CHECK_SUMS, add_shifts_up}, {PW, CHECK_WEIGHT, weight_128},
        {DW, CHECK_WEIGHT, sum_differs}, {CONV, CHECK_LIMITS, limits_crossed}, {MEAN, CHECK_LIMITS, pool_with_zero},
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
        expect(&made, FAILURE_NETWORK_LAYER, bad[i].layer, bad[i].check, what);
        memcpy(made.bytes, good, made.size);
    }
    free(good);
    made_free(&made);
}

/* What the small network cannot show: a last layer that gives no classes, too many products, too many positions, a file that goes on. */
static void test_whole_files(void) {
    graph_made_t made;
    made_begin(&made, 3, 3, 2, 5);
    made_fully_connected(&made, 0, 4);
    made_finish(&made);
    expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_CLASSES, "outputs that are no classes");
    made_free(&made);
    made_begin(&made, 200, 200, 1, 2);
    made_fully_connected(&made, 0, 2);
    made_finish(&made);
    expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_SUMS, "more than 2^15 products");
    made_free(&made);
    made_begin(&made, 300, 300, 1, 2);
    made_window(&made, GRAPH_MAX_POOL, 0, 0, 1, 1, 1, 0);
    made_window(&made, GRAPH_AVERAGE_POOL, 1, 0, 250, 250, 250, 0);
    made_fully_connected(&made, 2, 2);
    made_finish(&made);
    expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_SUMS, "more than 2^16 positions");
    made_free(&made);
    made_begin(&made, 3, 3, 2, 5);
    made_fully_connected(&made, 0, 5);
    made_finish(&made);
    uint8_t *longer = memset(take(made.size + 4), 0, made.size + 4);
    memcpy(longer, made.bytes, made.size);
    free(made.bytes);
    made.bytes = longer;
    made.size += 4;
    ((graph_header_t *)(void *)longer)->size = made.size;
    made_seal(&made);
    expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_PLACE, "a file that goes on");
    made_free(&made);
}

void test_graph_file(void) {
    test_good_files();
    test_truncation();
    test_header();
    test_every_check();
    test_whole_files();
}
