#include "formats/tflite8_sizes.h"

#include "kernels/convolution.h"

enum { BAND_EXTRA = TFLITE_BAND_WORK + TFLITE_SLACK };

static uint64_t greater(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t up_8(uint64_t n) {
    return (n + 7) / 8 * 8;
}

static uint64_t conv2d_bytes(const graph_layer_t *layer) {
    const uint64_t taps = (uint64_t)layer->kernel_h * layer->kernel_w * layer->in_c, ow = layer->out_w;
    const uint64_t rows =
        smaller(layer->out_h, (greater(TFLITE_BAND_PRODUCTS / taps, TFLITE_BAND_POSITIONS) + ow - 1) / ow);
    const uint64_t height = (rows - 1) * smaller(layer->stride_h, layer->kernel_h) + layer->kernel_h;
    const uint64_t pitch = (((ow - 1) * layer->stride_w + layer->kernel_w) * layer->in_c + 1) / 2 * 2;
    return 8 * taps + BAND_EXTRA + 8 * rows * ow + 2 * height * pitch;
}

static uint64_t pointwise_bytes(const graph_layer_t *layer) {
    const uint64_t fit = (uint64_t)TFLITE_BLOCK_INPUTS / layer->in_c / 2 * 2;
    const uint64_t block = smaller(greater(fit, TFLITE_BLOCK_LEAST), TFLITE_BLOCK_MOST);
    return 8ull * layer->in_c + BAND_EXTRA + 8 * block + 2 * block * layer->in_c;
}

static uint64_t depthwise_bytes(const graph_layer_t *layer, bool has_ring) {
    const uint64_t rows = has_ring ? 1 : layer->out_h;
    const uint64_t height = (rows - 1) * layer->stride_h + layer->kernel_h;
    const uint64_t width = (layer->out_w - 1ull) * layer->stride_w + layer->kernel_w;
    return height * width + TFLITE_SLACK + (uint32_t)layer->kernel_h * layer->kernel_w;
}

/* Of the kernel of a layer with weights. */
static uint64_t scratch_bytes(const graph_layer_t *layer, bool has_ring) {
    switch (layer->op) {
    case OP_CONV2D: return conv2d_bytes(layer);
    case OP_POINTWISE: return pointwise_bytes(layer);
    case OP_DEPTHWISE: return depthwise_bytes(layer, has_ring);
    default: return 4ull * layer->out_c;
    }
}

uint32_t ring_width(const graph_layer_t *layer) {
    const uint32_t read = (layer->out_w - 1u) * layer->stride_w + layer->kernel_w,
                   filled = (uint32_t)layer->padding_w + layer->in_w;
    return (uint32_t)greater(read, filled);
}

work_layout_t work_layout(const graph_layer_t *layer, chained_t chained) {
    const uint64_t ring = (uint64_t)layer->kernel_h * ring_width(layer) * layer->in_c,
                   row = (uint64_t)layer->out_w * layer->out_c;
    work_layout_t layout = {.scratch = folded_bytes(layer)};
    layout.ring = layout.scratch + up_8(scratch_bytes(layer, chained.has_ring));
    layout.row = layout.ring + (chained.has_ring ? up_8(ring) : 0);
    layout.end = layout.row + (chained.has_row ? up_8(row) : 0);
    return layout;
}

/* Scratch of the kernel of the weights' gradient. */
static uint64_t gradient_bytes(const graph_layer_t *layer) {
    if (layer->op == OP_DEPTHWISE) {
        const uint64_t height = layer->out_h + (layer->kernel_h - 1ull) / layer->stride_h;
        const uint64_t width = layer->out_w + (layer->kernel_w - 1ull) / layer->stride_w;
        return height * width + TFLITE_SLACK + (uint64_t)layer->out_h * layer->out_w;
    }
    return layer->op == OP_CONV2D ? (uint64_t)TFLITE_PATCHES * graph_taps(layer) : 0;
}

/* Scratch of the kernel of an input's error. */
static uint64_t input_error_bytes(const graph_layer_t *layer) {
    if (layer->op == OP_DEPTHWISE) {
        const uint64_t height = (layer->in_h - 1ull) / layer->stride_h + 1 + (layer->kernel_h - 1ull) / layer->stride_h;
        const uint64_t width = (layer->in_w - 1ull) / layer->stride_w + 1 + (layer->kernel_w - 1ull) / layer->stride_w;
        return height * width + TFLITE_SLACK + (uint32_t)layer->kernel_h * layer->kernel_w;
    }
    return layer->op == OP_CONV2D ? 4ull * graph_taps(layer) : 0;
}

back_layout_t back_layout(const graph_layer_t *layer, uint64_t inputs) {
    back_layout_t layout = {.levelled = up_8(4 * inputs)};
    layout.scratch = layout.levelled + up_8(graph_outputs(layer));
    layout.end = layout.scratch + up_8(input_error_bytes(layer));
    return layout;
}

sums_layout_t sums_layout(const graph_layer_t *layer, bool weights) {
    const bool all = !weights || layer->op == OP_DEPTHWISE;
    const uint64_t channels = all ? graph_channels(layer) : smaller(GRADIENT_CHANNELS, graph_channels(layer));
    const uint64_t taps = weights ? graph_taps(layer) : 0, positions = (uint64_t)layer->out_h * layer->out_w;
    sums_layout_t layout = {.channels = (uint32_t)channels, .errors = up_8(4 * (taps + 1) * channels)};
    layout.scratch = layout.errors + (all ? 0 : up_8(positions * channels));
    layout.end = layout.scratch + (weights ? up_8(gradient_bytes(layer)) : 0);
    return layout;
}
