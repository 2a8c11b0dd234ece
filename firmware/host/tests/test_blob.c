#include <string.h>

#include "check.h"
#include "net/network.h"
#include "network_file.h"

static void expect(const network_file_t *file, uint8_t code, uint32_t a, uint32_t b, const char *what) {
    network_t *network = take(sizeof *network);
    const failure_t failure = network_parse(network, file->bytes, file->size);
    CHECK(failure.code == code && failure.a == a && failure.b == b, "%s: code %u, a %u, b %u, not %u, %u, %u", what, failure.code,
          failure.a, failure.b, code, a, b);
    free(network);
}

static void test_good_files(void) {
    for (int round = 0; round < 200; round++) {
        network_file_t file;
        file_random_network(&file);
        network_t *network = take(sizeof *network);
        const failure_t failure = network_parse(network, file.bytes, file.size);
        CHECK(failure.code == 0, "code %u, a %u, b %u", failure.code, failure.a, failure.b);
        CHECK(network->layers == file.layers && network->classes == file.classes, "layers and classes");
        uint32_t tensors = 0;
        for (uint8_t i = 0; i < file.layers; i++) {
            CHECK(memcmp(&network->layer[i].shape, &file.layer[i].shape, sizeof(layer_shape_t)) == 0, "shape of layer %u", i);
            CHECK(network->layer[i].weights == file.layer[i].weights, "weights of layer %u", i);
            CHECK(file.layer[i].weights == 0 || network->tensor_layer[tensors++] == i, "tensor of layer %u", i);
        }
        CHECK(network->tensors == tensors && network_first_bp(network, network->tensors) == network->layers, "tensors");
        free(network);
        file_free(&file);
    }
}

/* Every length below the full one, in memory that ends where the file does. */
static void test_truncation(void) {
    network_file_t file;
    file_small_network(&file);
    network_t *network = take(sizeof *network);
    for (uint32_t n = 0; n < file.size; n++) {
        uint8_t *part = memcpy(take(n), file.bytes, n);
        const failure_t failure = network_parse(network, part, n);
        CHECK(failure.code == FAILURE_NETWORK_TRUNCATED && failure.a == n, "%u bytes: code %u, a %u", n, failure.code, failure.a);
        CHECK(failure.b == (n < FILE_HEADER ? FILE_HEADER : file.size), "%u bytes: needs %u", n, failure.b);
        free(part);
    }
    free(network);
    file_free(&file);
}

/* A file that is cut, and says so itself, down to one without room for its records. */
static void test_honest_truncation(void) {
    network_file_t file;
    file_small_network(&file);
    const uint32_t records_end = (uint32_t)(FILE_HEADER + file.layers * FILE_RECORD);
    for (uint32_t n = FILE_HEADER; n < file.size; n++) {
        network_file_t cut = file;
        cut.size = n;
        cut.bytes = memcpy(take(n), file.bytes, n);
        put_u32(cut.bytes + 8, n);
        file_seal(&cut);
        network_t *network = take(sizeof *network);
        const failure_t failure = network_parse(network, cut.bytes, n);
        if (n < records_end) {
            CHECK(failure.code == FAILURE_NETWORK_TRUNCATED && failure.b == records_end, "%u bytes: code %u", n, failure.code);
        } else { /* also where only the padding of the last weights is missing */
            CHECK(failure.code == FAILURE_NETWORK_LAYER && failure.b == 6, "%u bytes: code %u, b %u", n, failure.code, failure.b);
        }
        free(network);
        free(cut.bytes);
    }
    file_free(&file);
}

static void test_header(void) {
    network_file_t file;
    file_small_network(&file);
    uint8_t *bytes = file.bytes;
    const uint32_t written = bytes[12] | (uint32_t)bytes[13] << 8 | (uint32_t)bytes[14] << 16 | (uint32_t)bytes[15] << 24;

    expect(&file, 0, 0, 0, "the file as it is");
    bytes[0] ^= 1;
    expect(&file, FAILURE_NETWORK_MAGIC, 0x54454E49u, 0, "magic");
    bytes[0] ^= 1;
    put_u16(bytes + 4, 2);
    expect(&file, FAILURE_NETWORK_VERSION, 2, 1, "version");
    put_u16(bytes + 4, 1);
    put_u32(bytes + 8, file.size - 4);
    expect(&file, FAILURE_BAD_LENGTH, file.size, file.size - 4, "bytes behind the file");
    put_u32(bytes + 8, file.size + 1);
    expect(&file, FAILURE_NETWORK_TRUNCATED, file.size, file.size + 1, "a byte is missing");
    put_u32(bytes + 8, file.size);
    put_u32(bytes + 12, written ^ 0x80000000u);
    expect(&file, FAILURE_NETWORK_DIGEST, written, written ^ 0x80000000u, "digest");
    file_seal(&file);
    expect(&file, 0, 0, 0, "the file sealed again");
    file_free(&file);
}

