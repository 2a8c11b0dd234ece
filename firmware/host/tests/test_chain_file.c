/* What is checked of a file in bfp8; test_graph_file.c has what every file has. */
#include <string.h>

#include "chain_made.h"
#include "check.h"
#include "graph/checks.h"

static void test_good_files(void) {
    for (int round = 0; round < 200; round++) {
        graph_made_t made;
        graph_file_t file;
        chain_random(&made);
        CHECK(graph_file_open(&file, made.bytes, made.size).code == 0, "a good file");
        uint8_t tensors = 0;
        for (uint8_t i = 0; i < made.header.layers; i++) {
            const bool has_weights = made.layer[i].op == OP_CONV2D || made.layer[i].op == OP_FULLY_CONNECTED;
            CHECK(!has_weights || graph_weighted_layer(&file, tensors++) == i, "tensor of layer %u", i);
        }
        CHECK(graph_weighted(&file) == tensors && graph_weighted_layer(&file, tensors) == made.header.layers,
              "tensors");
        made_free(&made);
    }
}

/* A file that is cut, and says so itself, down to one without room for its records. */
static void test_honest_truncation(void) {
    graph_made_t made;
    chain_small(&made);
    const uint32_t records_end = (uint32_t)(sizeof(graph_header_t) + made.header.layers * sizeof(graph_layer_t));
    for (uint32_t n = sizeof(graph_header_t); n < made.size; n++) {
        graph_made_t cut = made;
        graph_file_t file;
        cut.size = n;
        cut.bytes = memcpy(take(n), made.bytes, n);
        ((graph_header_t *)(void *)cut.bytes)->size = n;
        made_seal(&cut);
        const failure_t failure = graph_file_open(&file, cut.bytes, n);
        if (n < records_end) {
            CHECK(failure.code == FAILURE_NETWORK_TRUNCATED && failure.b == records_end, "%u bytes: code %u", n,
                  failure.code);
        } else { /* also where only the padding of the last weights is missing */
            CHECK(failure.code == FAILURE_NETWORK_LAYER && failure.b == CHECK_PLACE, "%u bytes: code %u, b %u", n,
                  failure.code, failure.b);
        }
        made_free(&cut);
    }
    made_free(&made);
}

/* The digest covers every byte after it. */
static void test_digest_covers_all(void) {
    graph_made_t made;
    graph_file_t file;
    chain_small(&made);
    for (uint32_t at = 16; at < made.size; at++) {
        made.bytes[at] ^= (uint8_t)(1u << (at % 8));
        CHECK(graph_file_open(&file, made.bytes, made.size).code == FAILURE_NETWORK_DIGEST, "byte %u changed", at);
        made.bytes[at] ^= (uint8_t)(1u << (at % 8));
    }
    made_free(&made);
}

/* One change of the small chain, 0 conv, 1 relu, 2 pool, 3 conv, 4 relu, 5 pool, 6 fc, 7 relu, 8 fc, and the check that
   sees it. */
typedef struct {
    uint8_t layer;
    enum graph_check check;
    void (*change)(graph_layer_t *layer, graph_header_t *header);
} bad_chain_t;

#define CHANGE(name, statement)                                                                                        \
    static void name(graph_layer_t *layer, graph_header_t *header) {                                                   \
        (void)layer;                                                                                                   \
        (void)header;                                                                                                  \
        statement;                                                                                                     \
    }
