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

static bool passes_on_axis(const graph_layer_t *layer, uint32_t kernel, uint32_t in, uint32_t out) {
    const bool within = layer->padding == 0 && (out - 1) * layer->stride + kernel <= in;
    return within && (out == 1 || layer->stride >= kernel);
}

bool pools_pass_errors(const graph_file_t *file, const training_t *training) {
    for (uint8_t l = training->first_backward; l < file->layers; l++) {
        const graph_layer_t *layer = graph_layer(file, l);
        const bool passes = passes_on_axis(layer, layer->kernel_h, layer->in_h, layer->out_h) &&
                            passes_on_axis(layer, layer->kernel_w, layer->in_w, layer->out_w);
        if (graph_is_pool(layer) && !passes) {
            return false;
        }
    }
    return true;
}