/* The digest covers every byte behind it. */
static void test_digest_covers_all(void) {
    network_file_t file;
    file_small_network(&file);
    for (uint32_t at = 16; at < file.size; at++) {
        file.bytes[at] ^= (uint8_t)(1u << (at % 8));
        network_t *network = take(sizeof *network);
        const failure_t failure = network_parse(network, file.bytes, file.size);
        CHECK(failure.code == FAILURE_NETWORK_DIGEST, "byte %u changed: code %u", at, failure.code);
        free(network);
        file.bytes[at] ^= (uint8_t)(1u << (at % 8));
    }
    file_free(&file);
}

/* Change a field of the small network, seal it, and expect a layer to fail a check. */
static void expect_check(uint32_t offset, uint32_t bytes, uint32_t value, uint32_t layer, uint32_t check, const char *what) {
    network_file_t file;
    file_small_network(&file);
    for (uint32_t i = 0; i < bytes; i++) {
        file.bytes[offset + i] = (uint8_t)(value >> (8 * i));
    }
    file_seal(&file);
    expect(&file, FAILURE_NETWORK_LAYER, layer, check, what);
    file_free(&file);
}

/* Byte `field` of the record of a layer of the small network: 0 conv, 1 relu, 2 pool, 3 conv, 4 relu, 5 pool, 6 fc, 7 relu,
   8 fc. */
static uint32_t at(uint32_t layer, uint32_t field) {
    return FILE_HEADER + layer * FILE_RECORD + field;
}

static void test_layer_checks(void) {
    expect_check(at(3, 0), 1, 0, 3, 1, "op 0");
    expect_check(at(3, 0), 1, 5, 3, 1, "op 5");
    expect_check(at(0, 0), 1, 3, 0, 1, "a relu in front");
    expect_check(at(2, 0), 1, 3, 2, 1, "a relu behind a relu");
    expect_check(16, 2, 9, 0, 2, "another input height");
    expect_check(at(4, 10), 2, 3, 4, 2, "another input width");
    expect_check(at(6, 12), 2, 6, 6, 2, "another number of input channels");
    expect_check(at(0, 14), 2, 7, 0, 3, "output height of conv2d");
    expect_check(at(3, 2), 1, 3, 3, 3, "kernel width against output width");
    expect_check(at(2, 18), 2, 4, 2, 3, "output channels of max_pool");
    expect_check(at(2, 1), 1, 0, 2, 3, "a window of height 0");
    expect_check(at(1, 16), 2, 7, 1, 3, "output width of relu");
    expect_check(at(6, 14), 2, 2, 6, 3, "output height of fully_connected");
    expect_check(at(3, 3), 1, 2, 3, 4, "stride of conv2d");
    expect_check(at(2, 3), 1, 1, 2, 4, "stride of max_pool");
    expect_check(at(2, 2), 1, 1, 2, 4, "a window that is not square");
    expect_check(at(2, 4), 1, 1, 2, 4, "padding of max_pool");
    expect_check(at(1, 1), 1, 1, 1, 4, "kernel of relu");
    expect_check(at(6, 3), 1, 1, 6, 4, "stride of fully_connected");
    expect_check(at(0, 24), 4, 55, 0, 5, "weights of conv2d");
    expect_check(at(8, 24), 4, 54, 8, 5, "weights of fully_connected");
    expect_check(at(1, 24), 4, 1, 1, 5, "weights of relu");
    expect_check(at(0, 20), 4, FILE_HEADER + 9 * FILE_RECORD + 2, 0, 6, "misaligned weights");
    expect_check(at(0, 20), 4, FILE_HEADER + 9 * FILE_RECORD - 4, 0, 6, "weights in the records");
    expect_check(at(8, 20), 4, 0x7FFFFFFCu, 8, 6, "weights behind the file");
    expect_check(at(8, 20), 4, 0xFFFFFFFCu, 8, 6, "weights that wrap around");
    expect_check(at(2, 20), 4, 4, 2, 6, "an offset without weights");
    expect_check(25, 1, 1, 0, 7, "a zero of the header");
    expect_check(31, 1, 255, 0, 7, "the last zero of the header");
    expect_check(at(3, 6), 1, 1, 3, 7, "bytes 6 and 7");
    expect_check(at(5, 31), 1, 1, 5, 7, "the last byte of a record");
    expect_check(at(1, 5), 1, 1, 1, 7, "an exponent without weights");
    expect_check(22, 2, 6, 8, 8, "classes that are not the outputs");
    expect_check(22, 2, 1, 8, 8, "one class");
    expect_check(22, 2, 257, 8, 8, "257 classes");
    expect_check(6, 2, 7, 6, 8, "a last layer with 11 outputs");
    expect_check(6, 2, 8, 7, 8, "a last layer that is relu");
    expect_check(at(6, 5), 1, 9, 6, 9, "exponent 9");
    expect_check(at(6, 5), 1, (uint8_t)-33, 6, 9, "exponent -33");
    expect_check(FILE_HEADER + 9 * FILE_RECORD, 1, 0x80, 0, 12, "a weight of -128");
    expect_check(24, 1, (uint8_t)-6, 0, 9, "an input exponent that is not -7");
}

