/* A convolution and the depthwise layer behind it, row by row: docs/memory-graph.md, groups and starts. */
#include <string.h>

#include "graph/layer_args.h"
#include "graph/sizes.h"
#include "kernels/tflite_conv2d_s8.h"
#include "kernels/tflite_depthwise_s8.h"
#include "kernels/tflite_pointwise_s8.h"

/* The rows under the window of one row of outputs, one behind the other, with the padding to both sides in place. */
typedef struct {
    const layer_args_t *first, *second;
    const int8_t *in; /* of the first */
    int8_t *ring;
    uint32_t row;    /* bytes from row to row */
    uint32_t before; /* padding to the left, in bytes */
} pair_t;

/* Make row `y` of the value between the two, which is padding where that is outside of the image. */
static void make_row(const pair_t *pair, int32_t y, int8_t *to) {
    const layer_args_t *args = pair->first;
    if (y < 0 || y >= args->shape.out_h) {
        memset(to, pair->second->factors.input_zero, pair->row);
        return;
    }
    to += pair->before;
    if (args->layer->op == GRAPH_CONV2D) {
        tflite_conv2d_rows_s8(pair->in, args->weights, &args->shape, &args->factors, (uint32_t)y, 1, args->scratch, to);
        return;
    }
    layer_shape_t row = args->shape;
    row.in_h = row.out_h = 1;
    const int8_t *in = pair->in + (uint32_t)y * row.in_w * row.in_c;
    tflite_pointwise_s8(in, args->weights, &row, &args->factors, args->scratch, to);
}

/* Keep the rows that the next window sees too, and make the others. The first window keeps none. */
static void advance(const pair_t *pair, uint32_t y) {
    const layer_shape_t *shape = &pair->second->shape;
    const uint32_t kernel = shape->kernel_h, stride = shape->stride;
    const uint32_t kept = y > 0 && stride < kernel ? kernel - stride : 0;
    const int32_t top = (int32_t)(y * stride) - shape->padding;
    memmove(pair->ring, pair->ring + (kernel - kept) * pair->row, kept * pair->row);
    for (uint32_t i = kept; i < kernel; i++) {
        make_row(pair, top + (int32_t)i, pair->ring + i * pair->row);
    }
}

/* The window of one row of outputs as an image of its own, whose padding is in place. */
static layer_shape_t window_of(const layer_args_t *args) {
    layer_shape_t window = args->shape;
    window.in_h = window.kernel_h;
    window.in_w = (uint16_t)ring_width(args->layer);
    window.out_h = 1;
    window.padding = 0;
    return window;
}

void graph_run_pair(graph_model_t *model, const pass_t *pass, uint8_t l) {
    const layer_args_t first = graph_layer_args(model, pass, l), second = graph_layer_args(model, pass, (uint8_t)(l + 1));
    const layer_shape_t window = window_of(&second);
    const pair_t pair = {
        .first = &first, .second = &second,
        .in = graph_value(model, pass, first.layer->reads[0]),
        .ring = graph_buffer(model, PLAN_RING, (uint8_t)(l + 1)),
        .row = (uint32_t)window.in_w * window.in_c,
        .before = (uint32_t)second.shape.padding * second.shape.in_c,
    };
    int8_t *out = graph_buffer(model, PLAN_VALUE, (uint8_t)(l + 2));
    memset(pair.ring, second.factors.input_zero, window.kernel_h * pair.row);
    for (uint32_t y = 0; y < second.shape.out_h; y++) {
        advance(&pair, y);
        stopwatch_book(&model->watch, &model->account.forward[l]);
        tflite_depthwise_s8(pair.ring, second.weights, &window, &second.factors, second.scratch, out);
        stopwatch_book(&model->watch, &model->account.forward[l + 1]);
        out += (uint32_t)window.out_w * window.out_c;
    }
}
