#include "methods/reach.h"

uint64_t reached_layers(const graph_file_t *file, const training_t *training) {
    const uint8_t first = training->first_backward;
    uint64_t reached = UINT64_C(1) << (file->layers - 1);
    for (uint8_t l = file->layers; l-- > first;) {
        const graph_layer_t *layer = graph_layer(file, l);
        for (uint8_t value = (uint8_t)(first + 1); in_set(reached, l) && value <= l; value++) {
            reached |= (uint64_t)graph_reads(layer, value) << (value - 1);
        }
    }
    return reached;
}

uint8_t last_reached_reader(const graph_file_t *file, const training_t *training, uint8_t value) {
    uint8_t l = file->layers;
    while (l > value &&
           !(in_set(training->reached, (uint8_t)(l - 1)) && graph_reads(graph_layer(file, (uint8_t)(l - 1)), value))) {
        l--;
    }
    return l > value ? (uint8_t)(l - 1) : file->layers;
}

void demand_errors(placing_t *placing, const graph_file_t *file, const training_t *training) {
    for (uint8_t l = training->first_backward; l < file->layers; l++) {
        const uint8_t value = (uint8_t)(l + 1);
        if (in_set(training->reached, l)) {
            plan_add(placing, plan_place(PLAN_ERROR, value), graph_size(file, value),
                     slot_back(file, last_reached_reader(file, training, value)), slot_back(file, l));
        }
    }
}

static bool passes_on_axis(uint32_t kernel, uint32_t stride, uint32_t padding, uint32_t in, uint32_t out) {
    const bool within = padding == 0 && (out - 1) * stride + kernel <= in;
    return within && (out == 1 || stride >= kernel);
}

static bool passes(const graph_layer_t *layer) {
    if (graph_is_pool(layer)) {
        return passes_on_axis(layer->kernel_h, layer->stride_h, layer->padding_h, layer->in_h, layer->out_h) &&
               passes_on_axis(layer->kernel_w, layer->stride_w, layer->padding_w, layer->in_w, layer->out_w);
    }
    return layer->op != OP_TABLE;
}

bool layers_pass_errors(const graph_file_t *file, const training_t *training) {
    for (uint8_t l = training->first_backward; l < file->layers; l++) {
        if (!passes(graph_layer(file, l))) {
            return false;
        }
    }
    return true;
}