CHANGE(op_none, layer->op = 0)
CHANGE(op_unknown, layer->op = 14)
CHANGE(height_of_input, header->in_h = 9)
CHANGE(width_of_input, layer->in_w = 3)
CHANGE(reads_two, layer->reads[1] = 1)
CHANGE(output_height, layer->out_h += 3)
CHANGE(relu_narrows, layer->out_w--)
CHANGE(channels_differ, layer->out_c++)
CHANGE(no_window, layer->kernel_h = 0)
CHANGE(relu_with_kernel, layer->kernel_h = 1)
CHANGE(fully_connected_with_stride, layer->stride_w = 1)
CHANGE(fully_connected_with_padding, layer->padding_w = 1)
CHANGE(pool_without_stride, layer->stride_h = 0)
CHANGE(pool_without_stride_across, layer->stride_w = 0)
CHANGE(format_other, layer->format = FORMAT_TFLITE8)
CHANGE(reads_the_input, layer->reads[0] = 0)
CHANGE(relu_in_front, layer->op = OP_RELU; memset(&layer->kernel_h, 0, 6); layer->out_c = layer->in_c)
CHANGE(conv_strides, layer->stride_h = 2; layer->out_h = 4)
CHANGE(conv_strides_across, layer->stride_w = 2; layer->out_w = 4)
CHANGE(conv_pads_more_above, layer->padding_h = 2; layer->out_h += 2)
CHANGE(conv_pads_more_left, layer->padding_w = 2; layer->out_w += 2)
CHANGE(conv_narrower, layer->out_w--)
CHANGE(pool_overlaps, layer->stride_h = 1)
CHANGE(pool_overlaps_across, layer->stride_w = 1)
CHANGE(pool_pads, layer->padding_h = 1)
CHANGE(pool_pads_left, layer->padding_w = 1)
CHANGE(pool_narrower, layer->out_w--)
CHANGE(weights_elsewhere, layer->weights_offset += 4)
CHANGE(weights_wrap, layer->weights_offset = 0xFFFFFFFCu)
CHANGE(offset_of_none, layer->weights_offset = 4)
CHANGE(parameters_of_none, layer->parameters_offset = layer->weights_offset)
CHANGE(none_is_set, layer->none[1] = 1)
CHANGE(header_none_is_set, header->none[1] = 1)
CHANGE(exponent_of_none, layer->weight_exponent = 1)
CHANGE(block_five, layer->block = 5)
CHANGE(relu_in_a_block, layer->block = 1)
CHANGE(six_classes, header->classes = 6)
CHANGE(exponent_9, layer->weight_exponent = 9)
CHANGE(exponent_33, layer->weight_exponent = -33)
CHANGE(input_exponent, header->scale = 0x1p-6f)
CHANGE(input_zero, header->zero = 1)
CHANGE(a_rounding, layer->rounding = 1)
CHANGE(many_classes, header->classes = 257)

static void test_every_check(void) {
    static const bad_chain_t bad[] = {
        {3, CHECK_OP, op_none},
        {8, CHECK_OP, op_unknown},
        {0, CHECK_INPUT, height_of_input},
        {4, CHECK_INPUT, width_of_input},
        {5, CHECK_INPUT, reads_two},
        {0, CHECK_OUTPUT, output_height},
        {1, CHECK_OUTPUT, relu_narrows},
        {2, CHECK_OUTPUT, channels_differ},
        {2, CHECK_OUTPUT, no_window},
        {6, CHECK_OUTPUT, output_height},
        {1, CHECK_WINDOW, relu_with_kernel},
        {6, CHECK_WINDOW, fully_connected_with_stride},
        {6, CHECK_WINDOW, fully_connected_with_padding},
        {5, CHECK_WINDOW, pool_without_stride},
        {5, CHECK_WINDOW, pool_without_stride_across},
        {4, CHECK_FORMAT, format_other},
        {1, CHECK_INPUT, reads_the_input},
        {0, CHECK_FORMAT, relu_in_front},
        {0, CHECK_FORMAT, conv_strides},
        {0, CHECK_FORMAT, conv_strides_across},
        {0, CHECK_FORMAT, conv_pads_more_above},
        {0, CHECK_FORMAT, conv_pads_more_left},
        {3, CHECK_FORMAT, conv_narrower},
        {2, CHECK_FORMAT, pool_overlaps},
        {2, CHECK_FORMAT, pool_overlaps_across},
        {5, CHECK_FORMAT, pool_pads},
        {5, CHECK_FORMAT, pool_pads_left},
        {2, CHECK_FORMAT, pool_narrower},
        {0, CHECK_PLACE, weights_elsewhere},
        {8, CHECK_PLACE, weights_wrap},
        {2, CHECK_PLACE, offset_of_none},
        {6, CHECK_PLACE, parameters_of_none},
        {5, CHECK_ZERO, none_is_set},
        {255, CHECK_ZERO, header_none_is_set},
        {1, CHECK_ZERO, exponent_of_none},
        {3, CHECK_ZERO, block_five},
        {7, CHECK_ZERO, relu_in_a_block},
        {8, CHECK_CLASSES, six_classes},
        {6, CHECK_SCALE, exponent_9},
        {6, CHECK_SCALE, exponent_33},
        {0, CHECK_SCALE, input_exponent},
        {0, CHECK_SCALE, input_zero},
        {2, CHECK_ZERO, a_rounding},
        {255, 0, many_classes},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        graph_made_t made;
        chain_small(&made);
        graph_layer_t *layer = made_record(&made, bad[i].layer < made.header.layers ? bad[i].layer : 0);
        bad[i].change(layer, (graph_header_t *)(void *)made.bytes);
        made_seal(&made);
        char what[32];
        snprintf(what, sizeof what, "change %zu", i);
        made_expect(&made, FAILURE_NETWORK_LAYER, bad[i].layer, bad[i].check, what);
        made_free(&made);
    }
}

