#include "w16a8_made.h"

#include <string.h>

#include "arith/xxh32.h"
#include "check.h"

enum { DIGEST_FROM = 16 };

void w16a8_begin(w16a8_made_t *made, uint16_t h, uint16_t w, uint16_t c, uint16_t classes, int8_t zero) {
    *made = (w16a8_made_t){.header = {.magic = 0x54454E48u,
                                      .version = 4,
                                      .in_h = h,
                                      .in_w = w,
                                      .in_c = c,
                                      .classes = classes,
                                      .scale = 1.0f / 255.0f,
                                      .zero = zero}};
}

void w16a8_append(w16a8_made_t *made, const w16a8_made_layer_t *layer) {
    CHECK(made->header.layers < GRAPH_MAX_LAYERS, "too many layers");
    const uint8_t i = (uint8_t)made->header.layers++, value = layer->reads[0];
    const graph_layer_t *maker = value > 0 ? &made->record[value - 1] : NULL;
    made->layer[i] = *layer;
    made->record[i] = (graph_layer_t){
        .op = (uint8_t)layer->op,
        .format = FORMAT_W16A8,
        .kernel_h = layer->kernel_h,
        .kernel_w = layer->kernel_w,
        .stride_h = layer->stride,
        .stride_w = layer->stride,
        .padding_h = layer->padding,
        .padding_w = layer->padding,
        .rounding = ROUNDS_SINGLE,
        .reads = {layer->reads[0], layer->reads[1]},
        .in_h = maker != NULL ? maker->out_h : made->header.in_h,
        .in_w = maker != NULL ? maker->out_w : made->header.in_w,
        .in_c = maker != NULL ? maker->out_c : made->header.in_c,
        .out_h = layer->out_h,
        .out_w = layer->out_w,
        .out_c = layer->out_c,
    };
    made->record[i].block = graph_has_weights(&made->record[i]);
}

static uint32_t parameter_bytes(const graph_layer_t *record) {
    if (record->op == OP_ADD) {
        return sizeof(graph_output_t) + sizeof(graph_factors_t);
    }
    return graph_has_weights(record) ? (uint32_t)sizeof(w16a8_parameters_t) + 4u * record->out_c
                                     : (uint32_t)sizeof(graph_output_t);
}

static void write_data(const w16a8_made_t *made, uint8_t i) {
    const graph_layer_t *record = &made->record[i];
    const w16a8_made_layer_t *layer = &made->layer[i];
    uint8_t *to = made->bytes + record->parameters_offset;
    const graph_output_t output = {
        .scale = layer->scale, .zero = layer->zero, .act_min = layer->act_min, .act_max = layer->act_max};
    memcpy(to, &output, sizeof output);
    if (record->op == OP_ADD) {
        memcpy(to + sizeof output, &layer->factors, sizeof layer->factors);
    }
    if (graph_has_weights(record)) {
        const w16a8_parameters_t parameters = {.output = output,
                                               .scale = layer->weight_scale,
                                               .multiplier = layer->multiplier,
                                               .shift = layer->shift,
                                               .largest = layer->largest};
        memcpy(to, &parameters, sizeof parameters);
        memcpy(to + sizeof parameters, layer->bias, 4u * record->out_c);
        memcpy(made->bytes + record->weights_offset, layer->weights, 2u * graph_weight_count(record));
    }
}

void w16a8_finish(w16a8_made_t *made) {
    uint32_t end = 32 + made->header.layers * 36u;
    for (uint8_t i = 0; i < made->header.layers; i++) {
        graph_layer_t *record = &made->record[i];
        if (graph_has_weights(record)) {
            record->weights_offset = end;
            end += (2u * graph_weight_count(record) + 3u) / 4u * 4u;
        }
        record->parameters_offset = end;
        end += parameter_bytes(record);
    }
    made->size = made->header.size = end;
    made->bytes = take(end);
    memset(made->bytes, 0, end);
    memcpy(made->bytes, &made->header, sizeof made->header);
    memcpy(made->bytes + sizeof made->header, made->record, made->header.layers * sizeof made->record[0]);
    for (uint8_t i = 0; i < made->header.layers; i++) {
        write_data(made, i);
    }
    w16a8_seal(made);
}

void w16a8_seal(w16a8_made_t *made) {
    ((graph_header_t *)(void *)made->bytes)->digest = xxh32(made->bytes + DIGEST_FROM, made->size - DIGEST_FROM, 0);
}

w16a8_parameters_t *w16a8_made_parameters(const w16a8_made_t *made, uint8_t l) {
    return (w16a8_parameters_t *)(void *)(made->bytes + made->record[l].parameters_offset);
}

void w16a8_made_network(w16a8_made_t *made) {
    static const int16_t weights1[] = {9000, -12000, 30000, 500,   -20000, 15000,
                                       8000, -7000,  4000,  22000, -32256, 11000},
                         weights2[] = {30000, -9000, 12000, -25000, 18000, -6000};
    static const int32_t bias1[] = {100000, -50000, 0}, bias2[] = {0, 30000};
    const w16a8_made_layer_t first = {.op = OP_FULLY_CONNECTED,
                                      .out_h = 1,
                                      .out_w = 1,
                                      .out_c = 3,
                                      .scale = 0x1p-7f,
                                      .zero = -128,
                                      .act_min = -128,
                                      .act_max = 127,
                                      .weight_scale = 0x1p-15f,
                                      .multiplier = 1077952640,
                                      .shift = -15,
                                      .largest = W16A8_WIDE,
                                      .weights = weights1,
                                      .bias = bias1};
    const w16a8_made_layer_t second = {.op = OP_FULLY_CONNECTED,
                                       .reads = {1, 0},
                                       .out_h = 1,
                                       .out_w = 1,
                                       .out_c = 2,
                                       .scale = 0x1p-5f,
                                       .zero = 3,
                                       .act_min = -128,
                                       .act_max = 127,
                                       .weight_scale = 0x1p-14f,
                                       .multiplier = 1 << 30,
                                       .shift = -15,
                                       .largest = W16A8_WIDE,
                                       .weights = weights2,
                                       .bias = bias2};
    w16a8_begin(made, 2, 2, 1, 2, -128);
    w16a8_append(made, &first);
    w16a8_append(made, &second);
    w16a8_finish(made);
}