static void test_number_of_layers(void) {
    expect_check(6, 2, 0, 0, 8, "no layers");
    network_file_t file;
    file_begin(&file, 3, 3, 1, 2);
    for (int i = 0; i < 31; i++) {
        file_max_pool(&file, 1);
    }
    file_fully_connected(&file, 2, -8);
    file_finish(&file, 127);
    expect(&file, 0, 0, 0, "32 layers");
    put_u16(file.bytes + 6, 33);
    file.bytes = realloc(file.bytes, file.size + FILE_RECORD);
    CHECK(file.bytes != NULL, "no memory");
    memset(file.bytes + file.size, 0, FILE_RECORD);
    file.size += FILE_RECORD;
    put_u32(file.bytes + 8, file.size);
    file_seal(&file);
    expect(&file, FAILURE_NETWORK_LAYER, 33, 8, "33 layers");
    file_free(&file);
}

/* Dimensions of 0 that everything else agrees with. */
static void test_dimension(void) {
    network_file_t file;
    file_begin(&file, 0, 4, 2, 2);
    file_max_pool(&file, 1);
    file_fully_connected(&file, 2, -8);
    file_finish(&file, 127);
    expect(&file, FAILURE_NETWORK_LAYER, 0, 10, "an input of height 0");
    file_free(&file);
    file_begin(&file, 4, 4, 2, 2);
    file_max_pool(&file, 5);
    file_fully_connected(&file, 2, -8);
    file_finish(&file, 127);
    expect(&file, FAILURE_NETWORK_LAYER, 0, 10, "a window larger than its input");
    file_free(&file);
    file_begin(&file, 4, 4, 2, 2);
    file_conv2d(&file, 0, 3, 3, 1, -8);
    file_fully_connected(&file, 2, -8);
    file_finish(&file, 127);
    expect(&file, FAILURE_NETWORK_LAYER, 0, 10, "no output channels");
    file_free(&file);
}

static void expect_sum(network_file_t *file, bool fits, const char *what) {
    file_finish(file, 1);
    expect(file, fits ? 0 : FAILURE_NETWORK_LAYER, 0, fits ? 0 : 11, what);
    file_free(file);
}

/* Padding as large as the kernel, with an output shape that agrees. */
static void test_padding(void) {
    static const uint8_t kernels[][2] = {{2, 3}, {3, 2}};
    for (size_t i = 0; i < 2; i++) {
        network_file_t file;
        file_begin(&file, 4, 4, 2, 2);
        file_conv2d(&file, 3, kernels[i][0], kernels[i][1], 2, -8);
        file_fully_connected(&file, 2, -8);
        file_finish(&file, 127);
        expect(&file, FAILURE_NETWORK_LAYER, 0, 4, "padding 2, kernel 2");
        file_free(&file);
    }
}

/* 133144 * 127 * 127 is the last below 2^31. */
static void test_sum(void) {
    network_file_t file;
    file_begin(&file, 4, 33286, 1, 2); /* 133144 inputs */
    file_fully_connected(&file, 2, -8);
    expect_sum(&file, true, "133144 products behind an output");
    file_begin(&file, 5, 26629, 1, 2); /* 133145 inputs */
    file_fully_connected(&file, 2, -8);
    expect_sum(&file, false, "133145 products behind an output");
    file_begin(&file, 5, 26629, 1, 2); /* 133145 positions */
    file_conv2d(&file, 1, 1, 1, 0, -8);
    file_max_pool(&file, 5);
    file_fully_connected(&file, 2, -8);
    expect_sum(&file, false, "133145 products behind a weight gradient");
    file_begin(&file, 4, 4, 1, 2); /* 9 * 14794 = 133146 */
    file_conv2d(&file, 14794, 3, 3, 1, -8);
    file_max_pool(&file, 4);
    file_fully_connected(&file, 2, -8);
    expect_sum(&file, false, "133146 products behind an input error");
}

void test_blob(void) {
    test_good_files();
    test_truncation();
    test_honest_truncation();
    test_header();
    test_digest_covers_all();
    test_layer_checks();
    test_number_of_layers();
    test_dimension();
    test_padding();
    test_sum();
}