static void test_weights(void) {
    graph_made_t made;
    chain_small(&made);
    made.bytes[made_record(&made, 3)->weights_offset + 7] = 0x80;
    made_seal(&made);
    made_expect(&made, FAILURE_NETWORK_LAYER, 3, CHECK_WEIGHT, "a weight of -128");
    made_free(&made);
    chain_small(&made);
    made.bytes[made_record(&made, 0)->weights_offset + 3 * 3 * 2 * 3] = 1;
    made_seal(&made);
    made_expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_ZERO, "padding after the weights");
    made_free(&made);
}

static void expect_layers(int layers, uint8_t code, uint32_t a, uint32_t b) {
    graph_made_t made;
    chain_begin(&made, 3, 3, 1, 2);
    for (int i = 1; i < layers; i++) {
        chain_max_pool(&made, 1);
    }
    chain_fully_connected(&made, 2, -8);
    made_finish(&made, 127);
    made_expect(&made, code, a, b, "layers");
    made_free(&made);
}

static void test_number_of_layers(void) {
    expect_layers(CHAIN_MOST_LAYERS, FAILURE_NONE, 0, 0);
    expect_layers(CHAIN_MOST_LAYERS + 1, FAILURE_NETWORK_LAYER, 32, CHECK_FORMAT);
}

/* A relu has no buffer of its own, and the one before it has none to give. */
static void test_two_relus(void) {
    graph_made_t made;
    chain_begin(&made, 3, 3, 1, 2);
    chain_conv2d(&made, 2, 1, 1, 0, -8);
    chain_relu(&made);
    chain_relu(&made);
    chain_fully_connected(&made, 2, -8);
    made_finish(&made, 127);
    made_expect(&made, FAILURE_NETWORK_LAYER, 2, CHECK_FORMAT, "a relu after a relu");
    made_free(&made);
}

/* Dimensions of 0 that everything else agrees with. */
static void test_dimension(void) {
    graph_made_t made;
    chain_begin(&made, 0, 4, 2, 2);
    chain_fully_connected(&made, 2, -8);
    made_finish(&made, 127);
    made_expect(&made, FAILURE_NETWORK_LAYER, 255, CHECK_DIMENSION, "an input of height 0");
    made_free(&made);
    chain_begin(&made, 4, 4, 2, 2);
    chain_conv2d(&made, 0, 3, 3, 1, -8);
    chain_fully_connected(&made, 2, -8);
    made_finish(&made, 127);
    made_expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_DIMENSION, "no output channels");
    made_free(&made);
}

/* Padding as large as the kernel, with an output shape that agrees. */
static void test_padding(void) {
    static const uint8_t kernels[][2] = {{2, 3}, {3, 2}};
    for (size_t i = 0; i < 2; i++) {
        graph_made_t made;
        chain_begin(&made, 4, 4, 2, 2);
        chain_conv2d(&made, 3, kernels[i][0], kernels[i][1], 2, -8);
        chain_fully_connected(&made, 2, -8);
        made_finish(&made, 127);
        made_expect(&made, FAILURE_NETWORK_LAYER, 0, CHECK_OUTPUT, "padding 2, kernel 2");
        made_free(&made);
    }
}

static void expect_sums(graph_made_t *made, bool fits, const char *what) {
    made_finish(made, 1);
    made_expect(made, fits ? 0 : FAILURE_NETWORK_LAYER, 0, fits ? 0 : CHECK_SUMS, what);
    made_free(made);
}

/* 133144 * 127 * 127 is the last below 2^31. */
static void test_sums(void) {
    graph_made_t made;
    chain_begin(&made, 4, 33286, 1, 2); /* 133144 inputs */
    chain_fully_connected(&made, 2, -8);
    expect_sums(&made, true, "133144 products behind an output");
    chain_begin(&made, 5, 26629, 1, 2); /* 133145 inputs */
    chain_fully_connected(&made, 2, -8);
    expect_sums(&made, false, "133145 products behind an output");
    chain_begin(&made, 5, 26629, 1, 2); /* 133145 positions */
    chain_conv2d(&made, 1, 1, 1, 0, -8);
    chain_max_pool(&made, 5);
    chain_fully_connected(&made, 2, -8);
    expect_sums(&made, false, "133145 products behind a weight gradient");
    chain_begin(&made, 4, 4, 1, 2); /* 9 * 14794 = 133146 */
    chain_conv2d(&made, 14794, 3, 3, 1, -8);
    chain_max_pool(&made, 4);
    chain_fully_connected(&made, 2, -8);
    expect_sums(&made, false, "133146 products behind an input error");
}

void test_chain_file(void) {
    test_good_files();
    test_honest_truncation();
    test_digest_covers_all();
    test_every_check();
    test_weights();
    test_number_of_layers();
    test_two_relus();
    test_dimension();
    test_padding();
    test_sums();
}
