/* The file as a whole, and its header: docs/network.md. */
#include "graph/file.h"

#include <stddef.h>

#include "arith/xxh32.h"
#include "graph/checks.h"

#define MAGIC 0x54454E48u
#define DIGEST_FROM 16u

enum { HEADER_LAYER = 255, LEAST_CLASSES = 2, MOST_CLASSES = 1024, ALIGNMENT = 4 };

static failure_t refuse_layer(uint32_t layer, uint32_t check) {
    return refusal(FAILURE_NETWORK_LAYER, layer, check);
}

/* Everything in front of the meaning of its fields. */
static failure_t check_file(const graph_file_t *file, uint32_t received) {
    const graph_header_t *header = graph_header(file);
    if (received < sizeof *header) {
        return refusal(FAILURE_NETWORK_TRUNCATED, received, sizeof *header);
    }
    if (header->magic != MAGIC) {
        return refusal(FAILURE_NETWORK_MAGIC, header->magic, 0);
    }
    if (header->version != GRAPH_VERSION) {
        return refusal(FAILURE_NETWORK_VERSION, header->version, GRAPH_VERSION);
    }
    const uint32_t records_end = (uint32_t)(sizeof *header + header->layers * sizeof(graph_layer_t));
    if (received != header->size || received < records_end) {
        return refusal(FAILURE_NETWORK_TRUNCATED, received, received != header->size ? header->size : records_end);
    }
    const uint32_t digest = xxh32(file->bytes + DIGEST_FROM, received - DIGEST_FROM, 0);
    return digest == header->digest ? no_failure() : refusal(FAILURE_NETWORK_DIGEST, digest, header->digest);
}

/* An unknown format of the first layer, which is checked later, leaves them all. */
static uint16_t most_classes(const graph_file_t *file) {
    const format_checks_t *format = format_checks(graph_layer(file, 0)->format);
    return format != NULL && format->most_classes > 0 ? format->most_classes : MOST_CLASSES;
}

static failure_t check_header(const graph_file_t *file) {
    const graph_header_t *header = graph_header(file);
    const bool in_range = header->layers >= 1 && header->layers <= GRAPH_MAX_LAYERS &&
                          header->classes >= LEAST_CLASSES && header->classes <= most_classes(file);
    if (!in_range) {
        return refuse_layer(HEADER_LAYER, 0);
    }
    if (!all_zero(header->none, sizeof header->none)) {
        return refuse_layer(HEADER_LAYER, CHECK_ZERO);
    }
    if (!scale_is_allowed(header->scale)) {
        return refuse_layer(HEADER_LAYER, CHECK_SCALE);
    }
    return header->in_h > 0 && header->in_w > 0 && header->in_c > 0 ? no_failure()
                                                                    : refuse_layer(HEADER_LAYER, CHECK_DIMENSION);
}

static failure_t check_layers(const graph_file_t *file) {
    uint32_t place = (uint32_t)(sizeof(graph_header_t) + file->layers * sizeof(graph_layer_t));
    for (uint8_t i = 0; i < file->layers; i++) {
        const uint32_t check = graph_check_layer(file, i, &place);
        if (check != CHECK_PASSED) {
            return refuse_layer(i, check);
        }
    }
    return no_failure();
}

failure_t graph_file_open(graph_file_t *file, const uint8_t *bytes, uint32_t received) {
    *file = (graph_file_t){.bytes = bytes, .size = received};
    if ((uintptr_t)bytes % ALIGNMENT != 0) {
        return refuse_layer(HEADER_LAYER, CHECK_PLACE);
    }
    RETURN_IF_REFUSED(check_file(file, received));
    file->layers = (uint8_t)graph_header(file)->layers;
    RETURN_IF_REFUSED(check_header(file));
    RETURN_IF_REFUSED(check_layers(file));
    const format_checks_t *format = format_checks(graph_value_format(file, 0));
    file->sample_bytes = format->keeps_pixels ? 1 : format->value_bytes;
    return no_failure();
}

failure_t graph_other_format(uint8_t layer) {
    return refuse_layer(layer, CHECK_FORMAT);
}

uint8_t graph_value_bytes(const graph_file_t *file, uint8_t value) {
    return format_checks(graph_value_format(file, value))->value_bytes;
}

uint32_t graph_weight_bytes(const graph_layer_t *layer) {
    return graph_weight_count(layer) * format_checks(layer->format)->weight_bytes;
}

uint64_t graph_weighted_layers(const graph_file_t *file) {
    uint64_t layers = 0;
    for (uint8_t i = 0; i < file->layers; i++) {
        layers |= (uint64_t)graph_has_weights(graph_layer(file, i)) << i;
    }
    return layers;
}

uint8_t graph_weighted(const graph_file_t *file) {
    return (uint8_t)__builtin_popcountll(graph_weighted_layers(file));
}

uint8_t graph_weighted_layer(const graph_file_t *file, uint8_t before) {
    uint8_t i = 0;
    while (i < file->layers && (!graph_has_weights(graph_layer(file, i)) || before-- > 0)) {
        i++;
    }
    return i;
}

uint8_t graph_last_reader(const graph_file_t *file, uint8_t value) {
    uint8_t l = file->layers;
    while (l > value && !graph_reads(graph_layer(file, (uint8_t)(l - 1)), value)) {
        l--;
    }
    return l > value ? (uint8_t)(l - 1) : file->layers;
}
