#include "chain_made.h"

#include "check.h"

void chain_begin(graph_made_t *made, uint16_t h, uint16_t w, uint16_t c, uint16_t classes) {
    made_begin(made, h, w, c, classes);
    made->header.scale = 0x1p-7f;
    made->header.zero = 0;
}

static graph_layer_t *append(graph_made_t *made, enum op op) {
    return made_append(made, op, FORMAT_BFP8, (uint8_t)made->header.layers);
}

void chain_conv2d(graph_made_t *made, uint16_t out_c, uint8_t kernel_h, uint8_t kernel_w, uint8_t padding,
                  int8_t exponent) {
    graph_layer_t *layer = append(made, OP_CONV2D);
    layer->kernel_h = kernel_h;
    layer->kernel_w = kernel_w;
    layer->stride_h = layer->stride_w = 1;
    layer->padding_h = layer->padding_w = padding;
    layer->block = (uint8_t)draw(1, 4);
    layer->weight_exponent = exponent;
    layer->out_h = (uint16_t)(layer->in_h + 2 * padding - kernel_h + 1);
    layer->out_w = (uint16_t)(layer->in_w + 2 * padding - kernel_w + 1);
    layer->out_c = out_c;
}

void chain_fully_connected(graph_made_t *made, uint16_t outputs, int8_t exponent) {
    graph_layer_t *layer = append(made, OP_FULLY_CONNECTED);
    layer->block = (uint8_t)draw(1, 4);
    layer->weight_exponent = exponent;
    layer->out_h = layer->out_w = 1;
    layer->out_c = outputs;
}

void chain_relu(graph_made_t *made) {
    graph_layer_t *layer = append(made, OP_RELU);
    layer->out_h = layer->in_h;
    layer->out_w = layer->in_w;
    layer->out_c = layer->in_c;
}

void chain_max_pool(graph_made_t *made, uint8_t k) {
    graph_layer_t *layer = append(made, OP_MAX_POOL);
    layer->kernel_h = layer->kernel_w = layer->stride_h = layer->stride_w = k;
    layer->out_h = (uint16_t)(layer->in_h / k);
    layer->out_w = (uint16_t)(layer->in_w / k);
    layer->out_c = layer->in_c;
}

void chain_small(graph_made_t *made) {
    chain_begin(made, 8, 8, 2, 5);
    chain_conv2d(made, 3, 3, 3, 1, -8);
    chain_relu(made);
    chain_max_pool(made, 2);
    chain_conv2d(made, 5, 3, 2, 1, -9);
    chain_relu(made);
    chain_max_pool(made, 2);
    chain_fully_connected(made, 11, -9);
    chain_relu(made);
    chain_fully_connected(made, 5, -8);
    made_finish(made, 127);
}

/* One more layer of a random chain; nothing where the drawn one has no room. */
static void add_random_layer(graph_made_t *made) {
    const graph_layer_t *before = made->header.layers > 0 ? &made->layer[made->header.layers - 1] : NULL;
    const uint16_t h = before != NULL ? before->out_h : made->header.in_h,
                   w = before != NULL ? before->out_w : made->header.in_w;
    const uint8_t padding = (uint8_t)draw(0, 2), kernel = (uint8_t)draw(padding + 1, 4), k = (uint8_t)draw(1, 3);
    switch (draw(1, 4)) {
    case OP_CONV2D:
        if (h + 2 * padding >= kernel && w + 2 * padding >= kernel) {
            chain_conv2d(made, (uint16_t)draw(1, 6), kernel, kernel, padding, (int8_t)draw(-12, -6));
        }
        break;
    case OP_FULLY_CONNECTED:
        if (draw(0, 3) == 0) {
            chain_fully_connected(made, (uint16_t)draw(1, 12), (int8_t)draw(-12, -6));
        }
        break;
    case OP_RELU:
        if (before != NULL && before->op != OP_RELU) {
            chain_relu(made);
        }
        break;
    default:
        if (h >= k && w >= k) {
            chain_max_pool(made, k);
        }
    }
}

void chain_random(graph_made_t *made) {
    const uint16_t classes = (uint16_t)draw(2, 9);
    const int32_t layers = draw(0, 9) == 0 ? CHAIN_MOST_LAYERS : draw(1, 10);
    chain_begin(made, (uint16_t)draw(1, 9), (uint16_t)draw(1, 9), (uint16_t)draw(1, 4), classes);
    for (int32_t i = 0; i < 3 * layers && made->header.layers < layers - 1; i++) {
        add_random_layer(made);
    }
    chain_fully_connected(made, classes, (int8_t)draw(-12, -6));
    made_finish(made, draw(0, 3) == 0 ? 20 : 127);
}
